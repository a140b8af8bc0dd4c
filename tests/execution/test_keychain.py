"""On a Mac the sign-in of Claude Code is found in the Keychain, and only its access token reaches an agent."""

import json
import time

import pytest

from tasks_app.execution import environment, keychain

SECURITY = """#!/bin/sh
echo "$*" >> {folder}/asked
[ "$1 $2 $4 $6" = "find-generic-password -a -s -w" ] && cat {folder}/item
"""


@pytest.fixture
def mac(monkeypatch, tmp_path):
    """A Mac whose Keychain holds what `item` says."""
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", "darwin")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    (tmp_path / "security").write_text(SECURITY.format(folder=tmp_path))
    (tmp_path / "security").chmod(0o755)
    keychain._read.cache_clear()
    yield tmp_path
    keychain._read.cache_clear()


def keep(mac, **more):
    item = {"accessToken": "sk-ant-oat-x", "refreshToken": "sk-ant-ort-y", "expiresAt": (time.time() + 28800) * 1000, **more}
    (mac / "item").write_text(json.dumps({"claudeAiOauth": item}))


def for_run(mac):
    return environment.for_run(home=mac / "h", run_id="a1", fence=1, rehearsal_url=None)


def test_a_sign_in_in_the_keychain_counts_and_reaches_real_agents(mac):
    keep(mac)
    assert environment.key_source() == "a signed-in Claude Code"
    env = for_run(mac)
    assert env["CLAUDE_CODE_OAUTH_TOKEN"] == "sk-ant-oat-x"
    assert "sk-ant-ort-y" not in str(env)
    assert not list((mac / "h").rglob("*.json"))
    assert (mac / "asked").read_text().count("\n") == 1, "not asked again for each page and run"


def test_no_rehearsal_and_no_check_gets_it(mac):
    keep(mac)
    assert "sk-ant-oat-x" not in str(environment.for_run(home=mac / "h", run_id="a1", fence=1, rehearsal_url="http://x"))
    assert "sk-ant-oat-x" not in str(environment.for_check(home=mac / "h", run_id="a1", fence=1))


def test_a_key_in_the_environment_goes_before_it(mac, monkeypatch):
    keep(mac)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    assert environment.key_source() == "an API key in the environment"
    assert "CLAUDE_CODE_OAUTH_TOKEN" not in for_run(mac)


@pytest.mark.parametrize("item", ["", "nonsense", "[]", '{"mcpOAuth": {}}', '{"claudeAiOauth": {"accessToken": "x"}}'])
def test_without_a_sign_in_there_is_none(mac, item):
    (mac / "item").write_text(item)
    assert environment.key_source() == ""


def test_a_sign_in_that_has_run_out_is_none(mac):
    keep(mac, expiresAt=(time.time() - 60) * 1000)
    assert environment.key_source() == ""


def test_a_folder_of_one_s_own_has_an_item_of_its_own(mac, monkeypatch):
    keep(mac)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "/Users/me/.claude-work")
    assert environment.key_source() == "a signed-in Claude Code"
    assert "-s Claude Code-credentials-" in (mac / "asked").read_text()


def test_on_other_systems_nothing_is_asked(mac, monkeypatch):
    keep(mac)
    monkeypatch.setattr("sys.platform", "linux")
    assert environment.key_source() == ""
    assert not (mac / "asked").exists()
