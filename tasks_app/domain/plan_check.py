"""What must hold between the parts of a plan: names are unique and known, dependencies exist and close no cycle.

Looks at the plain document, not at the model, so that these problems are found beside those of single fields.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tasks_app.domain import criteria, deciders, graph, json_schema, names
from tasks_app.domain.criteria import fold as fold_criterion
from tasks_app.domain.plan_lines import Path
from tasks_app.domain.plan_model import fold, index
from tasks_app.domain.text import clean_json

Report = Callable[[Path, str, str], None]
"""Called with the path, the message and the fix of each problem."""


@dataclass(frozen=True)
class _Item:
    """An agent or task of the document with its place in its list."""

    place: int
    fields: dict[str, Any]

    def text(self, name: str) -> str:
        """The field as text, empty where it is none."""
        value = self.fields.get(name)
        return value.strip() if isinstance(value, str) else ""


def check(document: Any, *, known_types: Collection[str], report: Report) -> None:
    """Report every problem between the parts of `document`; anything of an unexpected shape is passed over."""
    agents, tasks = _items(document, "agents"), _items(document, "tasks")
    _unique(agents, "agents", "name", "agent", report)
    _unique(tasks, "tasks", "title", "task", report)
    _unique(tasks, "tasks", "key", "key", report)
    _keys_are_no_titles(tasks, report)
    limits = document.get("limits")
    if isinstance(limits, dict):
        _nested("the team's", document.get("budget"), ("limits", "run_budget"), limits.get("run_budget"), report)
    for task in tasks:
        _owner(task, agents, report)
        _type(task, known_types, report)
        _criteria(task, report)
        _judges(task, agents, report)
        _budget(document, task, report)
    _dependencies(tasks, report)
    _context(document, report)
    _lead_agent(document, agents, report)


def _lead_agent(document: Any, agents: list[_Item], report: Report) -> None:
    """There is at most one, it does not stand alone, and what it is to decide has somebody to decide it."""
    leads = [agent for agent in agents if deciders.is_lead(agent.text("role"))]
    for second in leads[1:]:
        message = f"agents[{leads[0].place}] is the lead agent already: a team has one at most."
        report(("agents", second.place, "role"), message, "Give it another role.")
    if agents and len(leads) == len(agents):
        report(("agents", leads[0].place, "role"), "There is nobody to lead.", "Add an agent that does the tasks.")
    given = document.get("decides") if isinstance(document, dict) else None
    for name, wanted in given.items() if isinstance(given, dict) and not leads else ():
        if wanted == deciders.Decider.LEAD and name in tuple(deciders.Subject):
            report(("decides", name), "No agent has the role lead.", "Add an agent with role: lead, or write human.")


def _context(document: Any, report: Report) -> None:
    """Schemas of shared entries are sound, and what the team starts with fits them."""
    schemas, values = ((document.get(name) if isinstance(document, dict) else None) for name in ("context_schemas", "context"))
    for name, schema in schemas.items() if isinstance(schemas, dict) else ():
        if not isinstance(schema, dict):
            continue
        unfit = json_schema.flaws_of(schema)
        for one in unfit:
            report(("context_schemas", name, *one.place), one.message, one.fix or "Correct the JSON Schema (2020-12).")
        if not unfit and isinstance(values, dict) and name in values:
            for one in json_schema.flaws_in(clean_json(values[name]), schema):
                report(("context", name, *one.place), one.message, one.fix or "Change the value, or its schema.")


def _items(document: Any, name: str) -> list[_Item]:
    listed = document.get(name) if isinstance(document, dict) else None
    rows = listed if isinstance(listed, list) else []
    return [_Item(place, row) for place, row in enumerate(rows) if isinstance(row, dict)]


def _unique(items: list[_Item], section: str, field: str, what: str, report: Report) -> None:
    first: dict[str, _Item] = {}
    offered: list[str] = []
    for item in items:
        name = item.text(field)
        earlier = first.setdefault(fold(name), item) if name else item
        if earlier is not item:
            offered += [_free(name, items, offered)] if what == "agent" else []
            fix = f'Rename it, for example to "{offered[-1]}".' if offered else "Rename one of them."
            report((section, item.place, field), f'"{name}" is also {section}[{earlier.place}].{field}.', fix)


def _free(name: str, items: list[_Item], offered: Sequence[str] = ()) -> str:
    """A name that no other agent has, and that no other of the same name was offered."""
    return names.unique(name, (*(item.text("name") for item in items), *offered))


def _keys_are_no_titles(tasks: list[_Item], report: Report) -> None:
    titles = {fold(task.text("title")): task for task in tasks if task.text("title")}
    for task in tasks:
        other = titles.get(fold(task.text("key"))) if task.text("key") else None
        if other is not None and other is not task:
            message = f'"{task.text("key")}" is the title of tasks[{other.place}]: depends_on could mean either.'
            report(("tasks", task.place, "key"), message, "Choose another key.")


def _owner(task: _Item, agents: list[_Item], report: Report) -> None:
    role, assignee = task.text("role"), task.text("assignee")
    roles = {agent.text("role") for agent in agents} - {""}
    people = {agent.text("name"): agent for agent in agents if agent.text("name")}
    if role and roles and role not in roles:
        fix = names.did_you_mean(role, roles)
        report(("tasks", task.place, "role"), f'No agent has the role "{role}".', fix)
    if assignee and people and assignee not in people:
        fix = names.did_you_mean(assignee, people)
        report(("tasks", task.place, "assignee"), f'There is no agent "{assignee}".', fix)
    if role and assignee in people and role in roles and people[assignee].text("role") != role:
        message = f'"{assignee}" has the role "{people[assignee].text("role")}", not "{role}".'
        report(("tasks", task.place, "assignee"), message, "Keep either role or assignee.")


def _type(task: _Item, known_types: Collection[str], report: Report) -> None:
    name = task.text("type")
    if name and name not in known_types:
        report(("tasks", task.place, "type"), f'There is no task type "{name}".', names.did_you_mean(name, known_types))


def _criteria(task: _Item, report: Report) -> None:
    listed = task.fields.get("criteria")
    first: dict[str, int] = {}
    for place, one in enumerate(listed if isinstance(listed, list) else ()):
        text = one if isinstance(one, str) else next(iter(criteria.texts([one])), "") if isinstance(one, dict) else ""
        folded = fold_criterion(text)
        if folded and first.setdefault(folded, place) != place:
            report(("tasks", task.place, "criteria", place), f"repeats criteria[{first[folded]}].", "Remove one of them.")


def _judges(task: _Item, agents: list[_Item], report: Report) -> None:
    """The lead judges, or one person, or an agent of the plan other than the one that does the task."""
    first, listed, known = "", task.fields.get("criteria"), {criteria.LEAD, *(agent.text("name") for agent in agents)} - {""}
    for place, one in enumerate(listed if isinstance(listed, list) else ()):
        judge = one.get("judge") if isinstance(one, dict) else None
        name, path = judge.strip() if isinstance(judge, str) else "", ("tasks", task.place, "criteria", place, "judge")
        human = name if name == criteria.LEAD or name.startswith(criteria.PERSON) else ""
        if human and (first := first or human) != human:
            report(path, f'"{human}" cannot judge beside "{first}".', "Let one person judge a task: name the same in each.")
        elif name and not human and name not in known:
            message = f'"{name}" cannot judge: that is neither {criteria.LEAD} nor an agent.'
            report(path, message, f"{names.did_you_mean(name, known)} A person is written as @anna.")
        elif name == criteria.PERSON:
            report(path, "does not say which person judges.", "Write the account after the @, such as @anna.")
        elif name and name == task.text("assignee"):
            report(path, f'"{name}" would judge its own work.', f"Name another agent, or {criteria.LEAD}.")


def _budget(document: Any, task: _Item, report: Report) -> None:
    """Budgets nest: that of a task lies within the team's, that of a run within the task's and the team's."""
    team, own, run = document.get("budget"), task.fields.get("budget"), task.fields.get("run_budget")
    place = ("tasks", task.place)
    _nested("the team's", team, (*place, "budget"), own, report)
    if not _nested("the task's", own, (*place, "run_budget"), run, report):
        _nested("the team's", team, (*place, "run_budget"), run, report)


