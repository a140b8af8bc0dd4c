"""What each kind of event says to people: one plain sentence, who did what to which thing, with the answer or reason.

`SENTENCES` is the one place for it: how each kind is told. The words in braces are names of things (see telling.py).
"""

from collections.abc import Mapping

from tasks_app.domain.events import EventKind
from tasks_app.domain.statuses import Reason
from tasks_app.selectors import fork_sentences, message_sentences, telling
from tasks_app.selectors.asked_sentences import about, answered, opened, unanswered
from tasks_app.selectors.journal import Entry
from tasks_app.selectors.telling import Part, Said, Say, always, because, count, for_its_reason, person, reason, say, told


def sentence(entry: Entry) -> tuple[Part, ...]:
    """Return the event as a sentence in parts, without a full stop; never an id or a code word."""
    tell = SENTENCES.get(entry.kind, always("{who} did something that this version has no words for{on}"))
    return telling.fill(tell(entry), entry)


def text(entry: Entry, *, whole: bool = False) -> str:
    """Return the sentence as one harmless line, with `whole` also what it would cut; what can be run stands in backticks."""
    parts = [((whole and part.whole) or part.text, part.kind) for part in sentence(entry)]
    return "".join(f"`{said}`" if kind == "code" else said for said, kind in parts)


def _team_started(entry: Entry) -> Said:
    return say(
        "{who} started the team {team} with {tasks} and {agents}{rehearsed}",
        tasks=count(entry.data.get("tasks", "no"), "task"),
        agents=count(entry.data.get("agents", "no"), "agent"),
        rehearsed=", as a rehearsal" if entry.data.get("rehearsal") else "",
    )


def _team_imported(entry: Entry) -> Said:
    left_out = entry.data.get("left_out")
    odd = f", without notes of {left_out} that only Crewdesk may write, and did not" if left_out else ""
    return say("{who} imported the team {team} from a file{odd}; it is paused", odd=odd)


def _task_created(entry: Entry) -> Said:
    needs = _labels(entry, "waits_for")
    return say("{who} added {task}{after}", after=f", to start after {needs}" if needs else "")


def _labels(entry: Entry, key: str) -> str:
    found = entry.data.get(key)
    return ", ".join(str(one) for one in found) if isinstance(found, list) else ""


FIELDS: Mapping[str, str] = {
    "depends_on": "what it waits for",
    "position": "its place in the queue",
    "rules": "what is allowed in it",
    "criteria": "its acceptance criteria",
    "guidance": "what the next attempt is told by the lead",
    "active_form": "how it is shown while it is worked on",
    "assignee": "who does it",
    "metadata": "its notes",
    "expected_min": "how long it should take",
    "expected_max": "how long it should take",
}


def _task_edited(entry: Entry) -> Said:
    for key, how in (("waits_for", "wait for"), ("waits_no_more", "no longer wait for")):
        if others := _labels(entry, key):
            return say(f"{{who}} let {{task}} {how} {{others}}", others=others)
    fields = [str(name).removesuffix("_id") for name in entry.data.get("fields") or ()]
    words = dict.fromkeys(FIELDS.get(name, f"its {name.replace('_', ' ')}") for name in fields)
    return told("{who} changed {task}", ", ".join(words))


def _task_completed(entry: Entry) -> Said:
    evidence, open_one = entry.data.get("evidence") or {}, entry.data.get("while_blocked_by")
    by_hand = entry.actor.startswith("user:") or "by hand" in evidence
    proved = f", with evidence for {count(len(evidence), 'criterion', 'criteria')}" if evidence else ""
    return say(
        "{by} completed {task}{how}{open}",
        by=person(entry, str(entry.data.get("by") or entry.agent)),
        how=f" by hand{', though not all criteria were met' if 'not met' in evidence else ''}" if by_hand else proved,
        open=f", while {open_one} was not done" if open_one else "",
    )


def _task_proved(entry: Entry) -> Said:
    results = entry.data.get("results") or []
    left = [one for one in results if not one.get("met")]
    words = " – ".join(f"{one.get('number')}. {one.get('says')}" for one in left)
    how = (
        f"{len(results) - len(left)} of {count(len(results), 'criterion', 'criteria')} {'is' if len(results) == 1 else 'are'} met"
    )
    return told("{agent}’s work on {task} was checked: {how}", words, how=how)


def _task_in_review(entry: Entry) -> Said:
    review = f" in {entry.data['review']}" if entry.data.get("review") else ""
    return say("{name} is to look at {task}{review}", name=entry.data.get("reviewer") or "An agent", review=review)


def _task_reviewed(entry: Entry) -> Said:
    template = "{name} looked at {task} and " + ("accepted it" if entry.data.get("verdict") == "accept" else "sent it back")
    return told(template, str(entry.data.get("note") or ""), name=entry.data.get("reviewer") or "Somebody")


