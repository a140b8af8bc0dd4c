"""What an agent sends is shown whatever it holds and whatever it lacks: hostile words, holes, and each tool's own input."""

import copy

import pytest
from django.urls import reverse

from dashboard.access import viewer_for
from dashboard.panels.base import Drawing
from dashboard.panels.decision import Decision
from tasks_app.domain.statuses import DecisionKind
from tests import factories as make
from tests.dashboard.conftest import html_of, words_of


@pytest.fixture
def shown(team, desk):
    """Return a function that gives the page of a request with this payload."""
    run = make.RunFactory(task__team=team, agent__team=team)

    def get(kind, payload, title="x"):
        decision = make.DecisionFactory(run=run, kind=kind.value, payload=payload, title=title)
        response = desk.get(reverse("inbox-detail", args=[decision.pk]))
        assert response.status_code == 200, payload
        return response

    return get


@pytest.mark.parametrize("kind", DecisionKind)
def test_hostile_words_of_an_agent_stay_words(shown, kind):
    hostile = "<img src=x onerror=alert(1)><script>alert(2)</script>\x1b[31m"
    html = html_of(shown(kind, _spoiled(make.PAYLOADS[kind], hostile), title=hostile))
    assert "<img" not in html
    assert "<script>alert" not in html
    assert "\x1b" not in html


def _spoiled(value, words):
    if isinstance(value, dict):
        return {key: _spoiled(item, words) if key not in {"tool", "level", "scope"} else item for key, item in value.items()}
    if isinstance(value, list):
        return [_spoiled(item, words) for item in value]
    return words if isinstance(value, str) else value


@pytest.mark.parametrize("kind", DecisionKind)
@pytest.mark.parametrize("payload", [{}, {"questions": None, "options": None, "input": None, "plan": None, "risk": None}])
def test_a_payload_with_holes_is_still_a_page(shown, kind, payload):
    shown(kind, payload)


@pytest.mark.parametrize("kind", DecisionKind)
def test_whatever_one_thing_is_missing_the_rest_is_still_shown(lead, team, kind):
    payload = make.PAYLOADS[kind]
    paths = list(_paths(payload))
    assert len(paths) >= len(payload)
    asked = make.DecisionFactory(run=make.RunFactory(task__team=team, agent__team=team), kind=kind.value)
    card, viewer = Decision().block(asked.pk, team.pk), viewer_for(lead)
    for path in paths:
        type(asked).objects.filter(pk=asked.pk).update(payload=_without(payload, path))
        html = Drawing().own(card, viewer).own
        assert f'data-decision="{asked.pk}"' in html, path
        assert "data-answers" in html, "with its answers"


def _paths(value):
    """Every place in a payload, down to the last."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield (key,)
        yield from ((key, *rest) for rest in _paths(item))


def _without(payload, path):
    left = copy.deepcopy(payload)
    inside = left
    for step in path[:-1]:
        inside = inside[step]
    del inside[path[-1]]
    return left


CALLS = [
    ("Write", {"file_path": "/srv/atlas/notes.md", "content": "notes"}, "notes.md", "New content of /srv/atlas/notes.md"),
    ("Edit", {"file_path": "/srv/atlas/a.py", "old_string": "1", "new_string": "2"}, "a.py", "Change of /srv/atlas/a.py"),
    ("WebFetch", {"url": "https://example.org", "prompt": "Read"}, "example.org", "https://example.org"),
    ("mcp__tracker__create", {"title": "A bug", "description": "It is slow."}, "create (MCP)", "It is slow."),
]


@pytest.mark.parametrize(("tool", "given", "subtitle", "words"), CALLS, ids=[tool for tool, *_ in CALLS])
def test_a_call_with_the_subtitle_of_claude_code_is_shown_and_gives_no_reason(shown, tool, given, subtitle, words):
    permission = {**make.PAYLOADS[DecisionKind.PERMISSION], "tool": tool, "input": given, "description": subtitle}
    text = words_of(shown(DecisionKind.PERMISSION, permission))
    assert words in text
    assert "The agent’s reason" not in text


def test_a_command_is_shown_with_the_reason_of_its_agent(shown):
    assert "The agent’s reason “Rebuild from scratch”" in words_of(
        shown(DecisionKind.PERMISSION, make.PAYLOADS[DecisionKind.PERMISSION])
    )


def test_a_plan_in_its_second_version_shows_what_changed(shown):
    html = html_of(shown(DecisionKind.PLAN, {"plan": "a\nc", "version": 2, "previous": "a\nb"}))
    assert "Version 2 of the plan" in html
    assert "<ins>+c </ins>" in html
    assert "<del>-b </del>" in html


@pytest.mark.parametrize(("title", "times"), [("It answers 401.", 0), ("It answers …", 1)])
def test_the_problem_of_an_escalation_is_said_below_its_title_only_where_that_is_not_all_of_it(shown, title, times):
    payload = {**make.PAYLOADS[DecisionKind.ESCALATION], "problem": "It answers 401."}
    html = html_of(shown(DecisionKind.ESCALATION, payload, title=title))
    assert html.count('<p class="pre">It answers 401.</p>') == times
    assert "It answers 401." in html
