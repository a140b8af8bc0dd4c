"""YAML with line numbers: plain values plus the line of each, built from parser events so that nothing recurses or runs.

Values follow YAML 1.2's core schema (`no` and `12:30` are texts). Refused: other tags, repeated keys, keys that are no texts, a
second document, and files that are too large, too deep, or grow too large through anchors.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import yaml

from tasks_app.domain.errors import Invalid, Problem, Problems
from tasks_app.domain.text import clean, cut

MAX_BYTES: Final = 1024 * 1024
MAX_DEPTH: Final = 40
MAX_VALUES: Final = 100_000
"""Counted after anchors are written out: a few that quote each other must not become a billion values."""
Path = tuple[str | int, ...]
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_WORDS: Final[Mapping[str, bool | None]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})", re.ASCII)
_FLOAT = re.compile(r"[-+]?(?:\d{1,17}\.\d*|\.\d+|\d{1,17}(?=[eE]))(?:[eE][-+]?\d{1,3})?", re.ASCII)
_TEXT_TAG: Final = "tag:yaml.org,2002:str"


@dataclass(frozen=True)
class Document:
    """What a text says: the plain value, and for each path in it the 1-based line where it stands."""

    value: Any
    lines: Mapping[Path, int]

    def line(self, path: Path) -> int | None:
        """Return the line of `path`, or of the nearest thing around it that has one."""
        return next((self.lines[path[:size]] for size in range(len(path), -1, -1) if path[:size] in self.lines), None)


def dotted(path: Path) -> str:
    """Return `("tasks", 2, "depends_on", 0)` as `tasks[2].depends_on[0]`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def read(source: str | bytes, *, name: str = "") -> Document:
    """Return what a YAML text says. Raises `Invalid` with the line and the fix for whatever cannot be taken.

    `name`: what the file is called in the message.
    """
    try:
        return _read(source)
    except Invalid as refused:
        if not name:
            raise
        raise Invalid(f"{name}: {refused.message}", problems=refused.problems) from refused


def _read(source: str | bytes) -> Document:
    text = clean(decode(source))
    builder = _Builder()
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        raise _syntax(error, text) from error
    except yaml.YAMLError as error:
        raise _refuse(f"It is not readable YAML: {cut(str(error), 200)}", fix="Save it as plain UTF-8 text.") from error
    builder.problems.raise_if_any("The file cannot be read.")
    return Document(builder.root, builder.lines)


def decode(source: str | bytes) -> str:
    """Return the text of a file. Raises `Invalid` where it is too large or not UTF-8."""
    size = len(source.encode("utf-8", "surrogatepass")) if isinstance(source, str) else len(source)
    if size > MAX_BYTES:
        raise _refuse(f"The file is {size:,} bytes large; at most {MAX_BYTES:,} (1 MiB) are read.", fix="Split the plan.")
    if isinstance(source, str):
        return source.removeprefix("\ufeff")
    try:
        return source.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = source.count(b"\n", 0, error.start) + 1
        raise _refuse(f"Byte {error.start + 1} is not UTF-8.", line=line, fix="Save the file as UTF-8.") from error


def _refuse(message: str, *, line: int | None = None, fix: str = "") -> Invalid:
    problem = Problem(message, line=line, fix=fix)
    return Invalid(str(problem), problems=(problem,))


def _syntax(error: yaml.MarkedYAMLError, text: str) -> Invalid:
    mark = error.problem_mark or error.context_mark
    line = min(mark.line + 1, max(1, len(text.rstrip().splitlines()))) if mark else None  # not behind the end of what is written
    around = text.splitlines()[mark.line : mark.line + 1] if mark else []
    if around and "\t" in around[0][: len(around[0]) - len(around[0].lstrip())]:
        return _refuse("A tab indents this line.", line=line, fix="Use spaces.")
    words = " ".join(part for part in (error.context, error.problem) if part)
    return _refuse(f"It is not YAML: {words}.", line=line, fix="Check indentation, quotes and colons here.")


@dataclass
class _Open:
    """A list or mapping that is being read."""

    value: Any
    path: Path
    anchor: str | None
    key: str | None = None
    expects_key: bool = False
    size: int = 1


