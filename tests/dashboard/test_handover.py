"""The hand-over on a task's page: shown part by part, edited under a version, previewed before an attempt is started."""

import pytest
from django.urls import reverse

from tasks_app.models import Run, Task
from tests import factories as make
from tests.dashboard.conftest import html_of, words_of


@pytest.fixture
def agent(team):
    return make.AgentFactory(team=team, name="ada")


@pytest.fixture
def task(team, agent):
    needs = [make.TaskFactory(team=team, number=9)]
    return make.TaskFactory(team=team, title="Payment API", description="Make <it>.", needs=needs)


def seen_in(html):
    return html.partition('name="seen" value="')[2].partition('"')[0]


def page(client, task):
    return html_of(client.get(reverse("task", args=[task.pk])))


def save(client, task, **fields):
    return client.post(reverse("task-action", args=[task.pk]), {"do": "guidance", **fields}, follow=True)


def test_the_page_shows_every_part_and_keeps_the_words_of_the_lead(desk, task):
    html = page(desk, task)
    assert "What attempt 1 will be told" in html
    assert "Make &lt;it&gt;." in html
    response = save(desk, task, seen=seen_in(html), words="Look at DST.\r\nThen ask.")
    assert "Saved: the next attempt is told so." in words_of(response)
    task.refresh_from_db()
    assert task.guidance == "Look at DST.\nThen ask."
    assert "## Guidance of the lead Look at DST." in page(desk, task)


def test_an_edit_of_an_older_text_is_refused_and_kept_in_the_form(desk, task):
    old = seen_in(page(desk, task))
    Task.objects.filter(pk=task.pk).update(guidance="Of somebody else.")
    response = save(desk, task, seen=old, words="Of mine.")
    assert response.status_code == 409
    assert "changed while you wrote" in words_of(response)
    assert "Of mine.</textarea>" in html_of(response)
    task.refresh_from_db()
    assert task.guidance == "Of somebody else."


def test_a_preview_of_a_reassignment_starts_nothing(desk, task, agent):
    fields = {"do": ["reassign", "preview"], "agent": str(agent.pk), "start": "clean", "guidance": "Use <freezegun>."}
    response = desk.post(reverse("task-action", args=[task.pk]), fields)
    html = html_of(response)
    assert response.status_code == 200
    assert "Preview: what attempt 1 would be told" in html
    assert "What attempt 1 will be told" not in html, "the preview stands alone"
    assert "## Guidance of the lead Use &lt;freezegun&gt;." in html
    assert "Use &lt;freezegun&gt;.</textarea>" in html, "the form keeps it"
    assert not Run.objects.exists()
    task.refresh_from_db()
    assert task.guidance == ""


def test_guidance_that_was_taken_out_stays_out_of_a_preview_and_of_the_form(desk, task, agent):
    Task.objects.filter(pk=task.pk).update(guidance="Of before.")
    fields = {"do": ["reassign", "preview"], "agent": str(agent.pk), "start": "clean", "guidance": ""}
    assert "Of before." not in words_of(desk.post(reverse("task-action", args=[task.pk]), fields))


def test_a_form_that_was_refused_leaves_the_others_of_its_page_as_they_were(desk, task, agent):
    Task.objects.filter(pk=task.pk).update(guidance="Of before.", assignee=agent)
    refused = html_of(desk.post(reverse("task-action", args=[task.pk]), {"do": "depend", "depends_on": ""}))
    assert 'aria-invalid="true"' in refused
    assert refused.count("Of before.</textarea>") == 2
    assert f'<option value="{agent.pk}" selected>' in refused


def test_words_that_were_taken_out_stay_out_when_saving_them_is_refused(desk, task):
    old = seen_in(page(desk, task))
    Task.objects.filter(pk=task.pk).update(guidance="Of somebody else.")
    refused = html_of(save(desk, task, seen=old, words=""))
    assert "Of somebody else.</textarea>" not in refused.partition('name="words"')[2].partition("<label")[0]


@pytest.mark.parametrize(("headers", "status"), [({}, 413), ({"HX-Request": "true"}, 409)])
def test_guidance_that_is_too_long_is_refused_at_its_field_with_a_status_that_scripts_show(desk, task, headers, status):
    """413 itself is what the server says before it has read a form: there desk.js leaves the form as it is."""
    fields = {"do": "reassign", "start": "clean", "guidance": "é" * 20_001}
    refused = desk.post(reverse("task-action", args=[task.pk]), fields, headers=headers)
    assert (refused.status_code, "at most 20,000 are taken" in words_of(refused)) == (status, True)


