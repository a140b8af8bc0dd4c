"""Lost calls: what an agent did in the last moment before a crash, which its transcript, stored a moment behind, does not hold.

The life that goes on is told of them in its prompt, in words that a rehearsal can read back.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tasks_app.domain.text import one_line

CUT_OFF = (
    "The user doesn't want to ",
    "[Request interrupted by user",
    "[Tool call interrupted:",
    "<tool_use_error>Cancelled: parallel",
)
"""How Claude Code's own results begin for calls that did not run to their end (measured with 2.1)."""
MADE = "[crewdesk:made {}]"
INPUT_LIMIT = 2_000
RESULT_LIMIT = 1_000
UNKNOWN = "Whether it took effect is not known."
WAITED = "It was not made: it waited for the lead. What came of that is told below."
_LINES = re.compile(
    rf"^\[crewdesk:made (\S+)\] (\S+) (.*)\n  (?:{re.escape(UNKNOWN)}|{re.escape(WAITED)}|It (gave|failed): (.*))$", re.MULTILINE
)
_MARK = re.compile(r"\[(?=crewdesk:|rehearsal:|message )")


@dataclass(frozen=True)
class LostCall:
    """One call: its tool_use id, tool, input as JSON, and what came of it; None where the process died before that was seen.

    `waited`: it was never made, for its process was ended while it waited for the lead.
    """

    id: str
    tool: str
    input: str
    result: str | None = None
    failed: bool = False
    waited: bool = False


def carried_out(result: str, *, is_error: bool) -> bool:
    """Whether a call was carried out or refused for good, as opposed to cut off."""
    return not (is_error and result.startswith(CUT_OFF))


def told(calls: Iterable[LostCall]) -> str:
    """Return the calls as two lines each, for a prompt."""
    return "\n".join(_told(call) for call in calls)


def _told(call: LostCall) -> str:
    if call.result is None:
        came = WAITED if call.waited else UNKNOWN
    else:
        came = f"It {'failed' if call.failed else 'gave'}: {_quoted(call.result, RESULT_LIMIT)}"
    return f"{MADE.format(call.id)} {call.tool} {_quoted(call.input, INPUT_LIMIT)}\n  {came}"


def _quoted(text: str, limit: int) -> str:
    """What a tool was given or printed must not pass for a mark of ours."""
    return _MARK.sub("(", one_line(text, limit))


def read(text: str) -> list[LostCall]:
    """Return the calls that a prompt tells of."""
    return [
        LostCall(name, tool, given, came if word else None, failed=word == "failed")
        for name, tool, given, word, came in _LINES.findall(text)
    ]


def without(text: str) -> str:
    """Return the prompt without the calls that it tells of: what an agent once gave a tool is nothing that it is told now."""
    return _LINES.sub("", text)
