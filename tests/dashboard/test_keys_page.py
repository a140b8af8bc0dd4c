"""The page of the keys, and which buttons have one."""

import re
from pathlib import Path

import pytest
from django.urls import resolve, reverse

from dashboard.views.keys import KEYS
from tests import factories as make
from tests.dashboard.conftest import html_of, words_of

SCRIPT = (Path(__file__).resolve().parents[2] / "static/js/keys.js").read_text()
NAMED = {key for _, lines in KEYS for pressed, _ in lines for key in pressed}


def test_the_page_names_every_key_that_the_script_knows(desk):
    known = set(re.findall(r'"([^"]+)": |(\w): ', SCRIPT[SCRIPT.index("const DO") : SCRIPT.index("let went")]))
    going = dict(re.findall(r'(\w): "([^"]*)"', SCRIPT[SCRIPT.index("const GO") : SCRIPT.index("// no slash")]))
    assert len(known) == 12
    assert {one or other for one, other in known} | set(going) | {"g", "j", "k", "1", "9"} == NAMED - {
        "Enter",
        "Esc",
        "Ctrl",
        "…",
    }
    text = words_of(desk.get(reverse("keys")))
    assert all(f" {key} " in text for key in NAMED)
    assert "Keys need scripts." in text


def test_the_addresses_in_the_script_are_those_of_pages():
    going = re.findall(r'\w: "([^"]*)"', SCRIPT[SCRIPT.index("const GO") : SCRIPT.index("// no slash")])
    for address in going:
        assert resolve(address if address.startswith("/") else f"/teams/atlas/{address.split('?')[0]}")


RISKY = {**make.PAYLOADS["permission"], "risk": {"level": "high", "sentences": ["Deletes files."]}}


@pytest.mark.parametrize(
    ("kind", "payload", "keys"),
    [
        ("permission", None, {"a": "Allow once", "d": "Deny", "h": "Snooze 5 min"}),
        ("permission", RISKY, {"h": "Snooze 5 min"}),
        ("plan", None, {"a": "Approve plan", "d": "Send back with comments", "h": "Snooze 5 min"}),
        ("review", None, {"a": "Accept", "d": "Send back with comments", "h": "Snooze 5 min"}),
        ("question", None, {"Control+Enter": "Send answer", "h": "Snooze 5 min"}),
        ("escalation", None, {"Control+Enter": "Send answer", "h": "Snooze 5 min"}),
        ("budget", None, {"h": "Snooze 5 min"}),  # money is raised and stopped by hand
        ("stall", None, {"h": "Snooze 5 min"}),
    ],
)
def test_each_kind_has_the_keys_of_its_answers_and_what_is_risky_has_none(desk, team, kind, payload, keys):
    run = make.RunFactory(task__team=team, agent__team=team)
    decision = make.DecisionFactory(run=run, kind=kind, **({"payload": payload} if payload else {}))
    html = html_of(desk.get(reverse("inbox-detail", args=[decision.pk])))
    found = re.findall(r'<button[^>]* data-key="([^"]+)"[^>]*>(.*?)</button>', html)
    assert {key: re.sub(r"<kbd.*?</kbd>|<[^>]+>", "", inside).strip() for key, inside in found} == keys
    assert all('aria-hidden="true">' in inside for _, inside in found)
