"""The live socket from outside: a real daphne, a real Valkey, a client that does what live.js does."""

import asyncio
import contextlib
import time

import pytest

from tests.dashboard.live_support import Dom, World, settle
from tests.services_fixtures import open_page

pytest_plugins = ["tests.services_fixtures", "tests.dashboard.live_fixtures"]
pytestmark = pytest.mark.usefixtures("quiet_log")


def card(world: World, n: int) -> str:
    return f"task-{world.tasks[n]}"


async def test_a_change_reaches_the_open_page(world: World) -> None:
    dom = world.load("lead")
    async with world.open("lead", dom) as page:
        assert (await page.next())["seq"] == dom.seq
        world("rename", world.tasks[0], "Build <b>the</b> API")
        frame = await page.until(lambda frame: "html" in frame)
        dom.apply(frame)
        assert dom.text(card(world, 0)).startswith("Build <b>the</b> API")
        assert set(frame["html"]) == {card(world, 0)}
        assert frame["seq"] == world.load("lead").seq


async def test_a_page_that_missed_200_changes_looks_like_a_fresh_one(world: World) -> None:
    dom = world.load("lead")
    async with world.open("lead", dom) as page:
        await page.next()
    added = world("add", world.facts["atlas"], "added while away")
    world("storm", [*world.tasks, added], 201)
    world("drop", added)
    extra = world("add", world.facts["atlas"], "added at the end")
    async with world.open("lead", dom) as page:
        dom.apply(await page.next())
        assert dom.main == world.load("lead").main
        world("drop", extra)
        await settle(world, page, dom)
    assert dom.main == world.load("lead").main
    assert "storm 200" in dom.text("main")


async def test_a_page_that_missed_more_than_anybody_reads_is_told_to_fetch_itself(world: World) -> None:
    dom = world.load("lead")
    world("bulk", world.facts["atlas"], 2001)
    async with world.open("lead", dom) as page:
        frame = await page.next()
        assert frame["resync"] is True
        assert frame["seq"] == world.load("lead").seq


@pytest.mark.parametrize("more", [0, 2001], ids=["brought by a frame", "fetched"])
async def test_a_page_that_comes_back_is_told_of_requests_that_were_opened_meanwhile_and_still_wait(
    world: World, more: int
) -> None:
    dom = world.load("lead")
    world("ask", world.facts["atlas"], "Answered meanwhile", True)
    asked = world("ask", world.facts["atlas"], "Still waits")
    world("ask", world.facts["borealis"], "Of others")
    if more:
        world("bulk", world.facts["atlas"], more)
    async with world.open("lead", dom) as page:
        frame = await page.next()
    assert bool(frame.get("resync")) is bool(more)
    assert [(event["id"], event["title"], event["team"]) for event in frame["events"]] == [(asked, "Still waits", "Atlas")]
    assert frame["wait"] >= 1
    async with world.open("lead", world.load("lead")) as page:
        assert "events" not in await page.next(), "the page that was loaded after it shows it"


async def test_a_page_that_fetched_itself_is_told_of_requests_that_were_opened_meanwhile_and_fetches_nothing_more(
    world: World,
) -> None:
    heard = world.load("lead").seq
    asked = world("ask", world.facts["atlas"], "Opened while it was fetched")
    world("ask", world.facts["borealis"], "Of others")
    world("bulk", world.facts["atlas"], 2001)
    fetched = world.load("lead")
    async with world.open("lead", fetched, heard=heard) as page:
        frame = await page.next()
    assert ("resync" in frame, frame["prev"], frame.get("html")) == (False, fetched.seq, None)
    assert [event["id"] for event in frame["events"]] == [asked]
    for unknown in ("nonsense", "9:9", "~0"):
        async with world.open("lead", fetched, heard=unknown) as page:
            frame = await page.next()
        assert ("resync" in frame, "events" in frame) == (False, False), unknown