def test_an_agent_of_another_team_is_not_previewed(desk, task):
    fields = {"do": ["reassign", "preview"], "agent": str(make.AgentFactory(handover="- secret").pk), "start": "clean"}
    response = desk.post(reverse("task-action", args=[task.pk]), fields)
    assert response.status_code == 404
    assert "secret" not in html_of(response)


def test_a_task_under_way_has_no_hand_over_to_edit(desk, team, agent):
    run = make.RunFactory(task__team=team, agent=agent)
    assert "will be told" not in page(desk, run.task)
    response = save(desk, run.task, seen="x", words="Late.")
    assert response.status_code == 409
    assert "has begun" in words_of(response)


def test_a_stranger_sees_and_changes_nothing(stranger, task):
    assert stranger.get(reverse("task", args=[task.pk])).status_code == 404
    assert save(stranger, task, seen="", words="x").status_code == 404


def test_two_attempts_stand_side_by_side_with_what_differs(desk, team, agent):
    task = make.TaskFactory(team=team)
    diff = {
        "files": ["a.py"],
        "summary": "1 file changed, 2 insertions(+)",
        "patch": "--- a\n+++ b\n-old\n+<new>\n",
        "cut": False,
    }
    for number in (1, 2):
        make.RunFactory(
            task=task, team=team, agent=agent, attempt=number, failed=True, dossier={"diff": diff} if number == 2 else {}
        )
    html = page(desk, task)
    assert "What differs between the attempts" in html
    assert ">1 file changed, 2 insertions(+)</td>" in html
    assert "<ins>+&lt;new&gt;" in html
    assert "The same in all: agent" in html


def test_only_a_result_that_came_soon_is_to_be_checked_and_one_time_stands_in_both_places(desk, team, agent):
    task = make.TaskFactory(team=team, done=True)
    make.RunFactory(task=task, agent=agent, attempt=1, failed=True, worked_s=1.9)
    make.RunFactory(task=task, agent=agent, attempt=2, ended=True, worked_s=3.9)
    text = words_of(desk.get(reverse("task", args=[task.pk])))
    assert "Working time 1 s of 5–30 min" in text
    assert "Working time 3 s · short, check result" in text
    assert text.count("short, check result") == 1
    assert "Working time 1 s 3 s" in text


def test_completing_by_hand_shows_what_is_not_met_and_records_it(desk, team, agent):
    task = make.TaskFactory(team=team)
    Task.objects.filter(pk=task.pk).update(criteria=["It works", {"judge": "lead", "text": "It reads <well>"}])
    html = page(desk, task)
    assert "Not shown to be met; that is recorded with the completion" in html
    assert "2. It reads &lt;well&gt;: it is looked at when all others are met" in html
    desk.post(reverse("task-action", args=[task.pk]), {"do": "complete", "note": "Fine."})
    task.refresh_from_db()
    assert task.evidence["not met"].startswith("1. It works: no evidence was given; 2. It reads")
    assert "by hand, though not all criteria were met" in words_of(desk.get(reverse("history")))


def test_a_task_under_review_is_shown_as_such_on_board_table_and_page(desk, team, agent):
    run = make.RunFactory(task__team=team, agent=agent)
    make.DecisionFactory(run=run, kind="review", title="ada asks for a review: T-1 Build")
    assert "In review" in words_of(desk.get(reverse("team", args=["atlas"])))
    assert "In review" in words_of(desk.get(reverse("team", args=["atlas"]) + "?view=table"))
    assert "In review" in words_of(desk.get(reverse("task", args=[run.task.pk])))


def test_a_task_that_waits_for_its_assignee_is_not_given_to_anybody_by_accident(desk, team, agent):
    waits = make.TaskFactory(team=team, assignee=agent)
    assert f'<option value="{agent.pk}" selected>' in page(desk, waits)


def test_where_retention_let_the_files_go_the_form_says_what_clean_means(desk, team):
    task = make.TaskFactory(team=team, done=True)
    run = make.RunFactory(task=task, ended=True, dossier={"files_gone": True})
    page = reverse("task", args=[task.pk])
    words = "The files of earlier attempts are not kept any more: what those changed stays."
    type(task).objects.filter(pk=task.pk).update(status="pending", failed=True)
    assert words in words_of(desk.get(page))
    type(run).objects.filter(pk=run.pk).update(dossier={})
    assert words not in words_of(desk.get(page))
