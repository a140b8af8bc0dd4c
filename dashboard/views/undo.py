"""The button beside what was just done: takes it back, or says why that cannot be done any more."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from dashboard.access import require_team
from dashboard.http import post_only
from dashboard.views.act import tell, undo_in
from dashboard.views.page import Page
from dashboard.views.tasks import back
from tasks_app.domain.errors import NotFound
from tasks_app.services import undo as service
from tasks_app.services.undo import Act


@post_only
def undo(request: HttpRequest) -> HttpResponse:
    """Undo an act, then show what it was about."""
    page = Page.open(request, "overview")
    found = undo_in(request)
    team_pk = service.team_of(found)
    if team_pk is None or not page.viewer.can_see(team_pk):
        raise NotFound("There is nothing here to undo, or you have no access to it.", field="undo")
    require_team(page.viewer, team_pk, act=True)
    tell(request, service.take_back(found, actor=page.viewer.actor))
    return redirect("inbox-detail", found.id) if found.act is Act.SNOOZED else back(request, int(found.id))
