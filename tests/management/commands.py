"""Runs a management command in this process and returns its exit code and what it printed."""

import io
import json
from typing import Any

from django.core.management import call_command


def run(*words: str) -> tuple[int, str, str]:
    """Return (exit code, standard output, standard error)."""
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command(*words, stdout=out, stderr=err, no_color=True)
    except SystemExit as ended:
        return int(ended.code or 0), out.getvalue(), err.getvalue()
    return 0, out.getvalue(), err.getvalue()


def run_json(*words: str) -> tuple[int, Any]:
    """Return (exit code, the one JSON document)."""
    code, out, _ = run(*words, "--json")
    return code, json.loads(out)
