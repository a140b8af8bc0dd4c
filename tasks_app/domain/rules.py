"""Permission rules at work: matching them against a call, and deciding by them.

`Tool`, `Bash(npm run test *)`, `Edit(src/**)`, `WebFetch(domain:example.com)`, `mcp__server__tool`. Deny beats ask beats
allow. An allow rule must account for everything a call does; for deny and ask one part of it is enough. Where it is not
certain what a call does, no allow rule applies. docs/permission-rules.md is the reference for people.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

from tasks_app.domain import commands, paths, shell
from tasks_app.domain.rule_syntax import NAMED_BY, READERS, WRITERS, Rule, parse


class Decision(StrEnum):
    """What the rules say about a call."""

    ALLOW = "allow"
    DENY = "deny"
    ASK = "ask"
    DEFAULT = "default"  # no rule applies: Claude Code's own default, which is to ask


@dataclass(frozen=True)
class Verdict:
    """The decision and the rule that made it (where several rules together allow a compound command, the first)."""

    decision: Decision
    rule: str | None = None


def covers_tool(rule: Rule, tool: str) -> bool:
    """Whether the rule speaks about `tool`. Edit speaks for every tool that changes files, Read for every one that reads."""
    if rule.tool.startswith("mcp__"):
        if rule.tool.endswith("*"):
            return tool.startswith(rule.tool[:-1])
        return tool == rule.tool or (rule.tool.count("__") == 1 and tool.startswith(rule.tool + "__"))
    if rule.tool == "Edit":
        return tool in WRITERS
    if rule.tool == "Read":
        return tool in READERS
    return rule.tool == tool or {rule.tool, tool} == {"Agent", "Task"}


def matches(rule: Rule | str, tool: str, input: Mapping[str, Any], *, workspace: str, every: bool = True) -> bool:
    """Whether `rule` applies to the call. `every`: to all that it does (allow), else to any part of it (deny, ask)."""
    if every:
        return _allowing([_read(rule)], tool, input, workspace) is not None
    return _hit(_read(rule), tool, input, workspace)


def decide(
    tool: str,
    input: Mapping[str, Any],
    *,
    allow: Iterable[Rule | str] = (),
    deny: Iterable[Rule | str] = (),
    ask: Iterable[Rule | str] = (),
    workspace: str,
) -> Verdict:
    """Return what the rules say about the call: deny beats ask beats allow; `workspace` is an absolute real path.

    Rules may be texts; raises `Invalid` for one that `parse` refuses.
    """
    against = [(Decision.DENY, [*map(_read, deny)]), (Decision.ASK, [*map(_read, ask)])]
    for decision, rules in against:
        for rule in rules:
            if _hit(rule, tool, input, workspace):
                return Verdict(decision, rule.text)
    if any(_might_hit(rule, tool, input) for _, rules in against for rule in rules):
        return Verdict(Decision.DEFAULT)
    allowing = _allowing([*map(_read, allow)], tool, input, workspace)
    return Verdict(Decision.ALLOW, allowing.text) if allowing else Verdict(Decision.DEFAULT)


def _read(rule: Rule | str) -> Rule:
    return rule if isinstance(rule, Rule) else parse(rule)


# -- deny and ask: one part is enough


def _hit(rule: Rule, tool: str, input: Mapping[str, Any], workspace: str) -> bool:
    if tool == "Bash" and rule.tool in ("Bash", "Edit", "Read"):
        return _hits_command(rule, _command(input), workspace)
    if not covers_tool(rule, tool):
        return False
    if rule.specifier is None:
        return True
    return _specifier_matches(rule, tool, input, workspace)


def _hits_command(rule: Rule, command: str, workspace: str) -> bool:
    parts = shell.read(command).parts
    if rule.tool == "Bash":
        return rule.specifier is None or _hits_text(rule.specifier, command, parts)
    if rule.specifier is None:  # a bare Edit is about every file; a bare Read is about the tools: each program reads something
        return rule.tool == "Edit" and any(
            path not in paths.HARMLESS_TARGETS for part in parts for path in commands.written(part)
        )
    named = commands.written if rule.tool == "Edit" else commands.read_from
    return any(paths.covers(rule.specifier, path, workspace) for part in parts for path in named(part))


def _hits_text(specifier: str, command: str, parts: Sequence[shell.Part]) -> bool:
    texts = (text for part in parts for text in (part.text, *(call.text for call in commands.calls(part))))
    return any(command_matches(specifier, text) for text in (command, *texts))


def _might_hit(rule: Rule, tool: str, input: Mapping[str, Any]) -> bool:
    """Whether the rule could apply to something in the call that cannot be read with certainty."""
    if rule.specifier is None:
        return False
    if tool == "Bash" and rule.tool in ("Bash", "Edit", "Read"):
        parsed = shell.read(_command(input))
        return not parsed.exact or any(call.dynamic for part in parsed.parts for call in commands.calls(part))
    return tool == rule.tool == "WebFetch" and host(input.get("url")) is None


# -- allow: everything must be accounted for


def _allowing(rules: Sequence[Rule], tool: str, input: Mapping[str, Any], workspace: str) -> Rule | None:
    if tool == "Bash":
        return _allowing_command(rules, _command(input), workspace)
    for rule in rules:
        if covers_tool(rule, tool) and _allowed_by(rule, tool, input, workspace):
            return rule
    return None


def _allowed_by(rule: Rule, tool: str, input: Mapping[str, Any], workspace: str) -> bool:
    if rule.specifier is not None:
        return _specifier_matches(rule, tool, input, workspace)
    return tool not in READERS | WRITERS or not paths.outside(file_of(tool, input), workspace)


def _allowing_command(rules: Sequence[Rule], command: str, workspace: str) -> Rule | None:
    parsed = shell.read(command)
    if not parsed.exact or not parsed.parts:
        return None
    found = [_first(rules, need) for part in parsed.parts for need in _needs(part, workspace)]
    return None if None in found or not found else found[0]


def _first(rules: Sequence[Rule], need: Callable[[Rule], bool]) -> Rule | None:
    return next((rule for rule in rules if need(rule)), None)


def _needs(part: shell.Part, workspace: str) -> Iterator[Callable[[Rule], bool]]:
    """What the rules must allow for `part` to run: the command itself, and every file it is redirected to or from."""
    if part.words:
        yield lambda rule: rule.tool == "Bash" and _allows_part(rule.specifier, part)
    for kind, words in (("Edit", part.writes), ("Read", part.reads)):
        for word in words:
            if word.dynamic or word.value not in paths.HARMLESS_TARGETS:
                yield lambda rule, kind=kind, word=word: _allows_file(rule, kind, word, workspace)  # type: ignore[misc]


def _allows_part(specifier: str | None, part: shell.Part) -> bool:
    return specifier is None or (not part.header and command_matches(specifier, part.text))


def _allows_file(rule: Rule, kind: str, word: shell.Word, workspace: str) -> bool:
    if word.dynamic:
        return False
    if rule.tool == kind and rule.specifier:
        return paths.covers(rule.specifier, word.value, workspace)
    trusted = rule.specifier is None and rule.tool in ("Bash", kind)
    return (trusted or (kind == "Read" and rule.tool == "Bash")) and not paths.outside(word.value, workspace)


# -- specifiers


def command_matches(specifier: str, text: str) -> bool:
    """Whether a Bash specifier matches a command: `*` stands for anything, a last ` *` or `:*` also for nothing."""
    pattern = specifier.removesuffix(":*") + " *" if specifier.endswith(":*") else specifier
    if pattern.endswith(" *") and "*" not in pattern[:-1] and text == pattern[:-2]:
        return True
    first, *rest = pattern.split("*")
    if not rest:
        return text == pattern
    if not text.startswith(first) or not text.endswith(rest[-1]) or len(text) < len(first) + len(rest[-1]):
        return False
    at, end = len(first), len(text) - len(rest[-1])
    for piece in rest[:-1]:
        at = text.find(piece, at, end)
        if at < 0:
            return False
        at += len(piece)
    return True


def _specifier_matches(rule: Rule, tool: str, input: Mapping[str, Any], workspace: str) -> bool:
    specifier = rule.specifier or ""
    if rule.tool in ("Edit", "Read"):
        return paths.covers(specifier, file_of(tool, input), workspace)
    if rule.tool == "WebFetch":
        wanted, found = specifier.removeprefix("domain:").lower(), host(input.get("url"))
        return found is not None and (found == wanted or (wanted.startswith("*.") and found.endswith(wanted[1:])))
    name, _, value = (NAMED_BY[rule.tool], "", specifier) if rule.tool in NAMED_BY else specifier.partition(":")
    return name in input and command_matches(value, str(input[name]))


def file_of(tool: str, input: Mapping[str, Any]) -> str:
    """Return the path a file tool works on; searches without one work on the workspace."""
    for key in ("file_path", "notebook_path", "path"):
        if isinstance(input.get(key), str):
            return str(input[key])
    return "." if tool in ("Grep", "Glob", "LS") else "\0"


def host(url: object) -> str | None:
    """Return the host of an http(s) URL, lower case; None where two programs could read it differently."""
    if not isinstance(url, str) or re.search(r"[\\\s\x00-\x1f\x7f]", url):
        return None
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    return (parts.hostname or "").rstrip(".") or None if parts.scheme in ("http", "https") else None


def _command(input: Mapping[str, Any]) -> str:
    command = input.get("command")
    return command if isinstance(command, str) else "\0"
