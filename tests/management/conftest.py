"""What a person types at the terminal, and what a program sends there."""

import io
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from tasks_app.decision_kinds.base import payload_hash
from tasks_app.domain.statuses import DecisionKind
from tasks_app.management import passwords
from tests.factories import PAYLOADS, DecisionFactory, RunFactory, TaskFactory, TeamFactory


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch) -> Callable[[str | bytes], None]:
    """Say what standard input holds; it is no terminal."""

    def give(text: str | bytes) -> None:
        data = text.encode() if isinstance(text, str) else text
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(data), isatty=lambda: False))

    return give


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Say what is typed at the terminal, or raised there; returns what was asked."""

    def give(*words: str | type[BaseException]) -> list[str]:
        left, prompts = iter(words), []

        def ask(prompt: str) -> str:
            prompts.append(prompt)
            word = next(left)
            if not isinstance(word, str):
                raise word
            return word

        monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
        monkeypatch.setattr(passwords.getpass, "getpass", ask)
        return prompts

    return give


@pytest.fixture
def ask(db: None) -> Any:
    """Return a function that makes an open request of that kind in the team `billing`, with other facts where they are given."""
    team = TeamFactory(slug="billing", name="Billing")

    def _ask(kind: DecisionKind, **payload: Any) -> Any:
        facts = {**PAYLOADS[kind], **payload}
        run = RunFactory(task=TaskFactory(team=team, in_progress=True))
        return DecisionFactory(run=run, kind=kind.value, payload=facts, payload_hash=payload_hash(facts))

    return _ask
