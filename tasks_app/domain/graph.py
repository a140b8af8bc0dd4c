"""The dependency graph: cycles, order, what blocks and what waits. Nodes map to what they depend on; nothing recurses."""

from collections import deque
from collections.abc import Collection, Container, Hashable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from tasks_app.domain.errors import Invalid
from tasks_app.domain.statuses import TaskStatus

K = TypeVar("K", bound=Hashable)
Deps = Mapping[K, Collection[K]]


class Why(StrEnum):
    """Why a dependency is in the way."""

    WAITING = "waiting"  # not completed yet; it can be
    FAILED = "failed"  # failed for good: nothing happens until a person acts
    CANCELLED = "cancelled"
    CYCLE = "cycle"  # it waits, through others, for itself
    MISSING = "missing"  # there is no such task


@dataclass(frozen=True)
class Blocker(Generic[K]):
    """One dependency that is not completed. `root` is where the trouble lies: the blocker itself or what it waits for."""

    node: K
    why: Why
    root: K

    @property
    def never(self) -> bool:
        """Whether waiting alone will not help."""
        return self.why is not Why.WAITING


@dataclass(frozen=True)
class CriticalPath(Generic[K]):
    """The chain that takes longest, first task first, and how long it takes in the unit of the durations."""

    path: tuple[K, ...]
    total: float


def find_cycle(deps: Deps[K]) -> list[K] | None:
    """Return one cycle as a closed path (`[A, B, C, A]`: A depends on B, …), or None. Unknown nodes have no dependencies."""
    done: set[K] = set()
    for start in deps:
        if start not in done:
            cycle = _cycle_from(start, deps, done)
            if cycle:
                return cycle
    return None


def _cycle_from(start: K, deps: Deps[K], done: set[K]) -> list[K] | None:
    path, places = [start], {start: 0}
    stack = [iter(deps.get(start, ()))]
    while stack:
        following = next(stack[-1], None)
        if following is None:
            stack.pop()
            places.pop(path[-1])
            done.add(path.pop())
        elif following in places:
            return [*path[places[following] :], following]
        elif following not in done:
            places[following] = len(path)
            path.append(following)
            stack.append(iter(deps.get(following, ())))
    return None


def would_cycle(deps: Deps[K], node: K, new_dep: K) -> list[K] | None:
    """Return the shortest cycle that making `node` depend on `new_dep` would close (`[node, new_dep, …, node]`), or None."""
    came_from: dict[K, K] = {new_dep: node}
    queue = deque([new_dep])
    while queue:
        current = queue.popleft()
        if current == node:
            return _back(came_from, node)
        for following in deps.get(current, ()):
            if following not in came_from:
                came_from[following] = current
                queue.append(following)
    return None


def _back(came_from: Mapping[K, K], node: K) -> list[K]:
    path, current = [node], came_from[node]
    while current != node:
        path.append(current)
        current = came_from[current]
    return [*reversed([*path, node])]


def dependents(deps: Deps[K]) -> dict[K, list[K]]:
    """Return the graph turned round: every node with those that depend on it directly."""
    reverse: dict[K, list[K]] = {node: [] for node in deps}
    for node, needed in deps.items():
        for dependency in needed:
            reverse.setdefault(dependency, []).append(node)
    return reverse


def waiting_behind(node: K, deps: Deps[K]) -> int:
    """Return how many nodes depend on `node`, directly or through others."""
    return len(_reachable(node, dependents(deps))) - 1


def _reachable(start: K, edges: Mapping[K, Collection[K]]) -> set[K]:
    seen, todo = {start}, [start]
    while todo:
        for following in edges.get(todo.pop(), ()):
            if following not in seen:
                seen.add(following)
                todo.append(following)
    return seen


def topological_order(deps: Deps[K]) -> list[K]:
    """Return the nodes of `deps`, dependencies first and otherwise in their given order. Raises `Invalid` naming a cycle."""
    reverse = dependents(deps)
    missing = {node: sum(1 for needed in set(wanted) if needed in deps) for node, wanted in deps.items()}
    ready = deque(node for node, count in missing.items() if not count)
    order: list[K] = []
    while ready:
        order.append(ready.popleft())
        for waiting in dict.fromkeys(reverse[order[-1]]):
            missing[waiting] -= 1
            if not missing[waiting]:
                ready.append(waiting)
    if len(order) < len(deps):
        cycle = find_cycle(deps)
        raise Invalid(f"Dependency cycle: {arrows(cycle or ())}.")
    return order


def arrows(path: Collection[object]) -> str:
    """Return a path for people: `A → B → A`."""
    return " → ".join(str(node) for node in path)


