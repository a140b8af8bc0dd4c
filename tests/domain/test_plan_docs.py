"""docs/plan-files.md is true: its plans are taken or refused as it says, and every field is in it."""

import re
from pathlib import Path

import pytest

from tasks_app.domain import budget, leases, plan
from tasks_app.domain.errors import Invalid

TYPES = ("agent",)
PAGE = (Path(__file__).parents[2] / "docs" / "plan-files.md").read_text(encoding="utf-8")


def blocks(page, kind):
    return re.findall(rf"^```{kind}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


def test_every_plan_in_the_docs_is_taken():
    assert len(blocks(PAGE, "yaml")) == 3
    for text in blocks(PAGE, "yaml"):
        assert plan.parse(text, known_types=TYPES).tasks


def test_the_refused_plan_in_the_docs_is_answered_as_the_docs_say():
    (text,), (answer,) = blocks(PAGE, "yaml refused"), blocks(PAGE, "text")
    with pytest.raises(Invalid) as caught:
        plan.parse(text, known_types=TYPES)
    assert [str(problem) for problem in caught.value.problems] == answer.splitlines()


def test_every_field_is_in_the_docs():
    schema = plan.json_schema()
    fields = {name for part in [schema, *schema["$defs"].values()] for name in part["properties"]}
    assert {name for name in fields if f"`{name}`" not in PAGE} == set()


def test_the_defaults_of_the_budget_are_those_of_the_code():
    assert f"{budget.DEFAULT_TEAM_USD:.0f} USD and {budget.DEFAULT_TEAM_TOKENS // 10**6} million tokens" in PAGE


def test_the_grace_is_that_of_the_server_where_a_plan_does_not_say():
    assert plan.Limits().grace_s is plan.Limits(grace_s=None).grace_s is None
    assert f"`CREWDESK_GRACE_S` ({leases.GRACE_S:.0f})" in PAGE
