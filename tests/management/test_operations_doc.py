"""docs/operations.md says what is so: every variable, every command, every single command of `up`."""

import ast
import os
import re
import shutil
import subprocess
from pathlib import Path

import psutil
import pytest
import yaml
from django.core.management import get_commands

from tasks_app.management import embedded, layout, lead
from tests.management.desks import wait_for

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "operations.md").read_text()
READERS = {"text", "flag", "number", "whole", "choice", "words", "hosts", "proxies"}


def variables_read() -> set[str]:
    """Return the variables that the settings read through their typed readers."""
    found = set()
    for path in (ROOT / "dashboard" / "settings").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            called = getattr(node.func, "attr", getattr(node.func, "id", "")) if isinstance(node, ast.Call) else ""
            if called in READERS and isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                found.add(str(node.args[0].value))
    return found


def documented() -> set[str]:
    return set(re.findall(r"^\| `([A-Z][A-Z_]+)` \|", TEXT, re.MULTILINE))


def plain(argv: tuple[str, ...]) -> str:
    return " ".join(["python", *argv[1:]])


def test_every_variable_of_the_settings_is_documented_and_no_other() -> None:
    assert variables_read() == documented()


def test_the_single_commands_are_those_that_up_runs() -> None:
    web = layout.web(8400, home=Path("/h"), env={})
    worker = layout.worker(1, home=Path("/h"), env={})
    shared = layout.web(8400, home=Path("/h"), env={}, number=2, fd=3)
    assert f"    {plain(web.argv)}\n" in TEXT
    assert f".venv/bin/{plain(shared.argv)}\n" in TEXT
    assert f".venv/bin/{plain(worker.argv)}\n".replace("%h", "%%h") in TEXT
    assert f"    {plain(worker.argv)}\n" in TEXT


def test_the_images_run_the_same_commands() -> None:
    commands = re.findall(r"^CMD (\[.*?\])$", (ROOT / "Dockerfile").read_text().replace("\\\n", ""), re.MULTILINE | re.DOTALL)
    web, worker = (ast.literal_eval(command) for command in commands if "healthcheck" not in command)
    mine = list(layout.web(8400, home=Path("/h"), env={}).argv[2:])
    assert [word if word != "0.0.0.0" else "127.0.0.1" for word in web] == mine
    assert worker == ["python", *layout.worker(1, home=Path("/h"), env={}).argv[1:]]


def test_the_images_run_without_rights_and_have_health_checks() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    assert "\nUSER crewdesk\n" in dockerfile
    assert dockerfile.count("HEALTHCHECK") == 2
    assert re.findall(r"^ENTRYPOINT (.*)$", dockerfile.partition("AS worker")[2], re.MULTILINE) == [
        '["python", "-S", "-m", "tasks_app.first_process"]'
    ]
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    assert set(services) == {"migrate", "web", "web-2", "proxy", "worker", "worker-2", "database", "valkey"}
    assert services["migrate"]["command"] == ["python", "manage.py", "migrate", "--no-input"]
    for name in ("database", "valkey"):
        assert "healthcheck" in services[name]
        assert "ports" not in services[name]
    assert {name: service["ports"] for name, service in services.items() if "ports" in service} == {
        "proxy": ["127.0.0.1:8400:8400"]
    }
    for name in ("web", "worker", "proxy"):
        assert services[name]["cap_drop"] == ["ALL"]
        assert services[name]["security_opt"] == ["no-new-privileges:true"]


def test_no_command_line_of_the_containers_holds_a_password(tmp_path: Path) -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    checks = [str(service.get("healthcheck", {}).get("test")) for service in services.values()]
    assert not any("PASS" in check or "AUTH" in check or " -a " in check for check in checks)
    assert "REDISCLI_AUTH" in services["valkey"]["environment"]
    _, _, script = services["valkey"]["command"]
    binary, socket = embedded.find_binary(), tmp_path / "v.sock"
    text = script.replace("$$", "$").replace("valkey-server -", f"{binary} - --port 0 --unixsocket {socket} --dir {tmp_path}")
    env = {"PATH": os.environ["PATH"], "REDISCLI_AUTH": "0a1b2c3d"}
    with subprocess.Popen(["sh", "-c", text], env=env, stdout=subprocess.DEVNULL) as server:
        try:
            wait_for(lambda: embedded.ask(socket, b"PING\r\n").startswith(b"-NOAUTH"), seconds=10)
            assert embedded.ask(socket, b"AUTH 0a1b2c3d\r\n") == b"+OK\r\n"
            assert "0a1b2c3d" not in " ".join(psutil.Process(server.pid).cmdline())
        finally:
            server.kill()


OF_THE_IMAGE = {"CREWDESK_HOME", "CREWDESK_STATIC_ROOT", "CREWDESK_STATIC_MANIFEST", "CREWDESK_CLAUDE_CLI", "CREWDESK_DEBUG"}


def test_every_setting_that_is_not_the_images_own_can_be_given_to_the_containers() -> None:
    app = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["x-app"]
    assert documented() - set(app["environment"]) == OF_THE_IMAGE


@pytest.mark.skipif(shutil.which("docker-compose") is None, reason="Debian: apt-get install docker-compose")
def test_docker_compose_reads_the_file_and_the_passwords_must_be_given() -> None:
    def config(**given: str) -> subprocess.CompletedProcess[str]:
        env = {"PATH": os.environ["PATH"], **given}
        return subprocess.run(["docker-compose", "config"], cwd=ROOT, env=env, capture_output=True, text=True, timeout=60)

    read = config(CREWDESK_DB_PASSWORD="one", CREWDESK_REDIS_PASSWORD="two")
    assert read.returncode == 0, read.stderr
    services = yaml.safe_load(read.stdout)["services"]
    urls = {service["environment"]["DATABASE_URL"] for name, service in services.items() if name.startswith(("web", "worker"))}
    assert urls == {"postgres://crewdesk:one@database:5432/crewdesk"}
    assert "CREWDESK_DB_PASSWORD" in config(CREWDESK_REDIS_PASSWORD="two").stderr


@pytest.mark.skipif(shutil.which("haproxy") is None, reason="Debian: apt-get install haproxy")
def test_haproxy_reads_its_file_and_serves_both_web_processes() -> None:
    read = subprocess.run(["haproxy", "-c", "-f", "haproxy.cfg"], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert read.returncode == 0, read.stderr
    servers = re.findall(r"^ +server \S+ (\S+):8400$", (ROOT / "haproxy.cfg").read_text(), re.MULTILINE)
    assert servers == ["web", "web-2"]


def test_every_command_of_crewdesk_is_documented() -> None:
    ours = {name for name, app in get_commands().items() if app == "tasks_app"}
    on_a_team = {"team", "decide", "decides", "task", "tail", "context", "message", "checkpoint"}
    assert ours == on_a_team | {"up", "doctor", "sign_in_link", "healthcheck", "retention", "backup", "account"}
    assert all(f"manage.py {name}" in TEXT for name in ours)


def test_the_lead_file_in_the_text_is_one() -> None:
    block = TEXT.partition("    after: 0.5")[2].partition("\n* `when`")[0]
    text = "after: 0.5" + "\n".join(line[4:] for line in block.split("\n"))
    assert len(lead.load(text).rules) == 3
