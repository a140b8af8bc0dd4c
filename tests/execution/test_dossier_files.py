"""The files in the dossier of an attempt: its own, in a folder in which others work too."""

import pytest

from tasks_app.models import Run
from tests.execution import test_clean_start
from tests.execution.test_clean_start import begun, fails, writes

crew, work = test_clean_start.crew, test_clean_start.work
pytestmark = pytest.mark.django_db


def test_the_dossier_shows_neither_what_only_others_wrote_nor_what_python_compiled(crew, work):
    first, other = begun(crew.claim()), begun(crew.claim(1, 1))
    (work / "pkg" / "__pycache__").mkdir(parents=True)
    (work / "pkg" / "__pycache__" / "a.pyc").write_bytes(b"\0x")
    writes(other, work / "pkg" / "theirs [x].py", "theirs\n")
    for each in (other, first):
        writes(each, work / "old.py", f"of {each.id}\n")
    (work / "by-command.txt").write_text("x")
    fails(first)
    diff = Run.objects.get(pk=first.id).dossier["diff"]
    assert (diff["files"], diff["summary"][:15]) == (["by-command.txt", "old.py"], "2 files changed")
    assert "theirs" not in diff["patch"]
    fails(other)
    assert "pkg/theirs [x].py" in Run.objects.get(pk=other.id).dossier["diff"]["files"]
