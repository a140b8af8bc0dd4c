"""Stands for the Claude Code binary: speaks its control protocol and plays one of the plays below. Standard library only.

For what no scripted model can make the real one do: lines of 80 MB, twenty agents that report at the wrong moment, a process
that ignores every signal. Started as `python -I -S fake_cli.py <play> <notebook> <arguments of the CLI>`; what it is told
goes into the notebook, one JSON text a line.
"""

import json
import os
import queue
import re
import signal
import sys
import threading
from typing import Any

BIG_LINE = 1_304_261  # bytes, its line end included
TOO_BIG = 80_000_000
MANY = 300
AGENTS = 20
PATIENCE_S = 60.0
MEGABYTE = "A" * 1_000_000


class Cli:
    """One process: what it was started with, what it is told, and the ways to speak."""

    def __init__(self, notebook: str, arguments: list[str]) -> None:
        self.resumed = _after(arguments, "--resume")
        self.session = self.resumed or _after(arguments, "--session-id")
        self.prompts: queue.Queue[dict[str, Any]] = queue.Queue()
        self.interrupted = threading.Event()
        self.deaf = False  # answers nothing that it is asked
        self.stays = False  # when its input is closed
        self._notebook = open(notebook, "a", encoding="utf-8")  # noqa: SIM115 - as long as the process
        self._answers: dict[str, queue.Queue[Any]] = {}
        self._lock = threading.Lock()
        self._asked = 0
        self.note("resumes", self.resumed)
        self.note("pid", os.getpid())

    def note(self, what: str, value: Any) -> None:
        """Write into the notebook."""
        self._notebook.write(json.dumps([what, value]) + "\n")
        self._notebook.flush()

    def listen(self) -> None:
        """Take in what the worker says, to the end of it."""
        for line in sys.stdin.buffer:
            self._hear(json.loads(line))
        self.note("input closed", "")
        if not self.stays:
            os._exit(0)

    def _hear(self, said: dict[str, Any]) -> None:
        if said["type"] == "control_request":
            self._obey(said["request_id"], said["request"])
        elif said["type"] == "control_response":
            self._answers[said["response"]["request_id"]].put(said["response"].get("response"))
        elif said["type"] == "user":
            self.note("prompt", said["message"]["content"])
            self.prompts.put(said)

    def _obey(self, request_id: str, request: dict[str, Any]) -> None:
        self.note(request["subtype"], "")
        if request["subtype"] == "interrupt":
            self.interrupted.set()
        if self.deaf:
            return
        answer = {"subtype": "success", "request_id": request_id, "response": {"hook_on_failure_supported": True}}
        self.say({"type": "control_response", "response": answer})

    def say(self, message: dict[str, Any]) -> None:
        """Say one message."""
        self.raw((json.dumps(message, ensure_ascii=False) + "\n").encode())

    def raw(self, *parts: bytes) -> None:
        """Say bytes."""
        with self._lock:
            for part in parts:
                sys.stdout.buffer.write(part)
            sys.stdout.buffer.flush()

    def start_asking(self, request: dict[str, Any]) -> str:
        """Ask the worker something; returns the name to wait for the answer under."""
        self._asked += 1
        name = f"fake-{self._asked}"
        self._answers[name] = queue.Queue()
        self.say({"type": "control_request", "request_id": name, "request": request})
        return name

    def answer_to(self, name: str) -> Any:
        """Wait for an answer."""
        answer = self._answers[name].get(timeout=PATIENCE_S)
        self.note("answer", answer)
        return answer

    def may_i(self, command: str, *, call: str = "toolu_ask", agent: str = "") -> str:
        """Begin to ask for permission to run a command."""
        who = {"agent_id": agent} if agent else {}
        wanted = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": command}, "tool_use_id": call}
        return self.start_asking({**wanted, **who})

    def crew(self, tool: str, **arguments: Any) -> None:
        """Call a crew tool, as Claude Code does."""
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "fake", "version": "1"}}
        given = {"name": tool, "arguments": arguments, "_meta": {"claudecode/toolUseId": "toolu_crew"}}
        for number, (method, params) in enumerate((("initialize", hello), ("tools/call", given)), 1):
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            self.answer_to(self.start_asking({"subtype": "mcp_message", "server_name": "crew", "message": message}))

    def text(self, text: str, number: int = 0) -> None:
        """Say a text of the model."""
        self._row(f"msg_{number}", {"type": "text", "text": text})

    def call(self, name: str, command: str) -> None:
        """Say that the model runs a command."""
        self._row(f"msg_{name}", {"type": "tool_use", "id": name, "name": "Bash", "input": {"command": command}})

    def _row(self, name: str, block: dict[str, Any]) -> None:
        message = {"id": name, "model": "claude-fake", "role": "assistant", "content": [block], "usage": {}}
        self.say({"type": "assistant", "message": message, "parent_tool_use_id": None, "session_id": self.session})

    def system(self, subtype: str, **more: Any) -> None:
        """Say a message of the system."""
        self.say({"type": "system", "subtype": subtype, "session_id": self.session, "uuid": f"{subtype}{more}", **more})

    def mirror(self, said: dict[str, Any]) -> None:
        """Have a row of the user's side stored in the transcript."""
        project = re.sub("[^a-zA-Z0-9]", "-", os.path.realpath(os.getcwd()))
        path = f"{os.environ['CLAUDE_CONFIG_DIR']}/projects/{project}/{self.session}.jsonl"
        row = {"type": "user", "uuid": said["uuid"], "sessionId": self.session, "message": said["message"]}
        self.say({"type": "transcript_mirror", "filePath": path, "entries": [row]})

    def begin(self) -> dict[str, Any]:
        """Take the next prompt and begin its turn; the worker is told that it is stored."""
        prompt = self.prompts.get(timeout=PATIENCE_S)
        self.system("init", model="claude-fake", claude_code_version="2.1.332")
        self.system("session_state_changed", state="running")
        self.mirror(prompt)
        return prompt

    def end(self, prompt: dict[str, Any], result: str = "done", **more: Any) -> None:
        """End the turn of a prompt."""
        facts = {"subtype": "success", "is_error": False, "duration_ms": 1, "duration_api_ms": 1, "num_turns": 1}
        whose = {"user_message_uuid": prompt["uuid"], "session_id": self.session, "stop_reason": "end_turn"}
        self.say({"type": "result", **facts, **whose, "result": result, **more})
        self.system("session_state_changed", state="idle")


