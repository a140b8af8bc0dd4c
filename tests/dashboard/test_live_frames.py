"""What goes over the wire: cursors, frames, acknowledgements, origins, hints. All pure."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.live import cursor, frames, guard, listener
from dashboard.live.frames import BadFrame


@given(st.dictionaries(st.integers(0, 10**12), st.integers(0, 10**12), max_size=50))
def test_a_cursor_is_read_back_exactly(seqs: dict[int, int]) -> None:
    assert cursor.decode(cursor.encode(seqs)) == seqs


@given(st.text(max_size=60))
def test_any_text_is_a_cursor_or_none(text: str) -> None:
    found = cursor.decode(text)
    assert found is None or isinstance(found, dict)


@pytest.mark.parametrize(
    "text", ["", "1", "1:", ":1", "1:2,", "1:-1", "1:2,1:3", "٣:1", "1:1e5", " 1:1", "1:1\n", "9" * 30 + ":1", "~abc"]
)
def test_what_the_server_cannot_have_written_is_no_cursor(text: str) -> None:
    assert cursor.decode(text) is None


def test_the_cursor_of_very_many_teams_stays_short_and_still_tells_states_apart() -> None:
    seqs = dict.fromkeys(range(5000), 1)
    assert len(cursor.encode(seqs)) < 100
    assert cursor.encode(seqs) != cursor.encode(seqs | {7: 2})
    assert 2 * cursor.MAX_CHARS + 350 < 8192, "an address with two of them, a page and its argument is passed on by any proxy"


def test_a_frame_is_json_whatever_agents_write() -> None:
    hostile = '</script>\ud800 \x00 \u2028 "\\'
    rest = frames.tail({"a": hostile, "b": None}, wait=0, events=[])
    said = json.loads(frames.frame('1:1"', "1:2", rest))
    assert said["prev"] == '1:1"'
    assert said["wait"] == 0
    assert said["html"]["b"] is None
    assert "\x00" not in said["html"]["a"]
    frames.frame("", "", rest).encode()


def test_a_frame_for_many_is_encoded_once_and_is_the_text_that_it_was() -> None:
    said = frames.frame("a", "b", frames.tail({"x": "né · ☃"}, wait=None, events=[]))
    assert said.encode("utf8") is said.encode("utf-8", "replace")
    assert said.encode("utf8").decode() == said
    assert said.encode("utf-16") == str(said).encode("utf-16")


def test_a_frame_without_news_is_still_a_frame() -> None:
    assert json.loads(frames.frame("a", "b", frames.tail({}, wait=3, events=[]))) == {"prev": "a", "seq": "b", "wait": 3}


@given(st.text(max_size=200))
def test_whatever_a_client_says_is_an_acknowledgement_or_a_bad_frame(text: str) -> None:
    with contextlib.suppress(BadFrame):
        assert isinstance(frames.parse_ack(text), str)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=4), inner),
    )
)
def test_json_of_another_shape_is_refused(value: object) -> None:
    if not (isinstance(value, dict) and set(value) == {"ack"} and isinstance(value["ack"], str)):
        with pytest.raises(BadFrame):
            frames.parse_ack(json.dumps(value))


def scope(origin: str | None, host: str | None, **more: object) -> dict[str, object]:
    headers = [(b"origin", origin.encode())] if origin is not None else []
    headers += [(b"host", host.encode())] if host is not None else []
    return {"headers": headers, **more}


@pytest.mark.parametrize(
    ("origin", "host", "may"),
    [
        ("http://127.0.0.1:8000", "127.0.0.1:8000", True),
        ("HTTP://LOCALHOST:80", "localhost", True),
        ("http://[::1]:8000", "[::1]:8000", True),
        ("http://127.0.0.1:8001", "127.0.0.1:8000", False),
        ("https://127.0.0.1:8000", "127.0.0.1:8000", False),
        ("http://evil.example", "evil.example", False),  # a rebound name: equal, but not ours
        ("http://evil.example", "127.0.0.1:8000", False),
        ("null", "127.0.0.1:8000", False),
        (None, "127.0.0.1:8000", False),
        ("http://127.0.0.1:8000", None, False),
        ("http://127.0.0.1:99999", "127.0.0.1:99999", False),
        ("http://127.0.0.1:8000/", "127.0.0.1:8000", False),
        ("http://[::1", "[::1", False),
        ("ws://127.0.0.1:8000", "127.0.0.1:8000", False),
    ],
)
def test_only_the_exact_origin_may(origin: str | None, host: str | None, may: bool) -> None:
    assert guard.allowed(scope(origin, host)) is may


def test_two_origins_are_none() -> None:
    both = scope("http://127.0.0.1:8000", "127.0.0.1:8000")
    both["headers"].append((b"Origin", b"http://127.0.0.1:8000"))  # type: ignore[attr-defined]
    assert not guard.allowed(both)


def test_behind_a_proxy_the_named_origins_count(settings) -> None:  # type: ignore[no-untyped-def]
    settings.ORIGINS, settings.HTTPS = ["https://desk.example.org"], True
    assert guard.allowed(scope("https://desk.example.org:443", "10.0.0.7:8000"))
    assert not guard.allowed(scope("http://desk.example.org", "10.0.0.7:8000"))
    assert guard.allowed(scope("https://localhost", "localhost"))
    assert not guard.allowed(scope("http://localhost", "localhost"))


@pytest.mark.parametrize(
    "data",
    [None, "text", b"", b"{", b"[]", b"null", b'{"team": "1"}', b'{"team": true}', b'{"team": 0}', b'{"team": -1}',
     b'{"team": 1.5}', b"\xff\xfe",
     b'{"team": 1, "keys": "x"}', b'{"team": 1, "keys": {"a": 1}}', b'{"team": 99999999999999999999}', b"[" * 100_000],
)  # fmt: skip
def test_a_wake_up_of_another_shape_is_ignored(data: object) -> None:
    assert listener.parse(data) is None


def test_a_wake_up_names_a_team_and_keys() -> None:
    found = listener.parse(b'{"team": 3, "seq": 9, "keys": ["task:1", 7, "' + b"x" * 500 + b'"]}')
    assert found == listener.Hint(3, frozenset({"task:1"}))
