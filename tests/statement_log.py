"""The statements that the engines are given."""

from typing import Any

import pytest

from store.database.postgres.connections import PostgresSession
from store.database.sqlite.connections import SqliteSession


def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every statement from now on, whatever the engine."""
    asked: list[str] = []
    for session, name in (
        (SqliteSession, "run"),
        (PostgresSession, "run"),
        (PostgresSession, "copy"),
    ):
        monkeypatch.setattr(session, name, _noting(asked, getattr(session, name)))
    return asked


def _noting(asked: list[str], method: Any) -> Any:
    def noting(self: Any, sql: str, given: Any) -> Any:
        asked.append(sql)
        return method(self, sql, given)

    return noting
