"""What `up` and `doctor` say about the way to the model: whether a key or a sign-in is there, never what it is."""

from tasks_app.execution.environment import key_source
from tasks_app.selectors import workers

HOW = "set ANTHROPIC_API_KEY or sign in with `claude`, then start again"


def sentence(*, rehearse: bool) -> str:
    """Return the one sentence that says whether agents are real, and else offers the rehearsal."""
    if rehearse:
        return "Rehearsal: replies are scripted, no key is used. Tools, files and commands are real."
    source = key_source()
    if source:
        return f"Agents are real: Claude is reached with {source}."
    return (
        "There is no API key and no signed-in Claude Code, so teams can only rehearse: tick Rehearsal on New team, or start with "
        f"--rehearse; for real agents {HOW}."
    )


def anywhere() -> bool:
    """Whether real agents can run: this process, or any worker that works now, has a key or a signed-in Claude Code."""
    return bool(key_source()) or any(worker.has_key for worker in workers.alive())
