"""`python -m bench.auditor`: what it says to people, and its exit codes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench import auditor
from bench.place import ROOT
from tests.bench.finished import Finished

Out = pytest.CaptureFixture[str]


@pytest.mark.django_db
def test_a_team_in_order_is_said_to_be_so(capsys: Out) -> None:
    Finished.make()
    assert auditor.main(["--done", "--whole"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["nothing was lost, nothing was done twice"]
    assert auditor.main(["--json"]) == 0
    assert json.loads(capsys.readouterr().out)["violations"] == []


@pytest.mark.django_db
def test_what_could_not_be_checked_is_not_said_to_be_in_order(capsys: Out) -> None:
    done = Finished.make()
    done.log()[0].delete()
    assert auditor.main([]) == 0
    said = capsys.readouterr().out
    assert "the oldest events of 1 teams are not there" in said
    assert "\nin what was checked, nothing was lost" in said
    assert auditor.main(["--whole"]) == 1


@pytest.mark.django_db
def test_no_team_proves_nothing(capsys: Out) -> None:
    assert auditor.main([]) == auditor.NOTHING_HERE
    assert "There is no team" in capsys.readouterr().err


def test_a_wrong_option_is_refused(capsys: Out) -> None:
    with pytest.raises(SystemExit) as refused:
        auditor.main(["--hole"])
    assert refused.value.code == auditor.NOTHING_HERE
    assert "--hole" in capsys.readouterr().err


@pytest.mark.parametrize("database", ["", "postgres://nobody:secret-word@127.0.0.1:9/none"])
def test_where_no_installation_is_it_says_so_and_makes_no_database(tmp_path: Path, database: str) -> None:
    told = {"CREWDESK_HOME": str(tmp_path)} | ({"DATABASE_URL": database} if database else {})
    kept = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "DJANGO_SETTINGS_MODULE")}
    done = subprocess.run(
        [sys.executable, "-m", "bench.auditor"],
        cwd=ROOT,
        env=kept | told,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == auditor.NOTHING_HERE, done
    assert done.stderr.startswith("This installation cannot be audited: ")
    assert "Traceback" not in done.stderr
    assert "secret-word" not in done.stderr + done.stdout
    assert not (tmp_path / "crewdesk.sqlite3").exists()
