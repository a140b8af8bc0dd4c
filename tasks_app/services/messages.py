"""Messages: notes between agents, or between the lead and an agent; each is handed over exactly once."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from tasks_app import wake
from tasks_app.domain import messaging
from tasks_app.domain.errors import Conflict, Invalid, LeaseLost, NotFound, TooLarge
from tasks_app.domain.events import EventKind
from tasks_app.domain.ids import MESSAGE_PREFIX, new_id
from tasks_app.domain.messaging import LEAD, LIMIT, Priority
from tasks_app.domain.statuses import RunStatus
from tasks_app.domain.text import clean, mask_secrets
from tasks_app.models import Agent, Event, Message, Run
from tasks_app.services import assignments, clock, events, keys, talk
from tasks_app.services.talk import Ends

PRIORITIES = tuple(priority.value for priority in Priority)
NOTE_LIMIT = 2_000


@dataclass(frozen=True)
class Draft:
    """What is written: `reply_to` is the id of what it answers; `dedupe_key` makes it the same one when it is sent again."""

    body: str
    priority: str = Priority.NORMAL
    reply_to: str = ""
    no_reply: bool = False
    dedupe_key: str | None = None


def send(
    team_id: int,
    *,
    sender_agent_id: int | None,
    to: str,
    body: str,
    priority: str = "normal",
    actor: str,
    dedupe_key: str | None = None,
    reply_to: str = "",
    no_reply: bool = False,
) -> Message:
    """Store a message for an agent of the team, for the lead (`lead`) or for everyone (`all`: then the first of them).

    Raises `Invalid` for an unknown name (with a suggestion) or an empty body, `Forbidden` for an agent of another team,
    `TooLarge`, `TooMany` for a loop. The same `dedupe_key` again returns the first message.
    """
    return post(
        team_id, Draft(body, priority, reply_to, no_reply, dedupe_key), sender_agent_id=sender_agent_id, to=to, actor=actor
    )[0]


@transaction.atomic
def post(team_id: int, draft: Draft, *, sender_agent_id: int | None, to: str, actor: str) -> list[Message]:
    """Store a message for each whom `to` means; the same errors as `send`."""
    name = clean(to).strip()
    to_all = name.lower() in messaging.EVERYONE
    body = mask_secrets(clean(draft.body)).strip()
    _check(body, draft.priority, messaging.BROADCAST_LIMIT if to_all else LIMIT)
    events.lock(team_id)
    key = messaging.frame_key(sender_agent_id, name, body) or (draft.dedupe_key or "")[:100] or None
    if key and (known := Message.objects.filter(Q(dedupe_key=key) | Q(dedupe_key__startswith=f"{key}:to:"), team_id=team_id)):
        return sorted(known, key=_place)
    if to_all:
        sender = Agent.objects.filter(pk=sender_agent_id).first() if sender_agent_id else None
        pairs = [Ends(sender, agent) for agent in talk.everyone(team_id, sender_agent_id)]
    else:
        pairs = [talk.ends(team_id, sender_agent_id, name)]
    parent = None if to_all else talk.parent(team_id, pairs[0], clean(draft.reply_to).strip())
    depth = parent.depth + 1 if parent and sender_agent_id else 0
    talk.guard(team_id, pairs, depth=depth)
    priority = draft.priority
    chatter = sender_agent_id and priority == Priority.NORMAL and messaging.is_chatter(body)
    if chatter or assignments.is_late(team_id, body, actor=actor):
        priority = Priority.STATUS.value
    made = _store(
        team_id, pairs, Draft(body, priority, "", draft.no_reply or (to_all and bool(sender_agent_id)), key), parent, depth
    )
    _tell(team_id, made, actor)
    if parent is not None:
        Message.objects.filter(pk=parent.pk, answered_at=None).update(answered_at=made[0].created_at)
    return made


def _place(message: Message) -> int:
    """Which it was of those that were sent at once: the end of its key."""
    place = (message.dedupe_key or "").rpartition(":to:")[2]
    return int(place) if message.broadcast else 0


def _store(team_id: int, pairs: list[Ends], draft: Draft, parent: Message | None, depth: int) -> list[Message]:
    now, many, first = clock.now(), len(pairs) > 1, new_id(MESSAGE_PREFIX)
    return Message.objects.bulk_create(
        [
            Message(
                pk=first if place == 0 else new_id(MESSAGE_PREFIX),
                team_id=team_id,
                sender=pair.sender,
                sender_name=pair.sender.name if pair.sender else LEAD,
                recipient=pair.recipient,
                recipient_name=pair.recipient.name if pair.recipient else LEAD,
                body=draft.body,
                priority=draft.priority,
                no_reply=draft.no_reply,
                reply_to=parent,
                depth=depth,
                broadcast=first if many else "",
                meant_for=pair.meant_for,
                dedupe_key=f"{draft.dedupe_key}:to:{place}" if draft.dedupe_key and many else draft.dedupe_key,
                created_at=now,
            )
            for place, pair in enumerate(pairs)
        ]
    )


def _tell(team_id: int, made: Sequence[Message], actor: str) -> None:
    """An event for each, and a hint to the runs of those who are to read it now."""
    for message in made:
        data = {"message": message.pk, "sender": message.sender_name, "recipient": message.recipient_name}
        events.append(team_id, EventKind.MESSAGE_SENT, actor=actor, keys=_touched(message), data=data)
    hear = [message.recipient_id for message in made if message.recipient_id and message.priority != Priority.STATUS]
    if hear:
        working = Run.objects.filter(team_id=team_id, agent_id__in=hear, status=RunStatus.RUNNING.value)
        for run_id in working.values_list("pk", flat=True):
            transaction.on_commit(partial(wake.run, run_id), robust=True)


def _touched(message: Message) -> set[str]:
    return {keys.messages(message.team_id)} | {keys.agent(pk) for pk in (message.sender_id, message.recipient_id) if pk}


def _check(text: str, priority: str, limit: int) -> None:
    if not text:
        raise Invalid("The message is empty.", field="message")
    if len(text) > limit:
        raise TooLarge(f"The message has {len(text):,} characters; at most {limit:,} are taken.", field="message")
    if priority not in PRIORITIES:
        raise Invalid(f"Priority is one of {', '.join(PRIORITIES)}.", field="priority")


def _due(agent_id: int) -> QuerySet[Message]:
    return Message.objects.filter(recipient_id=agent_id).exclude(priority=Priority.STATUS.value)


def take_due(agent_id: int, *, run_id: str, fence: int, told: Collection[str] | None = None) -> list[Message]:
    """Hand over what waits for the agent: each message goes to one life of one run. Raises `LeaseLost`.

    One that an earlier life took but whose transcript never held it (`read_at` is null) is handed over again; so is one that
    was taken for this life and is not among those it was `told` (None: it was told all), for the answer to a commit may be lost.
    """
    mine = Q(delivered_run=run_id, delivered_fence=fence)
    if told is not None:
        mine &= Q(pk__in=told)
    due = _due(agent_id).filter(Q(delivered_at=None) | Q(read_at=None) & ~mine)
    return _take(due, agent_id, run_id, fence) if due.exists() else []  # this is asked often: no lock where nothing waits


@transaction.atomic
def _take(waiting: QuerySet[Message], agent_id: int, run_id: str, fence: int) -> list[Message]:
    _hold(agent_id, run_id, fence)
    due = list(waiting.all())
    taken = Message.objects.filter(pk__in=[message.pk for message in due])
    taken.update(delivered_at=timezone.now(), delivered_run=run_id, delivered_fence=fence)
    for message in due:
        if (message.delivered_run, message.delivered_fence) == (run_id, fence):
            continue  # an earlier try of ours has said so
        events.append(
            message.team_id,
            EventKind.MESSAGE_DELIVERED,
            keys=_touched(message),
            run_id=run_id,
            agent_id=agent_id,
            data={"message": message.pk, "recipient": message.recipient_name, "fence": fence},
        )
    return due


def _hold(agent_id: int, run_id: str, fence: int) -> None:
    events.lock(Agent.objects.values_list("team_id", flat=True).get(pk=agent_id))
    if not Run.objects.filter(pk=run_id, agent_id=agent_id, fence=fence, status=RunStatus.RUNNING.value).exists():
        raise LeaseLost(f"Run {run_id} belongs to another worker now.")


def is_urgent(agent_id: int) -> bool:
    """Whether a message waits for the agent that is to stop what it does."""
    return _due(agent_id).filter(priority=Priority.INTERRUPT.value, delivered_at=None).exists()


@transaction.atomic
def note_stopped(agent_id: int, *, run_id: str, fence: int) -> None:
    """What the agent did was seen stopped for the urgent messages that wait for it. Raises `LeaseLost`."""
    _hold(agent_id, run_id, fence)
    now, lives = clock.now(), Event.objects.filter(run_id=run_id, kind=EventKind.RUN_STARTED.value)
    began = lives.order_by("-seq").values_list("at", flat=True).first()
    for message in _due(agent_id).filter(priority=Priority.INTERRUPT.value, delivered_at=None, stopped_at=None):
        since = max(message.created_at, began) if began else message.created_at
        seconds = round(max(0.0, (now - since).total_seconds()), 2)
        Message.objects.filter(pk=message.pk).update(stopped_at=now, stop_s=seconds)
        data = {"message": message.pk, "seconds": seconds}
        touched = _touched(message)
        events.append(message.team_id, EventKind.MESSAGE_STOPPED, keys=touched, run_id=run_id, agent_id=agent_id, data=data)


def mark_read(message_ids: list[str], *, run_id: str) -> None:
    """The resumable transcript of the run they were handed to holds them."""
    Message.objects.filter(pk__in=message_ids, delivered_run=run_id, read_at=None).update(read_at=timezone.now())


@transaction.atomic
def act_on(message_id: str, *, team_id: int, agent_id: int | None, note: str, actor: str) -> Message:
    """Its recipient (None: the human) says that it acted on a message. Raises `NotFound`, or `Conflict` the second time."""
    message = Message.objects.filter(pk=clean(message_id)[:16], team_id=team_id, recipient_id=agent_id).first()
    if message is None:
        raise NotFound("There is no such message to you.", field="message_id")
    events.lock(team_id)
    text, now = mask_secrets(clean(note)).strip()[:NOTE_LIMIT], timezone.now()
    if not Message.objects.filter(pk=message.pk, acted_at=None).update(acted_at=now, acted_note=text):
        raise Conflict(f"You have said already that you acted on {message.pk}.")
    data = {"message": message.pk, "sender": message.sender_name}
    events.append(team_id, EventKind.MESSAGE_ACTED, actor=actor, keys=_touched(message), agent_id=agent_id, data=data)
    return get(message.pk)


@transaction.atomic
def pass_on(message_id: str, *, team_id: int, actor: str) -> Message:
    """The human, as the hub, lets a message reach the agent that it was meant for, from its own sender. Raises `Conflict`."""
    events.lock(team_id)
    message = get(message_id)
    if message.team_id != team_id or message.recipient_id is not None or not message.meant_for:
        raise NotFound("There is no such message to pass on.")
    target = Agent.objects.filter(team_id=team_id, name=message.meant_for).first()
    if target is None:
        raise NotFound(f"{message.meant_for} is not in this team any more.")
    note = f"passed on to {message.meant_for}"
    if not Message.objects.filter(pk=message.pk, acted_at=None).update(acted_at=timezone.now(), acted_note=note):
        raise Conflict("This message was dealt with already.")
    draft = Draft(message.body, message.priority, "", message.no_reply)
    (passed,) = _store(team_id, [Ends(message.sender, target)], draft, None, message.depth)
    _tell(team_id, [passed], actor)
    return passed


def get(message_id: str) -> Message:
    """Return the message; raises NotFound."""
    message = Message.objects.filter(pk=clean(message_id)[:16]).first()
    if message is None:
        raise NotFound("This message does not exist.")
    return message
