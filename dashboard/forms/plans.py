"""Reads the form of New team: the plan's text or file, the folder its relative paths mean, and whether to rehearse."""

import contextlib
import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from django.conf import settings
from django.http import HttpRequest

from dashboard.forms import limits
from tasks_app.domain import plan as plans
from tasks_app.domain import plan_lines
from tasks_app.domain.errors import Forbidden, Invalid, Problem, TooLarge
from tasks_app.domain.plan_model import Plan
from tasks_app.domain.text import clean
from tasks_app.management import plan_files
from tasks_app.services import workspaces
from tasks_app.services.teams import Source
from tasks_app.task_types import registry

MAX_PLAN = 1_000_000
EXAMPLE = Path(settings.BASE_DIR) / "examples" / "billing" / "plan.yaml"
"""It comes with Crewdesk, so everybody may start it with the files that lie beside it."""

NAMED: Mapping[str, tuple[tuple[str, ...], str]] = {
    "workspace.path": (("workspace", "path"), "Correct it or the folder of the plan, or leave it out for a new, empty folder."),
    "rehearsal": (("rehearsal",), "Correct it or the folder of the plan, or leave it out for the built-in script."),
}
"""What of a plan lies on the disk, by the field of its error: where it stands in the plan, and how to mend it."""


@dataclass(frozen=True)
class Given:
    """What was posted, as the form shows it again."""

    text: str = ""
    base: str = ""
    rehearsal: bool = False
    checked: str = ""
    limits: Mapping[str, str] = field(default_factory=dict)  # what was set over the plan's own (forms.limits)

    @property
    def digest(self) -> str:
        """Names exactly what was checked: a plan is started only as it was seen."""
        return hashlib.sha256(repr((self.text, self.base, self.rehearsal, sorted(self.limits.items()))).encode()).hexdigest()


def typed(request: HttpRequest) -> Given:
    """Return what stands in the fields of the form, whatever becomes of a chosen file."""
    return Given(
        text=_lines(request.POST.get("plan", "")),
        base=clean(request.POST.get("base", "")).strip()[:1000],
        rehearsal=bool(request.POST.get("rehearsal")),
        checked=request.POST.get("checked", "")[:64],
        limits=limits.read(request.POST),
    )


def chosen(request: HttpRequest, given: Given) -> Given:
    """Return the same with the text of the chosen file in the place of what was typed. Raises `TooLarge` or `Invalid`."""
    file = request.FILES.get("file")
    if file is None:
        if len(given.text) > MAX_PLAN:
            raise TooLarge(f"The plan has {len(given.text):,} characters; at most {MAX_PLAN:,} are taken.", field="plan")
        return given
    if (file.size or 0) > MAX_PLAN:
        raise TooLarge(f"The file has {file.size:,} bytes; at most {MAX_PLAN:,} are taken.", field="file")
    if not file.size:
        raise Invalid("The file is empty. Choose another one.", field="file")
    return replace(given, text=_lines(_decoded(file.read())))


def _lines(text: str) -> str:
    return clean(text).replace("\r\n", "\n")


def check(given: Given, *, anywhere: bool) -> tuple[Plan, Source]:
    """Return the plan and its source; raises `Invalid` naming every problem at once.

    Without `anywhere` (an administrator's right) nothing of this machine is looked at but what lies beside the example: whoever
    else names a folder or a file gets `Forbidden`.
    """
    plan = limits.applied(plans.parse(given.text, known_types=registry.PLANNED, source="The plan"), given.limits)
    if not anywhere:
        _must_name_nothing(plan, given)
    base = _folder(given.base)
    with _where_it_stands(given):
        return plan, Source(given.text, base, plan_files.script_of(plan, base))


def _must_name_nothing(plan: Plan, given: Given) -> None:
    """Before the disk is touched: else the answer would tell what there is, and a script's errors what is in it."""
    if given.base == str(EXAMPLE.parent):
        space = plan.workspace
        beside = [path for path in (space.path, plan.rehearsal) if path]
        if all(_inside(path, EXAMPLE.parent) for path in beside) and (space.mode == "copy" or not space.path):
            return
    elif given.base:
        words = "Only an administrator may name a folder of this machine. Leave the field empty."
        raise Forbidden(words, field="base")
    named = [word for word, path in (("workspace", plan.workspace.path), ("rehearsal", plan.rehearsal)) if path]
    if named:
        what = "a folder" if named[0] == "workspace" else "a file"
        then = "the team gets a new one" if named[0] == "workspace" else "the built-in script is played"
        raise Forbidden(f"Only an administrator may name {what} of this machine. Leave out `{named[0]}`: {then}.")


def _inside(path: str, folder: Path) -> bool:
    return Path(os.path.normpath(folder / path)).is_relative_to(folder)


def check_workspace(plan: Plan, source: Source, given: Given) -> None:
    """Raise `Invalid` at its line, or at the folder of the plan, where the workspace is not there."""
    with _where_it_stands(given):
        workspaces.source_folder(plan.workspace.path, source.base)


@contextlib.contextmanager
def _where_it_stands(given: Given) -> Iterator[None]:
    """What a plan names and is not there is told at its line; where no folder was given for the plan, at that field."""
    try:
        yield
    except Invalid as problem:
        if problem.field not in NAMED:
            raise
        path, fix = NAMED[problem.field]
        document = plan_lines.read(given.text)
        line, where = document.line(path), plan_lines.dotted(path if path in document.lines else path[:1])
        if not given.base:
            hint = f"It is named in line {line} of the plan (`{where}`): say here in which folder the plan lies."
            raise Invalid(f"{problem.message} {hint}", field="base") from None
        found = Problem(problem.message, path=where, line=line, fix=fix)
        raise Invalid(problem.message, problems=(found,)) from None


def _decoded(raw: bytes) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Invalid("The file is not UTF-8 text. Save it as UTF-8 and choose it again.", field="file") from None


def _folder(text: str) -> Path:
    path = Path(text).expanduser() if text else Path.home()
    if not path.is_absolute():
        raise Invalid("Give the folder as an absolute path, such as /home/anna/plans.", field="base")
    if not path.is_dir():
        raise Invalid(f"There is no folder {path} on the machine that runs Crewdesk.", field="base")
    return path.resolve()
