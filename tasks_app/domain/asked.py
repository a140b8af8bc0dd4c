"""What is asked of a person, as it may be shown: nothing removed, nothing obeyed, and keys hidden in the open.

What runs is what the agent asked. So a mask that guesses (`mask_secrets`) must not touch it: it could hide a command. And what
is written out, hidden or long is said (`warnings`), so that nobody takes the card for less than it asks.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tasks_app.domain.text import (
    KEY_FORMATS,
    KEY_NAMES,
    MASK,
    MAX_DEPTH,
    SECRET_KEY,
    TOO_DEEP,
    change_texts,
    cut,
    mask_secrets,
    one_line,
)

AT_ONCE: Final = 20_000
"""Characters of one text that a page shows at once; the whole is then one press away, and the place says how much is left."""
LINES_AT_ONCE: Final = 2_000

_SPACES = "\xa0\u1680\u2000-\u200a\u202f\u205f\u3000"
_UNSEEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u2800\u3164\ud800-\uf8ff\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffc\ufffe\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U0010ffff"
)
_EMOJI = "\xa9\xae\u203c-\u2bff\u3030-\u3299\U0001f000-\U0001faff"
_JOINING = "\u0600-\u109f\u1780-\u18af"  # scripts that are written with joiners
# what draws an emoji or joins letters of such a script hides nothing
_JOINERS = (
    rf"(?<![{_EMOJI}])[\ufe0e\ufe0f](?!\u20e3)"
    rf"|(?<![{_EMOJI}\ufe0f])(?<![{_JOINING}])\u200d|\u200d(?![{_EMOJI}{_JOINING}])"
    rf"|(?<![{_JOINING}])\u200c|\u200c(?![{_JOINING}])"
)
_MARKS = "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
_TOWERS = f"(?<=[{_MARKS}]{{2}})[{_MARKS}]"  # a third mark on one letter: towers of them cover the lines above and below
_RARE = f"{_MARKS}\u200c\u200d\ufe0e\ufe0f"  # looked for first, for all the rest takes ten times as long
_IN_CODE = re.compile(f"(?=[{_UNSEEN}{_SPACES}{_RARE}])(?:[{_UNSEEN}{_SPACES}]|{_JOINERS}|{_TOWERS})")
_IN_PROSE = re.compile(f"(?=[{_UNSEEN}{_RARE}])(?:[{_UNSEEN}]|{_JOINERS}|{_TOWERS})")
_WRITTEN = re.compile(r"⟨U\+[0-9A-F]{4,6}⟩(?<!⟨U\+000D⟩)|⟨U\+000D⟩(?!\n)")
_GAPS = re.compile(r"(?<![ \t])[ \t]{100}[ \t]*+[^\n]|(?:\n[ \t]*+){13}\S")


def visible(text: str, *, prose: bool = False) -> str:
    """Return `text` with every character that cannot be seen, or that turns others about, written out: `⟨U+202E⟩`.

    Tabs and line ends stay. `prose`: words for people, in which a no-break space or a carriage return before a line end changes
    nothing; in code both do. Doing it twice changes nothing.
    """
    if text.isascii() and text.isprintable():
        return text
    if prose:
        return _IN_PROSE.sub(_written, text.replace("\r\n", "\n"))
    return _IN_CODE.sub(_written, text)


def _written(found: re.Match[str]) -> str:
    return f"⟨U+{ord(found[0]):04X}⟩"


def visible_json(value: Any, *, prose: bool = False) -> Any:
    """Return plain JSON with every text and key made visible."""
    return change_texts(value, lambda text: visible(text, prose=prose))


def line(text: str, limit: int) -> str:
    """Return `text` as one line for titles: what cannot be seen is written out, white space collapsed, cut with an ellipsis."""
    return one_line(visible(text[: limit * 8], prose=True), limit)


def whole_line(text: str, limit: int) -> str:
    """Return `text` as one visible line; of one that is longer it says how much is not shown."""
    found = " ".join(visible(text, prose=True).split())
    return found if len(found) <= limit else f"{cut(found, limit)} {left_out(len(found) - limit)}"


def head(text: str) -> tuple[str, int]:
    """Return what a page shows of a text at once, and how many characters are left."""
    parts = text.split("\n", LINES_AT_ONCE)
    end = len(text) - len(parts[-1]) - 1 if len(parts) > LINES_AT_ONCE else len(text)
    end = min(end, AT_ONCE)
    return text[:end], len(text) - end


def left_out(count: int) -> str:
    """Return the words that stand where something is left out."""
    return f"[{count:,} more characters are not shown here]"


def pretty(value: Any) -> str:
    """Return plain JSON with an indent of two, whole and visible."""
    return visible(json.dumps(visible_json(value), indent=2, ensure_ascii=False, default=str))


def whole(value: Any) -> str:
    """Return plain JSON as text for people, nothing left out: each name, then its text, indented: no text looks like a name."""
    return "".join(f"{name}:\n{_indented(text)}\n\n" for name, text in _leaves("", value))


def _indented(text: str) -> str:
    return "\n".join(f"    {part}" for part in text.split("\n"))


def _leaves(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for key, one in value.items():
            yield from _leaves(f"{name}.{visible(str(key))}".strip("."), one)
    elif isinstance(value, list | tuple) and value:
        for place, one in enumerate(value):
            yield from _leaves(f"{name}[{place}]", one)
    else:
        yield one_line(name, 300), visible(value) if isinstance(value, str) else json.dumps(value, default=str)


def warnings(payload: Mapping[str, Any]) -> tuple[str, ...]:
    """Return, in sentences, why what is shown may not be all that is asked: each of them is a high risk."""
    texts = [text for name, value in payload.items() if name not in _NOT_ASKED for text in _texts(value)]
    hidden = sum(int(found) for text in texts for found in _HIDDEN.findall(text))
    unseen = any(_IN_CODE.search(text.replace("\r\n", "\n")) or _WRITTEN.search(text) for text in texts)
    size, lines = sum(map(len, texts)), sum(text.count("\n") for text in texts)
    left, uncounted = int(payload.get("left_out") or 0), payload.get("left_out_more") is True
    count = f"More than {left:,}" if uncounted else f"{left:,} more"
    lost = uncounted and not left
    found = {
        f"{hidden:,} characters that look like keys are hidden ({MASK}): what they say is not shown.": hidden,
        "Holds characters that cannot be seen or that turn others about; they are written out, such as ⟨U+202E⟩.": unseen,
        "Has long gaps: what comes after them is easily missed.": any(map(_GAPS.search, texts)),
        f"{count} characters of what changed are not shown: look at them in the workspace.": left,
        "What changed could not be read whole: look at it in the workspace.": lost,
        f"Long: {size:,} characters. Read all of it before you answer.": size > AT_ONCE or lines >= LINES_AT_ONCE,
    }
    return tuple(sentence for sentence, so in found.items() if so)


def high_risk(payload: Mapping[str, Any]) -> bool:
    """Whether a permission needs a second press: what it may do is risky, or what is shown may not be all of it."""
    risk = payload.get("risk")
    return bool((isinstance(risk, Mapping) and risk.get("level") == "high") or warnings(payload))


_NOT_ASKED: Final = frozenset({"previous", "risk", "version"})


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


# -- keys, hidden in the open

_NAMED = re.compile(
    # no `NAME= word`: there the shell runs the word
    rf"(?i)((?:{KEY_NAMES})(?:\\?[\"'])?(?:[ \t]{{0,8}}:=?[ \t]{{0,8}}|[ \t]{{1,8}}=>?[ \t]{{0,8}}|=)(?:[bfru]?\\?[\"'])?)"
    r"([A-Za-z0-9_+/=.-]+)"
)
_AUTHORIZATION = re.compile(
    r"(?i)(authorization\\?[\"']?[ \t]{0,8}:[ \t]{0,8}\\?[\"']?(?:(?:bearer|basic|token|digest)[ \t]{1,8})?)"
    r"([A-Za-z0-9_~+][A-Za-z0-9._~+/-]{7,}=*)"
)
_BEARER = re.compile(r"(?i)(\bbearer[ \t]{1,8})([A-Za-z0-9_~+-][A-Za-z0-9._~+/-]{15,}=*)")
_URL_USER = re.compile(r"(://[A-Za-z0-9._~%+-]{0,256}:)([A-Za-z0-9._~%+=-]+)(?=@)")
_PEM = re.compile(r"(?s)(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)(.*?)(?=-----END |\Z)")
_PEM_LINE = re.compile(r"()([A-Za-z0-9+/]{16,}={0,2})")
_KEY = re.compile(r"[A-Za-z0-9_+/=.@~-]+")
_PLAIN = re.compile(r"[A-Za-z0-9_+=@~-]+")
_NAME = re.compile(r"[^0-9]+[0-9]+|[0-9]+[^0-9]+")  # python3, base64, gcc-12, 7z
_SHORT, _NAMELIKE, _PATHLIKE = 6, 12, 32
_PAGING = re.compile(r"(?i)(?:page|pagination|next|cursor|continuation|continue|starting|resumption|sync)[_-]?token$")
_LIKE_NAMES = ("_", "sk-")  # formats that other names have, too: npm_config_script_shell
_HIDDEN = re.compile(r"⟨(\d{1,9})-characters-hidden⟩")


def as_asked(value: Any, *, prose: bool) -> Any:
    """Return what is asked (plain JSON) as it is stored and shown: keys hidden, every character to be seen."""
    return visible_json(masked(value), prose=prose)


def is_plain(text: str) -> bool:
    """Whether a text is shown just as it is: nothing in it is hidden or written out."""
    return bool(as_asked(text, prose=False) == text == mask_secrets(text))


def masked(value: Any) -> Any:
    """Return what is asked (plain JSON) with keys and passwords hidden, each as `***⟨24-characters-hidden⟩`.

    Hidden is only what is a plain literal and looks like a key: no quote, bracket, blank, `$`, `;` or line end, nothing that is
    short, called or could be a path, no name with a number such as `python3`. So some passwords stay readable. Of a command one
    word may still be hidden, such as `sha256sum` after `token=`: each time that something is hidden, `warnings` says so.
    """
    return _masked(value, 0)


def _masked(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return _mask(value)
    if not isinstance(value, dict | list):
        return value
    if depth >= MAX_DEPTH:
        return TOO_DEEP
    if isinstance(value, list):
        return [_masked(one, depth + 1) for one in value]
    return {key: _under(str(key), one) or _masked(one, depth + 1) for key, one in value.items()}


def _under(key: str, value: Any) -> str:
    """What hides a literal under a name such as `api_key`; nothing where it is none."""
    if not isinstance(value, str) or not SECRET_KEY.search(key) or _PAGING.search(key):
        return ""
    return _hidden(len(value)) if _PLAIN.fullmatch(value) or (_KEY.fullmatch(value) and _is_key(value)) else ""


def _mask(text: str) -> str:
    for literal, pattern in KEY_FORMATS:
        if literal in text:
            text = pattern.sub(_if_key if literal in _LIKE_NAMES else _hide, text)
    if "PRIVATE KEY" in text:
        text = _PEM.sub(lambda found: found[1] + _PEM_LINE.sub(_if_key, found[2]), text)
    text = _URL_USER.sub(_hide, text)
    return _NAMED.sub(_if_key, _BEARER.sub(_if_key, _AUTHORIZATION.sub(_hide, text)))


def _hide(found: re.Match[str]) -> str:
    if found.string.startswith("(", found.end()):  # it is called
        return found[0]
    return found[1] + _hidden(len(found[0]) - len(found[1]))


def _if_key(found: re.Match[str]) -> str:
    return _hide(found) if _is_key(found[0][len(found[1]) :]) else found[0]


def _is_key(literal: str) -> bool:
    """Whether it has what keys have, letters and digits; where it could be a name or a path, more of it."""
    mixed = any(map(str.isdigit, literal)) and any(map(str.isalpha, literal))
    if "/" not in literal and "." not in literal:
        return mixed and len(literal) >= (_NAMELIKE if _NAME.fullmatch(literal) else _SHORT)
    cased = literal.upper() != literal != literal.lower()
    path = ("/" in literal and "." in literal) or literal[0] in "/."
    return mixed and cased and len(literal) >= _PATHLIKE and not path


def _hidden(count: int) -> str:
    return f"{MASK}⟨{count}-characters-hidden⟩"
