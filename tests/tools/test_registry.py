"""The crew tools as an agent calls them: good calls, bad arguments, refusals; never an exception but a lost lease."""

import pytest

from tasks_app.domain.errors import LeaseLost
from tasks_app.tools import registry
from tests.services import world
from tests.tools.calls import bad

pytestmark = pytest.mark.django_db
BIG = "🚀é漢" * 350_000


def test_there_are_thirteen_tools_and_each_says_what_it_does_in_a_schema():
    specs = {spec.name: spec for spec in registry.specs()}
    tasks_and_messages = "TaskCreate TaskGet TaskList TaskOutput TaskStop TaskUpdate SendMessage ReadMessages MessageDone"
    assert set(specs) == {*tasks_and_messages.split(), *["Escalate", "ShareContext", "ReadContext", "SaveCheckpoint"]}
    for spec in specs.values():
        assert spec.description.endswith(".")
        assert spec.schema["type"] == "object"
        assert spec.schema["additionalProperties"] is False
    assert [name for name, spec in specs.items() if spec.asks] == ["Escalate"]


def test_an_unknown_tool_names_those_there_are(me):
    assert "There is no tool TaskDestroy. There are: TaskCreate," in bad(me, "TaskDestroy")


BAD = [
    ("TaskCreate", {}, ("subject: Field required", "description: Field required")),
    ("TaskCreate", {"subject": "x", "description": "y", "colour": "red"}, ("colour: Extra inputs are not permitted",)),
    ("TaskCreate", {"subject": "x", "description": "y", "criteria": "one"}, ("criteria: Input should be a valid list",)),
    ("TaskCreate", {"subject": " ", "description": "y"}, ("Refused: The title is empty",)),
    (
        "TaskCreate",
        {"subject": "x", "description": "y", "role": "tester"},
        ("Nobody in this team has the role “tester”", "builder"),
    ),
    ("TaskCreate", {"subject": "x", "description": "y", "addBlockedBy": ["99"]}, ("There is no task “99”", "T-1, T-2, T-3")),
    ("TaskCreate", {"subject": "x", "description": BIG}, ("Refused", "description is longer")),
    ("TaskCreate", {"subject": "x", "description": "y", "metadata": {"x": BIG}}, ("Refused", "metadata is larger")),
    (
        "TaskCreate",
        {"subject": "x", "description": "y", "criteria": [BIG]},
        ("Refused", "criteria[0]: is 1050000 characters long"),
    ),
    ("TaskCreate", {"subject": "x", "description": "y", "metadata": {"split_depth": 9}}, ("“split_depth” is kept by Crewdesk",)),
    ("TaskCreate", {"subject": "x", "description": "y", "metadata": {"rev\0iew": {}}}, ("“review” is kept by Crewdesk itself",)),
    ("TaskUpdate", {"taskId": "1", "metadata": {"review": {"verdict": "accept"}}}, ("“review” is kept by Crewdesk itself",)),
    ("TaskUpdate", {"taskId": "1", "metadata": {"split_of": None}}, ("“split_of” is kept by Crewdesk itself",)),
    ("TaskGet", {}, ("taskId: Field required",)),
    ("TaskGet", {"taskId": "T-99"}, ("There is no task “T-99” in this team. There are: T-1, T-2, T-3.",)),
    ("TaskGet", {"taskId": BIG}, ("There is no task",)),
    ("TaskGet", {"taskId": ["1"]}, ("taskId: Input should be a valid string",)),
    ("TaskOutput", {"task_id": "x"}, ("There is no task “x”",)),
    ("TaskStop", {"task_id": "2"}, ("Only the lead stops the tasks of others",)),
    (
        "TaskUpdate",
        {"taskId": "1", "status": "done"},
        ("status: Input should be 'pending', 'in_progress', 'completed' or 'deleted'",),
    ),
    ("TaskUpdate", {"taskId": "1", "status": "deleted"}, ("Only the lead removes tasks",)),
    ("TaskUpdate", {"taskId": "1", "owner": "builder-2"}, ("Only the lead assigns tasks",)),
    ("TaskUpdate", {"taskId": "2", "status": "completed"}, ("T-1 is your task",)),
    ("TaskUpdate", {"taskId": "2", "subject": "Mine now"}, ("only your own task and tasks that you created",)),
    ("TaskUpdate", {"taskId": "2", "metadata": {"a": 1}}, ("only your own task and tasks that you created",)),
    (
        "TaskUpdate",
        {"taskId": "1", "status": "completed"},
        ("2 of its 2 criteria", "1. The page works.", "2. Tests"),
    ),
    (
        "TaskUpdate",
        {"taskId": "1", "status": "completed", "evidence": {"2": "42 passed"}},
        (
            "1 of its 2 criteria is not met",
            "1. The page works.: no evidence was given",
        ),
    ),
    ("TaskUpdate", {"taskId": "1", "status": "completed", "evidence": ["saw it", " "]}, ("2. Tests pass.",)),
    ("TaskUpdate", {"taskId": "1", "status": "pending"}, ("metadata.failure",)),
    ("TaskUpdate", {"taskId": "1", "status": "pending", "metadata": {"failure": "x", "approaches": "y"}}, ("must be a list",)),
    ("TaskUpdate", {"taskId": "1", "addBlockedBy": ["1"]}, ("cycle: T-1 → T-1",)),
    ("SendMessage", {"to": "enginer", "message": "x"}, ("There is no agent “enginer” in this team", "builder-1, builder-2")),
    ("SendMessage", {"to": "bilder-2", "message": "x"}, ("Did you mean builder-2?",)),
    ("SendMessage", {"to": "builder-1", "message": "x"}, ("cannot send a message to yourself",)),
    ("SendMessage", {"to": "builder-2", "message": " \0 "}, ("The message is empty",)),
    ("SendMessage", {"to": "builder-2", "message": BIG}, ("1,050,000 characters; at most 100,000",)),
    (
        "SendMessage",
        {"to": "builder-2", "message": "x", "priority": "now"},
        ("priority: Input should be 'normal', 'interrupt' or 'status'",),
    ),
    ("SendMessage", {"to": "builder-2", "message": "x", "reply_to": "m00000000"}, ("There is no message m00000000 to you",)),
    ("MessageDone", {"message_id": BIG}, ("There is no such message to you",)),
    ("Escalate", {"problem": "x", "options": [{"effect": "y"}]}, ("options.0.label: Field required",)),
    ("ShareContext", {"name": "", "value": 1}, ("name must have 1 to 120",)),
    ("ShareContext", {"name": "x" * 121, "value": 1}, ("name must have 1 to 120",)),
    ("ShareContext", {"name": "x", "value": "x" * (10 * 2**20)}, ("larger than 10 MB",)),
    ("ShareContext", {"name": "x", "value": 1, "ttl_s": -1}, ("time to live",)),
    ("ShareContext", {"name": "x", "value": 1, "ttl_s": "NaN"}, ("time to live",)),
    ("ShareContext", {"name": "x", "value": 1, "version": 7}, ("“x” does not exist; write it with version 0",)),
    (
        "ShareContext",
        {"name": "x", "value": {"port": "80"}, "schema": {"properties": {"port": {"type": "integer"}}}},
        ("The value does not fit the schema of “x”", "value.port: '80' is not of type 'integer'."),
    ),
    ("ShareContext", {"name": "x", "value": 1, "schema": {"type": 5}}, ("The schema cannot be registered", "schema.type")),
    ("ShareContext", {"name": "x", "value": 1, "scope": "all"}, ("scope: Input should be 'team' or 'task'",)),
    ("ReadContext", {"name": "x", "prefix": "y"}, ("Give either name or prefix",)),
    ("ReadContext", {"name": "x", "offset": -1}, ("offset: Input should be greater than or equal to 0",)),
    ("TaskUpdate", {"taskId": "1", "export_to_context": {"x": 1}}, ("goes with status completed",)),
    ("SaveCheckpoint", {"name": " "}, ("The checkpoint needs a name",)),
]


