"""A look: while it lasts, what several blocks of one page ask for is read once. Outside of a look everything is read anew.

Whoever draws blocks opens it for as long as all of them are to show the same moment, and never across a write.
"""

from collections.abc import Callable, Collection, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, TypeVar

T = TypeVar("T")
Look = dict[Hashable, Any]
_current: ContextVar[Look | None] = ContextVar("look", default=None)


@contextmanager
def through(look: Look) -> Iterator[None]:
    """Let every selector inside read and fill this look."""
    token = _current.set(look)
    try:
        yield
    finally:
        _current.reset(token)


def under_way() -> Look:
    """Return the look that is open here, or a new one to open."""
    look = _current.get()
    return {} if look is None else look


def once(read: Callable[[Collection[int]], T]) -> Callable[[Collection[int]], T]:
    """Let a function of some ids read only once per look and set of ids. Everybody shares the answer: never change it."""

    @wraps(read)
    def inner(ids: Collection[int], /) -> T:
        look = _current.get()
        if look is None:
            return read(ids)
        key = (read, frozenset(ids))
        if key not in look:
            look[key] = read(ids)
        found: T = look[key]
        return found

    return inner


def once_of(read: Callable[[int], T]) -> Callable[[int], T]:
    """The same for a function of one id."""

    @wraps(read)
    def inner(pk: int, /) -> T:
        look = _current.get()
        if look is None:
            return read(pk)
        key = (read, pk)
        if key not in look:
            look[key] = read(pk)
        found: T = look[key]
        return found

    return inner


def shelf(name: Hashable) -> dict[Any, Any]:
    """Return what was put under that name in this look, to be read and filled; an empty one outside of a look."""
    look = _current.get()
    return {} if look is None else look.setdefault(name, {})
