"""Reviews how tasks are written: what will make an agent ask, guess or go wrong. Shows, never blocks.

Each rule is a pure function from tasks to findings. The measures (5 to 30 minutes, criteria that can be checked, named files)
are those of docs/good-tasks.md.
"""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from tasks_app.domain import graph
from tasks_app.domain.text import cut, one_line

SMALL_MIN, LARGE_MIN = 5.0, 30.0
"""The window of a task in minutes: below, handing it over costs more than it; above, nobody sees in time that it goes wrong."""
MANY_CRITERIA: Final = 8
LONG_CHAIN: Final = 4
"""So many tasks in a row, one agent at work, are worth a look."""


class Code(StrEnum):
    """What is found; stable, documented in docs/good-tasks.md."""

    VAGUE_TITLE = "vague_title"
    NO_DESCRIPTION = "no_description"
    NO_CRITERIA = "no_criteria"
    UNTESTABLE = "untestable"
    OPEN_DECISION = "open_decision"
    TOO_LARGE = "too_large"
    TOO_SMALL = "too_small"
    NO_NAMES = "no_names"
    HIDDEN_DEPENDENCY = "hidden_dependency"
    WASTEFUL_CHAIN = "wasteful_chain"


@dataclass(frozen=True)
class Example:
    """A poor and a good way to write the same thing."""

    poor: str
    good: str


EXAMPLES: Final[Mapping[Code, Example]] = {
    Code.VAGUE_TITLE: Example("Improve the login", "Lock an account for 15 minutes after 5 wrong passwords"),
    Code.NO_DESCRIPTION: Example(
        "(nothing)", "Store invoices in SQLite, from `billing.invoice.Invoice` and back, in billing/store.py."
    ),
    Code.NO_CRITERIA: Example("(nothing)", "`pytest tests/test_login.py` passes; the sixth wrong password answers 429"),
    Code.UNTESTABLE: Example("The page works well", "GET /invoices/7 answers 200 and shows net, VAT and gross"),
    Code.OPEN_DECISION: Example("Use Redis or something similar", "Use Redis (REDIS_URL); ask before you add another service"),
    Code.TOO_LARGE: Example(
        "Build the billing system",
        "Three tasks: schema in billing/store.py; charge in billing/payments.py; page in billing/page.py",
    ),
    Code.TOO_SMALL: Example("Rename a variable", "Rename `amt` to `gross_amount` in billing/ and in its tests, and run them"),
    Code.NO_NAMES: Example("Fix the export", "Fix `export_csv()` in reports/export.py: dates come out as numbers"),
    Code.HIDDEN_DEPENDENCY: Example(
        "Two tasks that both change billing/page.py, side by side", "The second has depends_on: [first]; or each has its own file"
    ),
    Code.WASTEFUL_CHAIN: Example(
        "schema → api → page → docs, one after another", "schema first; then api, page and docs side by side"
    ),
}


@dataclass(frozen=True)
class Written:
    """A task as it is written. `needs` are places of other tasks in the same sequence."""

    label: str
    title: str
    description: str = ""
    criteria: tuple[str, ...] = ()
    minutes: tuple[float, float] | None = None
    needs: tuple[int, ...] = ()


@dataclass(frozen=True)
class Finding:
    """One thing to write better. `path` is where, as in a plan file; `label` names the task."""

    code: Code
    label: str
    path: str
    says: str
    write: str
    example: Example = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "example", EXAMPLES[self.code])


