"""Text at the boundary: cleaning, cutting, ANSI and secrets. Everything here is pure, linear and idempotent."""

import math
import re
import unicodedata
from collections.abc import Callable
from typing import Any, Final

REPLACEMENT: Final = "\ufffd"
MASK: Final = "***"
MAX_DEPTH: Final = 100
"""JSON nested deeper than this is replaced by `TOO_DEEP`: nothing honest nests so far, and encoders recurse."""
TOO_DEEP: Final = "[nested too deeply]"

_SURROGATES = re.compile("[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]")
_ZWJ = "\u200d"
_ANSI = re.compile(
    r"\x1b\[[0-?]*+[ -/]*+[@-~]"  # CSI: colours, cursor
    r"|\x9b[0-?]*+[ -/]*+[@-~]"
    r"|\x1b\][^\x07\x1b\n]*+(?:\x07|\x1b\\)"  # OSC: titles, links
    r"|\x1b[PX^_][^\x1b\n]*+\x1b\\"  # DCS, SOS, PM, APC
    r"|\x1b[ -/]*+[0-~]"  # two-character escapes, and the head of an unfinished string
    r"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]"  # every other control character
)
_BIDI = re.compile("[\u202a-\u202e\u2066-\u2069]")


def clean(text: str) -> str:
    """Return `text` that UTF-8 and PostgreSQL accept: lone surrogates become U+FFFD, NUL is removed, the rest is exact.

    A surrogate *pair* held as two code points becomes the character it stands for.
    """
    if not text.isascii():
        try:
            text.encode()  # a tenth of the time that looking for surrogates takes, and there hardly ever is one
        except UnicodeEncodeError:
            text = _SURROGATES.sub(_whole_or_replacement, text)
    return text.replace("\0", "")


def _whole_or_replacement(match: re.Match[str]) -> str:
    found = match[0]
    return found.encode("utf-16", "surrogatepass").decode("utf-16") if len(found) == 2 else REPLACEMENT


def clean_json(value: Any) -> Any:
    """Return `value` as plain JSON that any database takes.

    Strings and keys are cleaned, tuples and sets become lists, NaN and infinities become their names (JSON has none), any other
    object becomes its text, and what nests deeper than `MAX_DEPTH` becomes `TOO_DEEP`.
    """
    return _walk(value, clean, 0)


