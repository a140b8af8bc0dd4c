"""What a rehearsal script may say: its Pydantic model, refusing unknown fields everywhere."""

import re
from fnmatch import fnmatchcase
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, GetJsonSchemaHandler, model_validator
from pydantic_core import CoreSchema, PydanticCustomError

Status = Literal[400, 401, 402, 403, 404, 413, 429, 500, 502, 503, 529]
How = Literal[
    "cut",
    "error_event",
    "malformed_event",
    "malformed_input",
    "empty",
    "refusal",
    "max_tokens",
    "unknown_block",
    "huge",
]
_ATTEMPT: Final = re.compile(r"(?P<first>[1-9]\d{0,3})(?:(?P<open>\+)|-(?P<last>[1-9]\d{0,3}))?")


class _OneOrMany:
    """Says in the JSON Schema that a list may also be written as its only item."""

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        schema = handler(core)
        return {"anyOf": [schema["items"], schema]}


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, dict | str) else value


def _as_misbehaviour(value: Any) -> Any:
    return {"how": value} if isinstance(value, str) else value


def _as_attempt(value: Any) -> Any:
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str) or not _ATTEMPT.fullmatch(text):
        raise PydanticCustomError("attempt", "must be a number such as 1, a range such as '1-2' or '2+'")
    return text


ALWAYS: Final = 1_000_000
"""What `always` means as a number of times: more than any client tries."""


def _as_times(value: Any) -> Any:
    return ALWAYS if value == "always" else value


Times = Annotated[
    int,
    BeforeValidator(_as_times, json_schema_input_type=int | Literal["always"]),
    Field(ge=1, le=ALWAYS, description="A number, or `always`"),
]
_many = (BeforeValidator(_as_list), _OneOrMany())


