"""New team: every error of a plan at once, a preview, and nothing runs before the last button."""

import re

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from tasks_app.models import Task, Team
from tests.dashboard.conftest import html_of, words_of

PLAN = """\
team: Billing
goal: Ship it.
limits: {parallel: 2}
budget: {usd: 5}
agents:
  - {name: ada, role: backend}
  - {name: ben, role: frontend}
tasks:
  - {key: schema, title: Database schema, criteria: [It migrates.], role: backend, expected_minutes: [10, 20]}
  - {key: page, title: Billing page, criteria: [It shows.], role: frontend, expected_minutes: [5, 15]}
  - {key: test, title: Integration tests, criteria: [They pass.], depends_on: [schema, page], expected_minutes: [5, 10]}
"""
BROKEN = """\
team: Billing
agents:
  - {name: ada, role: backend}
tasks:
  - {key: a, title: A, criteria: [x], role: wizard}
  - {key: b, title: B, criteria: [], depends_on: [c]}
  - {key: c, title: C, criteria: [x], depends_on: [b, nothing]}
"""


@pytest.fixture
def post(desk):
    def send(**fields):
        return desk.post(reverse("team-create"), {"rehearsal": "1", **fields})

    return send


@pytest.fixture
def admin(lead):
    """Anna is an administrator, who may name folders and files of the machine."""
    User.objects.update(is_superuser=True)


@pytest.fixture
def home(tmp_path, settings):
    """Where workspaces go: a folder of this test."""
    settings.HOME = tmp_path
    return tmp_path


def checked(response):
    return re.search(r'name="checked" value="(\w{64})"', html_of(response)).group(1)


def test_a_bad_plan_names_every_error_at_once_with_line_path_and_fix(post):
    response = post(plan=BROKEN, do="check")
    assert response.status_code == 422
    text = words_of(response)
    for words in ("tasks[0].role", "wizard", "tasks[1].criteria", "tasks[2].depends_on[1]", "nothing", "b → c → b"):
        assert words in text, words
    assert re.search(r'data-th="Line">5</td>\s*<td class="mono" data-th="Where">tasks\[0\].role</td>', html_of(response))
    lines = [int(line) for line in re.findall(r'data-th="Line">(\d+)</td>', html_of(response))]
    assert lines == sorted(lines)
    assert text.count("No agent has the role") == 1
    assert html_of(response).count('role="alert"') == 1
    assert not Team.objects.filter(name="Billing").exists()


@pytest.mark.parametrize("plan", ["", "[", "- a\n- b", "team: x", "\x00", "!!python/object:os.system {}"])
def test_what_is_no_plan_at_all_is_refused_in_words(post, plan):
    response = post(plan=plan, do="check")
    assert response.status_code == 422
    assert re.search(r"The plan has \d+ problem", words_of(response))
    assert html_of(response).count('role="alert"') == 1


def test_a_good_plan_is_shown_before_it_runs(post):
    response = post(plan=PLAN, do="check")
    text = words_of(response)
    assert "3 tasks, 2 agents, 2 roles, no circle" in text
    assert "First to start schema, page" in text
    assert "At once 2 agents" in text
    assert "about 15–30 min of work" in text
    assert "Start team: 2 agents, up to $5" in text
    assert "Nothing runs before this button." in text
    assert html_of(response).count("<foreignObject") == 3
    assert html_of(response).count("<path d=") == 2
    assert "Rehearsal: replies are scripted" in text
    assert not Team.objects.filter(name="Billing").exists()


def test_no_more_work_at_once_than_there_are_agents(post):
    alone = PLAN.replace("  - {name: ben, role: frontend}\n", "").replace("role: frontend", "role: backend")
    text = words_of(post(plan=alone, do="check"))
    assert "At once 1 agent " in text
    assert "First to start schema At once" in text


def test_the_checked_plan_is_started_by_its_button(post, home, lead):
    response = post(plan=PLAN, do="start", checked=checked(post(plan=PLAN, do="check")))
    team = Team.objects.get(name="Billing")
    assert response["Location"] == reverse("team", args=[team.slug])
    assert team.created_by == lead
    assert team.rehearsal
    assert Task.objects.filter(team=team).count() == 3


