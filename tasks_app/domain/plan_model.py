"""What a plan file may say: its Pydantic models, frozen and without unknown fields."""

import re
from collections.abc import Callable
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from tasks_app.domain import messaging, paths, rule_syntax
from tasks_app.domain.budget import MAX_TOKENS, MAX_USD, MIN_USD
from tasks_app.domain.criteria import Stored
from tasks_app.domain.errors import Invalid
from tasks_app.domain.plan_criteria import Criterion, refusal, stored
from tasks_app.domain.plan_fields import Decides, Number, Strict, Whole
from tasks_app.domain.text import clean_json

MAX_AGENTS: Final = 200
MAX_TASKS: Final = 1000
PRIORITIES: Final = {"high": 2, "normal": 5, "low": 8}
EXPECTED_MINUTES: Final = (5.0, 30.0)
MAX_MINUTES: Final = 10_080
KEY_PATTERN: Final = r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"
RESERVED_NAMES: Final = messaging.LEAD_NAMES | messaging.EVERYONE | {"system"}
"""Names that mean someone else wherever an agent is named."""


def _priority(value: Any) -> Any:
    if isinstance(value, str) and value.strip().lower() in PRIORITIES:
        return PRIORITIES[value.strip().lower()]
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 9:
        raise refusal("is not a priority.", "Write high, normal, low, or a number from 0 (first) to 9 (last).")
    return value


def _minutes(value: Any) -> Any:
    pair = [0, value] if isinstance(value, int | float) else value
    numbers = isinstance(pair, list | tuple) and len(pair) == 2 and all(_is_number(one) for one in pair)
    if not numbers:
        raise refusal("must be minutes.", "Write one number such as 20, or two such as [5, 30].")
    if not all(0 <= one <= MAX_MINUTES for one in pair) or pair[1] == 0:
        raise refusal(f"must be minutes above 0 and at most {MAX_MINUTES} (a week).", "Write, for example, [5, 30].")
    if pair[0] > pair[1]:
        raise refusal("is the wrong way round: the shorter time comes first.", f"Write [{pair[1]:g}, {pair[0]:g}].")
    return tuple(float(one) for one in pair)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _folder(value: Any) -> Any:
    return {"path": value} if isinstance(value, str) else value


def _mode(value: Any) -> Any:
    return {"mode": value} if isinstance(value, str) else value


def _rule(value: str) -> str:
    try:
        return rule_syntax.parse(value).text
    except Invalid as error:
        raise refusal(error.message.removesuffix(rule_syntax.FORM).strip(), rule_syntax.FORM) from error


def _beside(value: str) -> str:
    if paths.outside(value, "/plan") or value.startswith("/"):
        raise refusal("must be a path beside or below the plan file.", "Write, for example, rehearsal.yaml.")
    return value


def _agent_name(value: str) -> str:
    if value.casefold() in RESERVED_NAMES:
        raise refusal(f'"{value}" is reserved: it means someone else in messages.', f'Rename it, for example to "{value}-1".')
    return value


def _plain_json(value: Any) -> Any:
    return clean_json(value)


def _text(limit: int, *, least: int = 0) -> Any:
    return Field(min_length=least, max_length=limit)


Rule = Annotated[str, _text(rule_syntax.MAX_RULE, least=1), AfterValidator(_rule)]
Name = Annotated[str, _text(60, least=1)]
Priority = Annotated[
    int, BeforeValidator(_priority, json_schema_input_type=Annotated[int, Field(ge=0, le=9)] | Literal["high", "normal", "low"])
]
Minutes = Annotated[tuple[float, float], BeforeValidator(_minutes, json_schema_input_type=float | tuple[float, float])]


