"""The words and simple commands that a shell command is made of."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Word:
    """One word: `raw` as written, `value` without its quotes, `dynamic` where the shell decides what it becomes."""

    raw: str
    value: str
    dynamic: bool = False


@dataclass(frozen=True)
class Part:
    """One simple command. `writes` and `reads` are the files it is redirected to and from."""

    words: tuple[Word, ...]
    writes: tuple[Word, ...] = ()
    reads: tuple[Word, ...] = ()
    header: bool = False
    """The head of a `for` loop: it sets a variable and runs nothing."""

    @property
    def text(self) -> str:
        """The command as written, redirections left out and blanks between words reduced to one."""
        return " ".join(word.raw for word in self.words)
