"""Talk: how a team talks (hub or mesh), whom a name means, and the guard against loops."""

from collections import Counter
from collections.abc import Collection
from dataclasses import asdict, dataclass
from datetime import timedelta

from django.db import transaction
from django.db.models import QuerySet

from tasks_app.domain import messaging
from tasks_app.domain.errors import Forbidden, Invalid, TooMany
from tasks_app.domain.events import EventKind
from tasks_app.domain.messaging import Mode, Priority, Settings
from tasks_app.domain.names import suggest
from tasks_app.domain.statuses import AgentStatus
from tasks_app.models import Agent, Event, Message, Team
from tasks_app.services import clock, events, keys

MOST_PER_MINUTE = 600
MOST_CHAIN = 100


@dataclass(frozen=True)
class Ends:
    """Who writes to whom; None is the human lead. `meant_for` is whom the sender had named where a hub stands between."""

    sender: Agent | None
    recipient: Agent | None
    meant_for: str = ""


def settings(team_id: int) -> Settings:
    """Return how the team talks."""
    return Settings.of(Team.objects.values_list("messaging", flat=True).get(pk=team_id))


@transaction.atomic
def set_settings(team_id: int, *, mode: str, per_minute: int, chain: int, actor: str) -> Settings:
    """Change how the team talks. Raises `Invalid`."""
    if mode not in tuple(Mode):
        raise Invalid("The mode is mesh or hub.", field="mode")
    if not 1 <= per_minute <= MOST_PER_MINUTE:
        raise Invalid(f"Messages a minute are a whole number from 1 to {MOST_PER_MINUTE}.", field="per_minute")
    if not 1 <= chain <= MOST_CHAIN:
        raise Invalid(f"Replies in a row are a whole number from 1 to {MOST_CHAIN}.", field="chain")
    wanted = Settings(Mode(mode), per_minute, chain)
    events.lock(team_id)
    if settings(team_id) != wanted:
        Team.objects.filter(pk=team_id).update(messaging=asdict(wanted))
        events.append(team_id, EventKind.MESSAGE_MODE, actor=actor, keys=(keys.messages(team_id),), data=asdict(wanted))
    return wanted


def ends(team_id: int, sender_id: int | None, to: str) -> Ends:
    """Return who writes to whom. Raises `Invalid` for an unknown name, with a suggestion, or `Forbidden` for another team's."""
    sender = Agent.objects.filter(pk=sender_id).first() if sender_id else None
    recipient = None if sender and to.lower() in messaging.LEAD_NAMES else _recipient(team_id, to)
    if sender and recipient and sender.pk == recipient.pk:
        raise Invalid("You cannot send a message to yourself.", field="to")
    if sender and recipient and settings(team_id).mode is Mode.HUB:
        return _through_hub(team_id, sender, recipient)
    return Ends(sender, recipient)


def _through_hub(team_id: int, sender: Agent, recipient: Agent) -> Ends:
    hub = hub_of(team_id)
    if hub is not None and hub.pk in (sender.pk, recipient.pk):
        return Ends(sender, recipient)
    return Ends(sender, hub, recipient.name)


def hub_of(team_id: int) -> Agent | None:
    """Return the lead agent through whom a team in hub mode talks; None is the human."""
    return leads(team_id).order_by("position", "pk").first()


def leads(team_id: int) -> QuerySet[Agent]:
    """Return the agents that could be a team's lead agent: those of that role that are not stopped."""
    return Agent.objects.filter(team_id=team_id, role__iexact=messaging.LEAD_ROLE).exclude(status=AgentStatus.STOPPED.value)


def everyone(team_id: int, sender_id: int | None) -> list[Agent]:
    """Return whom a message to everyone reaches: each agent that is not stopped, but the sender.

    Raises `Invalid`, `Forbidden`.
    """
    through_hub = bool(sender_id) and settings(team_id).mode is Mode.HUB
    hub = hub_of(team_id) if through_hub else None
    if through_hub and (hub is None or hub.pk != sender_id):
        through = hub.name if hub else messaging.LEAD
        raise Forbidden(f"In this team messages go through {through}: write to {through} what everyone should know.", field="to")
    found = list(Agent.objects.filter(team_id=team_id).exclude(status=AgentStatus.STOPPED.value).order_by("position", "pk"))
    reached = [agent for agent in found if agent.pk != sender_id]
    if not reached:
        raise Invalid("There is nobody else in this team who could get it.", field="to")
    return reached