def _task_released(entry: Entry) -> Said:
    on_purpose = entry.data.get("reason") in (Reason.STOPPED, Reason.SUPERSEDED, Reason.BY_HAND)
    words = [reason(entry).rstrip(".")] if on_purpose else ["failed", reason(entry).rstrip(".")]
    return say("{task} went back to the queue: {why}{attempt}", why=", ".join(filter(None, words)))


def _task_reassigned(entry: Entry) -> Said:
    start = ", to go on from what the last attempt left" if entry.data.get("start") == "last" else ""
    to = entry.data.get("to") or "any free agent"
    return told("{who} gave {task} to {to}{start}", entry.data.get("guidance"), to=to, start=start)


def _run_started(entry: Entry) -> Said:
    return say("{agent} went on with {task}{attempt}" if entry.data.get("resumed") else "{agent} began {task}{attempt}")


def _run_steps(entry: Entry) -> Said:
    first, last = entry.data.get("first", 1), entry.data.get("last", 1)
    return say("{agent} worked: {steps}", steps=f"step {first}" if first == last else f"steps {first} to {last}")


PARKED: Mapping[str, str] = {
    Reason.PARKED: "{agent} stepped aside{on} until the lead has answered",
    Reason.INTERRUPTED: "{agent} was interrupted{on} because its worker left; it will go on",
    Reason.WORKER_LOST: "{agent} lost its worker{on}; it goes on when the lead has answered",
}


def _run_parked(entry: Entry) -> Said:
    known = PARKED.get(str(entry.data.get("reason", "")))
    return say(known) if known else told("{agent} waits{on} and will try again by itself", reason(entry))


LEVELS: Mapping[str, str] = {
    "wrap_up": ", and is told to wrap up",
    "checkpoint": ", and its work is saved",
    "used_up": ", and stops until the lead has decided",
}


def _budget_level(entry: Entry) -> Said:
    used, limit = float(entry.data.get("used") or 0), float(entry.data.get("limit") or 0)
    past, in_usd = float(entry.data.get("over") or 0), entry.data.get("unit") == "usd"
    over = f", over by ${past:,.2f}" if in_usd else f", over by {past:,.0f} tokens"
    amounts = f"${used:,.2f} of ${limit:,.2f}" if in_usd else f"{used:,.0f} of {limit:,.0f} tokens"
    return say(
        "{agent} has used {amounts}{percent}, the budget of the {scope}{level}",
        amounts=amounts,
        percent=f" ({used * 100 / limit:.0f} %{over if past else ''})" if limit > 0 else "",
        scope=str(entry.data.get("scope", "run")).replace("run", "attempt"),
        level=LEVELS.get(str(entry.data.get("level")), ""),
    )


BUDGETS: Mapping[str, str] = {
    "run": "the attempt{on}",
    "runs": "each attempt{on}",
    "task": "{task}",
    "team": "the team {team}",
    "server": "the server for today",
}


def _budget_changed(entry: Entry) -> Said:
    scope, new = str(entry.data.get("scope", "")), str(entry.data.get("new") or "the default")
    if scope == "run" and not new.startswith("+"):
        return say("{who} let the attempt{on} finish with the model {new}", new=new)
    how, amount = ("raised the budget of PLACE by", new[1:]) if new.startswith("+") else ("set the budget of PLACE to", new)
    return say(f"{{who}} {how.replace('PLACE', BUDGETS.get(scope, 'the attempt'))} {{amount}}", amount=amount)


def _context_shared(entry: Entry) -> Said:
    again = f", version {entry.data['version']}" if entry.data.get("version", 1) != 1 else ""
    return say("{who} shared “{name}” with the team{again}", name=entry.data.get("name", ""), again=again)


def _context_read(entry: Entry) -> Said:
    names = [f"“{name}”" for name in entry.data.get("names") or ()]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    way = "was told" if entry.data.get("how") == "prompt" else "read"
    return say(f"{{who}} {way} {{names}}{{on}}", names=", ".join(names[:3]) + more or "what is shared")


def _context_schema(entry: Entry) -> Said:
    did = "set the schema of" if entry.data.get("set") else "removed the schema of"
    return say(f"{{who}} {did} “{{name}}”", name=entry.data.get("name", ""))


def _checkpoint_restored(entry: Entry) -> Said:
    what = "{task}" if entry.task else "the team {team}"
    words = f"{{who}} put {what} back to the checkpoint “{{name}}”"
    return told(words, entry.data.get("changes"), name=entry.data.get("name", ""))


def _settings(entry: Entry) -> str:
    return ", ".join(f"{name.replace('_', ' ')}: {value}" for name, value in entry.data.items())


def _lead_woken(entry: Entry) -> Said:
    asked_for = count(len(entry.data.get("decisions") or ()), "request")
    return say("The lead agent {name} was woken for {requests}", name=entry.data.get("agent") or "", requests=asked_for)


UNDONE: Mapping[str, str] = {
    "cancelled": "{who} took the cancelling of {task} back",
    "reassigned": "{who} took back that {task} was given out again",
}


