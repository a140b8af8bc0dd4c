"""A scripted lead: the rules of a LEAD.yaml file, read with every error at once, and which of them answers what."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from tasks_app.decision_kinds import registry
from tasks_app.domain import plan_lines
from tasks_app.domain.errors import Invalid, Problem
from tasks_app.domain.plan_lines import Document, dotted
from tasks_app.domain.statuses import DecisionKind
from tasks_app.management import small_files

ACTOR = "user:lead (scripted)"
Seconds = Annotated[float, Field(ge=0, le=86_400)]


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class When(_Strict):
    """Which request: every field that is given must hold."""

    kind: DecisionKind | None = None
    task: str = Field(default="*", min_length=1, description="Key, label (T-3) or title of the task; * and ? stand for any text")
    agent: str = Field(default="*", min_length=1, description="Name of the agent; * and ? allowed")
    contains: str = Field(default="", max_length=1000, description="A text in the title or the content of the request")
    nth: int | None = Field(default=None, ge=1, description="The first, second, … request of this team that fits the rest")


class Answer(_Strict):
    """What the lead says. `pick` chooses options by a part of their label, `data` gives the answer in its stored form."""

    choice: str
    note: str = Field(default="", max_length=20_000)
    text: str = Field(default="", max_length=20_000, description="Free text of an escalation: guidance for the agent")
    pick: Annotated[list[str], BeforeValidator(_as_list)] = []
    data: dict[str, Any] = {}


class Failed(_Strict):
    """Which failed attempt."""

    task: str = Field(default="*", min_length=1)
    attempt: int | None = Field(default=None, ge=1)


class Reassign(_Strict):
    """To whom a failed task goes."""

    to: str = Field(min_length=1)
    guidance: str = Field(default="", max_length=20_000)
    start: Literal["clean", "last"] = "clean"


class Rule(_Strict):
    """Either `when` with `answer`, or `on_failed` with `reassign`."""

    when: When | None = None
    answer: Answer | None = None
    on_failed: Failed | None = None
    reassign: Reassign | None = None
    after: Seconds | None = Field(default=None, description="Seconds to wait before acting; the file's own `after` if left out")

    @model_validator(mode="after")
    def _is_a_pair(self) -> Self:
        asked, failed = (self.when, self.answer), (self.on_failed, self.reassign)
        if not (all(asked) and not any(failed)) and not (all(failed) and not any(asked)):
            raise PydanticCustomError("rule", "needs `when` and `answer`, or `on_failed` and `reassign`")
        if self.when and self.answer and self.when.kind:
            choices = registry.get(self.when.kind.value).CHOICES
            if self.answer.choice not in choices:
                raise PydanticCustomError(
                    "choice",
                    "answers a {kind} with `{given}`; it can be answered with {choices}",
                    {"kind": self.when.kind.value, "given": self.answer.choice, "choices": ", ".join(choices)},
                )
        return self


class Lead(_Strict):
    """A scripted lead. `default` answers, by kind, what no rule fits; without it such a request waits for a person."""

    after: Seconds = 0.5
    rules: list[Rule] = Field(default=[], max_length=1000)
    default: dict[DecisionKind, Answer] = {}


@dataclass(frozen=True)
class Request:
    """A request to the lead, as far as rules look at it. `task` holds every name of the task."""

    id: str
    kind: DecisionKind
    title: str
    agent: str
    task: tuple[str, ...]
    payload: Mapping[str, Any]
    open: bool


@dataclass(frozen=True)
class Reply:
    """The answer to one request in its stored form, and after how many seconds."""

    choice: str
    note: str
    data: Mapping[str, Any]
    after_s: float


def load(source: str | Path) -> Lead:
    """Return the scripted lead in a text or file. Raises `Invalid` that names every problem with its line."""
    named = "" if isinstance(source, str) else source.name
    document = plan_lines.read(source if isinstance(source, str) else _file(source), name=named)
    value = document.value
    if not isinstance(value, dict):
        raise Invalid(
            "A lead file is a mapping.", problems=(Problem("It must have `rules:`.", line=1, fix="See docs/operations.md."),)
        )
    try:
        return Lead.model_validate(value)
    except ValidationError as error:
        problems = [
            _problem(detail["loc"], detail["msg"], detail["type"], document) for detail in error.errors(include_url=False)
        ]
    problems.sort(key=lambda problem: problem.line or 0)
    raise Invalid(f"The lead file has {len(problems)} problem{'s' if len(problems) > 1 else ''}.", problems=tuple(problems))


def reply(lead: Lead, request: Request, *, all_requests: Sequence[Request]) -> Reply | None:
    """Return what the lead answers to `request`, one of `all_requests` (oldest first); None leaves it to a person."""
    for rule in lead.rules:
        if rule.when and rule.answer and _fits(rule.when, request, all_requests):
            return _reply(rule.answer, request, after_s=lead.after if rule.after is None else rule.after)
    fallback = lead.default.get(request.kind)
    return _reply(fallback, request, after_s=lead.after) if fallback else None


def reassignment(lead: Lead, *, task: tuple[str, ...], attempt: int) -> tuple[Reassign, float] | None:
    """Return what follows the failure of that attempt, and after how many seconds; None leaves it to the team's policy."""
    for rule in lead.rules:
        if rule.on_failed and rule.reassign and _named(rule.on_failed.task, task) and rule.on_failed.attempt in (None, attempt):
            return rule.reassign, lead.after if rule.after is None else rule.after
    return None


