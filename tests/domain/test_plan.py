"""A good plan is frozen and keeps its order; a bad one names every error at once, each with line, path and fix."""

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tasks_app.domain import graph, plan
from tasks_app.domain.errors import Invalid

TYPES = ("agent",)
GOOD = {
    "team": "Billing",
    "agents": [{"name": "ann", "role": "builder"}, {"name": "bob", "role": "tester"}],
    "tasks": [{"key": "a", "title": "Schema", "criteria": ["x"]}, {"title": "API", "criteria": ["y"], "depends_on": ["a"]}],
}


def parse(document):
    return plan.parse(document if isinstance(document, str | bytes) else yaml.safe_dump(document), known_types=TYPES)


def problems(document):
    with pytest.raises(Invalid) as caught:
        parse(document)
    return caught.value.problems


def refusals(document):
    """The problems with which a plan is refused; none where it is taken. Any other exception fails the test."""
    try:
        parse(document)
    except Invalid as refused:
        return refused.problems
    return ()


def with_task(**fields):
    first, second = GOOD["tasks"]
    return {**GOOD, "tasks": [first, {**second, **fields}]}


def test_the_shortest_plan_has_safe_defaults():
    found = parse(GOOD)
    assert (found.limits.parallel, found.limits.attempts, found.limits.decision_timeout_s) == (2, 3, None)
    assert found.tasks[0].expected_minutes == (5.0, 30.0)
    assert found.tasks[0].priority == 5
    assert found.workspace.mode == "copy"


def test_a_plan_cannot_be_changed():
    with pytest.raises(ValidationError):
        parse(GOOD).team = "Other"


def test_order_is_kept_and_dependencies_are_found_by_key_or_title_whatever_the_case():
    document = {
        **GOOD,
        "tasks": [*GOOD["tasks"], {"title": "Tests", "criteria": ["z"], "depends_on": ["api", "A", "schema"][:2]}],
    }
    found = parse(document)
    assert [task.title for task in found.tasks] == ["Schema", "API", "Tests"]
    assert found.needs()[2] == (1, 0)
    assert [task.label for task in found.tasks] == ["a", "API", "Tests"]


BAD = """\
team: Billing
goaal: x
limits: {parallel: 0, attempts: true, on_failure: reasign, turns: 1.5}
budget: {usd: 5, tokens: -1}
permissions:
  allow: [bash(ls), "Write(src/**)", Bash(git diff *)]
agents:
  - {name: ann, role: builder, plan_mode: maybe}
  - {name: Ann, role: tester}
  - {name: lead}
tasks:
  - key: a
    title: Schema
    criteria: []
    depends_on: [c]
    budget: {usd: 9}
  - title: API
    criteria: works
    depends_on: [a, api, shema, a]
    role: bilder
  - title: c
    criteria: [ok, OK., ""]
    depends_on: API
    type: agnet
    priority: urgent
    expected_minutes: [30, 5]
  - title: d
    description: 5
    criteria: [x]
    depends_on: [e]
    assignee: an
  - title: e
    criteria: [x]
    depends_on: [f]
  - title: f
    criteria: [x]
    depends_on: [D]
rehearsal: ../x
context: {"a b": 1}
"""


def test_a_bad_plan_names_every_error_at_once():
    found = [(problem.line, problem.path) for problem in problems(BAD)]
    assert found == [
        (2, "goaal"),
        (3, "limits.parallel"),
        (3, "limits.attempts"),
        (3, "limits.turns"),
        (3, "limits.on_failure"),
        (4, "budget.tokens"),
        (6, "permissions.allow[0]"),
        (6, "permissions.allow[1]"),
        (8, "agents[0].plan_mode"),
        (9, "agents[1].name"),
        (10, "agents[2].name"),
        (10, "agents[2]"),
        (14, "tasks[0].criteria"),
        (16, "tasks[0].budget.usd"),
        (18, "tasks[1].criteria"),
        (19, "tasks[1].depends_on[1]"),
        (19, "tasks[1].depends_on[2]"),
        (19, "tasks[1].depends_on[3]"),
        (20, "tasks[1].role"),
        (22, "tasks[2].criteria[2]"),
        (22, "tasks[2].criteria[1]"),
        (23, "tasks[2].depends_on"),
        (24, "tasks[2].type"),
        (25, "tasks[2].priority"),
        (26, "tasks[2].expected_minutes"),
        (28, "tasks[3].description"),
        (30, "tasks[3].depends_on[0]"),
        (31, "tasks[3].assignee"),
        (38, "rehearsal"),
        (39, "context.a b"),
    ]


