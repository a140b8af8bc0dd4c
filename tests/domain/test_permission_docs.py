"""docs/permission-rules.md is true: each of its examples does what it says."""

import re
from pathlib import Path

import pytest
import yaml

from tasks_app.domain import permissions as p
from tasks_app.domain import risks
from tasks_app.domain.errors import Invalid
from tasks_app.domain.permissions import Decision

PAGE = (Path(__file__).parents[2] / "docs" / "permission-rules.md").read_text(encoding="utf-8")


def rows(*head):
    """The rows of all tables with this head, code marks removed."""
    found, inside = [], False
    for line in PAGE.splitlines():
        cells = [cell.strip().strip("`") for cell in re.split(r" \| |^\| | \|$", line)[1:-1]]
        if cells == list(head):
            inside = True
        elif not line.startswith("|"):
            inside = False
        elif inside and not cells[0].startswith("---"):
            found.append(tuple(cells))
    assert found
    return found


@pytest.mark.parametrize(("rule", "command", "allowed"), rows("rule", "command", "allowed"))
def test_what_is_allowed(rule, command, allowed):
    verdict = p.decide("Bash", {"command": command}, allow=[rule], workspace="/w")
    assert (verdict.decision is Decision.ALLOW) == (allowed == "yes")


@pytest.mark.parametrize(("rule", "command", "denied"), rows("rule", "command", "denied"))
def test_what_is_denied(rule, command, denied):
    verdict = p.decide("Bash", {"command": command}, allow=["Bash"], deny=[rule], workspace="/w")
    assert (verdict.decision is Decision.DENY) == (denied == "yes")


@pytest.mark.parametrize(("rule", "file", "allowed"), rows("rule", "file", "allowed"))
def test_which_files_are_allowed(rule, file, allowed):
    assert p.matches(rule, "Write", {"file_path": file}, workspace="/w") == (allowed == "yes")


@pytest.mark.parametrize(("rule", "_for"), rows("rule", "speaks for"))
def test_other_rules_are_rules(rule, _for):
    assert p.parse(rule).text == rule


@pytest.mark.parametrize(("rule", "_why"), rows("rule", "why"))
def test_what_is_refused(rule, _why):
    with pytest.raises(Invalid):
        p.parse(rule)


def test_the_example_is_taken_and_every_sentence_of_a_card_is_there():
    (block,) = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    for rules in yaml.safe_load(block)["permissions"].values():
        assert all(p.parse(rule) for rule in rules)
    flat = " ".join(PAGE.split())
    assert [sentence for sentence in risks.SENTENCES if sentence not in flat] == []