_GENERIC = frozenset(
    re.findall(
        r"\S+",
        """
        a all and any app application bug bugs bugfix change changes cleanup clean code do docs enhance feature features fix fixes
        for general handle implement improve improvements in it issue issues it's make misc miscellaneous more of on optimize
        polish problem problems project refactor refactoring some stuff support task tasks test tests the thing things tidy up
        update updates various work write
        """,
    )
)
"""Words that tell nothing of a task."""
_NO_END = frozenset({"clean", "cleanup", "enhance", "improve", "optimise", "optimize", "polish", "refactor", "rework", "tidy"})
"""Verbs that never end: with one more word nobody knows what will be different."""
_SOFT = re.compile(
    r"(?i)\b(works?|working|well|good|nice(?:ly)?|clean(?:ly)?|proper(?:ly)?|correct(?:ly)?|as expected|robust|high.quality|"
    r"user.friendly|intuitive|fast|quick(?:ly)?|efficient(?:ly)?|performant|scalable|maintainable|readable|complete[d]?|done|"
    r"finished|ready|fine|better|improved|optimi[sz]ed|polished|reasonable|appropriate(?:ly)?|looks? (?:good|nice|ok))\b"
)
_HARD = re.compile(
    r"\d|[`\"“'][^`\"”']+[`\"”']|/\w|\w\.\w{1,5}\b|\w\(\)|\b[A-Z]{3,}\b|(?i:\b(?:passes|pass|fails?|returns?|raises?|prints?|shows?|"
    r"exists?|contains?|equal|equals|refused?|reject(?:s|ed)?|stored|listed|named|escaped|empty|without|only|once|never|each|every|"
    r"before|after|documented|tested|logged|sorted|visible|removed|unchanged)\b)"
)
_OPEN = re.compile(
    r"(?i)\b(etc|and so on|tbd|tba|to be (?:decided|defined|determined)|somehow|or (?:something )?similar|something like|"
    r"as (?:needed|appropriate|you see fit)|if (?:possible|needed|necessary)|when(?:ever)? possible|whatever|maybe|perhaps|"
    r"and more|or so|best practices?)\b|\?\s*$|\?\s+[A-Z]"
)
_FILE = re.compile(
    r"(?<![\w/.])(?:[\w.-]+/)*[\w-][\w.-]*\.(?:[a-z][a-z0-9]{0,4})\b(?!\()|(?<![\w/])(?:[\w.-]+/)+(?:[\w.-]+)?", re.ASCII
)
_NAME = re.compile(
    r"`[^`]+`|\b\w+\(\)|\b[a-z]+_[a-z_]+\b|\b[a-z]+[A-Z]\w+\b|\b[A-Z][a-z]+[A-Z]\w*\b|https?://|"
    r"(?:GET|POST|PUT|DELETE|PATCH) /"
)
_NO_FILE = re.compile(r"(?i)^(?:e\.g|i\.e|etc\.|and/or|he/she|n/a|yes/no|read/write|input/output|\d+[./]\d+.*)$")


def review(tasks: Sequence[Written], *, agents: int = 1, at: str = "tasks[{n}]") -> tuple[Finding, ...]:
    """Return what could be written better, task by task, then what shows only between tasks. `at` is the path of task `{n}`."""
    found: list[Finding] = []
    for place, task in enumerate(tasks):
        where = at.format(n=place)
        for code, part, says, write in _alone(task):
            found.append(Finding(code, task.label, f"{where}.{part}" if where else part, says, write))
    for place, code, part, says, write in (*_shared_files(tasks), *_chain(tasks, agents)):
        where = at.format(n=place)
        found.append(Finding(code, tasks[place].label, f"{where}.{part}" if where else part, says, write))
    return tuple(found)


def review_one(task: Written, others: Sequence[Written] = ()) -> tuple[Finding, ...]:
    """Return what could be written better in a task that joins `others`, which are not finished; its place is after theirs."""
    joined = [*others, task]
    beside = [
        Finding(code, task.label, part, says, write)
        for place, code, part, says, write in _shared_files(joined)
        if place == len(others)
    ]
    return (*review([replace(task, needs=())], at=""), *beside)


_Alone = Iterator[tuple[Code, str, str, str]]
_Between = Iterator[tuple[int, Code, str, str, str]]


def _alone(task: Written) -> _Alone:
    yield from _title(task)
    yield from _description(task)
    yield from _criteria(task)
    yield from _size(task)


def _title(task: Written) -> _Alone:
    words = re.findall(r"[\w'-]+", task.title.lower())
    telling = [word for word in words if word not in _GENERIC]
    if not telling or (words[0] in _NO_END and len(telling) <= 1):
        says = f"“{cut(task.title, 60)}” could be any task."
        yield Code.VAGUE_TITLE, "title", says, "Say what will be different when it is done, and where."


def _description(task: Written) -> _Alone:
    text = task.description.strip()
    if not text:
        yield (
            Code.NO_DESCRIPTION,
            "description",
            "There is no description.",
            "Say what to build, in which files, and what not to touch.",
        )
        return
    if found := _OPEN.search(text):
        says = f"“{one_line(_around(text, found), 80)}” leaves a decision to the agent."
        yield Code.OPEN_DECISION, "description", says, "Decide it here, or say that the agent must ask."
    everything = " ".join((task.title, text, *task.criteria))
    if not files_in(everything) and not _NAME.search(everything):
        says = "It names no file, function, address or command."
        yield Code.NO_NAMES, "description", says, "Name the files to change and the interface that others will use."