@pytest.mark.parametrize(
    ("fields", "path", "words"),
    [
        ({"depends_on": ["shema"]}, "tasks[1].depends_on[0]", 'There is no task "shema". Did you mean "Schema"?'),
        ({"depends_on": ["API"]}, "tasks[1].depends_on[0]", "The task depends on itself."),
        ({"depends_on": ["a", "Schema"]}, "tasks[1].depends_on[1]", "listed twice"),
        ({"title": " schema "}, "tasks[1].title", "is also tasks[0].title"),
        ({"key": "A"}, "tasks[1].key", "is also tasks[0].key"),
        ({"key": "Schema"}, "tasks[1].key", "could mean either"),
        ({"key": "a b"}, "tasks[1].key", "not a possible key"),
        ({"role": "bilder"}, "tasks[1].role", 'Did you mean "builder"?'),
        ({"assignee": "Bob"}, "tasks[1].assignee", 'Did you mean "bob"?'),
        ({"role": "builder", "assignee": "bob"}, "tasks[1].assignee", "Keep either role or assignee."),
        ({"type": "remote"}, "tasks[1].type", "Known: agent."),
        ({"criteria": []}, "tasks[1].criteria", "is empty"),
        ({"criteria": None}, "tasks[1]", "criteria is missing"),
        ({"criteria": [" "]}, "tasks[1].criteria[0]", "is empty"),
        ({"title": 2026}, "tasks[1].title", "Put it in quotes."),
        ({"title": "x" * 201}, "tasks[1].title", "is 201 characters long; at most 200"),
        ({"priority": 10}, "tasks[1].priority", "high, normal, low"),
        ({"priority": True}, "tasks[1].priority", "high, normal, low"),
        ({"expected_minutes": 0}, "tasks[1].expected_minutes", "must be minutes"),
        (
            {"expected_minutes": [30, 5]},
            "tasks[1].expected_minutes",
            "the wrong way round: the shorter time comes first. Write [5, 30].",
        ),
        ({"expected_minutes": [5, 10_081]}, "tasks[1].expected_minutes", "at most 10080 (a week)"),
        ({"expected_minutes": [1, 2, 3]}, "tasks[1].expected_minutes", "must be minutes"),
        ({"expected_minutes": float("nan")}, "tasks[1].expected_minutes", "must be minutes"),
        ({"budget": {"usd": 0}}, "tasks[1].budget.usd", "must be at least 0.01"),
        ({"budget": {"eur": 1}}, "tasks[1].budget.eur", "Known: tokens, usd."),
        ({"budget": 5}, "tasks[1].budget", "mapping"),
        ({"plan_mode": "perhaps"}, "tasks[1].plan_mode", "true or false"),
        ({"owner": "x"}, "tasks[1].owner", 'There is no field "owner" here'),
    ],
)
def test_each_mistake_in_a_task_is_said_with_its_fix(fields, path, words):
    (found,) = problems(with_task(**fields))
    assert found.path == path
    assert words in str(found)
    assert found.line is not None
    assert found.fix


@pytest.mark.parametrize(
    ("fields", "path", "words"),
    [
        ({"team": ""}, "team", "is empty"),
        ({"team": None}, "", "team is missing"),
        ({"agents": []}, "agents", "is empty"),
        ({"tasks": {}}, "tasks", "must be a list"),
        ({"agents": [{"name": "Lead", "role": "builder"}]}, "agents[0].name", 'Rename it, for example to "Lead-1".'),
        ({"permissions": {"allow": ["Bash("]}}, "permissions.allow[0]", "is not a permission rule. Write a tool name"),
        ({"agents": ["ann"]}, "agents[0]", "mapping of fields"),
        ({"workspace": {"path": "x", "ref": "main"}}, "workspace", "needs mode: git"),
        ({"workspace": {"path": "x", "mode": "git", "ref": "--upload-pack=x"}}, "workspace", "branch, tag or commit"),
        ({"workspace": {"mode": "in_place"}}, "workspace", "needs a path"),
        ({"workspace": {"path": "x", "mode": "inplace"}}, "workspace.mode", 'Did you mean "in_place"?'),
        ({"limits": {"parallel": 65}}, "limits.parallel", "at most 64"),
        ({"limits": {"paralel": 6}}, "limits.paralel", 'Did you mean "parallel"?'),
        ({"limits": {"grace_s": float("inf")}}, "limits.grace_s", "must be"),
        ({"rehearsal": "/etc/passwd"}, "rehearsal", "beside"),
        ({"rehearsal": "~/x"}, "rehearsal", "beside"),
        ({"permissions": {"deny": ["Bash(" + "x" * 2000]}}, "permissions.deny[0]", "characters long"),
    ],
)
def test_each_mistake_at_the_top_is_said_with_its_fix(fields, path, words):
    (found,) = problems({**GOOD, **fields})
    assert found.path == path
    assert words in str(found)
    assert found.fix


