"""examples/handbook played by a lead who has but pages and forms: started, answered, read, refused, forked, taken back."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.boundaries import table
from tests.execution.databases import own_database
from tests.execution.paper import Paper
from tests.management.desks import ROOT, RunningDesk, free_port, wait_for

pytestmark = pytest.mark.engine
HANDBOOK = ROOT / "examples" / "handbook"
TEAM = "/teams/handbook/"


@pytest.fixture
def lead(tmp_path: Path) -> Iterator[Paper]:
    with own_database() as database:
        env = {"CREWDESK_WORKER_SLOTS": "3", "DATABASE_URL": database}
        desk = RunningDesk(tmp_path / "home", free_port(), "--rehearse", "--workers", "1", env=env)
        try:
            yield Paper(desk.wait_ready())
        finally:
            desk.end()


def test_the_whole_story_by_pages_and_forms(lead: Paper) -> None:
    start_it(lead)
    allow_what_is_asked(lead)
    wait_for(lambda: state(lead) == "done", seconds=90)
    read_what_came_of_it(lead)
    be_refused(lead)
    fork_and_go_back(lead)


def start_it(lead: Paper) -> None:
    lead.open("/teams/new/")
    plan = (HANDBOOK / "plan.yaml").read_text()
    shown = lead.send("/teams/new/plan/", plan=plan, base=str(HANDBOOK), rehearsal="1", do="check")
    assert "Nothing runs before this button." in shown
    assert "Handbook is started." in lead.send("/teams/new/plan/", do="start")


def allow_what_is_asked(lead: Paper) -> None:
    """The one request that the lead agent may not decide."""
    lead.until("/inbox/", "asked.txt")
    lead.open(lead.link(r"/inbox/\w+/"))
    assert "touch asked.txt" in lead.html
    lead.send("/answer/", choice="allow")
    assert lead.status == 200


def read_what_came_of_it(lead: Paper) -> None:
    shared = lead.open(f"{TEAM}context/")
    assert "port 8400" in shared
    assert "lead agent lea" in lead.open("/history/")
    assert "Stop, that is the wrong folder." in lead.open(f"{TEAM}messages/")
    assert "port agreed" in lead.open(f"{TEAM}checkpoints/")
    lead.open(f"{TEAM}?view=table")
    page = lead.open(task_of(lead, "T-4"))
    for words in ("I do not know the port", "Looked in docs/", "exit code 0", "accepted by rita"):
        assert words in page, words
    assert "tool_call: mcp__crew__TaskUpdate" in page
    assert "prompt:" not in page, "what an agent was told is none of its steps"


def be_refused(lead: Paper) -> None:
    """What lies on the boundary, by the forms that stand on the pages."""
    before = seq(lead)
    lead.open(f"{TEAM}context/")
    lead.open(lead.link(rf"{TEAM}context/\d+/"))
    unfit = lead.send("/action/", do="change", value='"x"', kind="json")
    assert (lead.status, "'x' is not of type 'integer'" in unfit) == (422, True)
    lead.open(f"{TEAM}messages/")
    assert "Did you mean ada?" in lead.send("/message/", to="adda", body="Hello.")
    lead.open(f"{TEAM}messages/")
    assert table.cell("1 MB of emoji", "page") in lead.send("/message/", to="ada", body="🚀" * 262_144)
    assert lead.status == 413
    assert seq(lead) == before, "nothing was written"


def fork_and_go_back(lead: Paper) -> None:
    lead.open(f"{TEAM}?view=table")
    task = task_of(lead, "T-4")
    lead.open(task)
    transcript = next(page for page in agents(lead) if "So I write it." in lead.open(page))
    lead.open(transcript)
    at = lead.link(r"/runs/\w+/messages/\d+/")
    assert "Fork" in lead.open(at)
    lead.send("/action/", do="fork", files="then", guidance="Shorter.")
    assert (lead.status, lead.path.split("?")[0]) == (200, task)
    assert "fork of attempt" in lead.open(task)

    lead.open(TEAM)
    lead.send("/action/", do="stop")
    lead.until(TEAM, "Stopped")
    lead.open(f"{TEAM}checkpoints/")
    agreed = lead.html.partition("port agreed")[0].rpartition('href="')[2].partition('"')[0]
    wait_for(lambda: restored(lead, agreed), seconds=30)
    tasks = lead.client.get("/api/teams/handbook").json()["tasks"]
    assert {one["status"] for one in tasks if one["id"] in ("T-1", "T-2", "T-3", "T-4")} == {"pending"}


def restored(lead: Paper, checkpoint: str) -> bool:
    """Whether it could be restored; as long as the last agents end, the team moves on after each look."""
    if "Stop the team, then restore" in lead.open(checkpoint):
        return False
    found = lead.send("/action/", do="restore")
    assert "Restored “port agreed”" in found or "has moved on since you looked" in found, found
    return "Restored" in found


def task_of(lead: Paper, label: str) -> str:
    """The address of a task, from the table of the team."""
    before = lead.html.partition(f">{label}<")[0] or lead.html
    return before.rpartition('href="')[2].partition('"')[0]


def agents(lead: Paper) -> list[str]:
    lead.open(TEAM)
    return sorted({f"/agents/{part.split('/')[0]}/" for part in lead.html.split("/agents/")[1:]})


def state(lead: Paper) -> str:
    return str(lead.client.get("/api/teams/handbook").json()["team"]["state"])


def seq(lead: Paper) -> int:
    return int(lead.client.get("/api/teams/handbook/events?after=0").json()["last_seq"])
