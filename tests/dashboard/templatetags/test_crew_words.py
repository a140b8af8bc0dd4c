"""Every state, kind, reason and event has its words."""

from decimal import Decimal

import pytest
from django.utils import timezone

from dashboard.templatetags import crew_words as words
from tasks_app.domain.statuses import REASON_WORD, DecisionKind, Reason, RunStatus, TeamStatus
from tasks_app.selectors.states import AgentState, TaskState, TeamState
from tasks_app.selectors.teams import Counts, TeamSummary


@pytest.mark.parametrize(
    ("states", "family"),
    [(TaskState, "task"), (AgentState, "agent"), (TeamState, "team"), (RunStatus, "run"), (DecisionKind, "kind")],
)
def test_every_state_has_a_word_an_icon_and_a_colour(states, family):
    for state in states:
        look = words.look(state, family)
        assert look.word
        assert look.icon
        assert look.css.startswith("s-")


def test_every_reason_has_words_of_its_own():
    assert set(REASON_WORD) == set(Reason)


def test_progress_leaves_out_what_is_zero_except_done():
    counts = Counts(done=41, in_flight=5, waiting=2, blocked=1, failed=1, queued=9)
    assert words.progress(counts) == "41 of 59 done · 5 in flight · 2 waiting · 1 blocked · 1 failed · 9 queued"
    assert words.progress(Counts(queued=3)) == "0 of 3 done · 3 queued"


def test_the_bar_of_a_team_is_full_and_without_a_gap():
    found = words.segments(Counts(done=1, in_flight=1, queued=1))
    assert [css for css, _, _ in found] == ["d", "r", "q"]
    assert found[1][1] == pytest.approx(found[0][1] + found[0][2], abs=0.02)
    assert sum(width for _, _, width in found) == pytest.approx(100, abs=0.05)
    assert words.segments(Counts()) == []


def team(**changes):
    facts = {
        "pk": 1, "slug": "a", "name": "A", "goal": "", "status": TeamStatus.ACTIVE, "rehearsal": False, "sandbox": False,
        "workspace": "/", "state": TeamState.IN_FLIGHT, "counts": Counts(queued=1), "waiting": 0, "agents": 1,
        "budget_usd": Decimal(60), "budget_tokens": None, "used_usd": Decimal("41.20"), "cost_partial": False,
        "used_tokens": 1_840_000, "created_at": timezone.now(), "ended_at": None, "archived_at": None, "open_runs": 0,
        "last_seq": 0, "run_budget": {},
    }  # fmt: skip
    return TeamSummary(**(facts | changes))


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "$41.20 of $60 · 68% · 1.84 M tok"),
        ({"used_usd": Decimal(48)}, "$48.00 of $60 · 80% · warn · 1.84 M tok"),
        ({"used_usd": Decimal(54)}, "$54.00 of $60 · 90% · critical · 1.84 M tok"),
        ({"used_usd": Decimal("62.10")}, "$62.10 of $60 · over by $2.10 · new tasks held · 1.84 M tok"),
        ({"used_usd": Decimal(60)}, "$60.00 of $60 · used up · new tasks held · 1.84 M tok"),
        ({"used_usd": Decimal(61), "counts": Counts(done=1)}, "$61.00 of $60 · over by $1.00 · 1.84 M tok"),
        ({"budget_tokens": 1_800_000}, "$41.20 of $60 · over by 40 k tok · new tasks held · 1.84 M tok"),
        ({"used_usd": None}, "cost not reported (budget $60) · 1.84 M tok"),
        ({"budget_usd": None, "used_usd": Decimal(4)}, "$4.00 · 1.84 M tok"),
        ({"budget_usd": None}, "$41.20 of $20 · over by $21.20 · new tasks held · 1.84 M tok"),
        ({"cost_partial": True}, "at least $41.20 of $60 · 68% · 1.84 M tok"),
        ({"used_usd": None, "cost_partial": True}, "cost not reported (budget $60) · 1.84 M tok"),
    ],
)
def test_spending_is_said_against_the_budget(changes, text):
    assert words.spending(team(**changes)) == text
