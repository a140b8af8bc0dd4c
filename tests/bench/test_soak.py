"""`soak`: the end against the beginning, after warm-up, by medians; what is not flat or too short to tell is a failure."""

import math

from bench.report import Report
from bench.soak import ENOUGH, Curve, judge


def failures(*samples: float, short: bool = False) -> list[str]:
    report = Report("soak")
    judge(report, [Curve("worker", list(samples))], short=short)
    return report.failures


def test_warm_up_and_single_peaks_do_not_count() -> None:
    assert failures(*[10.0] * 10, *[100.0] * 39, 300.0) == []


def test_memory_that_creeps_is_a_failure() -> None:
    assert failures(*[100 + n / 2 for n in range(50)]) == [
        "memory of the worker is not flat: its end is 1.14 times its beginning"
    ]


def test_memory_that_falls_had_not_settled() -> None:
    assert len(failures(*[100.0] * 25, *[80.0] * 25)) == 1


def test_too_few_samples_tell_nothing() -> None:
    assert "too few" in failures(*[100.0] * (ENOUGH - 1))[0]
    assert failures(*[100.0] * (ENOUGH - 1), short=True) == []
    assert math.isnan(Curve("worker", [1.0] * 4).growth())
