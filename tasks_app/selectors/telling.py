"""How an event is told: a sentence in parts, from a template and the names of the things in it.

The words in braces are things with names (`THINGS`), which a page links and a terminal prints. What agents and people wrote
goes into them as text and is never read as a template.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from tasks_app.domain.statuses import REASON_WORD
from tasks_app.domain.text import cut, mask_secrets, one_line
from tasks_app.selectors.journal import Entry, Request

WIDTH = 160
"""Characters of one text of a person or agent in a sentence."""
WHOLE = 4000
"""Characters of such a text where all of it is shown."""
_BRACES = re.compile(r"\{(\w+)\}")
Said = tuple[str, Mapping[str, object]]
"""A template, and the texts of this one event for words in it that are no `THINGS`."""
Say = Callable[[Entry], Said]


UNKNOWN = ("an agent", "a task")
"""How a thing is called whose name is not known."""


@dataclass(frozen=True)
class Part:
    """A piece of a sentence. `kind` says what it names and a page links it by: `task`, `agent`, `team`, `code` or nothing."""

    text: str
    kind: str = ""
    key: str | int = ""
    whole: str = ""  # all of a text that was cut


def fill(said: Said, entry: Entry) -> tuple[Part, ...]:
    """Return the template with everything put in; a word of it (never a name) that comes first has a capital."""
    template, more = said
    parts: list[Part] = []
    for at, piece in enumerate(_BRACES.split(template)):
        if at % 2 == 0:
            parts.append(Part(piece))
        elif piece in more:
            parts.append(_text(str(more[piece])))
        else:
            parts += THINGS[piece](entry)
    found = [part for part in parts if part.text]
    if template[:1].islower() or found[0].text in UNKNOWN:
        found[0] = replace(found[0], text=found[0].text[:1].upper() + found[0].text[1:], kind="", key="")
    return tuple(found)


def who(actor: str) -> str:
    """Return who acts, for people: `user:lead` is `lead`, `agent:ada` is `ada`, `system` is `Crewdesk`."""
    kind, _, name = actor.partition(":")
    return name or ("Crewdesk" if kind == "system" else kind)


def person(entry: Entry, name: str = "") -> str:
    """Return the name of who acts, at the start of a sentence: a person's with a capital, an agent's as it is."""
    found = name or who(entry.actor)
    return found[:1].upper() + found[1:] if entry.actor.startswith("user:") else found


def brief(value: object) -> str:
    """Return a text of an agent or a person as one harmless line without secrets."""
    return one_line(mask_secrets(str(value)), WIDTH)


def _text(words: str, kind: str = "") -> Part:
    """Return a text as part of a sentence, and what of it the sentence has no room for."""
    before = " " if words.startswith(" ") else ""
    whole = one_line(mask_secrets(words), WHOLE)
    shown = cut(whole, WIDTH)
    return Part(before + shown, kind, whole=before + whole if shown != whole else "")


def asked(entry: Entry) -> Request:
    """Return the decision, or what the event itself says of one that is gone."""
    data = entry.data
    return entry.request or Request(str(data.get("kind", "")), str(data.get("title", "")), str(data.get("choice", "")))


def say(template: str, **more: object) -> Said:
    """Return the template with its own words."""
    return template, more


def told(template: str, words: object, **more: object) -> Said:
    """Return the template, and after a colon the words, where there are any."""
    return say(f"{template}: {{words}}" if words else template, words=str(words).rstrip("."), **more)


def always(template: str) -> Say:
    """Tell every event of a kind by one template."""
    return lambda entry: (template, {})


def because(template: str, name: str) -> Say:
    """Tell by a template, and after a colon what the event's data has under `name`."""
    return lambda entry: told(template, entry.data.get(name))


def for_its_reason(template: str) -> Say:
    """Tell by a template, and after a colon why."""
    return lambda entry: told(template, reason(entry))


def reason(entry: Entry) -> str:
    """Return why, in words: the detail, else what the reason code stands for."""
    code = str(entry.data.get("reason", ""))
    word = REASON_WORD.get(code, "" if "_" in code else code)
    return str(entry.data.get("detail") or (word if word.startswith("Claude") else word[:1].lower() + word[1:]))


def count(number: object, word: str, words: str = "") -> str:
    """Return `1 task` or `2 tasks`."""
    return f"{number} {word if str(number) == '1' else words or f'{word}s'}"


def _agent(entry: Entry, otherwise: str) -> tuple[Part]:
    return (Part(brief(entry.agent), "agent", entry.agent_pk or "") if entry.agent else Part(otherwise),)


def _task(entry: Entry, otherwise: str = UNKNOWN[1]) -> tuple[Part]:
    if not entry.task:
        return (Part(otherwise),)
    return (Part(brief(f"{entry.task} {entry.task_title}").strip(), "task", entry.task_pk or ""),)


def _attempt(entry: Entry) -> tuple[Part]:
    number = entry.data.get("attempt") or entry.attempt
    allowed = f" of {entry.allowed}" if entry.allowed and number and int(number) <= entry.allowed else ""
    return (Part(f" (attempt {number}{allowed})" if number else ""),)


def _call(entry: Entry) -> tuple[Part]:
    found = asked(entry)
    if not found.tool:
        return (Part("a tool"),)
    return (_text(f"{found.tool}({found.target})" if found.target else found.tool, "code"),)


THINGS: Mapping[str, Callable[[Entry], tuple[Part, ...]]] = {
    "who": lambda e: (Part(brief(person(e))),),
    "agent": lambda e: _agent(e, UNKNOWN[0]),
    "asker": lambda e: _agent(e, "Crewdesk"),
    "task": _task,
    "on": lambda e: (Part(" on "), *_task(e)) if e.task else (),
    "team": lambda e: (Part(brief(e.team) or "of this log", "team" if e.team_slug else "", e.team_slug),),
    "call": _call,
    "rule": lambda e: (Part(brief(asked(e).rule or "the rule on offer"), "code"),),
    "attempt": _attempt,
}