def _note(entry: Entry) -> Said:
    """Services write two kinds of note: what an agent reports of its task, and what is done about a request without an answer."""
    words = str(entry.data.get("text", ""))
    if entry.decision and words == "awake again":
        return about("{who} ended the snooze of REQUEST")(entry)
    if entry.decision and words == "is looking":
        return about("{who} looks at REQUEST")(entry)
    if entry.decision:
        return about("{who} put off REQUEST", "text")(entry)
    _, _, status = words.partition("reports: ")
    if not status:
        return told("{who} made a note{on}", words)
    return say("{who} reported {task} as {status}", status="not done" if status == "pending" else status.replace("_", " "))


SENTENCES: Mapping[str, Say] = {
    EventKind.TEAM_STARTED: _team_started,
    EventKind.TEAM_PAUSED: always("{who} paused the team {team}"),
    EventKind.TEAM_RESUMED: always("{who} let the team {team} work again"),
    EventKind.TEAM_STOPPED: always("{who} stopped the team {team}"),
    EventKind.TEAM_ARCHIVED: always("{who} archived the team {team}"),
    EventKind.TEAM_RESTORED: always("{who} brought the team {team} back from the archive"),
    EventKind.TEAM_DECIDES: lambda e: told("{who} changed who decides what in {team}", _settings(e)),
    EventKind.TEAM_IMPORTED: _team_imported,
    EventKind.TASK_CREATED: _task_created,
    EventKind.TASK_EDITED: _task_edited,
    EventKind.TASK_SPLIT: because("{who} split {task}", "parts"),
    EventKind.TASK_CLAIMED: always("{agent} took {task}{attempt}"),
    EventKind.TASK_PROVED: _task_proved,
    EventKind.TASK_IN_REVIEW: _task_in_review,
    EventKind.TASK_REVIEWED: _task_reviewed,
    EventKind.TASK_COMPLETED: _task_completed,
    EventKind.TASK_RELEASED: _task_released,
    EventKind.TASK_REASSIGNED: _task_reassigned,
    **fork_sentences.SENTENCES,
    EventKind.TASK_REOPENED: because("{who} reopened {task}", "why"),
    EventKind.TASK_UNDONE: lambda e: say(UNDONE.get(str(e.data.get("what")), "{who} took back what was done with {task}")),
    EventKind.TASK_CANCELLED: because("{who} cancelled {task}", "why"),
    EventKind.RUN_STARTED: _run_started,
    EventKind.RUN_STEPS: _run_steps,
    EventKind.RUN_PARKED: _run_parked,
    EventKind.RUN_RESUMABLE: for_its_reason("{agent} can go on{on}"),
    EventKind.RUN_COMPLETED: always("{agent} finished its attempt{on}{attempt}"),
    EventKind.RUN_FAILED: for_its_reason("{agent} failed{on}{attempt}"),
    EventKind.RUN_KILLED: for_its_reason("{agent}’s attempt{on} was ended{attempt}"),
    EventKind.RUN_STOPPING: always("{who} told {agent} to stop{on}"),
    EventKind.DECISION_OPENED: opened,
    EventKind.DECISION_ANSWERED: answered,
    EventKind.DECISION_DELIVERED: about("The answer to REQUEST reached the agent"),
    EventKind.DECISION_WITHDRAWN: about("REQUEST was withdrawn", "why"),
    EventKind.DECISION_EXPIRED: unanswered,
    EventKind.DECISION_HANDED_ON: about("REQUEST was handed on from the lead agent to the human", "why"),
    EventKind.DECISION_NOTIFIED: about("On-call was told of REQUEST, which has waited for long"),
    EventKind.DECISION_NOTIFY_FAILED: about("On-call could not be told of REQUEST", "why"),
    **message_sentences.SENTENCES,
    EventKind.CONTEXT_SHARED: _context_shared,
    EventKind.CONTEXT_READ: _context_read,
    EventKind.CONTEXT_DELETED: lambda e: say("{who} deleted “{name}” from what the team shares", name=e.data.get("name", "")),
    EventKind.CONTEXT_EXPIRED: lambda e: say("the shared entry “{name}” has expired", name=e.data.get("name", "")),
    EventKind.CONTEXT_SCHEMA: _context_schema,
    EventKind.CHECKPOINT_SAVED: lambda e: say("{who} saved the checkpoint “{name}”", name=e.data.get("name", "")),
    EventKind.CHECKPOINT_RESTORED: _checkpoint_restored,
    EventKind.CHECKPOINT_DELETED: lambda e: say("{who} deleted the checkpoint “{name}”", name=e.data.get("name", "")),
    EventKind.BUDGET_LEVEL: _budget_level,
    EventKind.BUDGET_CHANGED: _budget_changed,
    EventKind.LEAD_WOKEN: _lead_woken,
    EventKind.AGENT_STOPPED: always("{who} stopped {agent}: it takes no more work"),
    EventKind.AGENT_RESUMED: always("{who} let {agent} work again"),
    EventKind.NOTE: _note,
}
