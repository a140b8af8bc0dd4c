"""Cuts, cleans and masks what an agent said, called and got back, for the record."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tasks_app.domain.text import clean, clean_json, cut, mask_json, mask_secrets

PREVIEW = 64 * 1024
"""Code points kept of one text; the whole stays in the transcript."""
_SLACK = 4096
"""Masked beyond the cut, so that a secret that straddles it is not left half open."""


@dataclass(frozen=True)
class Kept:
    """What is kept of a text, and how long it was."""

    text: str
    size: int

    @property
    def facts(self) -> dict[str, Any]:
        """Size facts for `StepDraft.data`: only where something was cut."""
        return {"size": self.size, "cut": True} if self.size > len(self.text) else {}


def kept(text: str) -> Kept:
    """Return at most `PREVIEW` code points of `text`, cleaned and masked, with the size of the whole."""
    if len(text) <= PREVIEW:
        whole = mask_secrets(clean(text))
        return Kept(whole, len(whole))
    return Kept(cut(mask_secrets(clean(text[: PREVIEW + _SLACK])), PREVIEW), len(text))


def kept_json(value: Any) -> dict[str, Any]:
    """Return `{"input": …}` cleaned and masked, or `{"preview": JSON text, "size": …, "cut": True}` where it is too large."""
    plain = clean_json(value)
    text = json.dumps(plain, ensure_ascii=False)
    if len(text) <= PREVIEW:
        return {"input": mask_json(plain)}
    return {"preview": kept(text).text, "size": len(text), "cut": True}


def result_text(content: str | Sequence[Any] | None) -> str:
    """Return the text of a tool result; pictures and other blocks are named with their size."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return "\n".join(_block_text(block) for block in content)


def _block_text(block: Any) -> str:
    if not isinstance(block, dict):
        return str(block)
    if isinstance(block.get("text"), str):
        return str(block["text"])
    source = block.get("source")
    size = len(str(source.get("data", ""))) if isinstance(source, dict) else len(json.dumps(clean_json(block)))
    return f"[{block.get('type', 'block')}, {size} bytes]"