@pytest.mark.parametrize("changed", [{"plan": PLAN.replace("usd: 5", "usd: 500")}, {"checked": ""}, {"base": "/tmp"}])
def test_a_plan_that_is_not_the_one_that_was_checked_is_checked_again(post, admin, changed):
    seen = checked(post(plan=PLAN, do="check"))
    response = post(**{"plan": PLAN, "do": "start", "checked": seen, **changed})
    assert response.status_code == 200
    assert "Nothing runs before this button." in words_of(response)
    assert not Team.objects.filter(name="Billing").exists()


def test_a_file_takes_the_place_of_the_text(post):
    response = post(plan="nonsense", do="check", file=SimpleUploadedFile("plan.yaml", PLAN.encode()))
    assert "3 tasks, 2 agents" in words_of(response)
    assert "team: Billing" in html_of(response)


def test_a_file_that_is_no_text_is_refused(post):
    response = post(do="check", file=SimpleUploadedFile("plan.yaml", b"\xff\xfe\x00\x81"))
    assert response.status_code == 422
    assert "not UTF-8" in words_of(response)


@pytest.mark.parametrize("file", [b"\xff\xfe\x00\x81", b"#" * 1_000_001, b""], ids=["no text", "too large", "empty"])
def test_a_refused_file_leaves_the_form_as_it_was_filled_in(post, file):
    typed = {"plan": "team: typed", "base": "/home/anna", "parallel": "3", "ask_all": "1"}
    response = post(do="check", file=SimpleUploadedFile("plan.yaml", file), **typed)
    html = html_of(response)
    assert response.status_code in {413, 422}
    assert 'aria-invalid="true" aria-describedby="error-file"' in html
    assert "team: typed</textarea>" in html
    for words in (
        'name="base" value="/home/anna"',
        'name="parallel" value="3"',
        'name="ask_all" value="1" checked',
        'name="rehearsal" value="1" checked',
    ):
        assert words in html, words


def test_a_plan_that_is_too_large_gets_413_in_words(post):
    response = post(do="check", file=SimpleUploadedFile("plan.yaml", b"#" * 1_000_001))
    assert response.status_code == 413
    assert "at most 1,000,000" in words_of(response)


@pytest.mark.parametrize(
    ("base", "words"), [("plans", "absolute path"), ("/no/such/folder", "There is no folder /no/such/folder")]
)
def test_a_folder_that_is_not_there_is_named(post, admin, base, words):
    response = post(plan=PLAN, do="check", base=base)
    assert response.status_code == 422
    assert words_of(response).count(words) == 1
    assert 'aria-invalid="true" aria-describedby="error-base"' in html_of(response)


def test_the_other_ways_to_begin_are_named_in_one_sentence(desk):
    assert "See an example plan , or import a team from its file ." in words_of(desk.get(reverse("team-new")))


def test_the_example_can_be_looked_at(desk):
    html = html_of(desk.get(reverse("team-new") + "?example=1"))
    assert "team: Billing feature" in html
    assert 'name="rehearsal" value="1" checked' in html


def test_without_a_key_only_a_rehearsal_can_be_started(desk, post, monkeypatch):
    monkeypatch.setattr("tasks_app.management.credentials.anywhere", lambda: False)
    assert "so teams can only rehearse" in words_of(desk.get(reverse("team-new")))
    for do in ("check", "start"):
        response = post(plan=PLAN, do=do, rehearsal="")
        assert response.status_code == 422
        assert "tick Rehearsal" in words_of(response)
    assert not Team.objects.filter(name="Billing").exists()


def test_a_team_called_new_gets_an_address_of_its_own(post, home):
    plan = PLAN.replace("team: Billing", "team: New")
    started = post(plan=plan, do="start", checked=checked(post(plan=plan, do="check")))
    assert started.headers["Location"] == "/teams/new-2/"


def test_what_could_be_written_better_is_shown_and_is_not_in_the_way(post):
    text = words_of(post(plan=PLAN.replace("Tests pass", "It works"), do="check"))
    assert "Could be written better" in text
    assert "new tokens; from a starting table, for nothing like it was finished here yet" in text
    assert "Start team" in text


def test_the_preview_shows_every_command_that_the_server_will_run_and_what_the_lead_judges(post):
    proved = "criteria:\n      - check: pytest -q <b>\n      - {judge: lead, text: It reads well}\n"
    plan = f"team: X\nagents: [{{name: ann, role: r}}]\ntasks:\n  - title: Docs page\n    {proved}"
    html = post(plan=plan, do="check").content.decode()
    assert "Commands that the server will run" in html
    assert "<code>pytest -q &lt;b&gt;</code>" in html
    assert "one criterion is yours to judge" in html


