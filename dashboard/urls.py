"""The flat table of addresses."""

from django.urls import URLPattern, path

from dashboard.views import overview, session

urlpatterns: list[URLPattern] = [
    path("", overview.overview, name="overview"),
    path("inbox/", overview.overview, name="inbox"),
    path("inbox/<str:id>/", overview.overview, name="inbox-detail"),
    path("teams/", overview.overview, name="teams"),
    path("teams/new/", overview.overview, name="team-new"),
    path("teams/<slug:slug>/", overview.overview, name="team"),
    path("tasks/<int:pk>/", overview.overview, name="task"),
    path("agents/<int:pk>/", overview.overview, name="agent"),
    path("history/", overview.overview, name="history"),
    path("sign-out/", session.sign_out, name="sign-out"),
    path("live/", overview.overview, name="live"),
]