def change_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return plain JSON with every text and key changed."""
    return _walk(value, change, 0)


def _walk(value: Any, change: Callable[[str], str], depth: int) -> Any:
    if isinstance(value, str):
        return change(value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if depth >= MAX_DEPTH:
        return TOO_DEEP
    if isinstance(value, dict):
        return {_key(key, change): _walk(item, change, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_walk(item, change, depth + 1) for item in value]
    return change(str(value))


def _key(key: Any, change: Callable[[str], str]) -> str:
    return change(key if isinstance(key, str) else str(key))


def cut(text: str, limit: int, ellipsis: str = "…") -> str:
    """Return `text` in at most `limit` code points, `ellipsis` included, never cut inside what people see as one character.

    A first character that is longer than the limit (a tower of combining marks) leaves only the ellipsis.
    """
    if len(text) <= limit:
        return text
    at = limit - len(ellipsis)
    if at < 0:
        return ellipsis[: max(limit, 0)]
    while at > 0 and _joined(text, at):
        at -= 1
    return text[:at] + ellipsis


def _joined(text: str, at: int) -> bool:
    """Whether the code points before and after position `at` belong to one visible character."""
    before, after = text[at - 1], text[at]
    if before.isascii() and after.isascii():
        return before == "\r" and after == "\n"
    if before == _ZWJ or _extends(after):
        return True
    if _is_regional(before) and _is_regional(after):
        return _regionals_before(text, at) % 2 == 1
    return _hangul_joined(before, after)


def _extends(char: str) -> bool:
    return (
        char in (_ZWJ, "\u200c")
        or unicodedata.category(char) in ("Mn", "Me", "Mc")
        or "\U0001f3fb" <= char <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= char <= "\U000e007f"  # tags of sub-national flags
    )


def _is_regional(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _regionals_before(text: str, at: int) -> int:
    count = 0
    while count < at and _is_regional(text[at - 1 - count]):
        count += 1
    return count


def _hangul_joined(before: str, after: str) -> bool:
    """Jamo that form one syllable: L + (L, V, LV, LVT), (V, LV) + (V, T), (T, LVT) + T (UAX #29, GB6 to GB8)."""
    kind, following = _jamo(before), _jamo(after)
    return (kind, following) in {("L", "L"), ("L", "V"), ("L", "S"), ("V", "V"), ("V", "T"), ("S", "V"), ("S", "T"), ("T", "T")}


def _jamo(char: str) -> str:
    for first, last, kind in (
        ("\u1100", "\u115f", "L"),
        ("\u1160", "\u11a7", "V"),
        ("\u11a8", "\u11ff", "T"),
        ("\uac00", "\ud7a3", "S"),
    ):
        if first <= char <= last:
            return kind
    return ""


def strip_ansi(text: str) -> str:
    """Return `text` without terminal escapes and without control characters other than tab and line ends.

    An unfinished escape loses only its head, so that it cannot hide the text behind it.
    """
    return _ANSI.sub("", text)


def closed(sentence: str) -> str:
    """Return a sentence with its full stop, where it does not end with one of its own."""
    return sentence if sentence.endswith((".", "!", "?", "…")) else f"{sentence}."


def one_line(text: str, limit: int) -> str:
    """Return `text` as one clean line of at most `limit` code points: no ANSI, no bidi overrides, white space collapsed."""
    visible = _BIDI.sub("", strip_ansi(clean(text)))
    return cut(" ".join(visible.split()), limit)


KEY_FORMATS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (literal, re.compile(pattern))
    for literal, pattern in (
        # the only one that ends before a small letter: first, so that a key right behind it is seen as the start of a word
        ("IA", r"(?<![A-Za-z0-9])(A(?:K|S)IA)[A-Z0-9]{12,}"),
        ("sk-ant-", r"(sk-ant-(?:[a-z]{2,8}\d\d-)?)[A-Za-z0-9_-]{8,}"),
        ("sk-", r"(?<![A-Za-z0-9])(sk-(?!ant-)(?:proj-|svcacct-|admin-|or-v1-)?)[A-Za-z0-9_-]{16,}"),
        ("gh", r"(gh[pousr]_)[A-Za-z0-9]{16,}"),
        ("github_pat_", r"(github_pat_)[A-Za-z0-9_]{16,}"),
        ("glpat-", r"(glpat-)[A-Za-z0-9_-]{16,}"),
        ("xox", r"(xox[abeoprs]-)[A-Za-z0-9-]{8,}"),
        ("AIza", r"(AIza)[A-Za-z0-9_-]{30,}"),
        ("_", r"(?<![A-Za-z0-9])([sr]k_(?:live|test)_|whsec_|npm_|hf_|pypi-)[A-Za-z0-9_-]{16,}"),
        ("eyJ", r"(?<![A-Za-z0-9_-])(eyJ)[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)+"),
    )
)
_PEM = re.compile(
    r"(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)(?:[A-Za-z0-9+/=\s\\:,*]|-(?!----))++"
    r"(-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?"
)
_SCHEME = r"(?:bearer|basic|token|digest)"
_AUTHORIZATION = re.compile(
    rf"(?i)(authorization\\?[\"']?[ \t]{{0,8}}[:=][ \t]{{0,8}}\\?[\"']?(?:{_SCHEME}[ \t]{{1,8}})?)"
    rf"(?!{_SCHEME}\b)[^\s\"'\\,;]{{4,}}"
)
_BEARER = re.compile(r"(?i)\b(bearer[ \t]{1,8})[A-Za-z0-9._~+/-]{16,}=*")
_URL_USER = re.compile(r"(://[^\s/:@\"'<>`]{0,256}:)[^\s/\"'<>`]+@")
KEY_NAMES = (
    r"passw(?:or)?d|passphrase|pwd|secret|api[_-]?key|access[_-]?key(?:[_-]?id)?|private[_-]?key|secret[_-]?key|"
    r"auth[_-]?key|client[_-]?secret|token|credentials?"
)
SECRET_KEY = re.compile(rf"(?i)(?:{KEY_NAMES})$")
_CODE = r"(?!\$|<|\{|\(|\[|%s|(?:none|null|true|false|undefined|str|string|int|bool|bytes|any)\b|(?:[a-z_]\w*\.)*[a-z_]\w*\()"
_QUOTED = re.compile(
    rf"(?i)((?:{KEY_NAMES})(?:\\?[\"'])?[ \t]{{0,8}}(?:=>|:=|=|:)[ \t]{{0,8}}[bfru]?(\\?[\"']))(?!\\?[\"'])[^\"'\\\r\n]+"
)
_ASSIGNED = re.compile(rf"(?i)((?:{KEY_NAMES})=){_CODE}[^\s\"'\\,;&|)>\]}}`]+")
_SPACED = re.compile(
    rf"(?i)((?:{KEY_NAMES})(?:[ \t]{{1,8}}=[ \t]{{0,8}}|=[ \t]{{1,8}}|[ \t]{{0,8}}:[ \t]{{1,8}})){_CODE}"
    r"(?=[^\s\"'\\,;&|)>\]}`]{0,64}\d|[^\s\"'\\,;&|)>\]}`]{16})[^\s\"'\\,;&|)>\]}`]{4,}"
)
_HAS_NAMES = re.compile(rf"(?i)(?=[pastc])(?:{KEY_NAMES})[\\\"' \t]{{0,10}}[:=]")


def mask_secrets(text: str) -> str:
    """Return `text` with keys in known formats, private keys, passwords and tokens masked; their kind stays readable.

    `sk-ant-api03-abc…` becomes `sk-ant-api03-***`, `password=x` becomes `password=***`, `https://u:p@h` becomes `https://u:***@h`.
    """
    for literal, pattern in KEY_FORMATS:
        if literal in text:
            text = pattern.sub(rf"\1{MASK}", text)
    if "PRIVATE KEY" in text:
        text = _PEM.sub(lambda found: found[1] + MASK + (found[2] or ""), text)
    if "://" in text:
        text = _URL_USER.sub(rf"\1{MASK}@", text)
    return _mask_assignments(_BEARER.sub(rf"\1{MASK}", _AUTHORIZATION.sub(rf"\1{MASK}", text)))


def _mask_assignments(text: str) -> str:
    if not _HAS_NAMES.search(text):
        return text
    for pattern in (_QUOTED, _ASSIGNED, _SPACED):
        text = pattern.sub(rf"\g<1>{MASK}", text)
    return text


def mask_json(value: Any) -> Any:
    """Return `value` (plain JSON) with every text masked, and whole where its key names a secret (`password`, `api_key`, …)."""
    return _mask(value, 0)


def _mask(value: Any, depth: int) -> Any:
    if isinstance(value, dict) and depth < MAX_DEPTH:
        return {
            key: MASK if isinstance(item, str) and item and SECRET_KEY.search(str(key)) else _mask(item, depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple) and depth < MAX_DEPTH:
        return [_mask(item, depth + 1) for item in value]
    if isinstance(value, dict | list | tuple):
        return TOO_DEEP
    return mask_secrets(value) if isinstance(value, str) else value
