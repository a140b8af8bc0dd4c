"""What guards every response and log line: the content security policy and the sign-in requirement."""

import re
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.views.debug import SafeExceptionReporterFilter

from dashboard import problem


class ContentSecurityPolicyMiddleware:
    """Sets one strict policy on every response; nothing is inline, so there is no nonce."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Add the header unless a view has set a stricter one."""
        response = self.get_response(request)
        response.headers.setdefault("Content-Security-Policy", settings.CONTENT_SECURITY_POLICY)
        response.headers.setdefault("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
        return response


def sign_in_first(request: HttpRequest) -> HttpResponse:
    """Return what somebody gets who is not signed in: a program 401, a person the page to sign in at."""
    if request.path.startswith("/api/"):
        return JsonResponse(problem.body("sign_in_required", "Sign in first."), status=401)
    return redirect("sign-in")


class SignInRequiredMiddleware(LoginRequiredMiddleware):
    """Every view asks who is there; the few public ones say so with `login_not_required`. The API answers in JSON."""

    def process_view(
        self,
        request: HttpRequest,
        view_func: Callable[..., HttpResponseBase],
        view_args: tuple[Any, ...],
        view_kwargs: dict[str, Any],
    ) -> HttpResponseBase | None:
        """Send people to the sign-in page; tell programs 401."""
        if request.path.startswith("/api/") and not request.user.is_authenticated:
            return sign_in_first(request)
        return super().process_view(request, view_func, view_args, view_kwargs)


class HiddenSettings(SafeExceptionReporterFilter):
    """What Django's error page of developers leaves out: besides what is called a secret, addresses, for some hold a password."""

    hidden_settings = re.compile(rf"{SafeExceptionReporterFilter.hidden_settings.pattern}|_URL$", re.IGNORECASE)
