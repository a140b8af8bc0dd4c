"""A browser without scripts over HTTP: it reads pages, fills in the forms that stand on them, and presses their buttons."""

import html
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

import httpx

from tests.management.desks import RunningDesk, wait_for


@dataclass
class Form:
    """A form as it stands on a page: where it goes, and what it sends as it is."""

    action: str
    fields: dict[str, str] = field(default_factory=dict)


class Forms(HTMLParser):
    """Collects the forms of a page that post."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Form] = []
        self._open: Form | None = None
        self._area = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._open = Form(given.get("action", ""))
            if given.get("method") == "post":
                self.found.append(self._open)
        elif self._open is not None and (name := given.get("name")):
            off = given.get("type") in ("radio", "checkbox") and "checked" not in given
            if tag == "input" and given.get("type") not in ("submit", "file") and not off:
                self._open.fields[name] = given.get("value", "")
            self._area = name if tag == "textarea" else ""
            if self._area:
                self._open.fields[name] = ""

    def handle_data(self, data: str) -> None:
        if self._open is not None and self._area:
            self._open.fields[self._area] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._area = ""
        elif tag == "form":
            self._open = None


class Paper:
    """A signed-in lead. Every address is one of the desk's."""

    def __init__(self, desk: RunningDesk) -> None:
        root = f"http://127.0.0.1:{desk.port}"
        self.client = httpx.Client(base_url=root, headers={"Origin": root}, follow_redirects=True, timeout=60)
        self.path = self.html = ""
        self.status = 0
        self.open(desk.link().removeprefix(root))
        self.send("sign-in")

    def open(self, path: str) -> str:
        """Go to a page; returns its words."""
        return self._at(self.client.get(path))

    def send(self, action: str, **fields: str) -> str:
        """Send the form of this page whose address holds `action`, and whose `do` is that of `fields`; returns the words."""
        parser = Forms()
        parser.feed(self.html)
        fitting = [
            one
            for one in parser.found
            if action in (one.action or self.path) and ("do" not in fields or one.fields.get("do", fields["do"]) == fields["do"])
        ]
        assert fitting, f"{self.path} has no form {action} {fields.get('do', '')}: {[(f.action, f.fields) for f in parser.found]}"
        form = fitting[0]
        return self._at(self.client.post(form.action or self.path, data=form.fields | fields))

    def until(self, path: str, words: str, *, seconds: float = 60) -> str:
        """Look at a page again and again until it says so; returns its words."""
        wait_for(lambda: words in self.open(path), seconds=seconds)
        return self.open(path)

    def link(self, pattern: str) -> str:
        """Return the first address on this page that fits."""
        found = re.search(rf'href="({pattern})"', self.html)
        assert found, f"{self.path} has no link {pattern}"
        return html.unescape(found[1])

    def _at(self, answer: httpx.Response) -> str:
        self.path, self.html, self.status = answer.url.raw_path.decode(), answer.text, answer.status_code
        text = re.sub(r"<(script|style|title)[^>]*>.*?</\1>", " ", self.html, flags=re.DOTALL)
        return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())
