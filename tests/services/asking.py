"""A run that has asked something, and the usual answer to each kind of question."""

from tasks_app.domain.statuses import DecisionKind
from tasks_app.services import decisions
from tests.services import world

CHOICE = {
    DecisionKind.PERMISSION: ("allow", None),
    DecisionKind.PLAN: ("approve", None),
    DecisionKind.QUESTION: (
        "answer",
        {"answers": {"Which currency format should the invoices use?": "ISO code"}},
    ),
    DecisionKind.ESCALATION: ("answer", {"option": "Mock the API"}),
}


def opened(crew=None, kind=DecisionKind.PERMISSION, **payload):
    crew = crew or world.make()
    held = crew.claim()
    return held, decisions.open_for_run(held.id, held.fence, world.ask(kind, **payload))
