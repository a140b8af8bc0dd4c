"""What the events of a decision say to people: what was asked, what was answered."""

from collections.abc import Mapping

from tasks_app.decision_kinds import registry
from tasks_app.domain.statuses import DecisionKind
from tasks_app.domain.text import one_line
from tasks_app.selectors.journal import Entry, Request
from tasks_app.selectors.telling import Said, Say, asked, because, say, told

REQUESTS: Mapping[str, str] = {
    DecisionKind.PERMISSION: "{asker}’s request to use {call}",
    DecisionKind.PLAN: "{asker}’s plan",
    DecisionKind.QUESTION: "{asker}’s question",
    DecisionKind.ESCALATION: "{asker}’s escalation",
    DecisionKind.BUDGET: "{asker}’s request for more budget",
    DecisionKind.STALL: "the question about {asker}’s silence",
    DecisionKind.REVIEW: "{asker}’s request for a review",
}


def about(template: str, name: str = "") -> Say:
    """Tell by a template in which REQUEST stands for what the decision is about; after a colon the data's `name`."""

    def tell(entry: Entry) -> Said:
        request = REQUESTS.get(asked(entry).kind, "{asker}’s request")
        return because(template.replace("REQUEST", f"{request}{{on}}"), name)(entry)

    return tell


def unanswered(entry: Entry) -> Said:
    """Tell that nobody answered in time, and what that means for this kind."""
    kind = asked(entry).kind
    means = f": {registry.get(kind).UNANSWERED.meant}" if kind in registry.KINDS else ""
    return about(f"Nobody answered REQUEST in time{means}")(entry)


OPENED: Mapping[str, str] = {
    DecisionKind.PERMISSION: "{asker} asked to use {call}{on}",
    DecisionKind.QUESTION: "{asker} asked the lead{on}: {question}",
    DecisionKind.PLAN: "{title} for {task}",
    DecisionKind.ESCALATION: "{asker} needs a decision of the lead{on}: {title}",
    DecisionKind.REVIEW: "{asker} asked the lead to look at {task}",
}


def opened(entry: Entry) -> Said:
    """Tell what was asked."""
    found = asked(entry)
    if found.kind == DecisionKind.ESCALATION and not entry.agent:
        what = found.title.removeprefix(f"{entry.task} {entry.task_title} ")
        return told("{asker} asked the lead what to do with {task}", what)
    question = found.title.partition(" asks: ")[2] or found.title
    template, title = OPENED.get(found.kind, "{title}{on}"), found.title or "An agent needs the lead"
    if entry.agent and title.startswith(f"{entry.agent} ") and template.startswith("{title}"):
        template, title = f"{{asker}}{template}", title.removeprefix(entry.agent)
    return say(template, title=title, question=question)


ANSWERED: Mapping[tuple[str, str], str] = {
    (DecisionKind.PERMISSION, "allow"): "{who} allowed {call} once for {asker}{on}",
    (DecisionKind.PERMISSION, "allow_rule"): "{who} allowed {rule} for all of {task}; {asker} had asked for {call}",
    (DecisionKind.PERMISSION, "deny"): "{who} denied {call} to {asker}{on}",
    (DecisionKind.PLAN, "approve"): "{who} approved {asker}’s plan for {task}",
    (DecisionKind.PLAN, "approve_changes"): "{who} approved {asker}’s plan for {task} with changes",
    (DecisionKind.PLAN, "revise"): "{who} sent back {asker}’s plan for {task}",
    (DecisionKind.QUESTION, "answer"): "{who} answered {asker}{on}",
    (DecisionKind.QUESTION, "dismiss"): "{who} left the question to {asker}{on}",
    (DecisionKind.ESCALATION, "answer"): "{who} decided for {asker}{on}",
    (DecisionKind.BUDGET, "raise"): "{who} raised the budget of the {scope} by {amount} for {asker}{on}",
    (DecisionKind.BUDGET, "smaller_model"): "{who} let {asker} finish with a smaller model{on}",
    (DecisionKind.BUDGET, "stop"): "{who} stopped {asker} for its budget{on}",
    (DecisionKind.STALL, "wait"): "{who} let the quiet {asker} go on{on}",
    (DecisionKind.STALL, "retry"): "{who} had the attempt of the quiet {asker} made again{on}",
    (DecisionKind.STALL, "stop"): "{who} stopped the quiet {asker}{on}",
    (DecisionKind.REVIEW, "approve"): "{who} looked at {asker}’s work on {task} and accepted it",
    (DecisionKind.REVIEW, "revise"): "{who} looked at {asker}’s work on {task} and sent it back",
}


def answered(entry: Entry) -> Said:
    """Tell what was answered, with the words that went with it."""
    found = asked(entry)
    template = ANSWERED.get((found.kind, found.choice), "{who} answered {asker}{on}")
    if not entry.agent and found.kind == DecisionKind.ESCALATION:
        template = "{who} decided what to do with {task}"
    usd, tokens = found.answer.get("usd"), found.answer.get("tokens")
    words = " – ".join(word for word in (*_content(found), found.note) if word)
    return told(template, words, scope=found.scope or "attempt", amount=f"${usd}" if usd else f"{tokens or 'some'} tokens")


def _content(found: Request) -> list[str]:
    """What was chosen or written, beside the note."""
    if found.kind == DecisionKind.ESCALATION:
        return [str(found.answer.get(name) or "") for name in ("option", "text")]
    if found.kind != DecisionKind.QUESTION:
        return []
    answers = found.answer.get("answers") or {}
    said = [", ".join(map(str, each)) if isinstance(each, list) else str(each) for each in answers.values()]
    return said if len(said) == 1 else [f"{one_line(q, 60)} {a}" for q, a in zip(answers, said, strict=True)]