class Workspace(Strict):
    """The folder the agents work in. A text alone is its path."""

    path: Annotated[str, _text(1000)] = Field(default="", description="Folder, relative to the plan; empty: a new, empty folder")
    mode: Literal["copy", "in_place", "git"] = Field(
        default="copy", description="Work in a copy, in the folder itself, or in a clone"
    )
    ref: Annotated[str, _text(200, least=1)] | None = Field(default=None, description="Branch, tag or commit; only with mode git")

    @model_validator(mode="after")
    def _check_ref(self) -> Self:
        if self.ref is not None and self.mode != "git":
            raise refusal("A ref needs mode: git.", "Add mode: git, or leave the ref out.")
        if self.ref is not None and not re.fullmatch(r"[\w][\w./@^~-]*", self.ref):
            raise refusal("The ref is no branch, tag or commit.", "Write, for example, main or v1.2.")
        if self.mode != "copy" and not self.path:
            raise refusal(f"Mode {self.mode} needs a path.", "Add path: and the folder, or leave the mode out.")
        return self


class Budget(Strict):
    """Limits in money or tokens; what is left out has a safe default for the team, and none for a task or a run."""

    usd: Annotated[Number, Field(ge=float(MIN_USD), le=int(MAX_USD))] | None = None
    tokens: Annotated[Whole, Field(gt=0, le=MAX_TOKENS)] | None = None


class Limits(Strict):
    """How much happens at once, how often it is tried, and how long it may take."""

    parallel: Annotated[Whole, Field(ge=1, le=64)] = Field(default=2, description="Runs at the same time")
    attempts: Annotated[Whole, Field(ge=1, le=20)] = Field(default=3, description="Attempts at a task before the lead is asked")
    turns: Annotated[Whole, Field(ge=1, le=10_000)] | None = Field(default=None, description="Turns of one run; empty: no limit")
    minutes: Annotated[Number, Field(gt=0, le=10_080)] | None = Field(
        default=None, description="Minutes of work of one run, waiting left out; empty: no limit"
    )
    stall_minutes: Annotated[Number, Field(gt=0, le=1440)] | None = Field(
        default=None, description="Silence after which the lead is told"
    )
    grace_s: Annotated[Number, Field(ge=0, le=3600)] | None = Field(
        default=None, description="Seconds an agent waits before it is parked; empty: as the server is set (CREWDESK_GRACE_S)"
    )
    decision_timeout_s: Annotated[Number, Field(ge=10, le=31_536_000)] | None = Field(
        default=None, description="Seconds after which an unanswered request times out, which is never consent; empty: never"
    )
    on_failure: Literal["reassign", "ask"] = Field(
        default="reassign", description="Try another agent first, or ask the lead at once"
    )
    run_budget: Budget = Field(default=Budget(), description="What one run may use, where its task says nothing else")
    sandbox: bool = Field(
        default=False,
        description="Commands of the agents write only in the workspace and reach no network (Linux: bubblewrap; macOS: its own)",
    )


class Messaging(Strict):
    """How the agents talk. A text alone is the mode."""

    mode: Literal["mesh", "hub"] = Field(
        default="mesh", description="Everybody to everybody, or through the lead agent (the human, where there is none)"
    )
    per_minute: Annotated[Whole, Field(ge=1, le=600)] = Field(
        default=messaging.PER_MINUTE, description="Messages from one agent to one other in a minute"
    )
    chain: Annotated[Whole, Field(ge=1, le=100)] = Field(
        default=messaging.CHAIN, description="Replies to replies in a row between agents"
    )


class Permissions(Strict):
    """Permission rules in Claude Code's syntax: deny beats ask beats allow."""

    allow: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()


class Agent(Strict):
    """A member of the team."""

    name: Annotated[Name, Field(pattern=r"^[^\s@:/<>\"'][^@:/<>\"'\n]*$"), AfterValidator(_agent_name)]
    role: Name
    model: Annotated[str, _text(80, least=1)] | None = Field(default=None, description="Empty: Claude Code's default")
    instructions: Annotated[str, _text(20_000)] = ""
    plan_mode: bool = Field(default=False, description="The agent plans first, and the lead approves the plan")
    tools: tuple[Annotated[str, _text(128, least=1)], ...] | None = Field(
        default=None, description="Empty: Claude Code's defaults"
    )
    permissions: Permissions = Permissions()


