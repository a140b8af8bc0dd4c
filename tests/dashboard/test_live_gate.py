"""Who may open the live socket, and what happens to those who say something that makes no sense."""

import pytest
from websockets.exceptions import InvalidStatus

from tests.dashboard.live_support import World
from tests.services_fixtures import open_page

pytest_plugins = ["tests.services_fixtures", "tests.dashboard.live_fixtures"]
pytestmark = pytest.mark.usefixtures("quiet_log")


@pytest.mark.parametrize("session", ["", "nosuchsession", "x" * 2000])
async def test_nobody_without_a_session_hears_anything(world: World, session: str) -> None:
    async with open_page(world.server, "team", "atlas", session=session) as page:
        assert await page.closed() == 4401


async def test_a_team_of_others_is_closed_to_me(world: World) -> None:
    async with open_page(world.server, "team", "borealis", session=world.session("lead")) as page:
        assert await page.closed() == 4403


@pytest.mark.parametrize(
    "origin",
    ["", "null", "http://evil.example", "https://127.0.0.1:{port}", "http://127.0.0.1", "http://127.0.0.1:1", "http://localhost:{port}",
     "http://127.0.0.1:{port}/x", "http://user@127.0.0.1:{port}", "file://", "http://127.0.0.1:{port}.evil.example"],
)  # fmt: skip
async def test_a_page_of_another_origin_cannot_open_the_socket(world: World, origin: str) -> None:
    came_from = origin.format(port=world.server.port)
    with pytest.raises(InvalidStatus) as refused:
        async with open_page(world.server, "team", "atlas", session=world.session("lead"), origin=came_from):
            pass
    assert refused.value.response.status_code in {400, 403}  # 400: daphne cannot even read it


async def test_signing_out_closes_the_socket_within_the_recheck(world: World) -> None:
    session = world("sign_in", "lead")
    async with open_page(world.server, "team", "atlas", session=session) as page:
        await page.next()
        world("sign_out", session)
        assert await page.closed(patience_s=6) == 4401


async def test_losing_access_closes_the_socket_within_the_recheck(world: World) -> None:
    dom = world.load("viewer")
    async with world.open("viewer", dom) as page:
        await page.next()
        world("take_access", world.facts["atlas"], "viewer")
        assert await page.closed(patience_s=6) == 4403
    world("give_access", world.facts["atlas"], "viewer", "viewer")


async def test_who_is_shut_out_at_the_terminal_loses_the_open_page(world: World) -> None:
    async with world.open("viewer", world.load("viewer")) as page:
        await page.next()
        world("command", "account", "shut-out", "viewer", "atlas")
        assert await page.closed(patience_s=6) == 4403
    world("command", "account", "let-in", "viewer", "atlas", "viewer")


async def test_who_is_disabled_at_the_terminal_is_signed_out_of_the_open_page(world: World) -> None:
    world("command", "account", "add", "deputy", "--admin", "--no-password")
    async with open_page(world.server, "team", "atlas", session=world("sign_in", "deputy")) as page:
        await page.next()
        world("command", "account", "add", "chief", "--admin", "--no-password")
        world("command", "account", "disable", "deputy")
        assert await page.closed(patience_s=6) == 4401


# bad input -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    ["", "{", "[]", "null", "1", '"x"', "{}",
     '{"ack":1}', '{"ack":null}', '{"ack":"1:1","more":1}', '{"do":"stop"}', b"\x00\x01", b"",
     '{"ack":"' + "9" * 20_000 + '"}', "[" * 60_000, '{"ack":"\\ud800"', "\x00"],
)  # fmt: skip
async def test_a_bad_frame_ends_the_socket_with_its_reason(world: World, said: str | bytes) -> None:
    dom = world.load("lead")
    async with world.open("lead", dom) as page:
        await page.next()
        await page.socket.send(said)
        frame = await page.until(lambda frame: "error" in frame)
        assert frame["error"]
        assert await page.closed() == 4400


async def test_a_frame_over_64_kb_ends_the_socket(world: World) -> None:
    async with world.open("lead", world.load("lead")) as page:
        await page.next()
        await page.socket.send('{"ack":"' + "9" * 70_000 + '"}')
        assert await page.closed() in {1006, 1009, 4400}  # daphne drops the connection before we see the frame


async def test_a_client_that_talks_without_end_is_closed(world: World) -> None:
    async with world.open("lead", world.load("lead")) as page:
        await page.next()
        for _ in range(250):
            await page.socket.send('{"ack":"1:1"}')
        assert await page.closed() == 4400


@pytest.mark.parametrize(
    ("page", "arg"), [("", ""), ("Team", "atlas"), ("../etc", ""), ("team", "<script>"), ("team", "x" * 300), ("team\x00", "a")]
)
async def test_a_malformed_address_is_refused_with_the_field(world: World, page: str, arg: str) -> None:
    async with open_page(world.server, page, arg, session=world.session("lead")) as opened:
        frame = await opened.next()
        assert frame["error"].split(":")[0] in {"page", "arg"}
        assert await opened.closed() == 4400


async def test_an_unknown_page_is_refused(world: World) -> None:
    async with open_page(world.server, "nosuch", session=world.session("lead")) as page:
        assert await page.closed() == 4403


async def test_there_is_no_other_socket(world: World) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with open_page(world.server, "x", session=world.session("lead"), path="/other/"):
            pass
    assert refused.value.response.status_code == 403
