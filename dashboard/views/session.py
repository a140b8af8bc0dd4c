"""Signing in with a password or a one-time link, and signing out."""

from django.http import HttpRequest, HttpResponse


def sign_out(request: HttpRequest) -> HttpResponse:
    """Placeholder"""
    raise NotImplementedError