@pytest.mark.parametrize(("name", "arguments", "words"), BAD)
def test_bad_arguments_and_refusals_are_told_in_words_and_change_nothing(crew, me, name, arguments, words):
    before = world.frozen(crew.team)
    text = bad(me, name, **arguments)
    for word in words:
        assert word in text, text
    assert len(text) < 3_000
    assert world.frozen(crew.team) == before


@pytest.mark.parametrize("arguments", [None, [], "x", 5])
def test_arguments_that_are_no_object_are_refused(me, arguments):
    text, is_error = registry.call("TaskList", me, arguments)
    assert is_error
    assert "arguments" in text


WRITES = {
    "TaskCreate": {"subject": "x", "description": "y"},
    "TaskUpdate": {"taskId": "1", "subject": "New"},
    "TaskStop": {"task_id": "1"},
    "SendMessage": {"to": "builder-2", "message": "x"},
    "MessageDone": {"message_id": "m00000000"},
    "ShareContext": {"name": "x", "value": 1},
    "ReadContext": {"name": "x"},
    "SaveCheckpoint": {"name": "x"},
    "Answer": {"decision": "d00000000", "version": 1, "seen": "x"},
    "HandOn": {"decision": "d00000000", "why": "x"},
    "Assign": {"taskId": "1"},
    "Split": {"taskId": "1", "parts": []},
}


@pytest.mark.parametrize("name", list(WRITES))
def test_what_a_life_that_lost_its_run_still_calls_is_refused_and_changes_nothing(crew, me, name):
    world.next_life(world.runs.Held(me.run_id, me.fence, me.team_id, me.task_id, me.agent_id))
    before = world.frozen(crew.team)
    with pytest.raises(LeaseLost):
        registry.call(name, me, WRITES[name], "toolu_1")
    assert world.frozen(crew.team) == before


def test_every_tool_either_writes_under_the_fence_or_only_reads():
    assert {name for name, tool in registry.TOOLS.items() if tool.writes} == set(WRITES)
