"""Stands for the Claude Code binary in `bench flood`: `python bench/flood_cli.py HOME <arguments of the CLI>`.

What it says is in the description of its task: `[play steady agent01]`, `[play lines]`, `[play line]`, `[play result]`. It
waits for the file HOME/flood before it shouts and ends its task when there is a file HOME/calm.
"""

import json
import os
import re
import sys
import threading
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import marks
from tests.runners.claude.fake_cli import BIG_LINE, MEGABYTE, Cli

EACH_S = 0.25
LINES_PER_S = 10_000
RESULT_BYTES = 100_000_000
LINE_BODY = "iVBORw0KGgo="
LINE_CHARS = BIG_LINE // len(LINE_BODY) * len(LINE_BODY)
"""What a result of `line` has."""
PATIENCE_S = 120.0


def home() -> Path:
    """Return the home of the desk."""
    return Path(sys.argv[1])


def until(name: str) -> bool:
    """Whether it is not yet time: there is no such file."""
    return not (home() / name).exists()


def wait_for(name: str) -> None:
    """Wait for a file."""
    end = time.monotonic() + PATIENCE_S
    while until(name) and time.monotonic() < end:
        time.sleep(0.05)


def note_spoken(play: str, agent: str, number: int) -> None:
    """Leave a note of how often this play has spoken: `flood_kept` looks for all of it."""
    (home() / f"spoken-{play}-{agent}").write_text(str(number))


def spoken(folder: Path, play: str, agent: str) -> int:
    """Return how often a play of that agent spoke; 0 where it left no note."""
    note = folder / f"spoken-{play}-{agent if play == 'steady' else ''}"
    return int(note.read_text()) if note.exists() else 0


def steady(cli: Cli, agent: str) -> None:
    """Say one marked step each quarter of a second: the neighbour of those that shout."""
    number, due = 0, time.monotonic()
    while until("calm"):
        number += 1
        cli.text(marks.text(number, agent, time.time()), number)
        due += EACH_S
        time.sleep(max(0.0, due - time.monotonic()))
    note_spoken("steady", agent, number)


def lines(cli: Cli, _: str) -> None:
    """Say 10,000 lines a second, or as many as are taken."""
    wait_for("flood")
    number, begun = 0, time.monotonic()
    while until("calm"):
        for _nth in range(LINES_PER_S // 100):
            number += 1
            cli.text(f"line {number} of many", number)
        time.sleep(max(0.0, begun + number / LINES_PER_S - time.monotonic()))
    (home() / "lines").write_text(f"{number} {time.monotonic() - begun:.3f}")
    note_spoken("lines", "", number)


def line(cli: Cli, _: str) -> None:
    """Say tool results of 1.3 MB, five a second, each of them mirrored into the transcript."""
    wait_for("flood")
    body, number = LINE_BODY * (LINE_CHARS // len(LINE_BODY)), 0
    while until("calm"):
        number += 1
        row = _result(cli, f"toolu_{number}", body)
        cli.say(row)
        cli.mirror(row)
        time.sleep(0.2)
    note_spoken("line", "", number)


def result(cli: Cli, _: str) -> None:
    """Give one tool result of 100 MB; the life that resumes has learned from it."""
    wait_for("flood")
    if not cli.resumed:
        head, tail = json.dumps(_result(cli, "toolu_huge", "\x00")).split("\\u0000")
        block = MEGABYTE.encode()
        cli.raw(head.encode(), *([block] * (RESULT_BYTES // len(block))), tail.encode() + b"\n")
        threading.Event().wait(PATIENCE_S)
    wait_for("calm")


def _result(cli: Cli, name: str, body: str) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": name, "content": body}
    message = {"role": "user", "content": [block]}
    return {"type": "user", "message": message, "parent_tool_use_id": None, "uuid": name, "session_id": cli.session}


PLAYS = {play.__name__: play for play in (steady, lines, line, result)}


def role(prompt: dict[str, Any]) -> tuple[str, str, str]:
    """Return play, agent and number of the task; a life that resumes is not told again, so the first one leaves a note."""
    note = home() / f"play-{os.environ['CREWDESK_RUN'].partition(':')[0]}"
    if not note.exists():
        said = json.dumps(prompt)
        play, number = re.search(r"\[play (\w+) ?(\w*)\]", said), re.search(r"\bT-(\d+)", said)
        note.write_text(json.dumps([*(play.groups() if play else ("", "")), number[1] if number else "1"]))
    play_name, agent, task = json.loads(note.read_text())
    return play_name, agent, task


def main() -> None:
    """Play."""
    cli = Cli(os.devnull, sys.argv[2:])
    threading.Thread(target=cli.listen, daemon=True).start()
    prompt = cli.begin()
    name, agent, task = role(prompt)
    PLAYS[name](cli, agent)
    cli.crew("TaskUpdate", taskId=task, status="completed", evidence={"1": "yes"})
    cli.end(prompt)
    threading.Event().wait(PATIENCE_S)


if __name__ == "__main__":
    main()