def _fits(when: When, request: Request, all_requests: Sequence[Request]) -> bool:
    if not _matches(when, request):
        return False
    alike = [each.id for each in all_requests if _matches(when, each)]
    return when.nth is None or (len(alike) >= when.nth and alike[when.nth - 1] == request.id)


def _matches(when: When, request: Request) -> bool:
    text = f"{request.title}\n{request.payload}".casefold()
    return (
        when.kind in (None, request.kind)
        and _named(when.task, request.task)
        and _named(when.agent, (request.agent,))
        and when.contains.casefold() in text
    )


def _named(pattern: str, names: tuple[str, ...]) -> bool:
    wanted = pattern.casefold().replace("[", "[[]")
    return pattern == "*" or any(fnmatchcase(name.casefold(), wanted) for name in names if name)


def _reply(answer: Answer, request: Request, *, after_s: float) -> Reply:
    data: dict[str, Any] = dict(answer.data)
    if request.kind is DecisionKind.ESCALATION:
        data.setdefault("text", answer.text)
        data |= {"option": _picked(answer.pick, request.payload.get("options"))} if answer.pick else {}
    elif request.kind is DecisionKind.QUESTION and answer.pick:
        data.setdefault("answers", _answers(answer.pick, request.payload))
    return Reply(answer.choice, answer.note, data, after_s)


def _answers(picks: Sequence[str], payload: Mapping[str, Any]) -> dict[str, Any]:
    """Each question gets the options on offer that were picked; where none of them is, the picks are its free text."""
    answers: dict[str, Any] = {}
    for question in payload.get("questions") or []:
        labels = [str(option.get("label", "")) for option in question.get("options") or []]
        chosen = [label for pick in picks for label in labels if pick.casefold() in label.casefold()]
        found: list[str] = list(dict.fromkeys(chosen)) or list(picks)
        answers[str(question.get("question", ""))] = found if question.get("multiSelect") else found[0]
    return answers


def _picked(picks: Sequence[str], options: Any) -> str:
    """Return the label with the first pick on offer; the first pick itself where none is, so that the refusal names it."""
    labels = [str(option.get("label", "")) for option in options or []]
    return next((label for pick in picks for label in labels if pick.casefold() in label.casefold()), picks[0])


def _file(path: Path) -> str:
    return small_files.read(path, what="lead file", field="lead").decode("utf-8", "replace")


def _problem(loc: tuple[int | str, ...], message: str, kind: str, document: Document) -> Problem:
    path = tuple(step for step in loc)
    while path and path not in document.lines:
        path = path[:-1]
    name = str(loc[-1]) if loc else ""
    if kind == "extra_forbidden":
        return Problem(f"`{name}` is not a known field.", dotted(loc), document.line(loc), "See docs/operations.md.")
    if kind == "missing":
        return Problem(f"`{name}` is missing.", dotted(loc), document.line(path), f"Add `{name}:`.")
    text = message.removeprefix("Input ")
    return Problem(text[:1].upper() + text[1:].rstrip(".") + ".", dotted(loc), document.line(path))
