"""The interface that every statement in the store is written against, and its two implementations.

Statements use the subset of SQL that SQLite and PostgreSQL share. These mark the differences:

- `{id}` and `{blob}` in migrations;
- `db.each(...)` for the rows of a batch, and `db.among(...)` for one of its values;
- `db.lateral(...)` for the first rows of each group;
- `db.skip_locked` after a claim, and `db.chosen(...)` around it;
- `db.for_share` after rows that must not change until the transaction ends;
- `db.for_update` after rows that the transaction locks for itself;
- `db.for_change` after rows that it will change, while others may add rows that refer to them.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

import orjson

from store.clock import Clock
from store.crypto.vault import Vault
from store.database.notifications import StoreNotifier, WorkerNotifier

Row = dict[str, Any]

# More than any table has: a LIMIT that does not limit.
ENDLESS = 2**31
LAST_ID = 2**62
"""An id that is above all others."""
T = TypeVar("T")


class Connection(Protocol):
    """One open transaction. `now` is its time: every row that it writes has the same one.

    In each statement, `:now` stands for that time, unless another one is given.
    """

    now: int
    vault: Vault
    skip_locked: str
    for_share: str
    for_update: str
    for_change: str

    @property
    def notifier(self) -> StoreNotifier:
        """Return the notifier for new work, to be used after the commit."""

    def one(self, sql: str, **parameters: Any) -> Row | None:
        """Return the first row, or None."""

    def find(self, query: str, /, **columns: Any) -> Row | None:
        """Return the first row of a query without conditions that has these columns, or None."""

    def required(self, sql: str, **parameters: Any) -> Row:
        """Return the first row, which there must be."""

    def all(self, sql: str, **parameters: Any) -> list[Row]:
        """Return all rows."""

    def tuples(self, sql: str, **parameters: Any) -> Sequence[tuple[Any, ...]]:
        """Return all rows as tuples. This is cheaper than `all`, for the delivery path."""

    def column(self, sql: str, **parameters: Any) -> list[Any]:
        """Return the first column of all rows."""

    def mapping(self, sql: str, **parameters: Any) -> dict[Any, Any]:
        """Return the first of two columns to the second, for all rows."""

    def value(self, sql: str, **parameters: Any) -> Any:
        """Return the first column of the first row, or None."""

    def find_value(self, query: str, /, **columns: Any) -> Any:
        """Return the first column of the row that `find` returns, or None."""

    def number(self, sql: str, **parameters: Any) -> int:
        """Return the number that the first row has, such as a count. There must be one."""

    def optional_number(self, sql: str, **parameters: Any) -> int | None:
        """Return the number that the first row has, or None."""

    def exists(self, sql: str, **parameters: Any) -> bool:
        """Return whether there is a row."""

    def execute(self, sql: str, **parameters: Any) -> int:
        """Execute a statement. Return how many rows it changed."""

    def update(self, table: str, row_id: Any, /, **columns: Any) -> int:
        """Set columns of the row with this id. Return 0 if there is none, and 1 otherwise."""

    def delete(self, table: str, /, **columns: Any) -> int:
        """Delete the rows that have these columns. Return how many there were."""

    def delete_many(self, table: str, column: str, ids: Iterable[int], /, **columns: Any) -> int:
        """Delete the rows with these columns and one of the ids in `column`. Return how many."""

    def insert_many(
        self, table: str, columns: str, rows: Sequence[Sequence[Any]], then: str = ""
    ) -> list[tuple[Any, ...]]:
        """Insert rows with few statements. `columns` is the column list in SQL.

        `then` follows the values, such as `ON CONFLICT ... RETURNING ...`. The rows that it returns
        are returned.
        """

    def chosen(self, query: str) -> str:
        """Return SQL for "is one of the query's results", to follow a column.

        The query runs once, so a LIMIT in it holds.
        """

    def each(self, parameter: str, **columns: str) -> str:
        """Return SQL for a derived table over a `json_array`, which is bound as `:parameter`.

        `columns` has the names and types (`integer`, `text`) of each item's members, in order. The
        items are arrays, or bare values if there is one column.
        """

    def among(self, parameter: str, kind: str = "integer") -> str:
        """Return SQL for "is one of the values of a `json_array`", to follow a column.
        The array is bound as `:parameter`, and `kind` is the type of its values.
        """

    def lateral(self, table: str, alias: str, query: str) -> str:
        """Return SQL that joins each row on its left with rows of `table`.

        `query` selects their ids, and may refer to the row on the left.
        """

    def alone(self, name: str) -> None:
        """Acquire the lock `name` until this transaction ends. Wait while another one has it."""

    def writers(self, table: str) -> frozenset[str]:
        """Return the transactions of others that are writing to this table, as unique names.

        The result is empty if the engine has one writer at a time.
        """

    def oldest_writer(self, table: str) -> int | None:
        """Return the age of the oldest of `writers` in microseconds, or None if there is none."""

    def no_timeout(self) -> None:
        """Disable the timeouts of statements and locks for the rest of this transaction."""

    def require_thread(self) -> None:
        """Require that this read does not run on the event loop, because it will take long.

        If it does, ReadBudgetExceeded makes the store run it again on a thread.
        """

    def before_commit(self, function: "BeforeCommit[T]", item: T, *, last: bool = False) -> None:
        """Call `function` with all items registered for it, at the end of this transaction.

        After a rollback it is not called. This is for locks that all writers need: late locks are
        held only briefly. All transactions call the functions in one order, those with `last` at
        the end, so that no two deadlock.
        """

    def registered(self, function: "BeforeCommit[T]") -> list[T]:
        """Return the items that `before_commit` has for a function."""

    def after_commit(self, call: Callable[[], None]) -> None:
        """Call `call` once this transaction is durable. After a rollback it is not called."""

    def wake_after_commit(self, hook_ids: Iterable[int]) -> None:
        """Notify the worker of these hooks (WorkerNotifier.wake) after the commit."""


BeforeCommit = Callable[[Connection, list[T]], None]


class Session(Protocol):
    """One physical connection to the database, used by one thread at a time."""

    @property
    def db(self) -> Connection:
        """Return the interface to the open transaction."""

    finished: list[Callable[[], None]]
    """The calls that `after_commit` registered in the open transaction."""

    def begin(self, now: int, *, write: bool, durable: bool = True, bounded: bool = False) -> None:
        """Begin a transaction. With `durable=False`, a power loss may undo it.

        `now` is its time in microseconds. With `bounded`, a read that is not short raises
        ReadBudgetExceeded.
        """

    def commit(self) -> None: ...

    def rollback(self) -> None: ...

    def savepoint(self) -> None: ...

    def release(self) -> None:
        """Release the savepoint.

        From now on until `commit`, `alone`, `for_update` and `for_change` do not wait for others,
        but raise Locked.
        """

    def undo(self) -> None:
        """Roll back to the savepoint and release it. Drop the calls registered since then."""

    def is_conflict(self, error: Exception) -> bool:
        """Return whether another transaction may have caused this error of a statement.

        Then a second try may pass: it sees the rows that the other one has inserted or deleted.
        """

    def close(self) -> None: ...


class Engine(Protocol):
    """A kind of database."""

    inline: bool
    """Whether a short read is cheaper on the event loop than on a thread."""
    single_worker: bool
    """Whether there can only be one worker, so that leases of others are abandoned."""
    embedded: bool
    """Whether commits wait for this machine's disk, and not for a server's."""
    clock: Clock
    """The clock that decides what is due."""
    words: dict[str, str]
    """The values of the placeholders in migrations."""

    def session(self) -> Session:
        """Open a new connection."""

    def acquire_worker_lock(self) -> bool:
        """Lock the database for this process's worker. Return False if another one has it.

        If the engine allows several workers, return True.
        """

    def worker_lock_holder(self) -> str:
        """Return the process that has the worker's lock in words, or "" if that is not known."""

    def remote_notifier(self) -> WorkerNotifier:
        """Return the notifier for workers in other processes."""

    async def listen(self, called: Callable[[list[int]], None]) -> Callable[[], None]:
        """Listen for notifications from other processes. Return the function that ends it."""

    def waiters_notifier(self) -> WorkerNotifier:
        """Return the notifier for requests in other processes that wait for deliveries."""

    async def listen_for_waiters(self, called: Callable[[list[int]], None]) -> Callable[[], None]:
        """Listen for the notifications of `waiters_notifier` in other processes, like `listen`."""

    def disconnect(self) -> None:
        """Let all transactions fail with Unavailable, also those that wait for a server's answer.

        It may be called on any thread. `close` still has to follow.
        """

    def close(self) -> None: ...


class ReadBudgetExceeded(Exception):
    """A bounded read took more steps than a short read may."""


def json_array(items: Iterable[Any]) -> str:
    """Return a JSON array to bind for `db.each`."""
    return orjson.dumps(list(items)).decode()


def prefixed(alias: str, columns: str) -> str:
    """Return a list of columns with their table: `id, name` becomes `a.id, a.name`."""
    return ", ".join(f"{alias}.{column.strip()}" for column in columns.split(","))