def members_of_cycles(deps: Deps[K]) -> set[K]:
    """Return every node that depends on itself, directly or through others."""
    members: set[K] = set()
    for group in _strong_components(deps):
        if len(group) > 1 or group[0] in deps.get(group[0], ()):
            members.update(group)
    return members


def _strong_components(deps: Deps[K]) -> list[list[K]]:
    """Kosaraju: finishing order of one search, then searches of the reversed graph in the opposite order."""
    reverse, seen, groups = dependents(deps), set[K](), list[list[K]]()
    for root in reversed(_finishing_order(deps)):
        if root in seen:
            continue
        seen.add(root)
        group = [root]
        for member in group:  # grows while it is walked
            fresh = [node for node in dict.fromkeys(reverse.get(member, ())) if node not in seen]
            seen.update(fresh)
            group.extend(fresh)
        groups.append(group)
    return groups


def _finishing_order(deps: Deps[K]) -> list[K]:
    order: list[K] = []
    seen: set[K] = set()
    for start in deps:
        if start in seen:
            continue
        seen.add(start)
        stack = [(start, iter(deps.get(start, ())))]
        while stack:
            node, rest = stack[-1]
            following = next((other for other in rest if other not in seen), None)
            if following is None:
                order.append(node)
                stack.pop()
            else:
                seen.add(following)
                stack.append((following, iter(deps.get(following, ()))))
    return order


def dead_ends(deps: Deps[K], statuses: Mapping[K, TaskStatus], *, failed: Container[K] = ()) -> dict[K, tuple[Why, K]]:
    """Return every unfinished node that cannot be completed by waiting alone, with the reason and the node at fault.

    `failed` holds the tasks that failed for good (attempts used up). One walk for the whole graph; the nearest fault wins.
    """
    unfinished = {node: needed for node, needed in deps.items() if statuses.get(node) is not TaskStatus.COMPLETED}
    found = _faults(unfinished, statuses, failed)
    reverse = dependents(unfinished)
    queue = deque(found)
    while queue:
        fault = queue.popleft()
        for waiting in reverse.get(fault, ()):
            if waiting not in found:
                found[waiting] = found[fault]
                queue.append(waiting)
    return found


def _faults(unfinished: Deps[K], statuses: Mapping[K, TaskStatus], failed: Container[K]) -> dict[K, tuple[Why, K]]:
    found: dict[K, tuple[Why, K]] = {}
    for node in [*unfinished, *(needed for wanted in unfinished.values() for needed in wanted)]:
        status = statuses.get(node)
        if status is None:
            found[node] = (Why.MISSING, node)
        elif status is TaskStatus.CANCELLED:
            found[node] = (Why.CANCELLED, node)
        elif status is TaskStatus.PENDING and node in failed:
            found[node] = (Why.FAILED, node)
    for node in members_of_cycles({node: needed for node, needed in unfinished.items() if node not in found}):
        found[node] = (Why.CYCLE, node)
    return found


def blockers(
    node: K,
    deps: Deps[K],
    statuses: Mapping[K, TaskStatus],
    *,
    failed: Container[K] = (),
    dead: Mapping[K, tuple[Why, K]] | None = None,
) -> tuple[Blocker[K], ...]:
    """Return the dependencies of `node` that are not completed, in their order, each with why and whose fault it is.

    Pass `dead` (from `dead_ends`) when asking for many nodes of one graph.
    """
    known = dead_ends(deps, statuses, failed=failed) if dead is None else dead
    return tuple(
        Blocker(needed, *known.get(needed, (Why.WAITING, needed)))
        for needed in dict.fromkeys(deps.get(node, ()))
        if statuses.get(needed) is not TaskStatus.COMPLETED
    )


def critical_path(deps: Deps[K], durations: Mapping[K, float]) -> CriticalPath[K]:
    """Return the longest chain by `durations` (a node without one takes 0). Raises `Invalid` naming a cycle."""
    ends: dict[K, float] = {}
    before: dict[K, K] = {}
    for node in topological_order(deps):
        needed = [dependency for dependency in deps[node] if dependency in ends]
        latest = max(needed, key=ends.__getitem__, default=None)
        if latest is not None:
            before[node] = latest
        ends[node] = durations.get(node, 0.0) + (ends[latest] if latest is not None else 0.0)
    if not ends:
        return CriticalPath((), 0.0)
    last = max(ends, key=ends.__getitem__)
    path = [last]
    while path[-1] in before:
        path.append(before[path[-1]])
    return CriticalPath(tuple(reversed(path)), ends[last])
