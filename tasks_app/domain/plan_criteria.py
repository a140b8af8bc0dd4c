"""Acceptance criteria in a plan file: a text, or a mapping that says how it is proved."""

import re
from typing import Annotated, Any, Final, Self

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from tasks_app.domain import addresses, paths
from tasks_app.domain.criteria import MAX_CHECK_S, MAX_LENGTH, PROVED, is_address
from tasks_app.domain.text import clean

TAGS: Final = ("=text", "=proof")
"""What Pydantic adds to the path of a problem within a criterion; no person wrote it."""


def refusal(message: str, fix: str) -> PydanticCustomError:
    """Return a refused value: what is wrong with it, and how to mend it."""
    return PydanticCustomError("refused", "{why}", {"why": message, "fix": fix})


class Proof(BaseModel):
    """A criterion that is not taken on the agent's word: exactly one of check, artifact and judge."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True, hide_input_in_errors=True)

    check: Annotated[str, Field(min_length=1, max_length=2000)] | None = Field(
        default=None, description="A command that the server runs in the workspace; met when it ends with 0"
    )
    artifact: Annotated[str, Field(min_length=1, max_length=500)] | None = Field(
        default=None, description="A file of the workspace that must be there, or the beginning of an address that is named"
    )
    judge: Annotated[str, Field(min_length=1, max_length=60)] | None = Field(
        default=None, description="Who looks at the work: lead, @ and the account of one person, or another agent"
    )
    text: Annotated[str, Field(max_length=MAX_LENGTH)] = Field(default="", description="The criterion in words")
    seconds: Annotated[float, Field(strict=True, ge=1, le=MAX_CHECK_S)] | None = Field(
        default=None, description="How long the check may take; empty: 120"
    )

    @model_validator(mode="before")
    @classmethod
    def _known(cls, given: Any) -> Any:
        if isinstance(given, dict) and not {one.value for one in PROVED} & set(given):
            raise refusal(
                "must be a text, or a mapping with check, artifact or judge.", "Put it in quotes if it is a text with a colon."
            )
        return given

    @model_validator(mode="after")
    def _one_proof(self) -> Self:
        given = [one.value for one in PROVED if getattr(self, one.value) is not None]
        if not given:
            raise refusal("does not say how it is proved.", "Write, for example, check: pytest -q.")
        if len(given) > 1:
            raise refusal(f"has both {' and '.join(given)}.", "Make two criteria of it.")
        if self.judge is not None and not self.text:
            raise refusal("does not say what is judged.", "Add text: and what must be so, in words.")
        if self.seconds is not None and self.check is None:
            raise refusal("has seconds, which only a check may have.", "Leave seconds out.")
        if self.artifact is not None:
            _must_be_reachable(self.artifact)
        return self


def _must_be_reachable(artifact: str) -> None:
    if is_address(artifact):
        if fault := addresses.link_fault(artifact):
            raise refusal(f"The artifact {fault}.", "Write a public address, or a path of the workspace.")
    elif "://" in artifact or artifact.startswith("/") or paths.outside(artifact, "/workspace") or clean(artifact) != artifact:
        raise refusal("The artifact must be a path inside the workspace.", "Write, for example, docs/api.md.")
    elif paths.inside(artifact, "/workspace") == "." or re.search(r"[*?\[]", artifact):
        raise refusal("The artifact must be one file or folder.", "Write, for example, docs/api.md.")


def _kind(given: Any) -> str:
    return TAGS[1] if isinstance(given, dict | Proof) else TAGS[0]


Criterion = Annotated[
    Annotated[str, Field(min_length=1, max_length=MAX_LENGTH), Tag(TAGS[0])] | Annotated[Proof, Tag(TAGS[1])],
    Discriminator(_kind),
]


def stored(criterion: str | Proof) -> str | dict[str, Any]:
    """Return a criterion of a plan as a task keeps it."""
    return criterion if isinstance(criterion, str) else criterion.model_dump(exclude_defaults=True)
