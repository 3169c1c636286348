"""The shared part of the engines' connections: rows from DB-API cursors, and batches of inserts."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any, ClassVar, Protocol, TypeVar

from store.crypto.vault import Vault
from store.database.connection import BeforeCommit, Row, json_array
from store.database.notifications import StoreNotifier

T = TypeVar("T")


class DbCursor(Protocol):
    """The part of a DB-API cursor that is used here."""

    @property
    def description(self) -> Sequence[Sequence[Any]] | None: ...

    @property
    def rowcount(self) -> int: ...

    def fetchone(self) -> Any: ...

    def fetchall(self) -> list[Any]: ...


class Statements(ABC):
    """Statements in one open transaction (store.database.connection.Connection)."""

    skip_locked = ""
    for_share = ""
    for_update = ""
    for_change = ""
    placeholder: ClassVar[str]
    """The placeholder of a value in `insert_many`. `{}` in it is the value's number."""
    chunks: ClassVar[tuple[int, ...]]
    """The numbers of rows that one statement may insert. Few sizes mean few prepared statements."""

    def __init__(self, vault: Vault, notifier: Callable[[], StoreNotifier]) -> None:
        self._notifier = notifier
        self.vault = vault
        self.now = 0
        self.finished: list[Callable[[], None]] = []
        self._pending_items: list[tuple[BeforeCommit[Any], Any]] = []
        self._last: set[BeforeCommit[Any]] = set()
        self._mark = 0, 0

    @property
    def notifier(self) -> StoreNotifier:
        return self._notifier()

    @abstractmethod
    def run(self, sql: str, parameters: dict[str, Any] | list[Any]) -> DbCursor:
        """Execute with `:name` parameters and `:now`, or with a list of values from `insert_many`.

        Raises Unavailable or ReadBudgetExceeded.
        """

    @abstractmethod
    def each(self, parameter: str, **columns: str) -> str: ...

    def among(self, parameter: str, kind: str = "integer") -> str:
        return f"IN (SELECT w.wanted FROM {self.each(parameter, wanted=kind)} AS w)"

    def chosen(self, query: str) -> str:
        """Return SQL for "is one of the query's results", to follow a column."""
        return f"IN ({query})"

    @abstractmethod
    def lateral(self, table: str, alias: str, query: str) -> str: ...

    def one(self, sql: str, **parameters: Any) -> Row | None:
        cursor = self.run(sql, parameters)
        row = cursor.fetchone()
        return None if row is None else dict(zip(self.names(cursor), row, strict=True))

    def find(self, query: str, /, **columns: Any) -> Row | None:
        return self.one(f"{query} WHERE {_equal(columns)}", **columns)

    def required(self, sql: str, **parameters: Any) -> Row:
        row = self.one(sql, **parameters)
        assert row is not None, "the statement always has a row"
        return row

    def all(self, sql: str, **parameters: Any) -> list[Row]:
        cursor = self.run(sql, parameters)
        names = self.names(cursor)
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def names(self, cursor: DbCursor) -> list[str]:
        """Return the names of a result's columns."""
        return [column[0] for column in cursor.description or ()]

    def tuples(self, sql: str, **parameters: Any) -> Sequence[tuple[Any, ...]]:
        return self.run(sql, parameters).fetchall()

    def column(self, sql: str, **parameters: Any) -> list[Any]:
        return [row[0] for row in self.run(sql, parameters).fetchall()]

    def mapping(self, sql: str, **parameters: Any) -> dict[Any, Any]:
        return dict(self.run(sql, parameters).fetchall())

    def value(self, sql: str, **parameters: Any) -> Any:
        row = self.run(sql, parameters).fetchone()
        return None if row is None else row[0]

    def find_value(self, query: str, /, **columns: Any) -> Any:
        return self.value(f"{query} WHERE {_equal(columns)}", **columns)

    def number(self, sql: str, **parameters: Any) -> int:
        found: int = self.value(sql, **parameters)
        return found

    def optional_number(self, sql: str, **parameters: Any) -> int | None:
        found: int | None = self.value(sql, **parameters)
        return found

    def exists(self, sql: str, **parameters: Any) -> bool:
        return self.run(sql, parameters).fetchone() is not None

    def execute(self, sql: str, **parameters: Any) -> int:
        return self.run(sql, parameters).rowcount

    def update(self, table: str, row_id: Any, /, **columns: Any) -> int:
        changes = ", ".join(f"{column} = :{column}" for column in columns)
        return self.execute(f"UPDATE {table} SET {changes} WHERE id = :id", **columns, id=row_id)

    def delete(self, table: str, /, **columns: Any) -> int:
        return self.execute(f"DELETE FROM {table} WHERE {_equal(columns)}", **columns)

    def delete_many(self, table: str, column: str, ids: Iterable[int], /, **columns: Any) -> int:
        found = f"{column} {self.among('ids')}"
        where = f"{_equal(columns)} AND {found}" if columns else found
        return self.execute(f"DELETE FROM {table} WHERE {where}", **columns, ids=json_array(ids))

    def insert_many(
        self, table: str, columns: str, rows: Sequence[Sequence[Any]], then: str = ""
    ) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = []
        for part in _parts(rows, self.chunks):
            values = [value for row in part for value in row]
            sql = _insert(table, columns, self.placeholder, len(part[0]), len(part), then)
            cursor = self.run(sql, values)
            found += cursor.fetchall() if cursor.description else []
        return found

    @abstractmethod
    def alone(self, name: str) -> None: ...

    @abstractmethod
    def writers(self, table: str) -> frozenset[str]: ...

    @abstractmethod
    def oldest_writer(self, table: str) -> int | None: ...

    @abstractmethod
    def no_timeout(self) -> None: ...

    @abstractmethod
    def require_thread(self) -> None: ...

    def after_commit(self, call: Callable[[], None]) -> None:
        self.finished.append(call)

    def wake_after_commit(self, hook_ids: Iterable[int]) -> None:
        self.after_commit(partial(self.notifier.wake, hook_ids))

    def before_commit(self, function: BeforeCommit[T], item: T, *, last: bool = False) -> None:
        if last:
            self._last.add(function)
        self._pending_items.append((function, item))

    def registered(self, function: BeforeCommit[T]) -> list[T]:
        return [item for each, item in self._pending_items if each is function]

    def _run_before_commit(self) -> None:
        """Call the functions that `before_commit` registered."""
        while self._pending_items:
            found, self._pending_items = self._pending_items, []
            for function in sorted({each for each, _ in found}, key=self._rank):
                function(self, [item for each, item in found if each is function])

    def _rank(self, function: BeforeCommit[Any]) -> tuple[bool, str, str]:
        """Return the place of a function in the order of all transactions."""
        return function in self._last, function.__module__, function.__qualname__

    def _start_anew(self) -> None:
        """Drop all registered calls, because a transaction begins."""
        self.finished.clear()
        self._pending_items.clear()

    @abstractmethod
    def control(self, sql: str) -> None:
        """Execute a statement that controls the transaction."""

    def savepoint(self) -> None:
        self._mark = len(self.finished), len(self._pending_items)
        self.control("SAVEPOINT one")

    def release(self) -> None:
        self.control("RELEASE SAVEPOINT one")

    def undo(self) -> None:
        # The calls registered since the savepoint are dropped with it.
        del self.finished[self._mark[0] :]
        del self._pending_items[self._mark[1] :]
        self.control("ROLLBACK TO SAVEPOINT one")
        self.control("RELEASE SAVEPOINT one")


def _equal(columns: Iterable[str]) -> str:
    return " AND ".join(f"{column} = :{column}" for column in columns)


def _parts(rows: Sequence[T], sizes: Sequence[int]) -> Iterator[Sequence[T]]:
    done = 0
    for size in sizes:
        while len(rows) - done >= size:
            yield rows[done : done + size]
            done += size


@lru_cache(maxsize=64)
def _insert(table: str, columns: str, placeholder: str, width: int, count: int, then: str) -> str:
    marks = [placeholder.format(number + 1) for number in range(width * count)]
    values = ", ".join(f"({', '.join(row)})" for row in _parts(marks, (width,)))
    return f"INSERT INTO {table} ({columns}) VALUES {values} {then}"
