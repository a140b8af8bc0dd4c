"""Calling a crew tool as an agent does."""

from tasks_app.tools import registry
from tasks_app.tools.base import Caller


def caller(crew, task=0, agent=0):
    held = crew.claim(task, agent)
    who = crew.agents[agent]
    return Caller(held.id, held.fence, held.team_id, who.pk, who.name, held.task_id, crew.tasks[task].number)


def good(me, name, tool_use_id="", /, **arguments):
    text, is_error = registry.call(name, me, arguments, tool_use_id)
    assert not is_error, text
    return text


def bad(me, name, /, **arguments):
    text, is_error = registry.call(name, me, arguments)
    assert is_error, text
    return text