def test_a_judge_who_cannot_sign_in_is_named_before_anything_is_made(post):
    judged = "criteria: [{judge: '@nora', text: It reads well}]"
    plan = f"team: X\nagents: [{{name: ann, role: r}}]\ntasks:\n  - title: Docs page\n    {judged}\n"
    text = words_of(post(plan=plan, do="check"))
    assert "Nobody has the account &quot;nora&quot;. Known: anna." in text
    assert "tasks[0].criteria[0].judge" in text
    User.objects.create_user("nora")
    assert "one criterion is yours to judge" in words_of(post(plan=plan, do="check"))


@pytest.mark.parametrize(
    ("named", "where"), [("workspace: no-such-place", "workspace"), ("rehearsal: no-such-script.yaml", "rehearsal")]
)
def test_what_a_pasted_plan_names_and_is_not_there_is_told_where_it_can_be_mended(post, admin, tmp_path, named, where):
    plan = f"{PLAN}{named}\n"
    line = plan.count("\n")
    pasted = post(plan=plan, do="check", base="")
    assert pasted.status_code == 422
    assert f"named in line {line} of the plan ( {where} )" in words_of(pasted).replace("`", " ").replace("  ", " ")
    assert "say here in which folder the plan lies" in words_of(pasted)
    assert 'aria-describedby="error-base"' in html_of(pasted)
    assert 'aria-describedby="error-rehearsal"' not in html_of(pasted)
    placed = words_of(post(plan=plan, do="check", base=str(tmp_path)))
    assert "The plan has 1 problem" in placed
    assert f"{line} {where} The" in placed
    assert "Correct it or the folder of the plan" in placed


LIMITS = {"budget_usd": "$7,5", "parallel": "3", "attempts": "2", "run_minutes": "30", "run_usd": "1", "ask_all": "1"}


def test_limits_set_on_the_page_hold_over_the_plan_and_are_started_as_they_were_checked(post, home):
    plan = PLAN.replace("budget: {usd: 5}", "budget: {usd: 5, tokens: 900000}\npermissions: {allow: [Bash], deny: [WebFetch]}")
    response = post(plan=plan, do="check", **LIMITS)
    assert "Start team: 2 agents, up to $7.50" in words_of(response)
    seal = checked(response)
    shown = post(plan=plan, do="start", checked=seal, **{**LIMITS, "parallel": "9"})
    assert not Team.objects.filter(name="Billing").exists(), "other limits than those that were checked are checked first"
    assert checked(shown) != seal
    post(plan=plan, do="start", checked=seal, **LIMITS)
    team = Team.objects.get(name="Billing")
    assert (float(team.budget_usd), team.budget_tokens) == (7.5, 900_000)
    limits = team.limits
    assert (limits["parallel"], limits["attempts"], limits["minutes"], limits["run_budget"]["usd"]) == (3, 2, 30, 1)
    assert team.permissions == {"allow": [], "deny": ["WebFetch"], "ask": []}


@pytest.mark.parametrize(
    ("field", "text", "said"),
    [
        ("budget_usd", "lots", "Budget of the team: give a number (US dollars), not “lots”."),
        ("budget_usd", "-1", "Budget of the team should be greater than or equal to 0.01"),
        ("parallel", "2.5", "Agents at once: give a whole number (1 to 64), not “2.5”."),
        ("parallel", "65", "Agents at once should be less than or equal to 64"),
        ("attempts", "0", "Attempts per task should be greater than or equal to 1"),
        ("run_minutes", "nan", "Time per attempt"),
        ("run_usd", "inf", "Budget per attempt"),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused_at_its_field(post, field, text, said):
    response = post(plan=PLAN, do="check", **{field: text})
    assert response.status_code == 422
    assert said in words_of(response)
    assert re.search(rf'name="{field}"[^>]*aria-invalid="true"', html_of(response))
    assert not Team.objects.filter(name="Billing").exists()


def test_what_a_limit_left_empty_means_stands_in_its_field(post):
    html = html_of(post(plan=PLAN, do="check"))
    assert re.search(r'name="parallel"[^>]*placeholder="2"', html)
    assert re.search(r'name="budget_usd"[^>]*placeholder="5"', html)
