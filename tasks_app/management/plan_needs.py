"""What a plan needs of this machine besides its own text: a folder, a script, a sandbox and accounts, each missed at its line."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from tasks_app.domain import criteria, paths, plan_lines
from tasks_app.domain.errors import Invalid, Problem
from tasks_app.domain.plan_lines import Document
from tasks_app.domain.plan_lines import Path as Place
from tasks_app.management import small_files
from tasks_app.rehearsal import scripts
from tasks_app.services import judges, workspaces

Looks = Iterator[tuple[Place, Callable[[], object], str]]


def missing(text: bytes, base: Path) -> list[Problem]:
    """Return what the plan in `text`, which lies in the folder `base`, names and cannot have.

    Also of a plan with mistakes, so that all is told at once; what cannot be made out in it is passed over.
    """
    try:
        document = plan_lines.read(text)
    except Invalid:
        return []
    given = document.value if isinstance(document.value, dict) else {}
    return [problem for place, look, fix in _looks(given, base) for problem in _found(document, place, look, fix)]


def script(name: str, base: Path) -> str:
    """Return the text of the rehearsal script of that name beside a plan, checked. Raises `Invalid`."""
    path = (base / name).resolve()
    if not path.is_relative_to(base):
        raise Invalid(f"The script {name} does not lie beside the plan.", field="rehearsal")
    text = small_files.read(path, what="script", field="rehearsal").decode("utf-8-sig", "replace").replace("\r\n", "\n")
    scripts.load(text)
    return text


def _looks(given: Mapping[str, Any], base: Path) -> Looks:
    """What is to be looked at: where it stands in the plan, how it is looked at, and how it is mended."""
    written = given.get("workspace")
    space = written if isinstance(written, dict) else {"path": written}
    if isinstance(folder := space.get("path"), str):
        look = partial(workspaces.must_be_usable, folder.strip(), mode=space.get("mode") or "copy", base=base)
        yield ("workspace", "path"), look, "Correct it, or leave it out for a new, empty folder."
    name = given.get("rehearsal")
    if isinstance(name, str) and name.strip() and not paths.outside(name, "/plan"):
        yield ("rehearsal",), partial(script, name.strip(), base), "Correct it, or leave it out for the built-in script."
    limits = given.get("limits")
    if isinstance(limits, dict) and limits.get("sandbox") is True:
        yield ("limits", "sandbox"), workspaces.must_isolate, ""
    for place, person in _judges(given):
        yield place, partial(judges.must_be_known, person), ""


def _judges(given: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    tasks = given.get("tasks")
    for at, task in enumerate(tasks if isinstance(tasks, list) else ()):
        asked = task.get("criteria") if isinstance(task, dict) else ()
        for number, one in enumerate(asked if isinstance(asked, list) else ()):
            name = one.get("judge") if isinstance(one, dict) else ""
            if isinstance(name, str) and name.strip().startswith(criteria.PERSON):
                yield ("tasks", at, "criteria", number, "judge"), name.strip().removeprefix(criteria.PERSON)


def _found(document: Document, place: Place, look: Callable[[], object], fix: str) -> Iterator[Problem]:
    """What is wrong there, at its line of the plan; problems of a script have their own line in their words."""
    try:
        look()
    except Invalid as bad:
        where, line = plan_lines.dotted(place), document.line(place)
        for each in bad.problems:
            if each.line is None:
                yield Problem(each.message, where, line, each.fix or fix)
            else:
                yield Problem(f"In the script, {each}", where, line)
