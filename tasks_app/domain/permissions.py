"""Permissions, as the rest of the system uses them: rules, decisions, risks, suggestions and the hash of a call."""

import hashlib
import json
import posixpath
from collections.abc import Mapping
from typing import Any, Final

from tasks_app.domain import paths, shell
from tasks_app.domain.asked import is_plain
from tasks_app.domain.commands import SHELLS, WRAPPERS
from tasks_app.domain.errors import Invalid
from tasks_app.domain.paths import outside
from tasks_app.domain.risks import Level, Risk, risk
from tasks_app.domain.rule_syntax import READERS, WRITERS, Rule, parse
from tasks_app.domain.rules import Decision, Verdict, decide, file_of, host, matches

__all__ = [
    "Decision",
    "Level",
    "Risk",
    "Rule",
    "Verdict",
    "call_hash",
    "decide",
    "matches",
    "outside",
    "parse",
    "risk",
    "suggest",
]

ALWAYS_ASKED: Final = frozenset({"AskUserQuestion", "ExitPlanMode", "EnterPlanMode", "mcp__crew__Escalate"})
"""Calls that are themselves a request to the lead: no rule is ever offered for them."""
LONGEST_OFFER: Final = 200
_SUBCOMMANDS: Final[Mapping[str, frozenset[str]]] = {
    "git": frozenset(
        {"add", "blame", "describe", "diff", "log", "ls-files", "merge-base", "rev-parse", "shortlog", "show", "status"}
    ),
    "npm": frozenset({"test", "ls", "outdated"}),
    "cargo": frozenset({"build", "check", "clippy", "fmt", "test", "doc"}),
    "go": frozenset({"build", "fmt", "test", "vet"}),
    "ruff": frozenset({"check", "format"}),
}
"""Sub-commands that stay harmless whatever follows; the rule offered ends in ` *`."""
_RUNNERS: Final = {
    ("npm", "run"),
    ("pnpm", "run"),
    ("yarn", "run"),
    ("bun", "run"),
    ("uv", "run"),
    ("poetry", "run"),
    ("python", "-m"),
    ("python3", "-m"),
}
"""Programs that run a named thing: the rule offered names it, and ends in ` *` only for the things below."""
_CHECKERS: Final = frozenset(
    {"pytest", "mypy", "ruff", "eslint", "tsc", "jest", "vitest", "flake8", "pylint", "black", "unittest", "prettier"}
)
_NEVER: Final = (
    WRAPPERS
    | SHELLS
    | {
        *(
            "rm",
            "rmdir",
            "mv",
            "dd",
            "kill",
            "pkill",
            "killall",
            "chmod",
            "chown",
            "eval",
            "exec",
            "source",
            ".",
            "export",
            "alias",
        ),
        *(
            "crontab",
            "at",
            "systemctl",
            "service",
            "mount",
            "umount",
            "reboot",
            "shutdown",
            "tee",
            "find",
            "fd",
            "awk",
            "gawk",
            "sed",
        ),
        "make",
    }
)


def call_hash(tool: str, input: Mapping[str, Any]) -> str:
    """Return the SHA-256 (hex) of tool and input as canonical JSON: what a permission or a one-use grant is bound to.

    The order of keys does not matter, everything else does. Take it from the input as received, before it is cleaned.
    """
    canonical = json.dumps([tool, input], sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=str)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def suggest(tool: str, input: Mapping[str, Any], *, workspace: str = "") -> str | None:
    """Return the rule to offer as "Allow … in this task", or None where only this one call should be allowed.

    Never offered: what deletes, needs root, rewrites history, leaves the workspace, touches secrets, runs text as a program,
    or uses the network (but for the host of a WebFetch), and no rule that could not be shown whole, just as it is. An offered
    rule always allows the call it was made from.
    """
    rule = _offer(tool, input, workspace)
    if rule is None or len(rule) > LONGEST_OFFER or not is_plain(rule):
        return None
    try:
        return rule if decide(tool, input, allow=(rule,), workspace=workspace or "/").decision is Decision.ALLOW else None
    except Invalid:
        return None


def _offer(tool: str, input: Mapping[str, Any], workspace: str) -> str | None:
    if tool in ALWAYS_ASKED:
        return None
    if tool == "WebFetch":
        name = host(input.get("url"))
        return f"WebFetch(domain:{name})" if name else None
    if tool == "WebSearch" or (tool.startswith("mcp__") and tool.count("__") >= 2):
        return tool
    if risk(tool, input, workspace or "/").level is Level.HIGH:
        return None
    if tool == "Bash":
        return _offer_command(input)
    return _offer_folder(tool, input, workspace) if tool in READERS | WRITERS else None


def _offer_folder(tool: str, input: Mapping[str, Any], workspace: str) -> str | None:
    relative = paths.inside(file_of(tool, input), workspace)
    if relative is None or any(mark in relative for mark in "*?()\n"):
        return None
    kind, folder = ("Edit" if tool in WRITERS else "Read"), posixpath.dirname(relative)
    return f"{kind}(/{folder}/**)" if folder else f"{kind}(/{relative})"


def _offer_command(input: Mapping[str, Any]) -> str | None:
    parsed = shell.read(str(input.get("command")))
    if not parsed.exact or len(parsed.parts) != 1:
        return None
    part = parsed.parts[0]
    words = part.words
    plain = bool(words) and not (part.writes or part.reads or part.header or words[0].dynamic) and words[0].raw == words[0].value
    if not plain or words[0].value in _NEVER or "=" in words[0].value or any(mark in part.text for mark in "*\n"):
        return None
    return f"Bash({_widened(part)})"


def _widened(part: shell.Part) -> str:
    """The command, its arguments left open where that stays as harmless as what was asked."""
    program, *args = (word.raw for word in part.words)
    first, second = (*args, "", "")[:2]
    if program in _CHECKERS and program not in _SUBCOMMANDS:
        return f"{program} *"
    if first in _SUBCOMMANDS.get(program, ()):
        return f"{program} {first} *"
    if (program, first) in _RUNNERS and (second in _CHECKERS or program in ("npm", "pnpm", "yarn", "bun")) and second:
        return f"{program} {first} {second} *"
    return part.text
