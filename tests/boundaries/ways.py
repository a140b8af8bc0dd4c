"""The ways in to a team: a form of a page, a command, the API, an agent's tool. Each sends the same and says what it heard."""

import html
import json
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote_from_bytes

from django.test import Client
from django.urls import reverse

from tasks_app.models import ContextEntry
from tasks_app.tools import registry
from tasks_app.tools.base import Caller
from tests.dashboard.conftest import words_of
from tests.management.commands import run
from tests.services.world import World
from tests.tools.calls import caller


@dataclass(frozen=True)
class Heard:
    """What came back."""

    refused: bool
    words: str


def raw(**fields: str) -> str:
    """A form as a browser sends it; lone surrogates, which no careful one sends, as the bytes they would be."""
    return "&".join(f"{name}={quote_from_bytes(value.encode('utf-8', 'surrogatepass'))}" for name, value in fields.items())


def broken(text: str) -> bool:
    """Whether it has lone surrogates."""
    return any("\ud800" <= each <= "\udfff" for each in text)


class Page:
    """Forms of pages, sent by a browser without scripts."""

    def __init__(self, crew: World, browser: Client) -> None:
        self.crew, self.browser = crew, browser

    def _post(self, view: str, *keys: Any, **fields: str) -> Heard:
        where = reverse(view, args=keys)
        answer = self.browser.post(where, raw(**fields), content_type="application/x-www-form-urlencoded", follow=True)
        words = html.unescape(words_of(answer))
        return Heard(answer.status_code >= 400, words)

    def share(self, name: str, value: Any, version: int = 0) -> Heard:
        fields = {"value": json.dumps(value, ensure_ascii=False), "kind": "json"}
        found = ContextEntry.objects.filter(team=self.crew.team, name=name).first()
        if found is None:
            return self._post("context-add", self.crew.team.slug, name=name, **fields)
        return self._post("context-action", self.crew.team.slug, found.pk, do="change", version=str(version), **fields)

    def message(self, to: str, body: str) -> Heard:
        return self._post("message-send", self.crew.team.slug, to=to, body=body, back="messages")

    def depend(self, task: int, on: str) -> Heard:
        return self._post("task-action", self.crew.tasks[task].pk, do="depend", depends_on=on)

    def restore(self, checkpoint: str, seq: int) -> Heard:
        return self._post("checkpoint-action", self.crew.team.slug, checkpoint, do="restore", seq=str(seq))


class Terminal:
    """`manage.py`."""

    def __init__(self, crew: World, browser: Client) -> None:
        self.crew = crew

    def _run(self, *words: str) -> Heard:
        code, out, err = run(*words)
        return Heard(code != 0, out + err)

    def share(self, name: str, value: Any, version: int = 0) -> Heard:
        return self._run("context", self.crew.team.slug, "set", name, json.dumps(value), "--at-version", str(version))

    def message(self, to: str, body: str) -> Heard:
        return self._run("message", self.crew.team.slug, "send", to, body)

    def depend(self, task: int, on: str) -> Heard:
        return self._run("task", self.crew.team.slug, f"T-{task + 1}", "--depends-on", on)

    def restore(self, checkpoint: str, seq: int) -> Heard:
        return self._run("checkpoint", "restore", self.crew.team.slug, checkpoint, "--at-seq", str(seq))


class Api:
    """The HTTP API."""

    def __init__(self, crew: World, browser: Client) -> None:
        self.crew, self.browser = crew, browser
        self.team = f"/api/teams/{crew.team.slug}"

    def _send(self, method: str, path: str, **body: Any) -> Heard:
        plain = json.dumps(body, ensure_ascii=False)
        whole = json.dumps(body) if broken(plain) else plain  # lone surrogates can only be sent escaped
        answer = getattr(self.browser, method)(path, whole, content_type="application/json")
        found = json.loads(answer.content)
        error = found.get("error") or {}
        return Heard(answer.status_code >= 400, " ".join([error.get("message", ""), json.dumps(found, ensure_ascii=False)]))

    def share(self, name: str, value: Any, version: int = 0) -> Heard:
        return self._send("put", f"{self.team}/context/{name}", value=value, version=version)

    def message(self, to: str, body: str) -> Heard:
        return self._send("post", f"{self.team}/messages", to=to, message=body)

    def depend(self, task: int, on: str) -> Heard:
        return self._send("post", f"/api/tasks/{self.crew.tasks[task].pk}/dependencies", needs=[on])

    def restore(self, checkpoint: str, seq: int) -> Heard:
        return self._send("post", f"{self.team}/checkpoints/{checkpoint}/restore", seq=seq)


class Tool:
    """A crew tool, called in an attempt at the first task by the second agent."""

    def __init__(self, crew: World, browser: Client) -> None:
        self.crew = crew
        self.me: Caller = replace(caller(crew, 0, 1))

    def _call(self, tool: str, /, **arguments: Any) -> Heard:
        words, refused = registry.call(tool, self.me, arguments)
        return Heard(refused, words)

    def share(self, name: str, value: Any, version: int = 0) -> Heard:
        return self._call("ShareContext", name=name, value=value, version=version)

    def message(self, to: str, body: str) -> Heard:
        return self._call("SendMessage", to=to, message=body)

    def depend(self, task: int, on: str) -> Heard:
        return self._call("TaskUpdate", taskId=f"T-{task + 1}", addBlockedBy=[on])


WAYS: dict[str, type[Any]] = {"page": Page, "terminal": Terminal, "API": Api, "agent's tool": Tool}
