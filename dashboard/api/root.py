"""The API itself: its routers, its sign-in and its errors."""

from ninja import NinjaAPI
from ninja.security import django_auth

from dashboard.api import checkpoints, context, deciders, decisions, forks, messages, planning, tasks, team_files, teams
from dashboard.api.base import install_errors

api = NinjaAPI(title="Crewdesk", version="1", auth=django_auth, urls_namespace="api", docs_url=None)
api.add_router("/teams", team_files.router, tags=["teams"])  # before the rest: `import` is no team's address
api.add_router("/teams", checkpoints.router, tags=["checkpoints"])
api.add_router("/teams", context.router, tags=["context"])  # before the actions on teams: they take any last word
api.add_router("/teams", deciders.router, tags=["decides"])
api.add_router("/teams", messages.router, tags=["messages"])
api.add_router("/teams", forks.teams_router, tags=["teams"])
api.add_router("/teams", planning.of_team, tags=["tasks"])
api.add_router("/teams", teams.router, tags=["teams"])
api.add_router("/tasks", planning.of_task, tags=["tasks"])
api.add_router("/tasks", tasks.router, tags=["tasks"])
api.add_router("/tasks", forks.router, tags=["tasks"])
api.add_router("/decisions", decisions.router, tags=["decisions"])
install_errors(api)