@pytest.mark.parametrize("text", ["", "# nothing", "- a", "just text", "3"])
def test_what_is_no_plan_at_all_says_what_a_plan_begins_with(text):
    (found,) = problems(text)
    assert found.fix == "Start with team, agents and tasks."


def test_the_whole_path_of_a_cycle_is_named_and_a_second_one_too():
    tasks = [
        {"title": t, "criteria": ["x"], "depends_on": d}
        for t, d in [("A", ["B"]), ("B", ["C"]), ("C", ["A"]), ("D", ["E"]), ("E", ["D"])]
    ]
    found = [problem.message for problem in problems({**GOOD, "tasks": tasks})]
    assert found == ["Dependency cycle: A → B → C → A.", "Dependency cycle: D → E → D."]


def test_hostile_text_is_shown_on_one_line_and_cut():
    (found,) = problems(with_task(role="\x1b[31m" + "x" * 30 + "\n" + "<script>"))
    assert "\x1b" not in str(found)
    assert "\n" not in str(found)


def test_a_file_of_a_thousand_mistakes_is_answered_in_bounds():
    assert len(problems({**GOOD, "tasks": [{"titel": n} for n in range(900)]})) == plan.MAX_PROBLEMS


def test_a_thousand_tasks_in_a_row_are_taken():
    tasks = [{"title": f"t{n}", "criteria": ["x"], "depends_on": [f"t{n + 1}"] if n < 999 else []} for n in range(1000)]
    assert len(parse({**GOOD, "tasks": tasks}).tasks) == 1000


def test_a_dumped_plan_is_the_same_plan():
    document = {
        **GOOD,
        "workspace": "src",
        "context": {"n": {"x": [1, None]}},
        "limits": {"decision_timeout_s": 60},
        "permissions": {"allow": ["Edit"]},
        "tasks": [{**GOOD["tasks"][0], "priority": "high", "expected_minutes": 20, "plan_mode": "yes"}],
    }
    found = parse(document)
    assert (found.tasks[0].priority, found.tasks[0].expected_minutes, found.tasks[0].plan_mode) == (2, (0.0, 20.0), True)
    assert parse(yaml.safe_dump(found.dump())) == found
    assert parse(json.dumps(found.dump())) == found


EDGES = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=12, unique=True)


@given(EDGES)
def test_a_plan_is_taken_exactly_when_its_graph_has_no_cycle(edges):
    deps = {n: [b for a, b in edges if a == n] for n in range(6)}
    document = {**GOOD, "tasks": [{"title": f"t{n}", "criteria": ["x"], "depends_on": [f"t{d}" for d in deps[n]]} for n in deps]}
    if graph.find_cycle(deps):
        assert all("depends on itself" in problem.message or "cycle" in problem.message for problem in problems(document))
    else:
        found = parse(document)
        assert [list(needs) for needs in found.needs()] == list(deps.values())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5), lambda x: st.lists(x, max_size=3), max_leaves=6
)
FIELDS = st.dictionaries(
    st.sampled_from(["team", "agents", "tasks", "limits", "budget", "workspace", "title", "criteria", "depends_on"]), JSON
)


@given(FIELDS, st.lists(FIELDS | JSON, max_size=3))
def test_any_document_is_taken_or_refused_in_words(top, tasks):
    for document in (top, {**GOOD, **top}, {**GOOD, "tasks": tasks}, {**GOOD, "agents": tasks}):
        assert all(problem.message for problem in refusals(document))


def test_the_schema_describes_every_field_and_refuses_unknown_ones():
    schema = plan.json_schema()
    assert json.loads(json.dumps(schema)) == schema
    assert set(schema["required"]) == {"team", "agents", "tasks"}
    assert all(part["additionalProperties"] is False for part in [schema, *schema["$defs"].values()])