def _nested(whose: str, whole: Any, path: Path, part: Any, report: Report) -> bool:
    """Report where `part` is more than the `whole` that it belongs to; whether it is."""
    found = False
    for unit in ("usd", "tokens"):
        limits = [one.get(unit) if isinstance(one, dict) else None for one in (whole, part)]
        numbers = [one for one in limits if isinstance(one, int | float) and not isinstance(one, bool)]
        if len(numbers) == 2 and numbers[1] > numbers[0]:
            report((*path, unit), f"{numbers[1]} is more than {whose} {numbers[0]}.", f"Lower it, or raise {whose} budget.")
            found = True
    return found


def _dependencies(tasks: list[_Item], report: Report) -> None:
    places = index(tasks, lambda task: task.text("key"), lambda task: task.text("title"))
    edges: dict[int, dict[int, int]] = {at: {} for at in range(len(tasks))}  # task → dependency → place in depends_on
    for at, task in enumerate(tasks):
        for place, name in _needed(task):
            _dependency(tasks, at, place, name, places, edges[at], report)
    _cycles(tasks, edges, report)


def _needed(task: _Item) -> Iterator[tuple[int, str]]:
    listed = task.fields.get("depends_on")
    for place, name in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(name, str) and name.strip():
            yield place, name.strip()


def _dependency(
    tasks: list[_Item], at: int, place: int, name: str, places: dict[str, int], edges: dict[int, int], report: Report
) -> None:
    path: Path = ("tasks", tasks[at].place, "depends_on", place)
    needed = places.get(fold(name))
    if needed is None:
        others = [text for task in tasks if task is not tasks[at] for text in (task.text("key"), task.text("title")) if text]
        report(path, f'There is no task "{name}".', names.did_you_mean(name, others))
    elif needed == at:
        report(path, "The task depends on itself.", "Remove it.")
    elif needed in edges:
        report(path, f'"{name}" is listed twice.', "Remove one of them.")
    else:
        edges[needed] = place


def _cycles(tasks: list[_Item], edges: dict[int, dict[int, int]], report: Report) -> None:
    """Report one cycle of each tangle; its members are then left out, so that another tangle is still found."""
    rest = {at: set(needed) for at, needed in edges.items()}
    while cycle := graph.find_cycle(rest):
        labels = [tasks[at].text("key") or tasks[at].text("title") or f"tasks[{tasks[at].place}]" for at in cycle]
        path: Path = ("tasks", tasks[cycle[0]].place, "depends_on", edges[cycle[0]][cycle[1]])
        report(path, f"Dependency cycle: {graph.arrows(labels)}.", "Remove one of these dependencies.")
        rest = {at: needed - set(cycle) for at, needed in rest.items() if at not in cycle}
