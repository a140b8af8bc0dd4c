"""Every runner that is named can be made and run."""

import importlib
import inspect

import pytest

from tasks_app.runners.registry import RUNNERS


@pytest.mark.parametrize("name", RUNNERS)
def test_a_registered_runner_exists_and_runs(name: str) -> None:
    module, _, attribute = RUNNERS[name].rpartition(".")
    runner = getattr(importlib.import_module(module), attribute)()
    assert inspect.iscoroutinefunction(runner.run)
    assert list(inspect.signature(runner.run).parameters) == ["spec", "port"]
