"""Messages: notes between agents, or between the lead and an agent; each is handed over exactly once."""

from functools import partial

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from tasks_app import wake
from tasks_app.domain.errors import Forbidden, Invalid, LeaseLost, NotFound, TooLarge
from tasks_app.domain.events import EventKind
from tasks_app.domain.ids import MESSAGE_PREFIX, new_id
from tasks_app.domain.names import suggest
from tasks_app.domain.statuses import RunStatus
from tasks_app.domain.text import clean, mask_secrets
from tasks_app.models import Agent, Message, Run
from tasks_app.services import events, keys

LIMIT = 100_000
"""Longest body in characters."""
LEAD = "lead"
PRIORITIES = ("normal", "interrupt")


@transaction.atomic
def send(
    team_id: int,
    *,
    sender_agent_id: int | None,
    to: str,
    body: str,
    priority: str = "normal",
    actor: str,
    dedupe_key: str | None = None,
) -> Message:
    """Store a message for an agent of the team, or for the lead (`lead`).

    Raises `Invalid` for an unknown name (with a suggestion) or an empty body, `Forbidden` for an agent of another team,
    `TooLarge`. The same `dedupe_key` again returns the first message.
    """
    text = mask_secrets(clean(body)).strip()
    _check(text, priority)
    events.lock(team_id)
    if dedupe_key and (known := Message.objects.filter(team_id=team_id, dedupe_key=dedupe_key[:120]).first()):
        return known
    sender, recipient = _ends(team_id, sender_agent_id, clean(to).strip())
    message = Message.objects.create(
        pk=new_id(MESSAGE_PREFIX),
        team_id=team_id,
        sender=sender,
        sender_name=sender.name if sender else LEAD,
        recipient=recipient,
        recipient_name=recipient.name if recipient else LEAD,
        body=text,
        priority=priority,
        dedupe_key=dedupe_key[:120] if dedupe_key else None,
        created_at=timezone.now(),
    )
    _tell(message, actor)
    return message


def _ends(team_id: int, sender_agent_id: int | None, to: str) -> tuple[Agent | None, Agent | None]:
    """Sender and recipient; None is the lead."""
    sender = Agent.objects.filter(pk=sender_agent_id).first() if sender_agent_id else None
    recipient = None if sender and to.lower() in (LEAD, "the lead", "human") else _recipient(team_id, to)
    if sender and recipient and sender.pk == recipient.pk:
        raise Invalid("You cannot send a message to yourself.", field="to")
    return sender, recipient


def _tell(message: Message, actor: str) -> None:
    touched = {keys.messages(message.team_id)} | {keys.agent(a.pk) for a in (message.sender, message.recipient) if a}
    data = {"message": message.pk, "sender": message.sender_name, "recipient": message.recipient_name}
    events.append(message.team_id, EventKind.MESSAGE_SENT, actor=actor, keys=touched, data=data)
    run = Run.objects.filter(agent_id=message.recipient_id or 0, status=RunStatus.RUNNING.value).first()
    if run is not None:
        transaction.on_commit(partial(wake.run, run.pk), robust=True)


def _check(text: str, priority: str) -> None:
    if not text:
        raise Invalid("The message is empty.", field="message")
    if len(text) > LIMIT:
        raise TooLarge(f"The message has {len(text):,} characters; at most {LIMIT:,} are taken.", field="message")
    if priority not in PRIORITIES:
        raise Invalid(f"Priority is one of {', '.join(PRIORITIES)}.", field="priority")


def _recipient(team_id: int, wanted: str) -> Agent:
    names = list(Agent.objects.filter(team_id=team_id).values_list("name", flat=True))
    found = (
        Agent.objects.filter(team_id=team_id, name=wanted).first()
        or Agent.objects.filter(team_id=team_id, name__iexact=wanted).first()
    )
    if found:
        return found
    if Agent.objects.exclude(team_id=team_id).filter(name__iexact=wanted).exists() and not suggest(wanted, names):
        raise Forbidden("That agent is not in this team.", field="to")
    hint = suggest(wanted, names)
    raise Invalid(
        f"There is no agent “{wanted[:60]}” in this team."
        + (f" Did you mean {hint}?" if hint else f" There are: {', '.join(names)}."),
        field="to",
    )


def take_due(agent_id: int, *, run_id: str, fence: int) -> list[Message]:
    """Hand over what waits for the agent: each message goes to one life of one run. Raises `LeaseLost`.

    One that an earlier life took but whose transcript never held it (`read_at` is null) is handed over again.
    """
    mine = Q(delivered_run=run_id, delivered_fence=fence)
    due = Message.objects.filter(recipient_id=agent_id).filter(Q(delivered_at=None) | Q(read_at=None) & ~mine)
    return _take(due, agent_id, run_id, fence) if due.exists() else []  # this is asked often: no lock where nothing waits


@transaction.atomic
def _take(waiting: QuerySet[Message], agent_id: int, run_id: str, fence: int) -> list[Message]:
    events.lock(Agent.objects.values_list("team_id", flat=True).get(pk=agent_id))
    if not Run.objects.filter(pk=run_id, agent_id=agent_id, fence=fence, status=RunStatus.RUNNING.value).exists():
        raise LeaseLost(f"Run {run_id} belongs to another worker now.")
    due = list(waiting.all())
    for message in due:
        Message.objects.filter(pk=message.pk).update(delivered_at=timezone.now(), delivered_run=run_id, delivered_fence=fence)
        events.append(
            message.team_id,
            EventKind.MESSAGE_DELIVERED,
            keys=(keys.messages(message.team_id), keys.agent(agent_id)),
            run_id=run_id,
            agent_id=agent_id,
            data={"message": message.pk, "recipient": message.recipient_name},
        )
    return due


def mark_read(message_ids: list[str], *, run_id: str) -> None:
    """The resumable transcript of the run they were handed to holds them."""
    Message.objects.filter(pk__in=message_ids, delivered_run=run_id, read_at=None).update(read_at=timezone.now())


def get(message_id: str) -> Message:
    """Return the message; raises NotFound."""
    message = Message.objects.filter(pk=message_id).first()
    if message is None:
        raise NotFound("This message does not exist.")
    return message
