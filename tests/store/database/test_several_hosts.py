"""A PostgreSQL URL with several hosts, the first of which is gone."""

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
from postgres_databases import database
from psycopg.conninfo import conninfo_to_dict
from transactions import transaction
from waiting import PATIENCE

from store import open_store
from store.database.postgres import engine, pool
from store.errors import Unavailable

CONNECT = psycopg.Connection.connect


def hold(monkeypatch: pytest.MonkeyPatch, wait: Callable[[], object]) -> None:
    """Let each connection of a pool wait, as if its first host did not answer."""

    def connect(*given: Any, **more: Any) -> Any:
        wait()
        return CONNECT(*given, **more)

    monkeypatch.setattr(psycopg.Connection, "connect", connect)


def test_the_first_connection_may_take_longer_than_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "PATIENCE", 0.01)
    with database() as named:
        hold(monkeypatch, lambda: time.sleep(0.2))
        store = open_store(named, data_dir=tmp_path)
        assert store.read_sync(lambda db: db.value("SELECT 1")) == 1
        store.shut()


def test_a_connection_that_is_too_slow_is_not_taken_for_one_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The resolver may hang, too."""
    go = threading.Event()
    monkeypatch.setattr(pool, "PATIENCE", 0.1)
    with database() as named, ExitStack() as stack:
        store = open_store(named, data_dir=tmp_path)
        stack.callback(store.shut)
        stack.callback(go.set)
        hold(monkeypatch, lambda: go.wait(PATIENCE))
        many = (transaction(store) for _ in range(pool.MOST + 1))
        with pytest.raises(Unavailable, match="no connection to the database: the server, or the"):
            any(stack.enter_context(each) is None for each in many)


@pytest.mark.parametrize(
    ("url", "timeout"),
    [
        ("postgresql://hub@one.example/tocsin", "5"),
        ("postgresql://hub@one.example,two.example/tocsin", "2"),
        ("host=one.example hostaddr=192.0.2.1,192.0.2.2", "2"),
        ("postgresql://hub@one.example,two.example/tocsin?connect_timeout=9", "9"),
    ],
)
def test_each_of_several_hosts_gets_less_time(url: str, timeout: str) -> None:
    assert conninfo_to_dict(engine.complete_conninfo(url))["connect_timeout"] == timeout