class Strict(BaseModel):
    """A frozen model without unknown fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Call(Strict):
    """One tool call: `tool` with its `input`, a crew tool by its short name, or `complete` for the task of this run."""

    tool: str | None = Field(
        default=None, min_length=1, max_length=128, description="Any tool by its full name: Bash, mcp__crew__TaskList"
    )
    crew: str | None = Field(default=None, pattern=r"^[A-Za-z]{1,60}$", description="A crew tool by its short name: TaskUpdate")
    complete: str | None = Field(default=None, min_length=1, description="Report this task as completed; this is the summary")
    input: dict[str, Any] = Field(default_factory=dict, description="The arguments; with `complete` they are added to its own")

    @model_validator(mode="after")
    def _one_name(self) -> Self:
        if sum(name is not None for name in (self.tool, self.crew, self.complete)) != 1:
            raise PydanticCustomError("one_of", "needs exactly one of `tool`, `crew` and `complete`")
        if self.complete is not None and not isinstance(self.input.get("evidence", {}), dict):
            raise PydanticCustomError(
                "evidence", "has `evidence` that is not a mapping from a criterion (its number or text) to a text"
            )
        return self


class Usage(Strict):
    """Token figures of one answer; what is left out is counted from the conversation."""

    input: int | None = Field(default=None, ge=0, le=100_000_000, description="Tokens read at full price")
    cache_read: int | None = Field(default=None, ge=0, le=100_000_000)
    cache_write: int | None = Field(default=None, ge=0, le=100_000_000)
    output: int | None = Field(default=None, ge=0, le=100_000_000)

    @property
    def context_tokens(self) -> int:
        """The tokens read for this answer, as far as they are given."""
        return (self.input or 0) + (self.cache_read or 0) + (self.cache_write or 0)


class Fail(Strict):
    """The API refuses `times` times with `status`, then the turn is played."""

    status: Status
    times: Times = 1
    retry_after: float | None = Field(default=None, ge=0, le=86_400, description="Seconds, sent as the retry-after header")
    retry: bool | None = Field(default=None, description="Sent as x-should-retry: false makes the client give up at once")
    message: str = Field(default="", max_length=10_000, description="The text of the error; a fitting one if left out")


class Misbehave(Strict):
    """The answer is broken `times` times in the way `how` says, then the turn is played in order."""

    how: How
    times: Times = 1
    size: int = Field(default=1_000_000, ge=1, le=50_000_000, description="Characters of the text when `how` is huge")


class When(Strict):
    """A condition on what came back since the turn before; every field that is given must hold. Case does not matter."""

    result_contains: Annotated[list[str], *_many] = Field(default=[], description="A tool result contains one of these texts")
    answer_contains: Annotated[list[str], *_many] = Field(
        default=[], description="A tool result or a new prompt contains one of these"
    )
    result_is_error: bool | None = Field(default=None, description="Whether a tool call failed or was denied")

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        texts = [*self.result_contains, *self.answer_contains]
        if not all(texts) or not (texts or self.result_is_error is not None):
            raise PydanticCustomError(
                "when", "needs `result_contains`, `answer_contains` or `result_is_error`, with text that is not empty"
            )
        return self


class Branch(Strict):
    """One alternative: `then` is played when `when` holds; without `when` it is what is played otherwise."""

    when: When | None = None
    then: list["Turn"] = Field(description="Turns; an empty list goes on with the turn after")


class Turn(Strict):
    """One answer of the model, or (`either`) a choice between several ways to go on."""

    say: str | None = Field(default=None, min_length=1, description="Text of the answer")
    think: str | None = Field(default=None, min_length=1, description="A thinking block before the text")
    call: Annotated[list[Call], Field(max_length=50), *_many] = []
    wait: float = Field(default=0, ge=0, le=3600, description="Seconds before answering")
    fail: Annotated[list[Fail], Field(max_length=20), *_many] = []
    usage: Usage | None = None
    misbehave: Annotated[Misbehave | None, BeforeValidator(_as_misbehaviour)] = None
    either: list[Branch] | None = Field(default=None, min_length=1, description="The first branch whose `when` holds is played")

    @model_validator(mode="after")
    def _is_playable(self) -> Self:
        if self.either is not None:
            self._check_branches(self.either)
        elif self.say is None and not self.call and self.misbehave is None:
            raise PydanticCustomError("turn", "needs `say`, `call`, `either` or `misbehave`")
        if self.misbehave and self.misbehave.how == "malformed_input" and not self.call:
            raise PydanticCustomError("turn", "misbehaves with malformed_input, which needs a `call`")
        return self

    def _check_branches(self, branches: list[Branch]) -> None:
        if self.model_fields_set - {"either"}:
            raise PydanticCustomError("turn", "has `either`, which stands alone: move the rest into its branches or another turn")
        if branches[-1].when is not None or any(branch.when is None for branch in branches[:-1]):
            raise PydanticCustomError(
                "either", "needs as its last branch, and only there, one without `when`: what is played otherwise"
            )


class Part(Strict):
    """The lines of one run: whom it is for (everything left out matches all), its turns, and those of its sub-agents."""

    agent: str = Field(default="*", min_length=1, max_length=200, description="Name of the agent; * and ? stand for any text")
    role: str = Field(default="*", min_length=1, max_length=200, description="Role of the agent; * and ? stand for any text")
    task: str = Field(
        default="*", min_length=1, max_length=500, description="Title, label (T-3) or plan key of the task; * and ? allowed"
    )
    attempt: Annotated[str, BeforeValidator(_as_attempt, json_schema_input_type=int | str)] = Field(
        default="1+", description="1, '1-2' or '2+'"
    )
    turns: list[Turn] = Field(min_length=1, max_length=1000)
    subagents: dict[str, list[Turn]] = Field(
        default={}, description="A word in the sub-agent's prompt: the turns of that sub-agent"
    )
    closing: str = Field(default="That is all for {task}.", min_length=1, description="Said when every turn was played")

    def matches(self, *, agent: str, role: str, task: tuple[str, ...], attempt: int) -> bool:
        """Whether this part plays attempt number `attempt` of `agent` at the task known by any of the names in `task`."""
        return (
            _same(self.agent, agent)
            and _same(self.role, role)
            and (self.task == "*" or any(_same(self.task, name) for name in task if name))
            and self._covers(attempt)
        )

    def _covers(self, attempt: int) -> bool:
        found = _ATTEMPT.fullmatch(self.attempt)
        assert found is not None  # noqa: S101 - the validator saw it
        first = int(found["first"])
        return attempt >= first if found["open"] else first <= attempt <= int(found["last"] or first)


class Script(Strict):
    """A rehearsal script: parts, of which the first that matches a run plays it."""

    name: str = Field(default="", max_length=200)
    description: str = Field(default="", max_length=10_000)
    parts: list[Part] = Field(min_length=1, max_length=1000)

    def part_for(
        self, *, agent: str, role: str = "", task_label: str = "", title: str = "", key: str = "", attempt: int = 1
    ) -> Part | None:
        """Return the first part for this run, or None (then `server.register(key, None, …)` plays the general one)."""
        names = (title, task_label, key)
        return next((part for part in self.parts if part.matches(agent=agent, role=role, task=names, attempt=attempt)), None)


def _same(pattern: str, name: str) -> bool:
    wanted, given = pattern.casefold(), name.casefold()
    return wanted == given or fnmatchcase(given, wanted.replace("[", "[[]"))
