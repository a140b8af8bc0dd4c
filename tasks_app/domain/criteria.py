"""Acceptance criteria: reading them, and finding those that are not met.

Stored is a text, for which the agent itself gives evidence, or a mapping that says who proves it: `{"check": command}`,
`{"artifact": path or address}` or `{"judge": who, "text": …}`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from tasks_app.domain.errors import Problems
from tasks_app.domain.text import clean, one_line

MAX_CRITERIA: Final = 50
MAX_LENGTH: Final = 1000
_BULLET = re.compile(r"^\s*(?:[-*•]\s*(?:\[[ xX]\]\s*)?|\d{1,3}[.)]\s+)")


LEAD: Final = "lead"
"""The judge that is a person: whoever answers for the team."""
PERSON: Final = "@"
"""What stands before the name of a judge that is one particular person."""
CHECK_S: Final = 120.0
MAX_CHECK_S: Final = 1800.0
"""How long a check may take in seconds, where its criterion says nothing, and at most."""
Stored = str | Mapping[str, Any]


class Proof(StrEnum):
    """What shows that a criterion is met."""

    SAID = "said"  # the agent gives evidence in words
    CHECK = "check"  # a command that the server runs in the workspace ends with 0
    ARTIFACT = "artifact"  # a file is there, or an address is named in the evidence
    JUDGE = "judge"  # somebody other than the agent looks at it


PROVED: Final = (Proof.CHECK, Proof.ARTIFACT, Proof.JUDGE)


@dataclass(frozen=True)
class Criterion:
    """One acceptance criterion with its number, counted from 1. `value`: the command, the file or address, or who judges."""

    number: int
    text: str
    proof: Proof = Proof.SAID
    value: str = ""
    limit_s: float = CHECK_S

    def __str__(self) -> str:
        return f"{self.number}. {self.text}"

    def reviewed_by(self, author: str) -> str:
        """Return the agent that judges it in a task of its own; empty: nobody, or it would judge its own work."""
        return self.value if self.proof is Proof.JUDGE and not self.person and self.value not in (LEAD, author) else ""

    @property
    def person(self) -> str:
        """The account of the one person who judges it; empty: nobody in particular."""
        return self.value.removeprefix(PERSON) if self.proof is Proof.JUDGE and self.value.startswith(PERSON) else ""


@dataclass(frozen=True)
class Result:
    """What came of proving one criterion of `PROVED`. `tail`: the last lines that a check printed."""

    number: int
    proof: Proof
    met: bool
    says: str
    exit_code: int | None = None
    tail: str = ""
    seconds: float = 0.0
    by: str = ""  # who judged

    def dump(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        return {**{name: getattr(self, name) for name in self.__dataclass_fields__}, "proof": self.proof.value}

    @classmethod
    def load(cls, kept: Mapping[str, Any]) -> "Result":
        """Return what `dump` gave."""
        return cls(**{**kept, "proof": Proof(kept["proof"])})


@dataclass(frozen=True)
class Unmet:
    """A criterion that is not met, and why."""

    criterion: Criterion
    why: str
    tail: str = field(default="")

    def __str__(self) -> str:
        printed = f"\n{self.tail}" if self.tail else ""
        return f"{self.criterion}: {self.why}{printed}"


def parse(given: str | Sequence[Stored]) -> tuple[Stored, ...]:
    """Return the criteria from a list, or from a text with one a line (bullets and numbers go, empty lines are skipped).

    Raises `Invalid` for an empty or repeated criterion in a list, one that is too long, or too many.
    """
    lines = [_BULLET.sub("", line) for line in given.splitlines() if line.strip()] if isinstance(given, str) else list(given)
    problems, seen = Problems(), dict[str, int]()
    for number, line in enumerate(lines):
        _check(_words(line), number, seen, problems)
    if len(lines) > MAX_CRITERIA:
        problems.add(f"{len(lines)} criteria; at most {MAX_CRITERIA}.", path="criteria", fix="Split the task.")
    problems.raise_if_any("The acceptance criteria cannot be taken.")
    return tuple(" ".join(clean(line).split()) if isinstance(line, str) else _plain(line) for line in lines)


def _plain(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: clean(value).strip() if isinstance(value, str) else value for name, value in given.items()}


def read(stored: Sequence[Stored]) -> tuple[Criterion, ...]:
    """Return stored criteria, numbered."""
    return tuple(_read(number, one) for number, one in enumerate(stored, 1))


def _read(number: int, stored: Stored) -> Criterion:
    if isinstance(stored, str):
        return Criterion(number, stored)
    proof = next((each for each in PROVED if stored.get(each.value)), Proof.SAID)
    limit_s = stored.get("seconds") or CHECK_S
    return Criterion(number, _words(stored), proof, str(stored.get(proof.value, "")), min(float(limit_s), MAX_CHECK_S))


def texts(stored: Sequence[Stored]) -> tuple[str, ...]:
    """Return stored criteria as people and agents read them."""
    return tuple(one.text for one in read(stored))


def _words(stored: Stored) -> str:
    """The text of a criterion; of one without, what would show that it is met."""
    if isinstance(stored, str):
        return stored
    if text := str(stored.get("text") or "").strip():
        return text
    if command := stored.get("check"):
        return f"`{one_line(str(command), 300)}` succeeds"
    if artifact := str(stored.get("artifact") or ""):
        return f"An address below {artifact} is named" if is_address(artifact) else f"{artifact} is there"
    return str((stored.get("judge") and f"{stored['judge']} accepts it") or "")


def asked(criterion: Criterion) -> str:
    """Return a criterion as an agent is told it: with who will look, and at what."""
    how = {
        Proof.CHECK: f"proved by the server, which runs `{criterion.value}` in the workspace",
        Proof.ARTIFACT: f"proved by an address in your evidence that begins with {criterion.value}"
        if is_address(criterion.value)
        else f"proved by {criterion.value}, which must be in the workspace",
        Proof.JUDGE: f"judged by {criterion.value}: say in your evidence what to look at",
    }.get(criterion.proof)
    return f"{criterion.text} ({how})" if how else criterion.text


def is_address(artifact: str) -> bool:
    """Whether an artifact is an address and not a file of the workspace."""
    return artifact.lower().startswith(("http://", "https://"))


def commands(stored: Sequence[Stored]) -> tuple[str, ...]:
    """Return the commands that the server would run."""
    return tuple(one.value for one in read(stored) if one.proof is Proof.CHECK)


def _check(line: str, number: int, seen: dict[str, int], problems: Problems) -> None:
    path, folded = f"criteria[{number}]", fold(line)
    if not folded:
        problems.add("is empty.", path=path, fix="Say what must hold when the task is done.")
    elif folded in seen:
        problems.add(f"repeats criteria[{seen[folded]}].", path=path, fix="Remove one of them.")
    elif len(line) > MAX_LENGTH:
        problems.add(f"is {len(line)} characters long; at most {MAX_LENGTH}.", path=path, fix="Move details to the description.")
    seen.setdefault(folded, number)


def fold(text: str) -> str:
    """Return `text` as criteria are compared: case, white space, bullets and a last full stop do not count."""
    return " ".join(_BULLET.sub("", clean(text)).casefold().split()).rstrip(".")


def evidence_for(criterion: Criterion, evidence: Mapping[str, object]) -> str:
    """Return the evidence an agent gave, found under the number (`"1"`, `"1."`, `"#1"`) or the text; blank is none."""
    for key, value in evidence.items():
        folded = fold(str(key))
        numbered = re.fullmatch(r"(?:#|criterion )?(\d{1,4})[.):]?", folded)
        mine = int(numbered[1]) == criterion.number if numbered else folded == fold(criterion.text)
        if mine and _says_something(value):
            return clean(value).strip() if isinstance(value, str) else str(value)
    return ""


def unmet(stored: Sequence[Stored], evidence: Mapping[str, object], results: Mapping[int, Result]) -> list[Unmet]:
    """Return the criteria that are not met, in their order: no evidence, or no result of a proof that says so."""
    found = []
    for one in read(stored):
        result = results.get(one.number)
        if one.proof is Proof.SAID:
            found += [] if evidence_for(one, evidence) else [Unmet(one, "no evidence was given")]
        elif result is None or result.proof is not one.proof:
            found.append(Unmet(one, NOT_PROVED[one.proof]))
        elif not result.met:
            found.append(Unmet(one, result.says, result.tail))
    return found


NOT_PROVED: Final[Mapping[Proof, str]] = {
    Proof.CHECK: "the check has not been run",
    Proof.ARTIFACT: "nobody has looked for it",
    Proof.JUDGE: "it is looked at when all others are met",
}


def _says_something(value: object) -> bool:
    if isinstance(value, str):
        return bool(clean(value).strip())
    return value is not None and value is not False and value != [] and value != {}
