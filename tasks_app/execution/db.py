"""The bridge from the async rim to the sync core: few threads, each with its own connection, patient with a restart."""

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import ParamSpec, TypeVar

from django.db import InterfaceError, InternalError, OperationalError, connection

P = ParamSpec("P")
T = TypeVar("T")
logger = logging.getLogger(__name__)
THREADS = 4
"""Fifty runs share so many connections."""
ASIDE_THREADS = 2
PATIENCE_S = 30.0
"""A database that is away for longer fails the call; by then the leases are lost anyway."""
STOOD_STILL = "25P03"
"""PostgreSQL's code for a session that was ended because it did nothing within a transaction (`dashboard/settings/postgres`)."""
_pool = ThreadPoolExecutor(THREADS, thread_name_prefix="crewdesk-db")
_aside = ThreadPoolExecutor(ASIDE_THREADS, thread_name_prefix="crewdesk-db-aside")
_line = ThreadPoolExecutor(1, thread_name_prefix="crewdesk-db-line")


def patiently(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a service; where the database is restarting or locked, try again with a fresh connection.

    Only for calls that may be repeated: each service guards itself by fence, status or sequence number.
    """
    until, pause = time.monotonic() + PATIENCE_S, 0.1
    while True:
        try:
            return function(*args, **kwargs)
        except (OperationalError, InterfaceError, InternalError) as error:
            if not is_away(error):
                raise
            connection.close()
            if time.monotonic() > until:
                raise
            logger.warning("the database does not answer (%s); trying again", type(error).__name__)
            time.sleep(pause)
            pause = min(pause * 2, 2.0)


def is_away(error: Exception) -> bool:
    """Whether the connection is gone. PostgreSQL calls it internal that it ended one that stood still within a transaction."""
    stood_still = isinstance(error, InternalError) and getattr(error.__cause__, "sqlstate", "") == STOOD_STILL
    return stood_still or isinstance(error, OperationalError | InterfaceError)


def closing_on_error(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a service once, for a caller that tries again by itself: what raised leaves no broken connection behind."""
    try:
        return function(*args, **kwargs)
    except Exception:
        connection.close()
        raise


async def call(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Await `patiently(function, …)` in one of the database threads."""
    return await asyncio.get_running_loop().run_in_executor(_pool, partial(patiently, function, *args, **kwargs))


async def call_aside(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """`call` for what waits for another program in between (git): no run's steps, answers or claims wait behind it."""
    return await asyncio.get_running_loop().run_in_executor(_aside, partial(patiently, function, *args, **kwargs))


async def call_alone(function: Callable[[], T]) -> T:
    """Await `function()` in a thread and with a connection of its own: for what takes minutes and may fail."""
    return await asyncio.to_thread(_closing, function)


def _closing(function: Callable[[], T]) -> T:
    try:
        return function()
    finally:
        connection.close()


async def in_line(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The same for what all runs write all the time: on SQLite by one thread, one after another.

    Writers wait in a line there (`dashboard/sqlite`); what waits here leaves the other threads to reads and answers.
    """
    pool = _line if _has_one_lock() else _pool
    return await asyncio.get_running_loop().run_in_executor(pool, partial(patiently, function, *args, **kwargs))


@cache
def _has_one_lock() -> bool:
    """Whether the database is SQLite. Asked of a connection, each task of the loop would make one, only to ask that."""
    return connection.vendor == "sqlite"
