"""The rules of the house: sizes, layers, words that are all explained, nothing left to migrate."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from tasks_app.decision_kinds import registry as kinds
from tasks_app.domain.errors import DomainError
from tasks_app.domain.events import EVENT_DATA, EventKind
from tasks_app.domain.statuses import REASON_HELP, DecisionKind, Reason
from tasks_app.runners.registry import RUNNERS
from tasks_app.task_types import registry as types

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("dashboard", "tasks_app", "tests", "bench", "docs", "examples", "static")
MOST = 300
LONGEST = 40


def ours(*suffixes: str) -> Iterator[Path]:
    """Our own files with these suffixes; generated and foreign ones are not ours."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            foreign = {"vendor", "migrations", "__pycache__", "node_modules"} & set(path.relative_to(ROOT).parts)
            if path.suffix in suffixes and not foreign:
                yield path


def sources() -> Iterator[tuple[Path, ast.Module]]:
    """The Python files of the product, parsed."""
    for path in ours(".py"):
        if path.relative_to(ROOT).parts[0] in ("dashboard", "tasks_app"):
            yield path, ast.parse(path.read_text())


def test_no_file_is_longer_than_can_be_read_at_a_sitting():
    sizes = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in ours(".py", ".js", ".html")}
    assert not {name: size for name, size in sizes.items() if size > MOST}


def test_every_module_says_what_belongs_there_and_every_public_thing_what_it_promises():
    silent = []
    for path, tree in sources():
        public = [n for n in tree.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]
        named = [n for n in public if not n.name.startswith("_")]  # a command says it in `help`
        if tree.body and not ast.get_docstring(tree):
            silent.append(str(path.relative_to(ROOT)))
        silent += [
            f"{path.relative_to(ROOT)}:{n.name}" for n in named if not ast.get_docstring(n) and n.name not in ("Meta", "Command")
        ]
    assert not silent


def test_no_function_is_longer_than_fits_a_screen():
    long = []
    for path, tree in sources():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                size = (node.end_lineno or 0) - node.lineno + 1
                long += [f"{path.relative_to(ROOT)}:{node.name} {size}"] if size > LONGEST else []
    assert not long


def test_nothing_is_imported_inside_a_function():
    found = []
    for path, tree in sources():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                found += [f"{path}:{n.lineno}" for n in ast.walk(node) if isinstance(n, ast.Import | ast.ImportFrom)]
    assert not found


def test_the_layers_hold():
    found = subprocess.run(
        [str(Path(sys.executable).parent / "lint-imports")], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.django_db
def test_nothing_is_left_to_migrate():
    call_command("makemigrations", check=True, dry_run=True, stdout=StringIO())


def test_every_kind_of_event_says_what_its_data_is_and_every_reason_what_to_do():
    assert set(EVENT_DATA) == set(EventKind)
    assert set(REASON_HELP) == set(Reason)
    assert all(text.endswith(".") for text in REASON_HELP.values())


def test_every_kind_of_event_that_services_append_has_just_the_data_it_says():
    said = {kind.name: {word.strip() for word in words.split(",") if word.strip()} for kind, words in EVENT_DATA.items()}
    wrong = []
    for path, tree in sources():
        if "services" not in path.parts:
            continue
        for call in (n for n in ast.walk(tree) if isinstance(n, ast.Call)):
            named = [a.attr for a in call.args if isinstance(a, ast.Attribute) and getattr(a.value, "id", "") == "EventKind"]
            data = next((k.value for k in call.keywords if k.arg == "data"), None)
            if len(named) != 1 or not isinstance(data, ast.Dict):
                continue
            keys = {k.value for k in data.keys if isinstance(k, ast.Constant)}
            wrong += [f"{path.name}: {named[0]} {sorted(keys - said[named[0]])}"] if keys - said[named[0]] else []
    assert not wrong


def test_every_word_that_names_a_module_names_one_that_is_there():
    assert set(kinds.KINDS) == set(DecisionKind)
    for name in types.TYPES:
        assert types.get(name).RUNNER in RUNNERS
        assert len(types.get(name).PREFIX) == 1


def test_every_error_has_a_code_of_its_own_and_a_status():
    def below(cls: type[DomainError]) -> Iterator[type[DomainError]]:
        for sub in cls.__subclasses__():
            yield sub
            yield from below(sub)

    errors = [e for e in below(DomainError) if e.__module__.startswith("tasks_app")]
    codes = [e.code for e in errors]
    assert len(codes) == len(set(codes))
    assert all(400 <= e.status < 600 and e.__doc__ for e in errors)


def test_the_lowest_layers_know_no_framework():
    foreign = ("django", "channels", "celery", "redis", "kombu")
    pure = ("domain", "runners", "task_types", "decision_kinds", "rehearsal")
    found = []
    for path, tree in sources():
        if not set(pure) & set(path.parts):
            continue
        for node in ast.walk(tree):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            found += [f"{path}: {name}" for name in names if name.split(".")[0] in foreign]
    assert not found


FLEETING = {"dumps", "now", "today", "time", "time_ns", "monotonic", "uuid1", "uuid4", "random", "choice", "sample", "randint"}
"""Calls whose answer is another one in another process: signatures carry the second, ids and moments are new each time."""


def fleeting(tree: ast.AST) -> list[int]:
    """Lines of `parametrize` whose values are not the same in each process."""
    marks = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and getattr(n.func, "attr", "") == "parametrize"]
    calls = [n for mark in marks for value in mark.args[1:2] for n in ast.walk(value) if isinstance(n, ast.Call)]
    return [n.lineno for n in calls if getattr(n.func, "attr", getattr(n.func, "id", "")) in FLEETING]


def test_every_process_collects_the_same_tests():
    found = {str(path): fleeting(ast.parse(path.read_text())) for path in ours(".py") if "tests" in path.parts}
    assert not {path: lines for path, lines in found.items() if lines}
    assert fleeting(ast.parse('@pytest.mark.parametrize("token", [signing.dumps(3)])\ndef test(token): ...')) == [1]
