"""Turns the end of a process's work into an `Outcome`: what happened in words, the technical detail apart."""

import json
import re
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from claude_agent_sdk import AssistantMessage, CLIJSONDecodeError, RateLimitEvent, ResultMessage, TextBlock

from tasks_app.domain.statuses import Reason
from tasks_app.domain.text import clean, clean_json, mask_secrets, one_line
from tasks_app.runners.claude.content import kept
from tasks_app.runners.port import Outcome, OutcomeKind

RAW = 16 * 1024
_STATUS = re.compile(r"API Error:? ?\(?(?:status )?(\d{3})\b|^API Error: (\d{3})")
_UNREACHABLE = re.compile(
    r"(?i)connection error|unable to connect|econnrefused|econnreset|etimedout|enotfound|fetch failed|timed? ?out"
)
_BY_WORD = {
    "rate_limit": Reason.RATE_LIMITED,
    "authentication_failed": Reason.AUTH,
    "billing_error": Reason.AUTH,
    "server_error": Reason.OVERLOADED,
    "overloaded": Reason.OVERLOADED,
}
_BY_SUBTYPE = {
    "error_max_turns": (Reason.TURN_LIMIT, "The agent used up its turns before it was done."),
    "error_max_budget_usd": (Reason.BUDGET, "The run's budget was used up before the agent was done."),
}
_WORDS = {
    Reason.RATE_LIMITED: "The API limits this account at the moment.",
    Reason.OVERLOADED: "The API is overloaded or out of reach at the moment.",
    Reason.AUTH: "The API refused the key.",
    Reason.REFUSED: "The model declined to go on.",
    Reason.EMPTY: "The model answered nothing.",
}


@dataclass
class Heard:
    """What a turn was heard to say before its result; reset with each prompt."""

    said: str = ""  # the last text of the main thread
    spoke: bool = False  # anything at all: text, thinking or a call
    error: str = ""  # the SDK's word for an API failure
    resets_at: float | None = None  # Unix seconds, of the last rejected rate limit

    def message(self, message: AssistantMessage) -> None:
        """Take in one row of the main thread."""
        if message.parent_tool_use_id:
            return
        if message.error:
            self.error = message.error
            return
        self.spoke = self.spoke or bool(message.content)
        text = "".join(block.text for block in message.content if isinstance(block, TextBlock))
        self.said = text or self.said

    def rate_limit(self, event: RateLimitEvent) -> None:
        """Take in a rate limit event; only a rejection says when to come back."""
        info = event.rate_limit_info
        self.resets_at = float(info.resets_at) if info.status == "rejected" and info.resets_at else None


def of_result(result: ResultMessage, heard: Heard, *, session_id: str | None, now: float | None = None) -> Outcome:
    """Return what a result means. `subtype="success"` alone means nothing: a refusal of the API carries it too."""
    reason, words = _reason(result, heard)
    if reason is Reason.DONE:
        text = kept(result.result if isinstance(result.result, str) and result.result else heard.said).text
        return Outcome(OutcomeKind.ENDED, Reason.DONE, result=text, session_id=session_id)
    retry_at = _retry_at(reason, heard, time.time() if now is None else now)
    outcome = failed(reason, _detail(words, retry_at), raw=_raw(result), result=heard.said, session_id=session_id)
    return replace(outcome, retry_at=retry_at)


def failed(reason: Reason, detail: str, *, raw: str = "", result: str = "", session_id: str | None = None) -> Outcome:
    """Return a failure that no result describes."""
    return Outcome(OutcomeKind.FAILED, reason, detail=detail, raw=_bounded(raw), result=kept(result).text, session_id=session_id)


def broken(reason: Reason, detail: str, *, raw: str = "", result: str = "", session_id: str | None = None) -> Outcome:
    """Return the end of a process that said no result: another one may go on."""
    return replace(failed(reason, detail, raw=raw, result=result, session_id=session_id), broken=True)


def sentence(problem: BaseException) -> str:
    """Return an exception as one clean, masked line."""
    return one_line(mask_secrets(clean(str(problem) or type(problem).__name__)), 500)


def _reason(result: ResultMessage, heard: Heard) -> tuple[Reason, str]:
    if result.stop_reason == "refusal":
        return Reason.REFUSED, _WORDS[Reason.REFUSED]
    if result.subtype in _BY_SUBTYPE:
        return _BY_SUBTYPE[result.subtype]
    if result.is_error or result.api_error_status or heard.error:
        return _api_reason(result, heard)
    if result.subtype != "success":
        return Reason.ERROR, one_line("; ".join(_errors(result)) or f"Claude Code ended with {result.subtype}.", 500)
    if not heard.spoke and not (result.result or "").strip():
        return Reason.EMPTY, _WORDS[Reason.EMPTY]
    return Reason.DONE, ""


def _api_reason(result: ResultMessage, heard: Heard) -> tuple[Reason, str]:
    text = result.result or "; ".join(_errors(result))
    status = result.api_error_status or _status_in(text)
    reason = _by_status(status) or _BY_WORD.get(heard.error)
    if reason is None and _UNREACHABLE.search(text):
        reason = Reason.OVERLOADED
    if reason is not None:
        return reason, _WORDS[reason]
    if status:
        return Reason.ERROR, f"The API refused the request (HTTP {status})."
    return Reason.ERROR, one_line(_without_json(text) or f"Claude Code ended with {result.subtype}.", 500)


def _by_status(status: int | None) -> Reason | None:
    if status == 429:
        return Reason.RATE_LIMITED
    if status in (401, 403):
        return Reason.AUTH
    return Reason.OVERLOADED if status is not None and status >= 500 else None


def _status_in(text: str) -> int | None:
    found = _STATUS.search(text)
    return int(found[1] or found[2]) if found else None


def _retry_at(reason: Reason, heard: Heard, now: float) -> float | None:
    if reason is Reason.RATE_LIMITED and heard.resets_at is not None and heard.resets_at > now:
        return heard.resets_at
    return None


def _detail(words: str, retry_at: float | None) -> str:
    if retry_at is None:
        return words
    return f"{words} The limit resets at {datetime.fromtimestamp(retry_at, UTC):%Y-%m-%d %H:%M} UTC."


def _errors(result: ResultMessage) -> list[str]:
    errors = result.errors if isinstance(result.errors, list) else [result.errors] if result.errors else []
    return [clean(str(error)) for error in errors]


def _without_json(text: str) -> str:
    return clean(text).split("{", 1)[0].strip(" ·:-")


def _raw(result: ResultMessage) -> str:
    facts = {
        "subtype": result.subtype,
        "is_error": result.is_error,
        "api_error_status": result.api_error_status,
        "stop_reason": result.stop_reason,
        "terminal_reason": result.terminal_reason,
        "errors": result.errors,
        "result": result.result,
    }
    return _bounded(
        json.dumps(clean_json({name: value for name, value in facts.items() if value is not None}), ensure_ascii=False)
    )


def _bounded(text: str) -> str:
    return mask_secrets(clean(text[:RAW]))


def cut_off(problem: BaseException | None, stderr: str, *, result: str, session_id: str | None) -> Outcome:
    """Return the outcome of a process whose output ended: by a line too long (`problem`), or because it died."""
    raw = f"{sentence(problem) if problem else 'end of stream'}\n{stderr}"
    if isinstance(problem, CLIJSONDecodeError):
        reason, detail = Reason.OUTPUT_TOO_LARGE, "Claude Code sent more in one message than can be read."
    else:
        reason, detail = Reason.CRASHED, "The Claude Code process ended in the middle of its work."
    return broken(reason, detail, raw=raw, result=result, session_id=session_id)
