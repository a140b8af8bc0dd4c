"""Reading permission rules in Claude Code's syntax, and refusing what would not mean what it seems to mean."""

import difflib
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from tasks_app.domain.errors import Invalid

MAX_RULE: Final = 1000
FORM: Final = "Write a tool name, or a tool and what it may do: Bash(npm run test *)."
_RULE = re.compile(r"(?P<tool>[A-Za-z][\w-]*\*?)(?:\((?P<specifier>.*)\))?", re.DOTALL | re.ASCII)
_PARAMETER = re.compile(r"[A-Za-z_]\w*:.+", re.DOTALL)
READERS: Final = frozenset({"Read", "Grep", "Glob", "LS", "NotebookRead"})
WRITERS: Final = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})
KNOWN_TOOLS: Final = (
    *sorted(READERS | WRITERS), "Bash", "WebFetch", "WebSearch", "Agent", "Task", "Skill", "BashOutput", "KillShell",
    "TodoWrite", "ExitPlanMode", "AskUserQuestion", "SlashCommand", "PowerShell", "Monitor", "ToolSearch", "LSP",
)  # fmt: skip
NAMED_BY: Final = {"Agent": "subagent_type", "Task": "subagent_type", "Skill": "skill"}


@dataclass(frozen=True)
class Rule:
    """A rule taken apart. `specifier` is None for a bare tool name (and for `Tool(*)`, which means the same)."""

    text: str
    tool: str
    specifier: str | None

    def __str__(self) -> str:
        return self.text


@lru_cache(maxsize=1024)
def parse(rule: str) -> Rule:
    """Return the rule taken apart. Raises `Invalid` with the fix for anything that would not mean what it seems to."""
    text = rule.strip()
    found = _RULE.fullmatch(text) if len(text) <= MAX_RULE else None
    if not found or "\0" in text:
        raise Invalid(f"{rule[:80]!r} is not a permission rule. {FORM}")
    tool, specifier = found["tool"], found["specifier"]
    _check_tool(tool)
    if specifier is not None:
        _check_specifier(tool, specifier)
    return Rule(text, tool, None if specifier in (None, "*") else specifier)


def _check_tool(tool: str) -> None:
    if tool.endswith("*") and not re.fullmatch(r"mcp__[\w-]+__[\w-]*\*", tool):
        raise Invalid(f"{tool!r}: only tools of an MCP server take a wildcard, such as mcp__github__*.")
    if tool.startswith("mcp__") or tool in KNOWN_TOOLS:
        return
    near = difflib.get_close_matches(tool.lower(), [known.lower() for known in KNOWN_TOOLS], 1, 0.8)
    if near:
        meant = next(known for known in KNOWN_TOOLS if known.lower() == near[0])
        raise Invalid(f"There is no tool {tool!r}. Did you mean {meant}?")


def _check_specifier(tool: str, specifier: str) -> None:
    if not specifier.strip() or specifier.strip() == ":*":
        raise Invalid(f"{tool}() names nothing. Write {tool} alone to mean every use of it.")
    if tool in (WRITERS | READERS) - {"Edit", "Read"} and specifier != "*":
        kind = "Edit" if tool in WRITERS else "Read"
        raise Invalid(
            f"{tool} takes no path. {kind}({specifier}) covers every tool that {'changes' if kind == 'Edit' else 'reads'} files."
        )
    if tool == "WebFetch" and not re.fullmatch(r"domain:(\*\.)?[\w.-]+|\*", specifier):
        raise Invalid(
            f"WebFetch({specifier}): write the host, such as WebFetch(domain:example.com) or WebFetch(domain:*.example.com)."
        )
    free = tool in ("Bash", "Edit", "Read", "WebFetch", *NAMED_BY) or specifier == "*"
    if not free and not _PARAMETER.fullmatch(specifier):
        raise Invalid(
            f"{tool}({specifier}): write {tool} alone, or one of its arguments and a value, such as {tool}(name:value)."
        )
