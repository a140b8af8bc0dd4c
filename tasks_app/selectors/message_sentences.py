"""Each event about messages as a sentence."""

from collections.abc import Mapping

from tasks_app.domain.events import EventKind
from tasks_app.selectors.journal import Entry
from tasks_app.selectors.telling import Said, Say, person, say, told


def _sent(entry: Entry) -> Said:
    recipient = entry.data.get("recipient") or "the team"
    return told("{sender} wrote to {to}", entry.message, sender=person(entry, str(entry.data.get("sender", ""))), to=recipient)


def _refused(entry: Entry) -> Said:
    sender, to = entry.data.get("sender") or "an agent", entry.data.get("recipient") or "another"
    return told("A message of {sender} to {to} was held back", entry.data.get("why"), sender=sender, to=to)


def _stopped(entry: Entry) -> Said:
    seconds = entry.data.get("seconds")
    after = f" after {seconds} s" if seconds is not None else ""
    return told("{agent} was stopped{on}{after} to read a message", entry.message, after=after)


def _acted(entry: Entry) -> Said:
    return told("{who} acted on a message of {sender}", entry.message, sender=entry.data.get("sender") or "a colleague")


def _mode(entry: Entry) -> Said:
    how = "through the lead" if entry.data.get("mode") == "hub" else "to each other"
    rate, chain = entry.data.get("per_minute"), entry.data.get("chain")
    limits = f", at most {rate} messages a minute and {chain} replies in a row" if rate and chain else ""
    return say("{who} let the agents of {team} write {how}{limits}", how=how, limits=limits)


SENTENCES: Mapping[str, Say] = {
    EventKind.MESSAGE_SENT: _sent,
    EventKind.MESSAGE_DELIVERED: lambda e: told("{to} got a message", e.message, to=e.data.get("recipient") or "The agent"),
    EventKind.MESSAGE_REFUSED: _refused,
    EventKind.MESSAGE_STOPPED: _stopped,
    EventKind.MESSAGE_ACTED: _acted,
    EventKind.MESSAGE_MODE: _mode,
}