def _after(arguments: list[str], name: str) -> str:
    for number, one in enumerate(arguments):
        if one == name:
            return arguments[number + 1]
        if one.startswith(f"{name}="):
            return one.partition("=")[2]
    return ""


# -- plays


def big_line(cli: Cli) -> None:
    """A tool result of `BIG_LINE` bytes, the same text in it twice, then ordinary lines."""
    prompt = cli.begin()
    cli.call("toolu_big", "base64 picture.png")
    body, pad = "", ""
    for _ in range(3):  # the size of what stands around it is known after the first time
        block = {"type": "tool_result", "tool_use_id": "toolu_big", "content": body}
        row = {"type": "user", "message": {"role": "user", "content": [block]}, "parent_tool_use_id": None, "uuid": "big"}
        row |= {"session_id": cli.session, "tool_use_result": {"stdout": body, "stderr": pad}}
        line = (json.dumps(row) + "\n").encode()
        missing = BIG_LINE - len(line)
        body, pad = (body + "iVBORw0KGgo=" * (missing // 24), pad) if not body else (body, pad + "." * missing)
    cli.note("line", len(line))
    cli.raw(line)
    cli.mirror(row)
    for number in range(3):
        cli.text(f"and on {number}", number)
    cli.crew("TaskUpdate", taskId="1", status="completed", evidence={"1": "yes"})
    cli.end(prompt)


def too_big(cli: Cli) -> None:
    """A line of `TOO_BIG` bytes in every life."""
    cli.begin()
    head = b'{"type":"assistant","parent_tool_use_id":null,"message":{"id":"m","content":[{"type":"text","text":"'
    block = MEGABYTE.encode()
    cli.raw(head, *([block] * (TOO_BIG // len(block))), b'"}]}}\n')


def too_big_once(cli: Cli) -> None:
    """The same, and the life that resumes does its work."""
    if not cli.resumed:
        too_big(cli)
        return
    prompt = cli.begin()
    cli.crew("TaskUpdate", taskId="1", status="completed", evidence={"1": "yes"})
    cli.end(prompt, "smaller now")


def chatter(cli: Cli) -> None:
    """A permission request, `MANY` messages while nobody answers, and the answer at last."""
    prompt = cli.begin()
    asking = cli.may_i("make release")
    for number in range(MANY):
        cli.text(f"message {number}", number)
    cli.note("all said", MANY)
    cli.text(f"heard: {cli.answer_to(asking)['behavior']}", MANY)
    cli.crew("TaskUpdate", taskId="1", status="completed", evidence={"1": "yes"})
    cli.end(prompt)


def left_over(cli: Cli) -> None:
    """Before its own result come that of a prompt that was interrupted and that of a background task."""
    prompt = cli.begin()
    cli.end({"uuid": "00000000-0000-4000-8000-000000000001"}, "left over", subtype="error_during_execution", is_error=True)
    cli.system("session_state_changed", state="running")
    cli.end(prompt, "from the background", user_message_uuid=None, origin={"kind": "task-notification"})
    cli.system("session_state_changed", state="running")
    cli.crew("TaskUpdate", taskId="1", status="completed", evidence={"1": "yes"})
    cli.end(prompt, "my own")


def dies(cli: Cli) -> None:
    """Exits with 137 in the middle of a tool call and without a word; the life that resumes does the work."""
    prompt = cli.begin()
    if not cli.resumed:
        cli.call("toolu_open", "make release")
        cli.raw(b'{"type":"assistant","message":{"id":"half a li')
        os._exit(137)
    cli.crew("TaskUpdate", taskId="1", status="completed", evidence={"1": "yes"})
    cli.end(prompt)


def crowd(cli: Cli) -> None:
    """Twenty background agents, two of which ask; stopped, three report and wake the main thread."""
    cli.stays = True
    prompt = cli.begin()
    for number in range(AGENTS):
        cli.system("task_started", task_id=f"a{number}", description=f"agent {number}", task_type="local_agent")
    for number in (1, 2):
        cli.may_i(f"make {number}", call=f"toolu_{number}", agent=f"a{number}")
    cli.end(prompt, "they work")
    cli.interrupted.wait(PATIENCE_S)
    for number in range(3):
        cli.system("task_notification", task_id=f"a{number}", status="completed", output_file="", summary=f"report {number}")
    cli.system("session_state_changed", state="running")
    cli.answer_to(cli.may_i("rm -rf woken", call="t3"))
    cli.end(prompt, "woken", origin={"kind": "task-notification"})
    threading.Event().wait()


def nulls(cli: Cli) -> None:
    """Fields that are null, or words where a number belongs, in messages that the SDK can parse."""
    prompt = cli.begin()
    cli.system("task_started", task_id="a0", description=None, task_type="local_agent")
    cli.say(
        {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": "soon"}, "session_id": "", "uuid": ""}
    )
    cli.system("task_notification", task_id="a0", status="completed", output_file="", summary=None)
    cli.end(prompt, "done all the same")


def stubborn(cli: Cli) -> None:
    """Ignores TERM, the interrupt and the end of its input."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    cli.begin()
    cli.deaf = cli.stays = True
    cli.text("you will not get rid of me")
    threading.Event().wait()


def mute(cli: Cli) -> None:
    """Never answers `initialize`."""
    threading.Event().wait()


def echo(cli: Cli) -> None:
    """Reports at once, and takes whatever it is told after that."""
    prompt = cli.begin()
    cli.crew("TaskUpdate", taskId="1", status="completed", evidence={"1": "yes"})
    while True:
        cli.end(prompt)
        prompt = cli.begin()


def main() -> None:
    """Play."""
    cli = Cli(sys.argv[2], sys.argv[3:])
    play = globals()[sys.argv[1]]
    cli.deaf = play is mute
    threading.Thread(target=cli.listen, daemon=True).start()
    play(cli)
    threading.Event().wait(PATIENCE_S)


if __name__ == "__main__":
    main()
