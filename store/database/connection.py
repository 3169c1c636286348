"""The small interface that every statement in the store is written against, and its two hosts.

Statements are in the subset that SQLite and PostgreSQL share. What differs has a visible word:
`{id}` and `{blob}` in migrations, `db.each(...)` for the rows of one statement's batch,
`db.lateral(...)` for the first rows of each group, `db.skip_locked` after a claim and
`db.chosen(...)` around it, `db.unchanged` after what has to stay as it was read until the
transaction ends.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

import orjson

from store.clock import Clock
from store.crypto.vault import Vault
from store.database.notifications import WorkerNotifier

Row = dict[str, Any]

# More than there is of anything, for a LIMIT that is none.
ENDLESS = 2**31
T = TypeVar("T")


class Connection(Protocol):
    """One open transaction. `now` is its time: everything written in it carries the same one."""

    now: int
    vault: Vault
    skip_locked: str
    for_share: str

    @property
    def courier(self) -> WorkerNotifier:
        """Where new work is announced, after the commit."""

    def one(self, sql: str, **parameters: Any) -> Row | None:
        """The first row, or None."""

    def all(self, sql: str, **parameters: Any) -> list[Row]:
        """Every row."""

    def tuples(self, sql: str, **parameters: Any) -> Sequence[tuple[Any, ...]]:
        """Every row as a tuple: cheaper than `all`, for the delivery path."""

    def value(self, sql: str, **parameters: Any) -> Any:
        """The first column of the first row, or None."""

    def execute(self, sql: str, **parameters: Any) -> int:
        """How many rows the statement changed."""

    def insert_many(
        self, table: str, columns: str, rows: Sequence[Sequence[Any]], then: str = ""
    ) -> list[tuple[Any, ...]]:
        """Insert rows with few statements; `columns` is the list as SQL writes it.

        `then` follows the values: `ON CONFLICT ... RETURNING ...`; what it returns is returned.
        """

    def chosen(self, query: str) -> str:
        """SQL for "is one of what the query finds", behind a column: run once, so that a limit in
        it holds.
        """

    def each(self, parameter: str, **columns: str) -> str:
        """SQL for a derived table over what `listed` made, bound as `:parameter`.

        `columns` names and types (`integer`, `text`) the members of each item, in their order;
        the items are arrays, or bare values when there is one column.
        """

    def lateral(self, table: str, alias: str, query: str) -> str:
        """SQL that joins to each row on its left the rows of `table` whose `id` is selected by
        `query`, which refers to that row.
        """

    def alone(self, name: str) -> None:
        """Wait until no other transaction, of any process, is past this line with this name."""

    def writers(self, table: str) -> frozenset[str]:
        """The transactions of others that are writing to this table, under names that are not
        used again; none where one writes at a time.
        """

    def no_timeout(self) -> None:
        """Let the rest of this transaction take as long as it takes, locks included."""

    def before_commit(self, function: "BeforeCommit[T]", item: T) -> None:
        """Have `function` called with all such items as the last thing in this transaction; never
        if it is rolled back. For what all writers have to queue for: so they do for a moment.
        """

    def after_commit(self, call: Callable[[], None]) -> None:
        """Run `call` once this transaction is durable; never if it is rolled back."""


BeforeCommit = Callable[[Connection, list[T]], None]


class Session(Protocol):
    """One physical connection to the database, used by one thread at a time."""

    @property
    def db(self) -> Connection:
        """Statements on the open transaction."""

    finished: list[Callable[[], None]]
    """What `after_commit` collected in the open transaction."""

    def begin(self, now: int, *, write: bool, durable: bool = True) -> None:
        """Open a transaction; `durable=False` lets a power loss undo it."""

    def commit(self) -> None: ...

    def rollback(self) -> None: ...

    def savepoint(self) -> None: ...

    def release(self) -> None: ...

    def undo(self) -> None:
        """Roll back to the savepoint and release it; what was collected since is forgotten."""

    def close(self) -> None: ...


class Engine(Protocol):
    """A kind of database."""

    inline: bool
    """Whether a short read costs less than handing it to a thread."""
    single_worker: bool
    """Whether there is one worker at a time, so that what others held is nobody's."""
    embedded: bool
    """Whether what is written has to be safe on this machine's disk, and not on a server's."""
    clock: Clock
    """Whose time decides what is due."""
    words: dict[str, str]
    """What the migrations' words stand for here."""

    def session(self, *, bounded: bool = False) -> Session:
        """A new connection; a bounded one gives up with TooLong on work that is not short."""

    def acquire_worker_lock(self) -> bool:
        """Claim to be the one worker of this database; False if there is one. True if many may."""

    def remote_notifier(self) -> WorkerNotifier:
        """What announces new work to workers in other processes."""

    async def listen(self, called: Callable[[list[int]], None]) -> Callable[[], None]:
        """Listen to the heralds of other processes; returns, listening, what ends it."""

    def close(self) -> None: ...


class ReadBudgetExceeded(Exception):
    """A bounded read did more than a short one may."""


def json_array(items: Iterable[Any]) -> str:
    """A JSON array to bind for `db.each`."""
    return orjson.dumps(list(items)).decode()