@pytest.mark.parametrize("since", ["", "nonsense", "9:9", "-", "1:99999999999", "1:0,1:0", "1" * 300])
async def test_a_cursor_that_makes_no_sense_leads_to_a_resync(world: World, since: str) -> None:
    async with open_page(world.server, "team", "atlas", since=since, session=world.session("lead")) as page:
        assert (await page.next())["resync"] is True


async def test_lost_wake_ups_cost_no_more_than_the_slow_timer(world: World) -> None:
    dom = world.load("lead")
    async with world.open("lead", dom) as page:
        await page.next()
        world("rename_silently", world.tasks[1], "nobody was told")
        started = time.monotonic()
        dom.apply(await page.until(lambda frame: "html" in frame))
        assert time.monotonic() - started < 3.5
        assert dom.main == world.load("lead").main


async def test_a_burst_becomes_at_most_four_frames_a_second(world: World) -> None:
    dom = world.load("lead")
    async with world.open("lead", dom) as page:
        await page.next()
        started = time.monotonic()
        storm = asyncio.create_task(asyncio.to_thread(world, "storm", world.tasks, 300))
        while not storm.done():
            with contextlib.suppress(TimeoutError):
                dom.apply(await page.next(patience_s=0.5))
        took = time.monotonic() - started
        await settle(world, page, dom)
        assert dom.main == world.load("lead").main
        frames = [frame for frame in page.frames if "html" in frame]
        assert 1 <= len(frames) <= took * 4 + 3


async def test_a_fast_block_may_come_ten_times_a_second_and_does_not_move_the_page_past_slow_ones(world: World) -> None:
    world("run_of", world.tasks[2])
    dom = world.load("lead")
    log = f"log-{world.facts['atlas']}"
    async with world.open("lead", dom) as page:
        await page.next()
        for n in range(8):
            world("steps", world.facts["atlas"], f"step {n}")
            await asyncio.sleep(0.06)
        await settle(world, page, dom)
        assert "step 7" in dom.text(log)
        fast = [frame for frame in page.frames if frame.get("prev") == frame.get("seq") and "html" in frame]
        assert fast
        assert all(set(frame["html"]) == {log} for frame in fast), fast


async def test_rendering_does_not_depend_on_how_many_pages_are_open(world: World) -> None:
    dom = world.load("lead")
    async with contextlib.AsyncExitStack() as stack:
        pages = [await stack.enter_async_context(world.open("lead", dom)) for _ in range(25)]
        for page in pages:
            await page.next()
        world.renders()
        world("rename", world.tasks[0], "shared")
        for page in pages:
            await page.until(lambda frame: "html" in frame)
        assert world.renders().count(card(world, 0)) == 1


async def test_a_viewer_and_a_lead_get_their_own_html(world: World) -> None:
    doms = {who: world.load(who) for who in ("lead", "viewer")}
    async with world.open("lead", doms["lead"]) as lead, world.open("viewer", doms["viewer"]) as viewer:
        await lead.next()
        await viewer.next()
        world("rename", world.tasks[0], "seen by two")
        for who, page in (("lead", lead), ("viewer", viewer)):
            html = (await page.until(lambda frame: "html" in frame))["html"][card(world, 0)]
            assert "seen by two" in html
            assert ("Stop" in html) is (who == "lead")


async def test_a_new_task_brings_its_container_once_and_is_live_from_then_on(world: World) -> None:
    dom = world.load("lead")
    async with world.open("lead", dom) as page:
        await page.next()
        task = world("add", world.facts["atlas"], "brand new")
        frame = await page.until(lambda frame: "html" in frame)
        dom.apply(frame)
        assert set(frame["html"]) == {f"board-{world.facts['atlas']}"}
        assert "brand new" in dom.text("main")
        world("rename", task, "renamed at once")
        frame = await page.until(lambda frame: "html" in frame)
        assert set(frame["html"]) == {f"task-{task}"}
        world("drop", task)
        dom.apply(frame)
        await settle(world, page, dom)
        assert dom.main == world.load("lead").main