class _Builder:
    """Takes parser events one by one and builds plain values."""

    def __init__(self) -> None:
        self.root: Any = None
        self.lines: dict[Path, int] = {}
        self.problems = Problems()
        self.open: list[_Open] = []
        self.anchors: dict[str, tuple[Any, int]] = {}
        self.documents = self.values = 0

    def take(self, event: yaml.Event) -> None:
        """Add one event. Raises `Invalid` at once for what would let the file grow without bound."""
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.DocumentStartEvent):
            self.documents += 1
            if self.documents > 1:
                raise _refuse("A second document begins here.", line=line, fix="Remove the line ---.")
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            self._close()
        elif isinstance(event, yaml.ScalarEvent):
            self._scalar(event, line)
        elif isinstance(event, yaml.AliasEvent):
            self._alias(event, line)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            self._begin(event, line)

    def _begin(self, event: yaml.MappingStartEvent | yaml.SequenceStartEvent, line: int) -> None:
        mapping = isinstance(event, yaml.MappingStartEvent)
        if len(self.open) >= MAX_DEPTH:
            raise _refuse(f"Values nest deeper than {MAX_DEPTH} here.", line=line)
        if self.open and self.open[-1].expects_key:
            raise _refuse("A key must be one word or text.", line=line)
        self._check_tag(event.tag, line)
        path = self._place(line)
        self.open.append(_Open({} if mapping else [], path, event.anchor, expects_key=mapping))

    def _close(self) -> None:
        done = self.open.pop()
        if done.anchor:
            self.anchors[done.anchor] = (done.value, done.size)
        self._add(done.value, done.size)

    def _scalar(self, event: yaml.ScalarEvent, line: int) -> None:
        self._check_tag(event.tag, line)
        if self.open and self.open[-1].expects_key:
            self._key(event.value, line)
            return
        plain = event.implicit[0] and event.tag is None
        self._place(line)
        value = _plain(event.value) if plain else event.value
        if event.anchor:
            self.anchors[event.anchor] = (value, 1)
        self._add(value, 1)

    def _key(self, name: str, line: int) -> None:
        top = self.open[-1]
        if name == "<<":
            self.problems.add("Merging (<<) is not supported.", path=dotted(top.path), line=line, fix="Write the fields out.")
        elif name in top.value:
            first = self.lines.get((*top.path, name))
            self.problems.add(f'"{name}" stands twice; first in line {first}.', path=dotted(top.path), line=line, fix="Keep one.")
        top.key, top.expects_key = name, False
        self.lines[(*top.path, name)] = line

    def _alias(self, event: yaml.AliasEvent, line: int) -> None:
        if event.anchor not in self.anchors:
            raise _refuse(f"*{event.anchor} is used before &{event.anchor} ends.", line=line)
        if self.open and self.open[-1].expects_key:
            raise _refuse("A key must be one word or text.", line=line)
        value, size = self.anchors[event.anchor]
        self._place(line)
        self._add(value, size)

    def _check_tag(self, tag: str | None, line: int) -> None:
        if tag not in (None, "!", _TEXT_TAG):
            self.problems.add(f"The tag {cut(str(tag), 60)} is not supported.", line=line, fix="Remove it.")

    def _place(self, line: int) -> Path:
        """The path of the value that comes next; remembers its line unless its key has done so."""
        if not self.open:
            path: Path = ()
        else:
            top = self.open[-1]
            path = (*top.path, top.key if isinstance(top.value, dict) else len(top.value))  # type: ignore[arg-type]
        self.lines.setdefault(path, line)
        return path

    def _add(self, value: Any, size: int) -> None:
        self.values += size
        if self.values > MAX_VALUES:
            raise _refuse(f"The file holds more than {MAX_VALUES:,} values, anchors written out.", fix="Split the plan.")
        if not self.open:
            self.root = value
            return
        top = self.open[-1]
        top.size += size
        if isinstance(top.value, list):
            top.value.append(value)
        else:
            top.value[top.key] = value
            top.key, top.expects_key = None, True


def _plain(text: str) -> Any:
    """The value of an unquoted scalar."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text
