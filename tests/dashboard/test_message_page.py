"""The page of a message: what can be done from it, who may, and what is said where something cannot be done."""

from pathlib import Path

import pytest

from tasks_app.models import Run
from tasks_app.services import actions, runs
from tests.dashboard.conftest import html_of, words_of
from tests.services.forking import Tried, tried


@pytest.fixture
def one(lead, tmp_path: Path) -> Tried:
    return tried(tmp_path / "work", slug="forks", lead=lead, name="Forks")


def address(one: Tried, seq: int) -> str:
    return f"/runs/{one.run.pk}/messages/{seq}/"


def test_each_message_of_a_transcript_leads_to_its_page(desk, one):
    html = html_of(desk.get(f"/agents/{one.run.agent_id}/?run={one.run.pk}"))
    assert [seq for seq in range(1, 7) if f'href="{address(one, seq)}"' in html] == [1, 2, 5, 6]


def test_a_message_of_the_agent_can_be_forked_from_and_says_which_files_there_are(desk, one):
    words = words_of(desk.get(address(one, 5)))
    assert "as they were at step 1, the last prompt before it" in words
    assert "What the 1 call between step 1 and this message changed is undone as well" in words
    assert "Put the files back" not in words


def test_the_form_makes_the_fork_and_the_task_says_what_it_is(desk, one):
    done = desk.post(
        f"{address(one, 5)}action/", {"do": "fork", "agent": one.crew.agents[1].pk, "guidance": "Go.", "files": "now"}
    )
    assert (done.status_code, done["Location"]) == (302, f"/tasks/{one.run.task_id}/")
    made = Run.objects.get(attempt=2)
    assert (made.agent, made.guidance) == (one.crew.agents[1], "Go.")
    page = desk.get(f"/tasks/{one.run.task_id}/")
    assert "attempt 1, step 5 : “two”, with the files as they were when it was forked" in words_of(page)
    assert f'href="{address(one, 5)}"' in html_of(page)
    assert "in a fork of attempt 1, from step 5, on the files as they are: Go" in words_of(desk.get("/history/"))


def test_a_prompt_shows_which_files_would_go_back_and_puts_them_back_and_undoes_it(desk, one):
    page = desk.get(address(one, 1))
    assert "2 files changed" in words_of(page)
    assert "new/b.txt" in words_of(page)
    seen = html_of(page).split('name="seen" value="')[1].split('"')[0]
    done = desk.post(f"{address(one, 1)}action/", {"do": "rewind", "seen": seen}, follow=True)
    assert "The files were put back: 2 files changed" in words_of(done)
    assert "nothing would change" in words_of(done)
    assert (one.folder / "a.txt").read_text() == "before"
    assert "Undone: 2 files" in words_of(desk.post(f"{address(one, 1)}action/", {"do": "undo"}, follow=True))
    assert (one.folder / "a.txt").read_text() == "after"


def test_a_rewind_of_files_that_nobody_has_looked_at_is_refused(desk, one):
    for given in ({"do": "rewind"}, {"do": "rewind", "seen": "x"}):
        refused = desk.post(f"{address(one, 1)}action/", given)
        assert (refused.status_code, "have changed since this was shown" in words_of(refused)) == (409, True)
    assert (one.folder / "a.txt").read_text() == "after"


def test_while_an_attempt_is_open_the_page_says_what_to_do_first(desk, one):
    actions.reassign(one.run.task_id, agent_id=one.crew.agents[1].pk, actor="user:anna")
    assert "is under way. Stop it first" in words_of(desk.get(address(one, 5)))
    for do in ("fork", "undo", "rewind"):
        seen = html_of(desk.get(address(one, 1))).split('name="seen" value="')[1].split('"')[0]
        refused = desk.post(f"{address(one, 1)}action/", {"do": do, "files": "now", "seen": seen})
        assert (refused.status_code, "attempt 2" in words_of(refused)) == (409, True)


def test_what_is_typed_stays_where_the_fork_is_refused(desk, one):
    runs.forget_sessions([one.run.session_id])
    refused = desk.post(f"{address(one, 5)}action/", {"do": "fork", "guidance": "Mind the gap.", "files": "then"})
    assert refused.status_code == 409
    assert "not kept any more" in words_of(refused)
    assert "Mind the gap." in html_of(refused)


def test_bad_words_are_no_server_error(desk, one):
    for given in ({}, {"do": "x"}, {"do": "fork", "agent": "ü"}, {"do": "fork", "files": "x"}, {"do": "fork", "agent": "9" * 30}):
        assert 400 <= desk.post(f"{address(one, 5)}action/", given).status_code < 500
    assert desk.get(address(one, 3)).status_code == 422
    assert desk.get(address(one, 99)).status_code == 404
    assert desk.get("/runs/r0000000/messages/1/").status_code == 404


def test_a_stranger_finds_nothing_and_who_may_watch_sees_no_form(desk, stranger, lead, tmp_path):
    one = tried(tmp_path / "work", slug="watched", viewer=lead)
    assert stranger.get(address(one, 5)).status_code == 404
    assert stranger.post(f"{address(one, 5)}action/", {"do": "fork"}).status_code == 404
    assert "Who leads this team can fork" in words_of(desk.get(address(one, 1)))
    assert desk.post(f"{address(one, 5)}action/", {"do": "fork"}).status_code == 403
    assert Run.objects.count() == 1
