"""The story that chaos is played with: a plan of N tasks in chains and fans, its script with exact figures, and its lead.

Every turn of the script has token figures that no other turn has, so the auditor can tell for each counted message which
turn it was. What each task does is decided by a seed; the same seed makes the same story.
"""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

MODEL = "claude-sonnet-4-5"
GRACE_S = 3
SLOW_S = 5.0
"""The lead answers tasks with `slow` in their title after so long: after the grace, so that they are parked."""
KINDS = ("plain", "plain", "plain", "permission", "question", "plan", "escalation", "fails", "forgets", "overloaded", "long")
ASKS = {"permission": "permission", "question": "question", "plan": "plan", "escalation": "escalation"}
Turn = dict[str, Any]


@dataclass
class Story:
    """The three files, and what an undisturbed lead is asked: {"<title> / <kind>": times}."""

    plan: dict[str, Any]
    script: dict[str, Any]
    lead: dict[str, Any]
    asks: dict[str, int] = field(default_factory=dict)
    kinds: Counter[str] = field(default_factory=Counter)

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Write plan, script and lead into `folder`; returns the paths of plan and lead."""
        for name, content in (("plan", self.plan), ("script", self.script), ("lead", self.lead)):
            (folder / f"{name}.yaml").write_text(yaml.safe_dump(content, sort_keys=False, allow_unicode=True))
        return folder / "plan.yaml", folder / "lead.yaml"


def make(*, tasks: int, seed: int, parallel: int = 6, name: str = "Chaos") -> Story:
    """Return a story of that many tasks."""
    chance = random.Random(seed)
    planned, parts = [], []
    story = Story({}, {}, LEAD)
    for number in range(1, tasks + 1):
        kind = KINDS[(number - 1) % len(KINDS)] if number <= len(KINDS) else chance.choice(KINDS)
        slow = kind in ASKS and chance.random() < 0.4
        title = f"{kind} {number:03}{' slow' if slow else ''}"
        planned.append(_task(number, kind, title, _needs(number, chance)))
        parts += _parts(number, kind, chance)
        story.kinds[kind] += 1
        if kind in ASKS:
            story.asks[f"{title} / {ASKS[kind]}"] = 1
    story.plan = _plan(name, planned, parallel)
    story.script = {"name": name, "parts": parts}
    return story


def _plan(name: str, tasks: list[dict[str, Any]], parallel: int) -> dict[str, Any]:
    agents = [{"name": f"agent{n}", "role": "worker", "model": MODEL} for n in range(1, parallel + 3)]
    return {
        "team": name,
        "goal": "Do everything exactly once, whatever happens.",
        "rehearsal": "script.yaml",
        "limits": {"parallel": parallel, "attempts": 5, "grace_s": GRACE_S, "on_failure": "reassign"},
        "budget": {"usd": 10_000, "tokens": 10**9},
        "permissions": {"allow": ["Bash", "Read", "Edit", "Write"], "ask": ["Bash(mkdir *)"]},
        "agents": agents,
        "tasks": tasks,
    }


def _task(number: int, kind: str, title: str, needs: list[int]) -> dict[str, Any]:
    task: dict[str, Any] = {"key": f"t{number:03}", "title": title, "criteria": ["It is done once"], "role": "worker"}
    if needs:
        task["depends_on"] = [f"t{need:03}" for need in needs]
    if kind == "plan":
        task["plan_mode"] = True
    return task


def _needs(number: int, chance: random.Random) -> list[int]:
    """Blocks of ten: a chain of three, a fan of six on its end, and a join; some blocks hang on the one before."""
    block, place = divmod(number - 1, 10)
    first = block * 10 + 1
    if place == 0:
        return [first - 1] if block and chance.random() < 0.3 else []
    if place < 3:
        return [number - 1]
    if place < 9:
        return [first + 2]
    return list(range(first + 3, first + 9))


class _Figures:
    """Gives each turn of one task figures of its own."""

    def __init__(self, number: int) -> None:
        self._base, self._count = number * 100, 0

    def __call__(self, turn: Turn) -> Turn:
        self._count += 1
        figures = {"input": self._base + self._count, "cache_read": 1000, "cache_write": 50, "output": 20 + self._count}
        return {**turn, "usage": figures}


def _parts(number: int, kind: str, chance: random.Random) -> list[dict[str, Any]]:
    priced, key = _Figures(number), f"t{number:03}"
    work = priced(_bash("echo {agent} {attempt} >> {task}.log", wait=round(chance.uniform(0, 0.8), 2)))
    end = [priced({"say": "I report {task}.", "call": {"complete": f"{kind} is done"}}), priced({"say": "That was {task}."})]
    if kind == "fails":
        gives_up = [
            priced({"say": "It does not work.", "call": {"crew": "TaskUpdate", "input": _GIVEN_BACK}}),
            priced({"say": "I give up."}),
        ]
        again = [priced(_bash("echo again {attempt} >> {task}.log")), *end]
        return [{"task": key, "attempt": 1, "turns": [work, *gives_up]}, {"task": key, "attempt": "2+", "turns": again}]
    return [{"task": key, "turns": [*_MIDDLE[kind](priced, work), *end]}]


_GIVEN_BACK = {
    "taskId": "{task}",
    "status": "pending",
    "metadata": {"failure": "It does not work.", "approaches": ["One way"]},
}


def _bash(command: str, *, wait: float = 0.0) -> Turn:
    turn = {"say": "I work.", "call": {"tool": "Bash", "input": {"command": command, "description": "Work"}}}
    return turn | ({"wait": wait} if wait else {})


def _permission(priced: Callable[[Turn], Turn], work: Turn) -> list[Turn]:
    return [work, priced(_bash("mkdir -p made-by-{task}"))]


def _question(priced: Callable[[Turn], Turn], work: Turn) -> list[Turn]:
    options = [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}]
    asked = [{"question": "Which colour for {task}?", "header": "Colour", "multiSelect": False, "options": options}]
    return [work, priced({"say": "One question.", "call": {"tool": "AskUserQuestion", "input": {"questions": asked}}})]


def _planned(priced: Callable[[Turn], Turn], work: Turn) -> list[Turn]:
    return [priced({"say": "A plan.", "call": {"tool": "ExitPlanMode", "input": {"plan": "1. Do {task}"}}}), work]


def _escalation(priced: Callable[[Turn], Turn], work: Turn) -> list[Turn]:
    options = [{"label": "Left", "effect": "shorter"}, {"label": "Right", "effect": "safer"}]
    ask = {"problem": "Two ways for {task}", "tried": ["both"], "options": options}
    return [work, priced({"say": "I am stuck.", "call": {"crew": "Escalate", "input": ask}})]


def _forgets(priced: Callable[[Turn], Turn], work: Turn) -> list[Turn]:
    return [work, priced({"say": "I think I am done."})]  # and has reported nothing: it is asked to


def _overloaded(priced: Callable[[Turn], Turn], work: Turn) -> list[Turn]:
    return [{**work, "fail": {"status": 529, "times": 1, "retry_after": 0}}]


def _long(priced: Callable[[Turn], Turn], work: Turn) -> list[Turn]:
    return [work, *(priced(_bash(f"echo step {n} >> {{task}}.log", wait=0.4)) for n in range(6))]


_MIDDLE: dict[str, Callable[[Callable[[Turn], Turn], Turn], list[Turn]]] = {
    "plain": lambda priced, work: [work],
    "permission": _permission,
    "question": _question,
    "plan": _planned,
    "escalation": _escalation,
    "forgets": _forgets,
    "overloaded": _overloaded,
    "long": _long,
}


def _rule(
    kind: str, answer: dict[str, Any], *, task: str = "*", contains: str = "", after: float | None = None
) -> dict[str, Any]:
    when = {"kind": kind, "task": task} | ({"contains": contains} if contains else {})
    return {"when": when, "answer": answer} | ({"after": after} if after is not None else {})


_ANSWERS: dict[str, dict[str, Any]] = {
    "permission": {"choice": "allow"},
    "question": {"choice": "answer", "pick": "Blue"},
    "plan": {"choice": "approve"},
    "escalation": {"choice": "answer", "pick": "Right"},
}
LEAD: dict[str, Any] = {
    "after": 0.3,
    "rules": [
        _rule("escalation", {"choice": "answer", "pick": ["Let "], "text": "Try again."}, contains="failed after attempt"),
        *(_rule(kind, answer, task="*slow", after=SLOW_S) for kind, answer in _ANSWERS.items()),
        *(_rule(kind, answer) for kind, answer in _ANSWERS.items()),
    ],
    "default": {"stall": {"choice": "wait"}},
}
"""Answers everything: soon, or, where the title says `slow`, when the agent is parked."""
