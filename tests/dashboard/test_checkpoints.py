"""Checkpoints on their pages and through the API: who may see and restore them, and what a refusal says."""

import json

import pytest
from django.urls import reverse

from tasks_app.domain.errors import Unavailable
from tasks_app.models import Checkpoint, ContextEntry, Task, Team
from tasks_app.services import actions, checkpoints, context, restores
from tasks_app.services.context import Writer
from tests import factories as make
from tests.dashboard.conftest import html_of, words_of

ROOT = "/api/teams/atlas/checkpoints"


@pytest.fixture
def saved(team, tmp_path, settings):
    settings.HOME = tmp_path / "home"
    (tmp_path / "work").mkdir()
    Team.objects.filter(pk=team.pk).update(workspace=str(tmp_path / "work"))
    make.TaskFactory(team=team, number=1, title="Schema", status="pending")
    context.share(team.pk, name="port", value=80, by=Writer("agent:ada"))
    (tmp_path / "work" / "a.py").write_text("1")
    found = checkpoints.save(team.pk, name="before <b>", by="user:anna")
    (tmp_path / "work" / "a.py").write_text("2")
    context.share(team.pk, name="port", value=81, by=Writer("agent:ada"))
    Task.objects.update(status="completed")
    actions.pause_team(team.pk, actor="user:anna")
    return found


def at(*keys, name="checkpoint"):
    return reverse(name, args=["atlas", *keys])


def seq(team):
    return Team.objects.get(pk=team.pk).last_seq


def restored():
    return (Task.objects.get().status, ContextEntry.objects.get().value)


def test_the_list_says_what_each_would_do_and_is_reached_from_the_board(desk, team, saved):
    text = words_of(desk.get(at(name="checkpoints")))
    assert "before &lt;b&gt; anna" in text
    assert "1 task goes back to the queue, files go back to" in text
    assert "1 shared entry changes" in text
    assert "The whole team paused by the lead Resume: it takes up 0 tasks" in text
    assert f'href="{at(name="checkpoints")}"' in html_of(desk.get(reverse("team", args=["atlas"])))


def test_a_preview_is_shown_and_restored_by_the_lead(desk, team, saved):
    page = desk.get(at(saved.pk))
    text = words_of(page)
    assert "T-1 Schema goes back to the queue" in text
    assert "a.py is changed" in text
    assert f'name="seq" value="{seq(team)}"' in html_of(page)
    response = desk.post(at(saved.pk, name="checkpoint-action"), {"do": "restore", "seq": seq(team)}, follow=True)
    assert "Restored “before &lt;b&gt;”: 1 task goes back to the queue" in words_of(response)
    assert restored() == ("pending", 80)


def test_a_preview_that_is_out_of_date_is_refused_with_a_fresh_one(desk, team, saved):
    response = desk.post(at(saved.pk, name="checkpoint-action"), {"do": "restore", "seq": seq(team) - 1})
    assert response.status_code == 409
    assert "has moved on since you looked" in words_of(response)
    assert f'name="seq" value="{seq(team)}"' in html_of(response)
    assert restored() == ("completed", 81)


def test_a_damaged_one_says_so_in_list_and_page_and_offers_no_restore(desk, team, saved):
    Checkpoint.objects.filter(pk=saved.pk).update(data={**saved.data, "last_seq": 99})
    assert "This checkpoint is damaged" in words_of(desk.get(at(name="checkpoints")))
    page = desk.get(at(saved.pk))
    assert page.status_code == 422
    assert 'value="restore"' not in html_of(page)
    desk.post(at(saved.pk, name="checkpoint-action"), {"do": "delete"})
    assert not Checkpoint.objects.filter(pk=saved.pk).exists()


def test_who_may_only_watch_sees_and_does_nothing_and_a_stranger_sees_nothing(watcher, stranger, team, saved):
    page = watcher.get(at(saved.pk))
    assert page.status_code == 200
    assert 'value="restore"' not in html_of(page)
    for client, status in ((watcher, 403), (stranger, 404)):
        assert client.post(at(saved.pk, name="checkpoint-action"), {"do": "restore", "seq": seq(team)}).status_code == status
        assert client.post(at(name="checkpoint-save"), {"name": "x"}).status_code == status
        body = json.dumps({"seq": seq(team)})
        assert client.post(f"{ROOT}/{saved.pk}/restore", body, content_type="application/json").status_code == status
    assert stranger.get(at(saved.pk)).status_code == stranger.get(at(name="checkpoints")).status_code == 404
    assert restored() == ("completed", 81)


def test_a_checkpoint_is_saved_with_a_name(desk, team, saved):
    assert desk.post(at(name="checkpoint-save"), {"name": "now"}).status_code == 302
    assert Checkpoint.objects.get(name="now").by == "user:anna"
    assert desk.post(at(name="checkpoint-save"), {"name": " "}).status_code == 422
    assert desk.get(at("k00000000")).status_code == 404
    assert desk.get(at(saved.pk) + "?task=banana").status_code == 422


def test_through_the_api_a_checkpoint_is_saved_listed_looked_at_restored_and_deleted(desk, team, saved):
    def post(path, **body):
        return desk.post(f"{ROOT}{path}", json.dumps(body), content_type="application/json")

    made = post("", name="now").json()
    listed = desk.get(ROOT).json()
    assert listed["checkpoints"][0]["id"] == made["id"]
    assert listed["checkpoints"][-1]["restorable"] is True
    looked = desk.get(f"{ROOT}/{saved.pk}").json()
    assert (looked["tasks"][0]["after"], looked["context"], looked["refused"]) == (
        "pending",
        [{"name": "port", "change": "changes"}],
        None,
    )
    stale = post(f"/{saved.pk}/restore", seq=looked["seq"] - 1)
    assert (stale.status_code, stale.json()["error"]["code"]) == (409, "stale")
    assert post(f"/{saved.pk}/restore", seq=looked["seq"], task="x").status_code == 422
    done = post(f"/{saved.pk}/restore", seq=looked["seq"]).json()
    assert restored() == ("pending", 80)
    assert desk.delete(f"{ROOT}/{done['safety']}").status_code == 200
    assert desk.get(f"{ROOT}/{done['safety']}").status_code == 404


@pytest.mark.parametrize(("headers", "status"), [({}, 503), ({"HX-Request": "true"}, 409)])
def test_a_restore_whose_files_must_wait_says_so_with_scripts_and_without(desk, saved, monkeypatch, headers, status):
    """htmx is given no 5xx: of that desk.js would only say that the server has failed."""
    why = "The files could not be put back yet, the rest is done."

    def refuse(*_, **__):
        raise Unavailable(why)

    monkeypatch.setattr(restores, "restore", refuse)
    response = desk.post(at(saved.pk, name="checkpoint-action"), {"do": "restore", "seq": "1"}, headers=headers)
    assert response.status_code == status
    assert why in words_of(response)
