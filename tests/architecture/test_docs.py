"""Events, errors, endpoints and settings are documented; what is not fails here."""

import re
from collections.abc import Iterator
from pathlib import Path

from dashboard.api.root import api
from tasks_app.domain import errors
from tasks_app.domain.events import EVENT_DATA

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_every_event_is_documented_with_its_data() -> None:
    rows = dict(re.findall(r"^\| `([\w.]+)` \| (.*) \|$", (DOCS / "events.md").read_text(), re.MULTILINE))
    assert rows == {kind.value: data or "–" for kind, data in EVENT_DATA.items()}


def test_every_event_that_is_documented_can_happen() -> None:
    services = "".join(path.read_text() for path in (DOCS.parent / "tasks_app" / "services").glob("*.py"))
    assert [kind.value for kind in EVENT_DATA if not re.search(rf"\bEventKind\.{kind.name}\b", services)] == []


def test_every_error_code_is_documented() -> None:
    text = (DOCS / "api.md").read_text()
    tree = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.DomainError)]
    inner = {errors.DomainError.code, *(kind.code for kind in tree if issubclass(kind, errors.LeaseLost))}
    shown = {kind.code for kind in tree} - inner  # none of those reaches a client
    assert [code for code in sorted(shown) if f"`{code}`" not in text] == []


def test_every_endpoint_is_documented_by_its_whole_path_and_no_other() -> None:
    cells = re.findall(r"^\| (`(?:GET|POST|PUT|PATCH|DELETE)[` ].*?) \|", (DOCS / "api.md").read_text(), re.MULTILINE)
    assert sorted(one for cell in cells for one in _requests(cell)) == sorted(_endpoints())


def _requests(cell: str) -> Iterator[str]:
    """Yield what a cell of the table stands for: "`GET`, `PUT /a/b` `{x}`" and "`POST /a/b`, `/c`" are two requests each."""
    methods: list[str] = []
    path = ""
    for span in re.findall(r"`([^`]*)`", cell):
        method, _, rest = span.partition(" ")
        if method in METHODS:
            methods = [*([] if path else methods), method]
            path = rest
        elif span.startswith("/"):
            path = span if span.startswith("/api/") else f"{path.rpartition('/')[0]}{span}"
        else:
            continue  # the body
        if path:
            yield from (f"{one} {path.partition('?')[0]}" for one in methods)


def _endpoints() -> Iterator[str]:
    """Yield every request that is answered; one whose last word is one of several is as many requests."""
    for path, methods in api.get_openapi_schema()["paths"].items():
        for method, described in methods.items():
            words = {one["name"]: one["schema"].get("enum", ()) for one in described.get("parameters", ())}
            for word in words.get("action", ()) or [""]:
                yield f"{method.upper()} {path.replace('{action}', word)}"
