"""Builds conversations as Claude Code 2.1 sends them, and plays scripts to them without any process."""

from typing import Any

from tasks_app.rehearsal import play
from tasks_app.rehearsal.play import Answer, Registered
from tasks_app.rehearsal.position import Variables
from tasks_app.rehearsal.script_model import Part

REJECTED = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, …)."
ENDED = "[Tool call interrupted: the session ended before this call's result was recorded, so its outcome is unknown.]"
WORDS = {"task": "T-3", "agent": "ann", "attempt": "1", "workspace": "/w"}


class Story:
    """A conversation that grows: `ask` says what the model answers now, the other methods add what then happens."""

    def __init__(self, *turns: dict[str, Any], prompt: str = "Do T-3.", **part: Any) -> None:
        self.messages: list[dict[str, Any]] = [user({"type": "text", "text": prompt})]
        self.registered = Registered(Part.model_validate({"turns": turns, **part}), Variables(WORDS, ("It works",)))
        self.uses: list[dict[str, Any]] = []
        self.count = 0

    def ask(self, **extra: Any) -> Any:
        """Return what the model says now."""
        return play.answer({"model": "m", "tools": [{"name": "Bash"}], "messages": self.messages}, self.registered, **extra)

    def hears(self, answer: Answer | None = None) -> list[str]:
        """Take the model's answer into the conversation; return the ids of its calls."""
        given = answer or self.ask()
        self.uses = []
        for call in given.calls:
            self.count += 1
            self.uses.append({"type": "tool_use", "id": f"toolu_{self.count}", "name": call.name, "input": dict(call.input)})
        text = [{"type": "text", "text": given.text}] if given.text else []
        self.messages.append({"role": "assistant", "content": [*text, *self.uses]})
        return [use["id"] for use in self.uses]

    def results(self, *texts: str, errors: tuple[int, ...] = ()) -> None:
        """Answer the calls of the newest message in order."""
        pairs = zip(self.uses, texts, strict=True)
        blocks = [result(use["id"], text, is_error=at in errors) for at, (use, text) in enumerate(pairs)]
        self.messages.append(user(*blocks))

    def cut_off(self, *texts: str) -> None:
        """The message was cut off: its calls have these results, where "" means that the call was rejected with it."""
        shown = [text or REJECTED for text in texts]
        self.results(*shown, errors=tuple(at for at, text in enumerate(texts) if not text))
        self.messages[-1]["content"].append({"type": "text", "text": "[Request interrupted by user for tool use]"})

    def resumed(self, prompt: str) -> None:
        """The session goes on in a new process, with this prompt."""
        self.messages.append({"role": "assistant", "content": [{"type": "text", "text": "No response requested."}]})
        self.told(prompt)

    def told(self, text: str) -> None:
        """A new prompt or a note comes in."""
        self.messages.append(user({"type": "text", "text": text}))

    def goes_on(self, *texts: str) -> Answer:
        """Play one turn to its end and return it; its calls get these results, or `ok`."""
        answer: Answer = self.ask()
        ids = self.hears(answer)
        if ids:
            self.results(*(texts or ["ok"] * len(ids)))
        else:
            self.told("And?")
        return answer


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def result(use_id: str, text: str, *, is_error: bool) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": use_id, "content": text, "is_error": is_error}


def bash(command: str) -> dict[str, Any]:
    return {"tool": "Bash", "input": {"command": command}}


def commands(answer: Answer) -> list[str]:
    return [str(call.input.get("command", call.name)) for call in answer.calls]
