"""Opening the desk: the browser, the ports, the sign-in link and the health checks."""

import http.server
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import Settings

from tasks_app.domain.errors import Invalid, Unavailable
from tasks_app.management import browser, desk, health, ports, sign_in
from tasks_app.models import Worker
from tests.factories import ago
from tests.management.commands import run
from tests.management.desks import free_port


class Page(http.server.BaseHTTPRequestHandler):
    """Answers like a web server that knows only the host `desk.example.org`."""

    def do_GET(self) -> None:
        self.send_response(200 if self.headers["Host"] == "desk.example.org" else 400)
        self.end_headers()

    do_HEAD = do_GET

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def page() -> Iterator[int]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


def test_a_free_port_is_taken_as_it_is() -> None:
    port = free_port()
    with ports.listen(port) as listener:
        assert listener.getsockname() == ("127.0.0.1", port)
        assert not listener.getblocking()  # it is shared: whoever comes second must not wait


def test_a_port_in_use_names_its_holder_and_another_one() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(Unavailable, match=rf"Port {port} is in use by \S+ \(process \d+\).*--port {port + 1}|--port"):
            ports.listen(port)


@pytest.mark.parametrize("port", [0, -1, 65536])
def test_what_is_no_port_number_is_refused(port: int) -> None:
    with pytest.raises(Invalid, match="is not a port number"):
        ports.listen(port)


def test_a_web_server_answers_whatever_it_says(page: int) -> None:
    assert ports.web_answers(page)
    assert not ports.web_answers(free_port())


def test_health_is_seen_under_the_host_name_that_is_served(page: int) -> None:
    assert health.web_is_healthy(page, host="desk.example.org")
    assert not health.web_is_healthy(page, host="127.0.0.1")
    assert not health.web_is_healthy(free_port(), host="desk.example.org")


def test_the_link_is_opened_through_a_private_file_and_not_on_a_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr("webbrowser.open", opened.append)
    page = browser.open_privately("http://127.0.0.1:8400/sign-in/1-abc/", folder=tmp_path)
    assert page is not None
    assert page.stat().st_mode & 0o777 == 0o600
    assert 'content="0; url=http://127.0.0.1:8400/sign-in/1-abc/"' in page.read_text()
    assert all("abc" not in address for address in opened)


def test_without_a_display_nothing_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert browser.open_privately("http://127.0.0.1:8400/", folder=tmp_path) is None
    assert list(tmp_path.iterdir()) == []


def test_a_mac_has_a_display_for_whoever_sits_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    assert browser.has_display()
    monkeypatch.setenv("SSH_CONNECTION", "192.0.2.1 50000 192.0.2.2 22")
    assert not browser.has_display()


def test_a_link_cannot_break_out_of_the_page() -> None:
    assert '"><script>' not in browser.redirect_page('http://x/"><script>alert(1)</script>')


def test_the_address_is_the_origin_that_was_set_else_this_machines_port(settings: Settings) -> None:
    assert desk.address(8400) == "http://127.0.0.1:8400"
    settings.ORIGINS = ["https://desk.example.org/"]
    assert desk.address(8400) == "https://desk.example.org"


@pytest.mark.django_db
def test_a_link_for_the_first_superuser_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("django.db.connections.close_all", lambda: None)
    code, out, _ = run("sign_in_link", "--port", "8401")
    assert code == 0
    assert out.startswith("http://127.0.0.1:8401/sign-in/")
    token = out.strip().strip("/").rsplit("/", 1)[-1]
    found = sign_in.peek(token)
    assert found is not None
    assert found.username == "lead"


@pytest.mark.django_db
def test_a_worker_is_well_while_its_heartbeat_is_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not health.worker_is_healthy()
    monkeypatch.setattr("socket.gethostname", lambda: "here")
    facts = {"host": "here", "pid": 1, "started_at": ago(minutes=1), "slots": 8}
    Worker.objects.create(name="here:1:1", seen_at=ago(seconds=2).timestamp(), **facts)
    assert health.worker_is_healthy()
    Worker.objects.update(seen_at=ago(seconds=40).timestamp())
    assert not health.worker_is_healthy()


def test_another_up_is_known_by_its_lock_and_not_by_what_it_left_written(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "up.json").write_text('{"pid": 1, "port": 8400}')
    assert desk.running(tmp_path) is None
    lock = desk.FileLock(tmp_path / "run" / "up.lock")
    assert lock.exclusive()
    assert desk.running(tmp_path) == {"pid": 1, "port": 8400}
    lock.release()
    assert desk.running(tmp_path) is None
