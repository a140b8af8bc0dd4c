"""Taking a shell command apart, carefully: into the simple commands it would run, with their words and redirections."""

from dataclasses import dataclass
from functools import lru_cache

from tasks_app.domain.shell_scan import MAX_DEPTH, Scanner
from tasks_app.domain.shell_words import Part, Word

__all__ = ["MAX_DEPTH", "Command", "Part", "Word", "read"]


@dataclass(frozen=True)
class Command:
    """A whole command: every part that would run, also inside substitutions. `exact` is False where that is not certain."""

    parts: tuple[Part, ...]
    exact: bool


@lru_cache(maxsize=16)  # one decision reads the same command once per rule
def read(command: str) -> Command:
    """Return the parts of `command`. Never raises; takes time in proportion to its length."""
    scanner = Scanner(command, 0)
    scanner.list_until("")
    return Command(tuple(scanner.parts), scanner.exact and "\0" not in command)
