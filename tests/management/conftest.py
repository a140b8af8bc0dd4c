"""What a person types at the terminal, and what a program sends there."""

import io
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from tasks_app.management import passwords


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
