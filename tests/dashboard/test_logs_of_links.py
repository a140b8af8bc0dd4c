"""A sign-in link signs in whoever has it: it stands in no log, whatever is logged about the request that it came with."""

import re

import httpx

from tests.services_fixtures import running_daphne


def test_a_sign_in_link_reaches_no_log_even_when_everything_is_logged() -> None:
    env = {"CREWDESK_LOG_LEVEL": "DEBUG", "CREWDESK_DEBUG": "1"}
    with running_daphne("redis://127.0.0.1:9/0", env=env) as server:
        path = re.sub(r"^https?://[^/]+", "", re.findall(r"http\S+", server.manage("sign_in_link"))[0])
        token = path.strip("/").rpartition("/")[2]
        for address in (path, path.rstrip("/"), f"/nope{path}", f"{path}?next={path}", f"/?next={path}"):
            assert httpx.get(f"{server.url}{address}").status_code < 500
        assert httpx.post(f"{server.url}{path}", data={"a": "b"}).status_code == 403
        assert httpx.get(f"{server.url}{path}", headers={"Host": "elsewhere.example"}).status_code == 400
        assert httpx.get(f"{server.url}{path}nope/").status_code == 404
        text = server.log.read_text()
    assert "/sign-in/***" in text
    assert token not in text