def _recipient(team_id: int, wanted: str) -> Agent:
    found = (
        Agent.objects.filter(team_id=team_id, name=wanted).first()
        or Agent.objects.filter(team_id=team_id, name__iexact=wanted).first()
    )
    if found:
        return found
    names = list(Agent.objects.filter(team_id=team_id).values_list("name", flat=True))
    hint = suggest(wanted, names)
    if not hint and Agent.objects.exclude(team_id=team_id).filter(name__iexact=wanted).exists():
        raise Forbidden("That agent is not in this team.", field="to")
    raise Invalid(
        f"There is no agent “{wanted[:60]}” in this team."
        + (f" Did you mean {hint}?" if hint else f" There are: {', '.join(names)}."),
        field="to",
    )


def parent(team_id: int, pair: Ends, reply_to: str) -> Message | None:
    """Return what a message answers: what it names, else the newest one from the other side. Raises `Invalid`.

    A person's own message answers only what it names.
    """
    mine = Message.objects.filter(team_id=team_id, recipient=pair.sender)
    if reply_to:
        named = mine.filter(pk=reply_to[:16]).first()
        if named is None:
            raise Invalid(
                f"There is no message {reply_to[:20]} to you. Leave reply_to out, or read your messages.", field="reply_to"
            )
        if named.no_reply:
            raise Invalid(f"{named.sender_name} wants no reply to that message. Go on with your work.", field="reply_to")
        return named
    if pair.sender is None:
        return None
    since = clock.now() - timedelta(seconds=messaging.CHAIN_S)
    open_ones = mine.filter(sender=pair.recipient, delivered_at__isnull=False, no_reply=False, created_at__gt=since)
    return open_ones.exclude(priority=Priority.STATUS.value).order_by("-created_at", "-pk").first()


def guard(team_id: int, pairs: Collection[Ends], *, depth: int) -> None:
    """Refuse what looks like a loop: too many messages of a pair in a minute, or replies to replies without end.

    People are never refused. Raises `TooMany`.
    """
    limits = settings(team_id)
    lately = _sent_lately({pair.sender.pk for pair in pairs if pair.sender})
    for pair in pairs:
        if pair.sender is None:
            continue
        name = pair.recipient.name if pair.recipient else messaging.LEAD
        sent = lately[pair.sender.pk, pair.recipient.pk if pair.recipient else None]
        if sent >= limits.per_minute:
            raise TooMany(
                f"You have sent {name} {sent} messages within a minute; no more are taken now. Go on with your work, and put "
                "what is left to say into one message later.",
                field="to",
            )
        if depth > limits.chain:
            raise TooMany(
                f"You and {name} have replied to each other {limits.chain} times in a row. Stop here: decide it yourself, "
                "or use Escalate with the options.",
                field="to",
            )


def _sent_lately(senders: Collection[int]) -> Counter[tuple[int | None, int | None]]:
    """How many messages these agents have sent within the last minute: (sender, recipient) → number."""
    if not senders:
        return Counter()
    since = clock.now() - timedelta(seconds=messaging.RATE_S)
    sent = Message.objects.filter(sender_id__in=senders, created_at__gt=since)
    return Counter(sent.values_list("sender_id", "recipient_id"))


@transaction.atomic
def note_refused(team_id: int, *, agent_id: int, recipient: str, why: str) -> None:
    """Tell the people who watch that the guard held a message back; once a minute for an agent, however it goes on."""
    events.lock(team_id)
    since = clock.now() - timedelta(seconds=messaging.RATE_S)
    kind = EventKind.MESSAGE_REFUSED
    if Event.objects.filter(team_id=team_id, kind=kind.value, agent_id=agent_id, at__gt=since).exists():
        return
    sender = Agent.objects.values_list("name", flat=True).get(pk=agent_id)
    data = {"sender": sender, "recipient": recipient[:80], "why": why}
    events.append(team_id, kind, actor=f"agent:{sender}", keys=(keys.messages(team_id),), agent_id=agent_id, data=data)
