"""The flat table of addresses."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
