"""The flat table of addresses."""

from django.urls import URLPattern, URLResolver, path, register_converter

from dashboard.api.root import api
from dashboard.converters import RowNumber
from dashboard.views import (
    agents,
    checkpoints,
    context,
    deciders,
    errors,
    forks,
    history,
    inbox,
    keys,
    messages,
    new_team,
    overview,
    removal,
    search,
    session,
    task_form,
    tasks,
    team_files,
    teams,
    undo,
)

register_converter(RowNumber, "row")
urlpatterns: list[URLPattern | URLResolver] = [
    path("", overview.overview, name="overview"),
    path("inbox/", inbox.inbox, name="inbox"),
    path("inbox/<slug:id>/", inbox.detail, name="inbox-detail"),
    path("inbox/<slug:id>/whole/", inbox.whole, name="decision-whole"),
    path("inbox/<slug:id>/answer/", inbox.answer, name="decision-answer"),
    path("inbox/<slug:id>/looking/", inbox.looking, name="decision-looking"),
    path("inbox/<slug:id>/snooze/", inbox.snooze, name="decision-snooze"),
    path("teams/", teams.listing, name="teams"),
    path("teams/new/", new_team.new_team, name="team-new"),
    path("teams/new/plan/", new_team.create, name="team-create"),
    path("teams/import/", team_files.form, name="team-import"),
    path("teams/import/file/", team_files.load, name="team-import-file"),
    path("teams/<slug:slug>/", teams.team, name="team"),
    path("teams/<slug:slug>/export/", team_files.export, name="team-export"),
    path("teams/<slug:slug>/action/", teams.act, name="team-action"),
    path("teams/<slug:slug>/delete/", removal.page, name="team-removal"),
    path("teams/<slug:slug>/delete/now/", removal.delete, name="team-delete"),
    path("teams/<slug:slug>/how-it-goes/", teams.how_it_goes, name="how-it-goes"),
    path("teams/<slug:slug>/who-decides/", deciders.page, name="deciders"),
    path("teams/<slug:slug>/who-decides/settings/", deciders.settings, name="deciders-settings"),
    path("teams/<slug:slug>/message/", messages.send, name="message-send"),
    path("teams/<slug:slug>/messages/", messages.listing, name="messages"),
    path("teams/<slug:slug>/messages/settings/", messages.settings, name="message-settings"),
    path("teams/<slug:slug>/messages/<slug:id>/action/", messages.act, name="message-action"),
    path("teams/<slug:slug>/tasks/new/", task_form.new, name="task-new"),
    path("teams/<slug:slug>/tasks/new/add/", task_form.add, name="task-add"),
    path("teams/<slug:slug>/context/", context.listing, name="context"),
    path("teams/<slug:slug>/context/action/", context.add, name="context-add"),
    path("teams/<slug:slug>/context/<row:pk>/", context.entry, name="context-entry"),
    path("teams/<slug:slug>/context/<row:pk>/action/", context.act, name="context-action"),
    path("teams/<slug:slug>/checkpoints/", checkpoints.listing, name="checkpoints"),
    path("teams/<slug:slug>/checkpoints/action/", checkpoints.save, name="checkpoint-save"),
    path("teams/<slug:slug>/checkpoints/<slug:id>/", checkpoints.one, name="checkpoint"),
    path("teams/<slug:slug>/checkpoints/<slug:id>/action/", checkpoints.act, name="checkpoint-action"),
    path("tasks/<row:pk>/", tasks.task, name="task"),
    path("tasks/<row:pk>/edit/", task_form.edit, name="task-edit"),
    path("tasks/<row:pk>/edit/save/", task_form.save, name="task-save"),
    path("tasks/<row:pk>/action/", tasks.act, name="task-action"),
    path("runs/<slug:id>/messages/<row:seq>/", forks.message, name="run-message"),
    path("runs/<slug:id>/messages/<row:seq>/action/", forks.act, name="run-message-action"),
    path("runs/<slug:id>/stop/", tasks.stop_run, name="run-stop"),
    path("agents/<row:pk>/", agents.agent, name="agent"),
    path("agents/<row:pk>/action/", agents.act, name="agent-action"),
    path("undo/", undo.undo, name="undo"),
    path("history/", history.history, name="history"),
    path("search/", search.search, name="search"),
    path("keys/", keys.keys, name="keys"),
    path("sign-in/", session.sign_in, name="sign-in"),
    path("sign-in/<str:token>/", session.first_sign_in, name="first-sign-in"),
    path("sign-out/", session.sign_out, name="sign-out"),
    path("api/", api.urls),
]

handler400 = errors.bad_request
handler403 = errors.forbidden
handler404 = errors.not_found
handler500 = errors.server_error
