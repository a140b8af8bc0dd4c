"""The scripted lead at work: it looks at what waits for the lead and acts when each answer is due."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from tasks_app.domain.errors import Conflict, DomainError, NotFound
from tasks_app.domain.statuses import DecisionStatus
from tasks_app.management import lead as leads
from tasks_app.management.lead import ACTOR, Lead, Reassign, Reply, Request
from tasks_app.selectors import journal
from tasks_app.selectors.journal import Asked, FailedRun
from tasks_app.services import actions


@dataclass
class ScriptedLead:
    """Answers for one team by the rules of `lead`. `tell` gets a sentence when an answer is refused."""

    lead: Lead
    team_id: int
    tell: Callable[[str], None]
    clock: Callable[[], float]
    _replies: dict[tuple[str, int], tuple[float, Asked, Reply]] = field(default_factory=dict, init=False)
    _moves: dict[str, tuple[float, FailedRun, Reassign]] = field(default_factory=dict, init=False)
    _seen: set[tuple[str, int] | str] = field(default_factory=set, init=False)

    def look(self) -> None:
        """Note what is new and when it is due."""
        asked = journal.asked(self.team_id)
        requests = [_request(each) for each in asked]
        for each, request in zip(asked, requests, strict=True):
            key = (each.id, each.version)
            if request.open and key not in self._seen:
                self._seen.add(key)
                reply = leads.reply(self.lead, request, all_requests=requests)
                if reply is not None:
                    self._replies[key] = (self.clock() + reply.after_s, each, reply)
        for failed in journal.failed_runs(self.team_id):
            if failed.run_id not in self._seen:
                self._seen.add(failed.run_id)
                move = leads.reassignment(self.lead, task=failed.task_names, attempt=failed.attempt)
                if move is not None:
                    self._moves[failed.run_id] = (self.clock() + move[1], failed, move[0])

    def act(self) -> int:
        """Do what is due; returns how much was done."""
        now = self.clock()
        replies = [(key, each, reply) for key, (due, each, reply) in self._replies.items() if due <= now]
        moves = [(key, failed, to) for key, (due, failed, to) in self._moves.items() if due <= now]
        for key, each, reply in replies:
            self._guarded(f"The answer to {each.id}", partial(_answer, each, reply))
            del self._replies[key]  # after it: where the database goes away, it is still to be done
        for run_id, failed, to in moves:
            self._guarded(f"Reassigning {failed.task_names[1]}", partial(self._reassign, failed, to))
            del self._moves[run_id]
        return len(replies) + len(moves)

    @property
    def busy(self) -> bool:
        """Whether something is still to be done."""
        return bool(self._replies or self._moves)

    def _guarded(self, what: str, do: Callable[[], None]) -> None:
        try:
            do()
        except Conflict as gone:
            self.tell(f"{what} was not needed any more: {gone.message}")
        except DomainError as refusal:
            self.tell(f"{what} was refused, so it waits for a person: {refusal.message}")

    def _reassign(self, failed: FailedRun, to: Reassign) -> None:
        agent_id = journal.agent_named(self.team_id, to.to)
        if agent_id is None:
            raise NotFound(f"There is no agent {to.to} in this team.", field="to")
        key = f"{ACTOR}:{failed.run_id}"
        actions.reassign(
            failed.task_pk, agent_id=agent_id, guidance=to.guidance, start=to.start, actor=ACTOR, idempotency_key=key
        )


def _answer(each: Asked, reply: Reply) -> None:
    actions.answer(
        each.id,
        choice=reply.choice,
        note=reply.note,
        data=reply.data,
        version=each.version,
        payload_hash=each.payload_hash,
        actor=ACTOR,
    )


def _request(each: Asked) -> Request:
    is_open = each.status is DecisionStatus.OPEN
    return Request(each.id, each.kind, each.title, each.agent, each.task_names, each.payload, is_open)
