"""Names that hold on one installation only, inside texts: taken out when a team leaves, put in when it arrives."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from tasks_app.domain.team_file import IDS, WORKSPACE
from tasks_app.domain.text import change_texts

Change = Callable[[str], str]


def leaving(workspace: str) -> Change:
    """Return what takes the folder of the team out of a text; longer names that only begin like it stay."""
    folder = re.compile(re.escape(workspace.rstrip("/")) + r"(?![\w-]|\.\w)")

    def change(text: str) -> str:
        return folder.sub(WORKSPACE, text) if workspace.rstrip("/") in text else text

    return change if workspace.strip("/") else lambda text: text


def arriving(workspace: str, ids: Mapping[str, str]) -> Change:
    """Return what puts the new folder and the new ids (old → new) into a text."""

    def change(text: str) -> str:
        if WORKSPACE in text:
            text = text.replace(WORKSPACE, workspace)
        return IDS.sub(lambda found: ids.get(found[0], found[0]), text) if ids else text

    return change


def in_value(value: Any, change: Change, most: int | None = None) -> Any:
    """Return plain JSON or a text, changed; a text of a column of `most` characters is cut to what fits."""
    if isinstance(value, str):
        return change(value) if most is None else change(value)[:most]
    return change_texts(value, change) if isinstance(value, dict | list) else value


def in_line(entry: str, change: Change) -> str:
    """Return one line of a transcript, changed; exact otherwise. Raises `ValueError` where it is no JSON."""
    return json.dumps(change_texts(json.loads(entry), change))
