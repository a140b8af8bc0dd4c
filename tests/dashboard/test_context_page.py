"""What a team shares, on its pages: who may see and change it, versions that are compared, and what a refusal says."""

import json

import pytest
from django.urls import reverse

from tasks_app.domain.statuses import Scope
from tasks_app.models import ContextEntry
from tasks_app.selectors import context as reading
from tasks_app.services import context
from tasks_app.services.context import Writer
from tests import factories as make
from tests.dashboard.conftest import html_of, words_of

ADA = Writer("agent:ada")


@pytest.fixture
def entry(team):
    return context.share(team.pk, name="api.url", value={"host": "a.example", "port": 80}, by=ADA)


def at(*keys, name="context-entry"):
    return reverse(name, args=["atlas", *keys])


def change(client, entry, **given):
    posted = {"do": "change", "version": entry.version, "value": "{}", "kind": "json", **given}
    return client.post(at(entry.pk, name="context-action"), posted)


def test_the_list_shows_each_entry_with_its_facts_and_is_reached_from_the_board(desk, team, entry):
    make.TaskFactory(team=team, number=3)
    context.share(team.pk, name="plan", value="x" * 100_000, by=ADA, scope=Scope.TASK, task_number=3, ttl_s=3600)
    text = words_of(desk.get(at(name="context")))
    assert "api.url {&quot;host&quot;: &quot;a.example&quot;, &quot;port&quot;: 80} 1 ada the team 33 bytes" in text
    assert "T-3 and what depends on it" in text
    assert "97.7" in text
    assert f'href="{at(name="context")}"' in html_of(desk.get(reverse("team", args=["atlas"])))


def test_an_entry_shows_value_history_difference_and_readers(desk, team, entry):
    run = make.RunFactory(task__team=team, task__number=7, agent__team=team, agent__name="bob")
    context.note_reads(team.pk, [reading.one(entry.pk)], reader="bob", run_id=run.pk, agent_id=run.agent_id, how="prompt")
    context.share(team.pk, name="api.url", value={"host": "b.example", "port": 80}, by=ADA)
    response = desk.get(at(entry.pk))
    html = html_of(response)
    assert "<del>- &quot;host&quot;: &quot;a.example&quot;, </del>" in html
    assert "<ins>+ &quot;host&quot;: &quot;b.example&quot;, </ins>" in html
    assert "bob T-7 1 (earlier) in its prompt" in words_of(response)
    same = html_of(desk.get(at(entry.pk) + "?old=2&new=2"))
    assert "Nothing changed." in same
    assert desk.get(at(entry.pk) + "?old=x&new=99999999999").status_code == 200


def test_a_value_is_shared_changed_and_deleted_by_the_lead(desk, team):
    make.TaskFactory(team=team, number=3)
    given = {"name": "limits", "value": "[1, 2]", "kind": "json", "whom": "T-3", "minutes": "90"}
    assert desk.post(at(name="context-add"), given).status_code == 302
    entry = ContextEntry.objects.get()
    assert (entry.value, entry.author, entry.scope, entry.task_number) == ([1, 2], "user:anna", "task", 3)
    assert 5300 < (entry.expires_at - entry.updated_at).total_seconds() <= 5400
    assert change(desk, entry, value="free text", kind="text").status_code == 302
    entry.refresh_from_db()
    assert (entry.value, entry.version, entry.scope, entry.expires_at) == ("free text", 2, "team", None)
    desk.post(at(entry.pk, name="context-action"), {"do": "delete", "version": 2})
    assert not ContextEntry.objects.exists()
    assert desk.get(at(entry.pk)).status_code == 404


