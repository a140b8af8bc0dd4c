"""Signing in with a password or a one-time link, and signing out."""

from django.contrib.auth import login, logout
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import AuthenticationForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from tasks_app.management import sign_in as links
from tasks_app.services import accounts

BACKEND = "django.contrib.auth.backends.ModelBackend"


@login_not_required
@sensitive_post_parameters("password")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    """Ask for name and password; sign in and go where one wanted to go."""
    target = _target(request)
    if request.user.is_authenticated:
        return HttpResponseRedirect(target)
    form = AuthenticationForm(request, data=request.POST or None)
    if request.method == "POST" and form.is_valid():
        login(request, form.get_user())
        return HttpResponseRedirect(target)
    status = 422 if request.method == "POST" else 200
    return render(request, "pages/sign_in.html", {"form": form, "next": target}, status=status)


@login_not_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def first_sign_in(request: HttpRequest, token: str) -> HttpResponse:
    """Use a one-time link. Opening it shows one button, so that a preview of the link does not use it up."""
    user = links.check(token) if request.method == "POST" else links.peek(token)
    if user is None:
        return render(request, "pages/link_over.html", status=403)
    if request.method != "POST":
        return render(request, "pages/first_sign_in.html", {"username": user.get_username()})
    login(request, user, backend=BACKEND)
    return redirect("overview")


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """End the session, and with it the live pages that are open under it."""
    logout(request)
    accounts.signed_out()
    return redirect("sign-in")


def _target(request: HttpRequest) -> str:
    wanted = request.POST.get("next") or request.GET.get("next") or "/"
    safe = url_has_allowed_host_and_scheme(wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure())
    return wanted if safe else "/"