async def test_a_decision_is_announced_and_counted(world: World) -> None:
    dom = world.load("lead", "overview", "")
    async with (
        world.open("lead", dom, "overview", "") as page,
        world.open("other", world.load("other", "overview", ""), "overview", "") as other,
    ):
        before = (await page.next())["wait"]
        await other.next()
        decision = world("ask", world.facts["atlas"], "rm -rf build/")
        frame = await page.until(lambda frame: "events" in frame)
        assert frame["wait"] == before + 1
        (event,) = frame["events"]
        assert (event["type"], event["id"], event["title"], event["team"]) == ("decision", decision, "rm -rf build/", "Atlas")
        world("rename", world.facts["tasks"][4], "something else")
        goal = world.load("other", "overview", "").seq
        while other.seq != goal:
            await other.next()
        assert not any("events" in frame for frame in other.frames)


@pytest.mark.parametrize("way", ["new_team", "new_team_silently"])
async def test_a_new_team_appears_on_an_open_overview(world: World, way: str) -> None:
    dom = world.load("lead", "overview", "")
    async with world.open("lead", dom, "overview", "") as page:
        await page.next()
        name = f"Cygnus{way.count('_')}"
        world(way, name, "lead")
        dom.apply(await page.until(lambda frame: name in str(frame.get("html"))))
        assert name in dom.text("count")
        assert page.seq == world.load("lead", "overview", "").seq


async def test_what_waits_in_a_team_that_comes_to_be_seen_is_told(world: World) -> None:
    dom, heard = world.load("lead"), world.load("lead").seq
    asked = world("ask", world.facts["borealis"], "Waits already")
    async with world.open("lead", dom) as page:
        await page.next()
        world("give_access", world.facts["borealis"], "lead", "viewer")
        frame = await page.until(lambda frame: "events" in frame)
        assert [event["id"] for event in frame["events"]][-1] == asked
    for since, more in ((dom, ""), (world.load("lead"), heard)):
        async with world.open("lead", since, heard=more) as page:
            frame = await page.next()
        assert [event["id"] for event in frame["events"]][-1] == asked, "it came while nobody listened"
    world("take_access", world.facts["borealis"], "lead")


async def test_rights_that_change_while_the_page_is_open_show_on_it(world: World) -> None:
    dom = world.load("viewer")
    async with world.open("viewer", dom) as page:
        await page.next()
        assert "Stop" not in dom.text("main")
        world("give_access", world.facts["atlas"], "viewer", "lead")
        dom.apply(await page.until(lambda frame: "html" in frame))
        assert dom.main == world.load("viewer").main
        assert "Stop" in dom.text("main")
        world("give_access", world.facts["atlas"], "viewer", "viewer")


async def test_a_quiet_page_gets_a_sign_of_life(world: World) -> None:
    dom = world.load("lead")
    async with world.open("lead", dom) as page:
        await page.next()
        assert await page.next(patience_s=4) == {"seq": dom.seq}


async def test_what_a_page_missed_between_two_heartbeats_is_not_told_twice(world: World) -> None:
    dom = world.load("lead", "overview", "")
    async with world.open("lead", dom, "overview", "") as page:
        await page.next()
        world("rename", world.tasks[0], "not on the overview")
        goal = world.load("lead", "overview", "").seq
        frame = await page.until(lambda frame: frame["seq"] == goal)
        assert "html" not in frame


async def test_nonsense_on_the_wake_up_channel_changes_nothing(world: World) -> None:
    dom = world.load("lead")
    async with world.open("lead", dom) as page:
        await page.next()
        world("junk")
        world("rename", world.tasks[0], "still here")
        dom.apply(await page.until(lambda frame: "html" in frame))
        assert dom.main == world.load("lead").main


def test_the_test_dom_tells_pages_apart() -> None:
    """The comparisons above would be worthless if everything were equal."""
    assert Dom.of('<main id="main"><p id="a">1</p></main>').main != Dom.of('<main id="main"><p id="a">2</p></main>').main
