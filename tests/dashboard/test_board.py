"""The board and the table: every task stands once, where its state puts it, in the order it will be worked on."""

import pytest
from django.urls import reverse

from dashboard.panels.board import Filter
from tests import factories as make
from tests.dashboard.conftest import html_of, words_of


def column(response, team, state):
    html = html_of(response)
    start = html.index(f'id="col-{team.pk}-{state}"')
    return html[start : html.index("</section>", start)]


def test_each_task_stands_in_the_column_of_its_state(board, team):
    done = make.TaskFactory(team=team, done=True, title="Alpha")
    failed = make.TaskFactory(team=team, gave_up=True, title="Beta")
    make.TaskFactory(team=team, needs=[failed], title="Gamma")
    make.RunFactory(task__team=team, task__title="Delta", agent__team=team)
    make.DecisionFactory(run=make.RunFactory(task__team=team, task__title="Epsilon", agent__team=team))
    make.TaskFactory(team=team, needs=[done], title="Zeta", role="")
    make.TaskFactory(team=team, cancelled=True, title="Eta")
    page = board()
    places = {
        "waiting": "Epsilon", "failed": "Beta", "blocked": "Gamma", "in_flight": "Delta", "queued": "Zeta", "done": "Alpha",
        "cancelled": "Eta",
    }  # fmt: skip
    for state, title in places.items():
        assert title in column(page, team, state)
        assert html_of(page).count(f" {title}</a>") == 1


def test_what_the_lead_agent_decides_stands_in_flight_and_nothing_says_that_it_waits_for_you(board, team, desk):
    run = make.RunFactory(task__team=team, task__title="Alpha", agent__team=team)
    make.DecisionFactory(run=run, decider="lead")
    assert "<b>With the lead agent</b>" in column(board(), team, "in_flight")
    assert "Alpha" not in column(board(), team, "waiting")
    for page in (
        board("?view=table"),
        desk.get(reverse("task", args=[run.task_id])),
        desk.get(reverse("agent", args=[run.agent_id])),
    ):
        assert "With the lead agent" in words_of(page)


def test_a_blocked_card_says_by_whom_and_whether_waiting_helps(board, team):
    a = make.TaskFactory(team=team, number=1, gave_up=True)
    b = make.TaskFactory(team=team, number=2, needs=[a])
    make.TaskFactory(team=team, number=3, needs=[b])
    text = column(board(), team, "blocked")
    assert ", which failed" in text
    assert ", which can never start: T-1 failed" in text


def test_a_blocked_card_says_that_what_failed_stands_among_what_waits(board, team):
    """One task is in one column: while the lead is asked about it, it is not in that of the failed ones."""
    a = make.TaskFactory(team=team, number=1, gave_up=True)
    b = make.TaskFactory(team=team, number=2, needs=[a])
    make.TaskFactory(team=team, number=3, needs=[b])
    make.DecisionFactory(run=None, team=team, task=a, kind="escalation")
    text = column(board(), team, "blocked")
    assert ", which failed and waits for you" in text
    assert ", which can never start: T-1 failed and waits for you" in text
    assert "by T-1, which failed and waits for you" in words_of(board("?view=table"))


def test_a_task_whose_only_blocker_is_done_has_no_badge_anywhere(board, team, desk):
    task = make.TaskFactory(team=team, needs=[make.TaskFactory(team=team, done=True)], title="Freed")
    for response in (board(), board("?view=table"), desk.get(reverse("task", args=[task.pk]))):
        assert "Blocked by" not in words_of(response)
    assert "Freed" in column(board(), team, "queued")
    assert "✓" in words_of(desk.get(reverse("task", args=[task.pk])))


def test_queued_tasks_stand_in_the_order_in_which_they_are_taken(board, team):
    make.TaskFactory(team=team, title="Last", priority=9)
    make.TaskFactory(team=team, title="Second", priority=5, position=2)
    make.TaskFactory(team=team, title="First", priority=5, position=1)
    text = column(board(), team, "queued")
    assert text.index("First") < text.index("Second") < text.index("Last")