class Task(Strict):
    """A unit of work."""

    key: Annotated[str, Field(min_length=1, max_length=80, pattern=KEY_PATTERN)] | None = Field(
        default=None, description="A short name for depends_on"
    )
    title: Annotated[str, _text(200, least=1)]
    description: Annotated[str, _text(50_000)] = ""
    criteria: Annotated[tuple[Criterion, ...], Field(min_length=1, max_length=50)]
    depends_on: tuple[Annotated[str, _text(200, least=1)], ...] = Field(default=(), description="Keys or titles of other tasks")
    role: Name | None = Field(default=None, description="Who may do it: any agent of this role")
    assignee: Name | None = Field(default=None, description="Who must do it: this agent")
    type: Annotated[str, _text(20, least=1)] = "agent"
    priority: Priority = 5
    expected_minutes: Minutes = EXPECTED_MINUTES
    budget: Budget = Budget()
    run_budget: Budget = Field(default=Budget(), description="What one run of it may use; empty: as the team's limits say")
    plan_mode: bool | None = Field(default=None, description="Empty: as the agent is set")

    @property
    def label(self) -> str:
        """How the plan itself names the task: its key, else its title."""
        return self.key or self.title

    @property
    def stored_criteria(self) -> tuple[Stored, ...]:
        """The criteria as a task keeps them."""
        return tuple(stored(one) for one in self.criteria)


ContextName = Annotated[str, Field(min_length=1, max_length=80, pattern=KEY_PATTERN)]


class Plan(Strict):
    """A team and its work, as a plan file says it."""

    team: Annotated[str, _text(120, least=1)]
    goal: Annotated[str, _text(20_000)] = ""
    workspace: Annotated[Workspace, BeforeValidator(_folder, json_schema_input_type=str | Workspace)] = Workspace()
    limits: Limits = Limits()
    budget: Budget = Budget()
    permissions: Permissions = Permissions()
    messages: Annotated[Messaging, BeforeValidator(_mode, json_schema_input_type=Literal["mesh", "hub"] | Messaging)] = (
        Messaging()
    )
    decides: Decides = Decides()
    agents: Annotated[tuple[Agent, ...], Field(min_length=1, max_length=MAX_AGENTS)]
    tasks: Annotated[tuple[Task, ...], Field(min_length=1, max_length=MAX_TASKS)]
    rehearsal: Annotated[str, _text(500, least=1), AfterValidator(_beside)] | None = Field(
        default=None, description="Script for a rehearsal, a path beside the plan"
    )
    context: dict[ContextName, Annotated[Any, AfterValidator(_plain_json)]] = Field(
        default_factory=dict, description="Shared entries the team starts with"
    )
    context_schemas: dict[ContextName, Annotated[dict[str, Any], AfterValidator(_plain_json)]] = Field(
        default_factory=dict, description="JSON Schemas that the values of shared entries must fit, by name"
    )

    def needs(self) -> list[tuple[int, ...]]:
        """Return, for each of `tasks`, the places in `tasks` of what it depends on, in its order."""
        places = index(self.tasks, lambda one: one.key, lambda one: one.title)
        return [tuple(places[fold(name)] for name in task.depends_on) for task in self.tasks]

    def dump(self) -> dict[str, Any]:
        """Return the plan as plain JSON; parsed again it is the same plan. What equals its default is left out."""
        return self.model_dump(mode="json", exclude_defaults=True)


def fold(name: str) -> str:
    """Return `name` as keys and titles are compared: case and white space do not count."""
    return " ".join(name.casefold().split())


def index(tasks: Any, *names: Callable[[Any], Any]) -> dict[str, int]:
    """Return the place of each task by its folded names; the first of two equal names wins, earlier kinds of name first."""
    places: dict[str, int] = {}
    for name in names:
        for place, task in enumerate(tasks):
            found = name(task)
            if isinstance(found, str) and fold(found):
                places.setdefault(fold(found), place)
    return places
