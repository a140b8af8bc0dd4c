"""What the endpoints share: who asks, what they may reach, and one shape of error."""

from typing import Annotated, Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from ninja import NinjaAPI, Schema
from ninja.errors import ValidationError
from pydantic import AfterValidator, ConfigDict, Field

from dashboard import problem
from dashboard.access import Viewer, team_at, viewer_for
from dashboard.uploads import too_much
from dashboard.views.errors import NO_DATABASE_WORDS, RETRY_S
from tasks_app.domain.errors import DomainError, TooLarge, Unavailable
from tasks_app.domain.ids import MAX_PK
from tasks_app.domain.text import clean

Pk = Annotated[int, Field(le=MAX_PK)]
"""The number of a row: beyond `MAX_PK` a database does not look, it fails."""
Name = Annotated[str, AfterValidator(clean)]
"""A name or id that rows are looked for by: PostgreSQL fails at a NUL, and every database at half a surrogate pair."""


class Body(Schema):
    """A request body: unknown fields are refused, so that a misspelt one is not silently lost."""

    model_config = ConfigDict(extra="forbid")


class ErrorDetail(Schema):
    """What went wrong: a stable code, words for people, the field and, for plans, every problem."""

    code: str
    message: str
    field: str = ""
    problems: list[dict[str, Any]] = []


class ErrorAnswer(Schema):
    """The one shape of every error."""

    error: ErrorDetail


def viewer_of(request: HttpRequest) -> Viewer:
    """Return who asks."""
    return viewer_for(request.user)


def team_of(request: HttpRequest, slug: str, *, act: bool = False) -> tuple[int, Viewer]:
    """Return the primary key of a team that may be seen (`act`: changed) and who asks. Raises NotFound or Forbidden."""
    viewer = viewer_of(request)
    return team_at(viewer, slug, act=act).pk, viewer


def install_errors(api: NinjaAPI) -> None:
    """Map expected failures once for every endpoint."""

    @api.exception_handler(DomainError)
    def _domain(request: HttpRequest, error: DomainError) -> HttpResponse:
        return api.create_response(request, problem.answer(error), status=error.status)

    @api.exception_handler(RequestDataTooBig)
    def _too_big(request: HttpRequest, error: RequestDataTooBig) -> HttpResponse:
        words = too_much(settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
        return api.create_response(request, problem.answer(TooLarge(words)), status=413)

    @api.exception_handler(OperationalError)
    @api.exception_handler(InterfaceError)
    def _no_database(request: HttpRequest, error: Exception) -> HttpResponse:
        answer = api.create_response(request, problem.answer(Unavailable(": ".join(NO_DATABASE_WORDS))), status=503)
        answer["Retry-After"] = RETRY_S
        return answer

    @api.exception_handler(ValidationError)
    def _validation(request: HttpRequest, error: ValidationError) -> HttpResponse:
        problems = [
            {"path": ".".join(str(p) for p in e["loc"][1:]), "message": e["msg"], "line": None, "fix": ""} for e in error.errors
        ]
        first = problems[0] if problems else {"path": "", "message": "The request is not right."}
        message = f"{first['path'] or 'body'}: {first['message']}"
        told = problem.body("invalid", message, field=first["path"], problems=problems)
        return api.create_response(request, told, status=422)