def test_the_done_column_shows_the_last_ten_and_says_so(board, team):
    for age in range(12):
        make.TaskFactory(team=team, done=True, title=f"Done-{age:02}", completed_at=make.ago(minutes=age + 1))
    text = column(board(), team, "done")
    assert "Done-09" in text
    assert "Done-10" not in text
    assert "last 10" in text
    assert "All 12 as a table" in text


@pytest.mark.parametrize("view", ["", "&view=table"])
def test_a_filter_leaves_only_what_matches(board, team, view):
    run = make.RunFactory(task__team=team, task__title="Billing page", agent__team=team, agent__name="ada")
    make.TaskFactory(team=team, title="Other thing")
    for query in ("?q=billing", f"?q=t-{run.task.number}+page", "?agent=ada"):
        text = words_of(board(query + view))
        assert "Billing page" in text
        assert "Other thing" not in text


@pytest.mark.parametrize("view", ["", "&view=table"])
def test_a_filter_by_kind_leaves_only_tasks_of_that_kind(board, team, view):
    task = make.TaskFactory(team=team, title="Billing page")
    make.TaskFactory(team=team, title="Judge it", review_of=task)
    make.TaskFactory(team=team, title="Choose who", type="lead")
    titles = {"agent": "Billing page", "review": "Judge it", "lead": "Choose who"}
    for kind, title in titles.items():
        text = words_of(board(f"?kind={kind}{view}"))
        assert [one for one in titles.values() if one in text] == [title]
    assert "Judge it" in words_of(board("?kind=nonsense" + view)), "what no filter knows hides nothing"


def test_every_link_of_a_filtered_board_keeps_the_filter(board, team):
    for _ in range(12):
        make.TaskFactory(team=team, done=True, title="Part")
    html = html_of(board("?q=part&kind=agent"))
    assert 'href="?q=part&amp;kind=agent&amp;col=done"' in html
    assert '<a href="?view=table&amp;q=part&amp;kind=agent">All 12 as a table</a>' in html
    assert 'href="?view=table">Clear filters</a>' in html_of(board("?q=part&view=table"))


def test_a_filter_that_matches_nothing_says_so(board, team):
    make.TaskFactory(team=team)
    assert "No task matches. Clear filters" in words_of(board("?q=nothing-like-it&view=table"))


def test_a_filter_survives_as_a_query_string_and_nonsense_in_it_is_ignored():
    chosen = Filter(view="table", text="a b", agent="ada", kind="review", hide_done=True, column="failed")
    assert Filter.parse(chosen.query) == chosen
    assert Filter.parse("view=zz&col=zz&hide=2&q=" + "x" * 500) == Filter(text="x" * 200)


def test_a_filter_too_long_for_the_socket_leaves_the_page_still(board, team):
    assert 'data-live=""' in html_of(board("?q=" + "ü" * 150))
    assert 'data-live="/live/' in html_of(board("?q=billing"))


def test_the_phone_shows_the_column_that_was_chosen_or_the_most_urgent(board, team):
    make.TaskFactory(team=team)
    make.TaskFactory(team=team, gave_up=True)
    assert 'class="board"' in html_of(board())
    assert 'class="col empty"' in html_of(board()).split(f"col-{team.pk}-waiting")[1][:60]
    assert 'class="col"' in html_of(board()).split(f"col-{team.pk}-failed")[1][:60]
    assert 'class="board chosen"' in html_of(board("?col=queued"))
    assert 'class="col on"' in html_of(board("?col=queued")).split(f"col-{team.pk}-queued")[1][:60]


def test_a_viewer_sees_the_team_and_no_button(watcher, team):
    text = words_of(watcher.get(reverse("team", args=["atlas"])))
    assert "Atlas" in text
    assert "Pause new work" not in text
    assert "Send" not in text
