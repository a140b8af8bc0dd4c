import json
import re
from pathlib import Path

import pytest

from tasks_app.domain.errors import Invalid, Problem
from tasks_app.rehearsal import scripts
from tasks_app.rehearsal.script_model import ALWAYS, Part

DOCS = Path(__file__).parents[2] / "docs" / "rehearsal.md"


def problems_of(text: str) -> list[Problem]:
    with pytest.raises(Invalid) as refused:
        scripts.load(text)
    return list(refused.value.problems)


def part(**fields: object) -> Part:
    return Part.model_validate({"turns": [{"say": "x"}], **fields})


def test_a_bad_script_names_every_error_at_once_with_line_path_and_fix() -> None:
    text = """
parts:
  - agnet: ann
    attempt: 0
    turns:
      - sya: Hello
      - call: {tool: Bash, inptu: {}}
      - say: x
        wait: -1
        fail: {status: 418}
    subagents:
      look:
        - {say: x, usge: {}}
"""
    found = [(problem.line, problem.path, problem.fix) for problem in problems_of(text)]
    assert found == [
        (3, "parts[0].agnet", "Did you mean `agent`?"),
        (4, "parts[0].attempt", ""),
        (6, "parts[0].turns[0].sya", "Did you mean `say`?"),
        (7, "parts[0].turns[1].call.inptu", "Did you mean `input`?"),
        (9, "parts[0].turns[2].wait", ""),
        (10, "parts[0].turns[2].fail.status", ""),
        (13, "parts[0].subagents.look[0].usge", "Did you mean `usage`?"),
    ]


@pytest.mark.parametrize(
    ("turn", "word"),
    [
        ("{}", "needs `say`, `call`, `either` or `misbehave`"),
        ("{wait: 3}", "needs `say`"),
        ("{call: {input: {}}}", "exactly one of `tool`, `crew` and `complete`"),
        ("{call: {tool: Bash, crew: TaskGet}}", "exactly one"),
        ("{call: {complete: x, input: {evidence: [y]}}}", "not a mapping"),
        ("{either: [{when: {result_contains: x}, then: []}]}", "without `when`"),
        ("{either: [{then: []}, {then: []}]}", "without `when`"),
        ("{say: x, either: [{then: []}]}", "stands alone"),
        ("{either: [{when: {}, then: []}, {then: []}]}", "needs `result_contains`"),
        ("{either: [{when: {answer_contains: ''}, then: []}, {then: []}]}", "not empty"),
        ("{say: x, misbehave: malformed_input}", "needs a `call`"),
        ("{say: x, misbehave: dance}", "cut"),
        ("{say: x, fail: {status: 429, times: 0}}", "greater than or equal to 1"),
        ("{say: x, fail: {status: 429, times: never}}", "integer"),
    ],
)
def test_a_turn_that_cannot_be_played_is_refused_in_words(turn: str, word: str) -> None:
    found = problems_of(f"parts:\n  - turns:\n    - {turn}\n")
    assert len(found) == 1
    assert re.search(re.escape(word), found[0].message, re.IGNORECASE)
    assert found[0].line == 3


@pytest.mark.parametrize("text", ["", "[]", "text", "name: x", "parts: []", "parts: [{turns: []}]", "parts: {}"])
def test_a_script_without_parts_or_turns_is_refused(text: str) -> None:
    assert problems_of(text)[0].message


def test_a_part_that_can_never_be_played_is_refused() -> None:
    found = problems_of("parts:\n- {agent: ann, turns: [{say: x}]}\n- {agent: Ann, turns: [{say: y}]}\n")
    assert [(problem.line, problem.path) for problem in found] == [(3, "parts[1]")]


def test_the_first_part_that_matches_agent_role_task_and_attempt_plays() -> None:
    script = scripts.load("""
parts:
  - {agent: ann, task: Payment API, attempt: 1, turns: [{say: first}]}
  - {agent: ann, task: "Payment*", attempt: 2+, turns: [{say: again}]}
  - {role: "*engineer", task: T-7, turns: [{say: by label}]}
  - {role: "*engineer", task: docs, turns: [{say: by key}]}
  - {agent: bob, attempt: 1-2, turns: [{say: bob}]}
""")

    def say(**run: object) -> str | None:
        found = script.part_for(**run)  # type: ignore[arg-type]
        return found and found.turns[0].say

    assert say(agent="Ann", title="payment api") == "first"
    assert say(agent="ann", title="Payment API", attempt=2) == "again"
    assert say(agent="ann", title="Payment API", attempt=9) == "again"
    assert say(agent="cy", role="Lead Engineer", task_label="T-7", title="Any") == "by label"
    assert say(agent="cy", role="engineer", task_label="T-8", title="Any", key="docs") == "by key"
    assert say(agent="bob", title="Any", attempt=2) == "bob"
    assert say(agent="bob", title="Any", attempt=3) is None
    assert say(agent="anna", title="Payment API") is None


def test_square_brackets_in_a_title_are_only_text() -> None:
    assert part(task="[api] pay*").matches(agent="a", role="", task=("[API] payment",), attempt=1)
    assert not part(task="[api] pay*").matches(agent="a", role="", task=("a payment",), attempt=1)


def test_an_only_item_may_stand_without_its_list() -> None:
    turn = part(turns=[{"call": {"tool": "Bash"}, "fail": {"status": 429, "times": "always"}, "misbehave": "cut"}]).turns[0]
    assert [call.tool for call in turn.call] == ["Bash"]
    assert [fail.times for fail in turn.fail] == [ALWAYS]
    assert turn.misbehave is not None
    assert turn.misbehave.how == "cut"


def test_a_file_that_is_not_there_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match=r"none\.yaml cannot be read"):
        scripts.load(tmp_path / "none.yaml")


def test_the_json_schema_lets_an_only_item_stand_alone_and_knows_every_field() -> None:
    schema = scripts.json_schema()
    assert json.dumps(schema)
    call = schema["$defs"]["Turn"]["properties"]["call"]
    assert [option.get("type", "object") for option in call["anyOf"]] == ["object", "array"]
    assert schema["$defs"]["Part"]["additionalProperties"] is False


def test_the_example_in_the_documentation_loads() -> None:
    example = re.search(r"```yaml\n(# A whole script.*?)```", DOCS.read_text(), re.DOTALL)
    assert example is not None
    script = scripts.load(example[1])
    assert script.part_for(agent="ben", title="Payment API", attempt=2) is not None


def test_every_field_and_word_of_a_script_is_documented() -> None:
    text = DOCS.read_text()
    schema = scripts.json_schema()
    models = {"Script": schema, **schema["$defs"]}
    words = [f"`{name}`" for model in models.values() for name in model.get("properties", {})]
    words += [f"`{how}`" for how in schema["$defs"]["Misbehave"]["properties"]["how"]["enum"]]
    words += [f"{status}" for status in schema["$defs"]["Fail"]["properties"]["status"]["enum"]]
    assert [word for word in words if word not in text] == []
