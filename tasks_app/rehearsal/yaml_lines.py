"""YAML with line numbers: plain values plus, for each path, the line where it stands."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from tasks_app.domain import text as texts
from tasks_app.domain.errors import Invalid, Problem, Problems

Path = tuple[str | int, ...]

MAX_CHARACTERS: Final = 2_000_000
MAX_NODES: Final = 100_000
"""Values after aliases are expanded: a few anchors that quote each other must not become a billion of them."""
MAX_DEPTH: Final = 60


class _Loader(yaml.SafeLoader):
    """Safe YAML whose dates stay text, so that every value is JSON."""


_Loader.yaml_implicit_resolvers = {
    first: [pair for pair in pairs if pair[0] != "tag:yaml.org,2002:timestamp"]
    for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


@dataclass(frozen=True)
class Document:
    """What a YAML text says. `lines` maps a path such as `("parts", 0, "agent")` to its 1-based line."""

    value: Any
    lines: Mapping[Path, int]

    def line(self, path: Path) -> int | None:
        """Return the line of `path`, or of the nearest thing around it that has one."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return None


def dotted(path: Path) -> str:
    """Return `("parts", 0, "agent")` as `parts[0].agent`."""
    shown = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return shown.removeprefix(".")


def read(text: str) -> Document:
    """Return the document in `text`. Raises `Invalid` that names every problem: syntax, two equal keys, size, unknown tags."""
    if len(text) > MAX_CHARACTERS:
        raise Invalid(f"The file has {len(text):,} characters; at most {MAX_CHARACTERS:,} are read. Split it.")
    loader = _Loader(texts.clean(text))
    try:
        node = loader.get_single_node()
    except (yaml.YAMLError, RecursionError) as error:
        raise _syntax(error) from error
    finally:
        loader.dispose()
    reading = _Reading()
    value = reading.value(node, ()) if node is not None else None
    reading.problems.raise_if_any("The file cannot be read.")
    return Document(value, reading.lines)


def _syntax(error: Exception) -> Invalid:
    mark = getattr(error, "problem_mark", None)
    what = getattr(error, "problem", None) or getattr(error, "reason", None) or "it nests too deeply"
    problem = Problem(
        f"This is not valid YAML: {what}.", line=mark.line + 1 if mark else None, fix="Check quotes and indentation."
    )
    return Invalid("The file is not valid YAML.", problems=(problem,))


@dataclass
class _Reading:
    """One walk over the nodes; `nodes` counts what aliases expand to."""

    lines: dict[Path, int] = field(default_factory=dict)
    problems: Problems = field(default_factory=Problems)
    nodes: int = 0

    def value(self, node: yaml.Node, path: Path) -> Any:
        self.nodes += 1
        line = node.start_mark.line + 1
        self.lines.setdefault(path, line)
        if self.nodes > MAX_NODES or len(path) > MAX_DEPTH:
            if not any(problem.fix == "Make it smaller." for problem in self.problems.items):
                self.problems.add("The file holds too much.", path=dotted(path), line=line, fix="Make it smaller.")
            return None
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*path, index)) for index, item in enumerate(node.value)]
        return self._scalar(node, path)

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key, line = str(key_node.value), key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                self.problems.add(
                    "A key must be a word.", path=dotted(path), line=line, fix="Quote text that starts with { or [."
                )
                continue
            if key in found:
                self.problems.add(f"`{key}` is given twice.", path=dotted((*path, key)), line=line, fix="Keep one.")
            self.lines[(*path, key)] = line
            found[key] = self.value(value_node, (*path, key))
        return found

    def _scalar(self, node: yaml.Node, path: Path) -> Any:
        maker = yaml.constructor.SafeConstructor()
        try:
            value = maker.construct_object(node)
        except (yaml.YAMLError, ValueError, OverflowError) as error:
            fix = "Quote the value."
            self.problems.add(f"This value cannot be read: {error}", path=dotted(path), line=node.start_mark.line + 1, fix=fix)
            return None
        return value if value is None or isinstance(value, str | int | float | bool) else str(node.value)