def test_a_change_of_what_changed_meanwhile_is_refused_and_keeps_the_text(desk, team, entry):
    context.share(team.pk, name="api.url", value={"port": 81}, by=ADA)
    response = change(desk, entry, value='{"port": 82}')
    assert response.status_code == 409
    assert "“api.url” is at version 2 by ada, not 1." in words_of(response)
    assert "{&quot;port&quot;: 82}</textarea>" in html_of(response)
    assert desk.post(at(entry.pk, name="context-action"), {"do": "delete", "version": 1}).status_code == 409
    assert ContextEntry.objects.get().value == {"port": 81}


def test_a_form_that_was_refused_for_its_text_still_answers_to_the_version_it_was_made_from(desk, team, entry):
    context.share(team.pk, name="api.url", value={"port": 81}, by=ADA)
    assert 'name="version" value="1"' in html_of(change(desk, entry, value="{"))
    assert 'name="version" value="2"' in html_of(change(desk, entry, value="{}")), "told of version 2"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"value": "{port: 1}"}, "This is not JSON: Expecting property name"),
        ({"value": "[" * 100_000}, "This JSON nests too deeply"),
        ({"value": '{"port": "x"}'}, "value.port: &#x27;x&#x27; is not of type &#x27;integer&#x27;."),
        ({"whom": "T-99"}, "There is no task T-99 in this team."),
        ({"whom": "everyone"}, "Write one task, such as T-3"),
        ({"minutes": "soon"}, "That is not a whole number"),
        ({"do": "burn"}, "There is no such action here."),
    ],
)
def test_what_cannot_be_taken_is_refused_in_words_and_changes_nothing(desk, team, entry, given, words):
    context.set_schema(team.pk, name="api.url", schema={"properties": {"port": {"type": "integer"}}}, by=ADA)
    response = change(desk, entry, **given)
    assert response.status_code in (404, 413, 422)
    assert words in html_of(response)
    assert ContextEntry.objects.get().version == 1


def test_a_name_that_exists_is_not_written_over_by_adding_it(desk, team, entry):
    response = desk.post(at(name="context-add"), {"name": "api.url", "value": "x", "kind": "text"})
    assert response.status_code == 409
    assert "is at version 1 by ada, not 0" in words_of(response)


def test_a_schema_is_set_shown_and_removed(desk, team, entry):
    act = at(entry.pk, name="context-action")
    assert desk.post(act, {"do": "schema", "schema": '{"type": "object"}'}).status_code == 302
    assert reading.schema(team.pk, "api.url") == {"type": "object"}
    assert "With a schema: api.url." in words_of(desk.get(at(name="context")))
    refused = desk.post(act, {"do": "schema", "schema": '{"type": "string"}'})
    assert refused.status_code == 422
    assert "does not fit the schema" in words_of(refused)
    desk.post(act, {"do": "schema", "schema": ""})
    assert reading.schema(team.pk, "api.url") is None


def test_who_may_only_watch_sees_it_and_cannot_change_it(watcher, stranger, entry):
    assert "Change it" not in words_of(watcher.get(at(entry.pk)))
    assert "Share a value" not in words_of(watcher.get(at(name="context")))
    assert (change(watcher, entry).status_code, watcher.post(at(name="context-add"), {}).status_code) == (403, 403)
    assert (stranger.get(at(entry.pk)).status_code, change(stranger, entry).status_code) == (404, 404)


def test_an_entry_of_another_team_is_not_found_below_this_one(desk, lead):
    other = make.TeamFactory(lead=lead)
    theirs = context.share(other.pk, name="x", value=1, by=ADA)
    assert desk.get(at(theirs.pk)).status_code == 404


def test_what_agents_share_is_escaped_and_a_large_value_is_not_sent_whole(desk, team):
    entry = context.share(team.pk, name="<b>x</b>", value="<script>alert(1)</script>\x1b[31m" + "漢" * 500_000, by=ADA)
    response = desk.get(at(entry.pk))
    html = html_of(response)
    assert "<script>alert" not in html
    assert "<b>x</b>" not in html
    assert len(response.content) < 100_000
    assert "It is too large to be edited here." in html
    assert json.loads(reading.text(entry.pk)).endswith("漢")
