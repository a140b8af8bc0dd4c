"""The scanner behind `shell.read`: it walks over a command once and collects its parts.

This is no shell. What it does not understand for certain makes the result inexact. Source of the grammar: the POSIX shell
command language, and Bash's manual for `|&`, `&>`, `<<<`, `<( )`, `$' '`.
"""

from dataclasses import dataclass, field
from typing import Final

from tasks_app.domain.shell_words import Part, Word

MAX_DEPTH: Final = 20
"""Substitutions nested deeper than this are not read."""
_BLANK = " \t"
_WORD_END = " \t\n;&|<>()"
_LEADING = frozenset({"if", "then", "elif", "else", "while", "until", "do", "{", "!", "time"})
_CLOSING = frozenset({"fi", "done", "}", "esac"})
_HARD = frozenset({"case", "function", "coproc", "[[", "select"})
_RESERVED = _LEADING | _CLOSING | _HARD


@dataclass
class _Building:
    """The part that is being read."""

    words: list[Word] = field(default_factory=list)
    writes: list[Word] = field(default_factory=list)
    reads: list[Word] = field(default_factory=list)
    subshell: bool = False
    redirected_first: bool = False


class Scanner:
    """Walks over the text once; nested substitutions are walked by the same scanner."""

    def __init__(self, text: str, depth: int) -> None:
        self.text, self.at, self.depth = text, 0, depth
        self.parts: list[Part] = []
        self.exact = True
        self.heredocs: list[tuple[str, bool, bool]] = []  # delimiter, quoted, tabs stripped

    def peek(self, size: int = 1) -> str:
        return self.text[self.at : self.at + size]

    def list_until(self, closing: str) -> None:
        """Read commands up to `closing` (`)` or the end) and step over it."""
        if self.depth > MAX_DEPTH:
            self.exact, self.at = False, len(self.text)
            return
        part = _Building()
        while self.at < len(self.text):
            char = self.peek()
            if char == ")":
                self.at += 1
                if closing == ")":
                    self.finish(part)
                    return
                self.exact = False
            elif not self.step(char, part):
                self.finish(part)
                part = _Building()
        self.finish(part)
        if closing or self.heredocs:
            self.exact = False

    def step(self, char: str, part: _Building) -> bool:
        """Read one thing into `part`; False when the part has ended."""
        if char in _BLANK or self.peek(2) == "\\\n":
            self.at += 1 if char in _BLANK else 2
        elif char == "#":
            self.at = self.find("\n", len(self.text))
        elif char == "\n":
            self.at += 1
            self.skip_heredocs()
            return False
        elif self.redirection_ahead():
            self.redirection(part)
        elif char in ";&|":
            self.operator()
            return False
        elif char == "(":
            self.subshell(part)
        else:
            if part.subshell:  # words after `( … )`: a function, whose body is read as if it ran
                self.exact = False
                self.finish(part)
                part.__init__()  # type: ignore[misc]
            part.words.append(self.word())
        return True

    def find(self, what: str, default: int) -> int:
        found = self.text.find(what, self.at)
        return default if found < 0 else found

    def operator(self) -> None:
        two = self.peek(2)
        if two == ";;" or two == ";&":
            self.exact = False
        self.at += 2 if two in ("&&", "||", "|&", ";;", ";&") else 1

    def subshell(self, part: _Building) -> None:
        """`( … )` where a command may start; anywhere else it is a function, an array or a pattern."""
        if self.peek(2) == "((" or part.subshell or any(word.raw not in _LEADING for word in part.words):
            self.exact = False
        self.at += 1
        self.nested(")")
        part.subshell = True

    def nested(self, closing: str) -> None:
        self.depth += 1
        self.list_until(closing)
        self.depth -= 1

    # -- redirections

    def redirection_ahead(self) -> bool:
        rest = self.text[self.at : self.at + 12].lstrip("0123456789")
        if rest[:2] in ("<(", ">("):
            return False
        return rest[:1] in ("<", ">") or self.peek(2) == "&>"

    def redirection(self, part: _Building) -> None:
        while self.peek().isdigit():
            self.at += 1
        operator = next(
            op for op in ("&>>", "<<<", "<<-", "&>", "<<", "<&", ">&", ">>", "<>", ">|", "<", ">") if self.peek(3).startswith(op)
        )
        self.at += len(operator)
        self.skip_blanks()
        if self.at >= len(self.text) or self.peek() in "\n;&|<>()":
            self.exact = False
            return
        part.redirected_first = part.redirected_first or not part.words
        target = self.word()
        if operator in ("<<", "<<-"):
            self.heredocs.append((target.value, target.raw != target.value, operator == "<<-"))
        elif operator == "<":
            part.reads.append(target)
        elif operator != "<<<" and not self.is_descriptor(operator, target):
            part.writes.append(target)

    @staticmethod
    def is_descriptor(operator: str, target: Word) -> bool:
        """`2>&1`, `<&3`, `>&-`: no file is meant."""
        number = target.raw.removesuffix("-")
        return operator in ("<&", ">&") and not (number and not (number.isascii() and number.isdecimal()))

    def skip_blanks(self) -> None:
        while self.peek() in _BLANK and self.at < len(self.text):
            self.at += 1

    def skip_heredocs(self) -> None:
        """Step over the bodies that the line just ended announced; an unquoted body may hold substitutions."""
        pending, self.heredocs = self.heredocs, []
        for delimiter, quoted, tabs in pending:
            start, found = self.at, False
            while self.at < len(self.text) and not found:
                end = self.find("\n", len(self.text))
                line = self.text[self.at : end]
                found = (line.lstrip("\t") if tabs else line) == delimiter
                body_end, self.at = self.at, min(end + 1, len(self.text))
            if not found:
                self.exact = False
            elif not quoted and any(mark in self.text[start:body_end] for mark in ("$(", "`", "${")):
                self.expand(self.text[start:body_end])

    def expand(self, body: str) -> None:
        """Read the substitutions of a text that is quoted as if by double quotes, but where those mean themselves."""
        self.exact = self.exact and '"' not in body
        inner = Scanner(body.replace('"', "'") + '"', self.depth + 1)
        inner.double_quoted()
        self.parts += inner.parts
        self.exact = self.exact and inner.exact and inner.at >= len(inner.text) and inner.depth <= MAX_DEPTH

    # -- words

    def word(self) -> Word:
        start, dynamic = self.at, False
        value: list[str] = []
        while self.at < len(self.text):
            char = self.peek()
            if self.peek(2) in ("<(", ">("):
                self.at += 2
                self.nested(")")
                dynamic = True
            elif char in _WORD_END:
                break
            else:
                piece, moving = self.piece(char)
                value.append(piece)
                dynamic = dynamic or moving
        return Word(self.text[start : self.at], "".join(value), dynamic)

    def piece(self, char: str) -> tuple[str, bool]:
        """Read one character or quoted stretch; returns its value and whether the shell may change it."""
        if char == "\\":
            self.exact = self.exact and self.at + 1 < len(self.text)
            self.at += 2
            escaped = self.text[self.at - 1 : self.at]
            return ("" if escaped == "\n" else escaped), False
        if char == "'":
            return self.single_quoted(), False
        if char == '"':
            self.at += 1
            return self.double_quoted()
        if char == "$":
            return self.dollar(quoted=False)
        if char == "`":
            return self.backticks()
        self.at += 1
        return char, char in "*?[{"

    def single_quoted(self) -> str:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            self.exact, end = False, len(self.text)
        value, self.at = self.text[self.at + 1 : end], end + 1
        return value

    def double_quoted(self) -> tuple[str, bool]:
        value: list[str] = []
        dynamic = False
        while self.at < len(self.text):
            char = self.peek()
            if char == '"':
                self.at += 1
                return "".join(value), dynamic
            if char in "$`":
                piece, moving = self.dollar(quoted=True) if char == "$" else self.backticks()
                value.append(piece)
                dynamic = dynamic or moving
                continue
            self.at += 1
            if char == "\\" and self.peek() in '$`"\\\n':
                char = self.peek().strip("\n")
                self.at += 1
            value.append(char)
        self.exact = False
        return "".join(value), True

    def dollar(self, *, quoted: bool) -> tuple[str, bool]:
        start, following = self.at, self.text[self.at + 1 : self.at + 2]
        self.at += 1
        if following == "(":
            if self.peek(2) == "((":
                self.exact = False
            self.at += 1
            self.nested(")")
        elif following == "{":
            end = self.find("}", len(self.text))
            if end == len(self.text) or any(mark in self.text[self.at + 1 : end] for mark in "$`'\"{\\"):
                self.exact = False
            self.at = end + 1
        elif following == "'" and not quoted:
            self.exact = "\\" not in self.single_quoted() and self.exact
        elif following == '"' and not quoted:
            return "", True
        elif following and following in "?#@*!$-":
            self.at += 1  # `$$` is whole: what follows starts anew
        elif not (following.isalnum() or following == "_"):
            return "$", False
        return self.text[start : self.at], True

    def backticks(self) -> tuple[str, bool]:
        start = self.at
        body: list[str] = []
        self.at += 1
        while self.at < len(self.text) and self.peek() != "`":
            if self.peek() == "\\" and self.text[self.at + 1 : self.at + 2] in ("`", "\\", "$"):
                self.at += 1
            body.append(self.peek())
            self.at += 1
        if self.at >= len(self.text):
            self.exact = False
        self.at += 1
        inner = Scanner("".join(body), self.depth + 1)
        inner.list_until("")
        self.parts += inner.parts
        self.exact = self.exact and inner.exact
        return self.text[start : self.at], True

    # -- parts

    def finish(self, part: _Building) -> None:
        """Store the part without the reserved words around it."""
        if part.redirected_first and part.words and part.words[0].raw in _RESERVED:
            self.exact = False  # after a redirection they are not reserved, but names of programs
        leading = next((n for n, word in enumerate(part.words) if word.raw not in _LEADING), len(part.words))
        words = part.words[leading:]
        if words and words[0].raw in _CLOSING:
            self.exact = self.exact and len(words) == 1
            words = words[1:]
        if words and words[0].raw in _HARD:
            self.exact = False
        if words or part.writes or part.reads:
            header = bool(words) and words[0].raw == "for"
            self.parts.append(Part(tuple(words), tuple(part.writes), tuple(part.reads), header))
