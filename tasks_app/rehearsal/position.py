"""Where a conversation stands in a script: derived from the conversation alone, so that it survives every crash."""

import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tasks_app.rehearsal.conversation import STOPPED, Conversation, Exchange, Result, Use, without_reminders
from tasks_app.rehearsal.script_model import Branch, Call, Turn, When

_NOTE: Final = re.compile(r"\[rehearsal:at (\d{1,6})((?: c\d{1,4})*)((?: d\d{1,4})*)\]")
CREW: Final = "mcp__crew__"
GOING_ON: Final = "I go on."
"""Said by a turn that only misbehaves, once it is played in order."""


@dataclass(frozen=True)
class Variables:
    """What a script may quote in braces, and the acceptance criteria that `complete` gives evidence for."""

    words: Mapping[str, str]
    criteria: Sequence[str] = ()

    def fill(self, value: Any) -> Any:
        """Return `value` with `{name}` replaced in every text, keys included; unknown names stay as they are."""
        if isinstance(value, str):
            return re.sub(r"\{(\w+)\}", lambda found: self.words.get(found[1], found[0]), value)
        if isinstance(value, Mapping):
            return {self.fill(key): self.fill(item) for key, item in value.items()}
        return [self.fill(item) for item in value] if isinstance(value, list) else value

    def use(self, call: Call) -> Use:
        """Return the tool call that `call` stands for."""
        given = self.fill(call.input)
        if call.complete is None:
            return Use(call.tool or CREW + str(call.crew), given)
        summary = self.fill(call.complete)
        evidence = {str(number): f"{text}: {summary}" for number, text in enumerate(self.criteria, start=1)}
        evidence |= {str(key): text for key, text in given.pop("evidence", {}).items()}
        report = {"taskId": self.words.get("task", ""), "status": "completed", "evidence": evidence, "summary": summary}
        return Use(CREW + "TaskUpdate", report | given)


@dataclass
class Position:
    """The turn that is due (None: every turn was played), what of it is left and how it was reached."""

    variables: Variables
    queue: deque[Turn]
    turn: Turn | None = None
    calls: dict[int, Use] = field(default_factory=dict)
    say: str = ""
    said: bool = False
    finished: bool = True
    number: int = 0
    choices: list[int] = field(default_factory=list)
    forced: deque[int] = field(default_factory=deque)
    results: list[Result] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    context_tokens: int = 0
    """Size of the conversation by the last figures that the script gave, grown since; 0: it gave none."""

    def open_next(self) -> None:
        """Go to the turn after, choosing branches by what came back since the last one."""
        while self.queue and (branches := self.queue[0].either) is not None:
            self.queue.popleft()
            chosen = self.forced.popleft() if self.forced else self._choose(branches)
            chosen = min(chosen, len(branches) - 1)
            self.choices.append(chosen)
            self.queue.extendleft(reversed(branches[chosen].then))
        self.turn = self.queue.popleft() if self.queue else None
        self.calls = dict(enumerate(map(self.variables.use, self.turn.call))) if self.turn else {}
        self.say = self.variables.fill(self.turn.say or ("" if self.calls else GOING_ON)) if self.turn else ""
        self.said = self.finished = False
        self.results, self.told = [], []
        self.number += 1

    def _choose(self, branches: list[Branch]) -> int:
        return next(at for at, branch in enumerate(branches) if branch.when is None or self._holds(branch.when))

    def _holds(self, when: When) -> bool:
        results = "\n".join(result.text for result in self.results if result.genuine).casefold()
        answers = results + "\n" + without_reminders("\n".join(self.told)).casefold()
        failed = any(result.is_error and result.genuine for result in self.results)
        return (
            _contains(results, self.variables.fill(when.result_contains))
            and _contains(answers, self.variables.fill(when.answer_contains))
            and when.result_is_error in (None, failed)
        )

    def absorb(self, exchange: Exchange, conversation: Conversation) -> None:
        """Take in one message of the model and what followed it."""
        if exchange.played and self.finished:
            self.open_next()
        if exchange.played and self.turn is not None:
            self.said |= _is_said(self.say, exchange.said)
            for use in exchange.uses:
                self._note(use, conversation)
            self.finished = not self.calls if self.turn.call else self.said
        elif exchange.played:
            self.finished = True  # the closing words
        if exchange.played and any(text.startswith(STOPPED) for text in exchange.told):
            self.calls.clear()
            self.finished = True
        self.told.extend(exchange.told)
        self._grow(exchange, conversation)

    def _grow(self, exchange: Exchange, conversation: Conversation) -> None:
        given = self.turn.usage if self.turn and exchange.played else None
        if given and given.context_tokens:
            self.context_tokens = given.context_tokens
        if self.context_tokens:
            self.context_tokens += exchange.size_tokens(conversation.results)

    def _note(self, use: Use, conversation: Conversation) -> None:
        at = self._call_of(use)
        if at is None:
            return
        result = conversation.results.get(use.id, Result("[Tool call interrupted: no result", is_error=True))
        if use.id in conversation.repeat:
            self.calls[at] = Use(use.name, use.input)  # exactly what the lead has allowed, not the script once more
        elif result.genuine or use.id in conversation.answered:
            del self.calls[at]
            self.results.append(result)

    def _call_of(self, use: Use) -> int | None:
        """Return which call of the turn `use` is: the same, else the first of that tool, else the first that is left."""
        same = (at for at, call in self.calls.items() if call.name == use.name and call.input == use.input)
        tool = (at for at, call in self.calls.items() if call.name == use.name)
        return next(same, next(tool, next(iter(self.calls), None)))

    def note(self) -> str:
        """Return a note to put into a summary of the conversation: the position can be found again from it."""
        done = set(range(len(self.turn.call) if self.turn else 0)) - set(self.calls)
        choices = "".join(f" c{chosen}" for chosen in self.choices)
        return f"[rehearsal:at {self.number}{choices}{''.join(f' d{at}' for at in sorted(done))}]"


def find(turns: Sequence[Turn], conversation: Conversation, variables: Variables) -> Position:
    """Return where `conversation` stands in `turns`, with the turn that is due opened."""
    position = Position(variables, deque(turns), told=list(conversation.opening))
    _restore(position, conversation)
    for exchange in conversation.exchanges:
        position.absorb(exchange, conversation)
    if position.finished:
        position.open_next()
    return position


def _restore(position: Position, conversation: Conversation) -> None:
    """Begin where the summary of a compacted conversation says."""
    notes = _NOTE.findall("\n".join(conversation.opening))
    if not notes:
        return
    number, choices, done = notes[-1]
    position.forced.extend(int(choice[1:]) for choice in choices.split())
    while position.number < int(number) and (position.queue or position.turn is not None or position.number == 0):
        position.open_next()
    position.forced.clear()
    for at in done.split():
        position.calls.pop(int(at[1:]), None)


def _contains(text: str, wanted: list[str]) -> bool:
    return not wanted or any(word.casefold() in text for word in wanted)


def _is_said(say: str, said: list[str]) -> bool:
    wanted = "".join(say.split())
    return bool(wanted) and any("".join(text.split()) == wanted for text in (*said, "".join(said)))
