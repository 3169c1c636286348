"""Two processes on one PostgreSQL database, the second of which waits for the first."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
from transactions import transaction
from waiting import PATIENCE, wait_until

from store import Connection, Store

HERE = "FROM pg_stat_activity WHERE datname = current_database() AND"
Work = Callable[[Connection], Any]


def sql(url: str, statement: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url, autocommit=True) as raw:
        cursor = raw.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """Run the calls at the same time, each in a thread. Return their results or errors."""
    together = threading.Barrier(len(calls))

    def run(call: Callable[[], Any]) -> Any:
        together.wait(PATIENCE)
        return _tried(call)

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(run, calls))


def waits(url: str) -> bool:
    """Whether a connection waits for a lock."""
    return bool(sql(url, f"SELECT 1 {HERE} wait_event_type = 'Lock'"))


def overlap(url: str, first: tuple[Store, Work], second: tuple[Store, Work]) -> tuple[Any, Any]:
    """Begin the second work before the first one is committed. Return their results or errors.

    The first one is committed when the second one waits for it or has ended.
    """
    (store, work), (other, late) = first, second
    with ThreadPoolExecutor(1) as thread:
        with transaction(store) as db:
            found = work(db)
            after = thread.submit(_tried, lambda: other.write_sync(late))
            wait_until(lambda: after.done() or waits(url), "the second work")
        return found, after.result(PATIENCE)


def _tried(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:
        return error