def _around(text: str, found: re.Match[str]) -> str:
    return text[max(0, found.start() - 30) : found.end() + 20]


def _criteria(task: Written) -> _Alone:
    if not task.criteria:
        says = "There are no acceptance criteria: nobody can tell when it is done."
        yield Code.NO_CRITERIA, "criteria", says, "Write two to five facts that a stranger could check."
    for number, text in enumerate(task.criteria):
        if _SOFT.search(text) and not _HARD.search(text):
            says = f"“{cut(text, 80)}” cannot be checked: two people could disagree."
            yield Code.UNTESTABLE, f"criteria[{number}]", says, "Name a command, a value, a file or what is seen."


def _size(task: Written) -> _Alone:
    low, high = task.minutes or (SMALL_MIN, LARGE_MIN)
    advice = "Split it, so that each part ends in 5 to 30 minutes with something that can be checked."
    if low > LARGE_MIN or high > 2 * LARGE_MIN:
        says = f"It is expected to take {_span(low, high)} minutes."
        yield Code.TOO_LARGE, "expected_minutes", says, advice
    elif len(task.criteria) > MANY_CRITERIA:
        yield Code.TOO_LARGE, "criteria", f"{len(task.criteria)} acceptance criteria are several tasks.", advice
    elif high < SMALL_MIN:
        says = f"It is expected to take {_span(low, high)} minutes: handing it over costs more."
        yield Code.TOO_SMALL, "expected_minutes", says, "Join it with the task that uses its result."


def _span(low: float, high: float) -> str:
    return f"{high:g}" if low in (0, high) else f"{low:g} to {high:g}"


def files_in(text: str) -> frozenset[str]:
    """Return the files and folders that a text names: `billing/page.py`, `docs/`."""
    found = (match.rstrip(".,:;") for match in _FILE.findall(re.sub(r"https?://\S+", " ", text)))
    return frozenset(name for name in found if not _NO_FILE.match(name) and re.search(r"[A-Za-z]", name))


def _shared_files(tasks: Sequence[Written]) -> _Between:
    """Two tasks that name the same file and of which neither waits for the other will meet in it."""
    deps = {place: task.needs for place, task in enumerate(tasks)}
    before = {place: _all_before(place, deps) for place in deps}
    users: dict[str, list[int]] = {}
    for place, task in enumerate(tasks):
        for name in files_in(f"{task.title} {task.description}"):  # what criteria name is looked at, not changed
            if not name.endswith("/"):
                users.setdefault(name, []).append(place)
    told: dict[tuple[int, int], list[str]] = {}
    for name, places in sorted(users.items()):
        for nth, second in enumerate(places):
            first = next((one for one in reversed(places[:nth]) if one not in before[second] and second not in before[one]), None)
            if first is not None:  # the nearest one; each pair would be told hundreds of times in a large plan
                told.setdefault((first, second), []).append(name)
    for (first, second), names in told.items():
        says = f"It names {', '.join(names[:3])}, as “{cut(tasks[first].label, 60)}” does, and neither waits for the other."
        write = f"Add depends_on: [{tasks[first].label}], or say which of them changes the file."
        yield second, Code.HIDDEN_DEPENDENCY, "depends_on", says, write


def _all_before(place: int, deps: Mapping[int, Sequence[int]]) -> set[int]:
    seen: set[int] = set()
    rest = list(deps[place])
    while rest:
        one = rest.pop()
        if one not in seen:
            seen.add(one)
            rest += deps[one]
    return seen


def _chain(tasks: Sequence[Written], agents: int) -> _Between:
    """A chain through nearly every task keeps all agents but one idle; the link that shares no file is named."""
    if agents < 2 or len(tasks) < LONG_CHAIN:
        return
    deps = {place: task.needs for place, task in enumerate(tasks)}
    path = graph.critical_path(deps, dict.fromkeys(deps, 1.0)).path
    if len(path) < LONG_CHAIN or len(path) * 2 <= len(tasks) + 1:
        return
    link = next((two for one, two in itertools.pairwise(path) if not _common(tasks[one], tasks[two])), path[-1])
    says = f"{len(path)} of {len(tasks)} tasks wait for one another in a row, so {agents} agents work like one."
    write = (
        f"Look whether “{cut(tasks[link].label, 60)}” truly needs what it waits for; agree on the interface in both descriptions."
    )
    yield link, Code.WASTEFUL_CHAIN, "depends_on", says, write


def _common(one: Written, two: Written) -> bool:
    return bool(files_in(f"{one.title} {one.description}") & files_in(f"{two.title} {two.description}"))
