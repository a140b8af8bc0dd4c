"""What the services of `up` load before they are needed."""

import subprocess
import sys

from tasks_app.management import layout

LATE = """
import sys, django
from importlib import import_module
django.setup()
for name in sys.argv[1:]:
    import_module(name)
print("claude_agent_sdk" in sys.modules, "tasks_app.execution.supervisor" in sys.modules, "dashboard.urls" in sys.modules)
"""


def test_a_spare_worker_has_loaded_the_sdk_and_no_page(tmp_path) -> None:
    env = layout.environment(home=tmp_path, rehearse=True)
    done = subprocess.run(
        [sys.executable, "-c", LATE, *layout.WORKER_LOADS], cwd=layout.ROOT, env=env, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.split() == ["True", "True", "False"], done.stderr
