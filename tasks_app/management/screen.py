"""What a person sees in the terminal: calm lines, no secrets but the link, plain text where it is not a terminal."""

import contextlib
import sys
from collections.abc import Iterator
from typing import IO

from rich.console import Console
from rich.text import Text

from tasks_app.domain.text import one_line

LINE = 400
PLAIN_WIDTH = 200


def console_for(stream: IO[str], *, plain: bool = False) -> Console:
    """Return a console on a stream; wide where it is not a terminal, so that nothing is cut. `plain`: without colours."""
    wide = None if stream.isatty() else PLAIN_WIDTH
    return Console(file=stream, highlight=False, soft_wrap=True, width=wide, no_color=plain or None)


class Screen:
    """Writes for people. Text from agents and logs is made harmless before it is shown."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or console_for(sys.stdout)

    def headline(self, title: str, detail: str = "") -> None:
        """Write a title with a grey detail beside it."""
        self.console.print()
        self.console.print(Text.assemble((f"  {title}", "bold green"), (f"   {detail}" if detail else "", "dim")))

    def link(self, label: str, url: str) -> None:
        """Write a link on a line of its own, unbroken, so that it can be copied or clicked."""
        self.console.print(Text.assemble((f"  {label}:", "dim")))
        self.console.print(Text.assemble("  ", (url, "bold underline cyan")))

    def say(self, sentence: str) -> None:
        """Write a plain sentence."""
        self.console.print(Text(f"  {sentence}"))

    def warn(self, sentence: str) -> None:
        """Write a sentence that asks for attention."""
        self.console.print(Text.assemble(("  ! ", "bold yellow"), sentence))

    def quote(self, line: str) -> None:
        """Write a line of a log, made harmless."""
        self.console.print(Text(f"      {one_line(line, LINE)}", style="dim"))

    @contextlib.contextmanager
    def working(self, what: str) -> Iterator[None]:
        """Show that something takes a moment."""
        if not self.console.is_terminal:
            self.say(f"{what} …")
            yield
            return
        with self.console.status(f"{what} …"):
            yield
