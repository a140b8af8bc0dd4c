"""Events, errors, endpoints and settings are documented; what is not fails here."""

import re
from pathlib import Path

from dashboard.api.root import api
from tasks_app.domain import errors
from tasks_app.domain.events import EVENT_DATA

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_every_event_is_documented_with_its_data() -> None:
    rows = dict(re.findall(r"^\| `([\w.]+)` \| (.*) \|$", (DOCS / "events.md").read_text(), re.MULTILINE))
    assert rows == {kind.value: data or "–" for kind, data in EVENT_DATA.items()}


def test_every_error_code_is_documented() -> None:
    text = (DOCS / "api.md").read_text()
    tree = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.DomainError)]
    inner = {errors.DomainError.code, *(kind.code for kind in tree if issubclass(kind, errors.LeaseLost))}
    shown = {kind.code for kind in tree} - inner  # none of those reaches a client
    assert [code for code in sorted(shown) if f"`{code}`" not in text] == []


def test_every_endpoint_is_documented() -> None:
    text = (DOCS / "api.md").read_text()
    paths = {re.sub(r"\{\w+\}", "", path).rstrip("/").rsplit("/", 1)[-1] for path in api.get_openapi_schema()["paths"]}
    assert [word for word in sorted(paths) if word and word not in text] == []
