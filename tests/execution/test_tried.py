"""What the next agent is told of earlier attempts: all that a dossier holds, the latest in full, and never too much."""

import pytest

from tasks_app.execution import tried

PATCH = "--- a/a.py\n+++ b/a.py\n+token\n"
DOSSIER = {
    "attempt": 2,
    "agent": "builder-2",
    "reason": "reported",
    "error": "401 three ways",
    "approaches": ["key", "token"],
    "last_steps": ["said: I try\nthe token.", "tool_call: Bash"],
    "diff": {
        "files": ["a.py"],
        "summary": "1 file changed, 1 insertion(+)",
        "patch": PATCH,
        "cut": False,
    },
    "evidence": {"1": "pytest passes"},
    "criteria_met": ["1"],
    "proofs": [{"number": 2, "met": False, "says": "`make`: exit code 2"}],
    "tokens": 72_644,
    "cost_usd": "0.250000",
    "cost_partial": True,
    "seconds": 181,
}


def test_everything_that_is_known_of_the_latest_attempt_is_told():
    assert tried.text([DOSSIER]) == (
        "## What was already tried\n"
        "### Attempt 2 by builder-2: reported\n"
        "401 three ways\n"
        "- tried: key\n"
        "- tried: token\n"
        "- criterion 1 was met, says the agent: pytest passes\n"
        "- criterion 2 was not met: `make`: exit code 2\n"
        "- it took 72,644 tokens, at least $0.25, 3 min\n"
        "- changed files: a.py (1 file changed, 1 insertion(+))\n"
        "- its diff:\n"
        "~~~~diff\n--- a/a.py\n+++ b/a.py\n+token\n~~~~\n"
        "- its last steps:\n"
        "  - said: I try the token.\n"
        "  - tool_call: Bash"
    )


def test_of_earlier_attempts_the_diff_is_only_summed_up():
    told = tried.text([{**DOSSIER, "attempt": 1}, DOSSIER])
    assert told.index("Attempt 1") < told.index("Attempt 2")
    assert (told.count("changed files: a.py"), told.count("~~~~diff")) == (2, 1)


def test_it_stays_within_its_limit_and_the_latest_attempt_is_told_rather_than_the_first():
    long = {**DOSSIER, "error": "e" * 9_000, "diff": {**DOSSIER["diff"], "patch": "+x\n" * 30_000, "cut": True}}
    told = tried.text([{**long, "attempt": number, "approaches": ["a" * 9_000] * 40} for number in range(1, 8)])
    assert len(told) < tried.LIMIT + 200
    assert "### Attempt 7" in told
    assert "### Attempt 1 " not in told
    assert "earlier attempt" in told
    assert "its diff (shortened):" in told


@pytest.mark.parametrize("dossier", [{}, {"diff": "not available"}, {"diff": {"files": []}, "evidence": None, "seconds": 0}])
def test_what_is_not_known_is_left_out(dossier):
    assert "None" not in tried.text([{"attempt": 1, "agent": "a", "reason": "error", **dossier}])


def test_without_attempts_there_is_nothing_to_tell():
    assert tried.text([]) == ""
