"""A PostgreSQL URL with several hosts, the first of which is gone."""

import time
from pathlib import Path
from typing import Any

import psycopg
import pytest
from postgres_databases import database
from psycopg.conninfo import conninfo_to_dict

from store import open_store
from store.database.postgres import engine, pool
from store.errors import Unavailable

CONNECT = psycopg.Connection.connect


def slow(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let each connection of a pool take longer, as if its first host did not answer."""

    def connect(*given: Any, **more: Any) -> Any:
        time.sleep(seconds)
        return CONNECT(*given, **more)

    monkeypatch.setattr(psycopg.Connection, "connect", connect)


def test_the_first_connection_may_take_longer_than_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "PATIENCE", 0.01)
    with database() as named:
        slow(monkeypatch, 0.2)
        store = open_store(named, data_dir=tmp_path)
        assert store.read_sync(lambda db: db.value("SELECT 1")) == 1
        store.shut()


def test_a_connection_that_is_too_slow_is_not_taken_for_one_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "FIRST_PATIENCE", 0.01)
    monkeypatch.setattr(pool.ErrorTrackingConnection, "last_error", pool.UNANSWERED)
    with database() as named:
        slow(monkeypatch, 0.2)
        with pytest.raises(Unavailable, match="no connection to the database: the server does not"):
            open_store(named, data_dir=tmp_path)


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
