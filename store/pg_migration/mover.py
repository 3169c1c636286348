"""The mover: copies, compares and switches, as `store.pg_migration.pg_migration` describes."""

import time
import uuid
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from store.errors import StoreError, Unusable
from store.pg_migration.comparison import NAMED, StoreComparison, TableCheck, TableProgress
from store.pg_migration.source import SqliteSource
from store.pg_migration.tables import Collision, Table, is_copied

if TYPE_CHECKING:
    from store.pg_migration.target import (
        PostgresTarget,  # it imports the driver, which may not be installed
    )

# In seconds. After a pass that takes no longer, little is left to copy.
QUICK = 2.0
PASSES = 20
# In seconds. A closed connection is still listed for a moment.
LINGERS = 2.0


@dataclass(frozen=True, slots=True)
class SwitchResult:
    """The result of the switch. `pause` is for how many seconds nothing could be written."""

    compared: list[TableCheck]
    pause: float


class Mover:
    """Migrates `source` to `target`. After any error, the migration can be continued."""

    def __init__(self, source: SqliteSource, target: "PostgresTarget") -> None:
        self.source = source
        self._target = target
        self.on_progress: TableProgress = lambda *_: None

    @property
    def shown(self) -> str:
        """Return the target's URL without its password."""
        return self._target.shown

    @property
    def path(self) -> Path:
        return self.source.path

    @property
    def closed(self) -> bool:
        """Return whether the database refuses writes."""
        return self.source.closed() is not None

    # The beginning.

    def begin(self) -> None:
        """Begin or continue the migration. Raises Unusable if that is not possible."""
        ours, theirs = self.source.key(), self._target.key()
        reason = self.source.closed()
        if reason is not None and (ours is None or ours != theirs):
            raise Unusable(reason)
        if theirs is None:
            self._begin()
        elif ours != theirs:
            raise Unusable("another database is being moved to the target: give it an empty one")
        if self._target.steps() != self.source.steps():
            raise Unusable(
                "the move was begun by another version of tocsin: begin again with an empty target"
            )
        self._target.resume()

    def _begin(self) -> None:
        held = self._target.held()
        if held:
            raise Unusable(
                f"the target is not empty ({', '.join(held[:NAMED])}):"
                " a move needs an empty database"
            )
        self._refuse_company()
        self._target.migrate()
        here = {table.name: set(table.columns) for table in self.source.tables}
        there = {name: found for name, found in self._target.columns().items() if is_copied(name)}
        if here != there:
            raise Unusable("the tables of the database and of the target differ")
        key = str(uuid.uuid4())
        self.source.begin(key)
        self._target.begin(key)

    def _refuse_company(self) -> None:
        until = time.monotonic() + LINGERS
        while self._target.others():
            if time.monotonic() > until:
                raise Unusable("a hub or a worker is connected to the target: stop it first")
            time.sleep(0.1)

    # The copy and its tail.

    def catch_up(self) -> None:
        """Copy until little is left."""
        for left in reversed(range(PASSES)):
            began = time.monotonic()
            try:
                self.follow()
            except Collision:
                if not left:
                    raise
            else:
                if time.monotonic() - began < QUICK:
                    return

    def follow(self) -> int:
        """Copy the new and changed rows. Return how many rows that were."""
        number = self.source.mark()
        moved = 0
        for table in self.source.tables:
            for firsts in self.source.log.changed(table, number):
                moved += self._target.erase(table, firsts)
        for table in self.source.tables:
            moved += self._renew(table, number) + self._extend(table)
        self.source.forget(number)
        return moved

    def _renew(self, table: Table, number: int) -> int:
        """Copy the recorded rows again that the copy has passed."""
        reached = self._target.reached(table)
        moved = 0
        for firsts in self.source.log.changed(table, number):
            behind = [first for first in firsts if reached is not None and first <= reached]
            for rows in self.source.groups(table, behind):
                self._target.put(table, rows)
                moved += len(rows)
        return moved

    def _extend(self, table: Table) -> int:
        """Copy the rows up to the table's mark."""
        reached, high = self._target.reached(table), self.source.log.high(table)
        if high is None or high == reached:
            return 0
        moved, total = 0, self.source.count(table, reached, high)
        for rows in self.source.after(table, reached, high):
            self._target.extend(table, rows, rows[-1][0])
            moved += len(rows)
            self.on_progress("copying", table.name, moved, total)
        self._target.extend(table, [], high)
        return moved

    def compare(self) -> list[TableCheck]:
        """Compare everything copied. Raises Conflict if a row differs that was not recorded.

        Afterwards the target has statistics for queries.
        """
        comparison = StoreComparison(self.source, self._target, self.on_progress)
        compared = [comparison.compare(table) for table in self.source.tables]
        comparison.raise_differences()
        self._target.analyze(self.source.tables)
        return compared

    # The switch.

    def alone(self) -> bool:
        """Acquire the worker's lock. Return False if a worker has it."""
        return self.source.alone()

    def switch(self) -> SwitchResult:
        """Close the database and finish the target. Raises Unusable if a worker is running."""
        if not self.alone():
            raise Unusable("a worker is at work on the database: stop it first")
        if not self.closed:
            self.catch_up()
            self._refuse_company()
            self.source.refuse_writes(self._refusal())
        began = time.monotonic()
        compared = self._finish()
        pause = time.monotonic() - began
        # The migration is finished, whether or not this succeeds.
        with suppress(StoreError):
            self.source.end()
        return SwitchResult(compared, pause)

    def _refusal(self) -> str:
        """Return why the database is closed after the switch. It names the target."""
        return (
            f"this database was closed by `tocsin migrate`: its installation is at {self.shown}"
            " now: set store to it. If the move was interrupted, run it again with --switch"
        )

    def _finish(self) -> list[TableCheck]:
        nothing_done = True
        try:
            self.follow()
            comparison = StoreComparison(self.source, self._target, self.on_progress)
            compared = [comparison.count(table) for table in self.source.tables]
            comparison.raise_differences()
            numbered = {t: self.source.highest(t) for t in self.source.tables if t.has_integer_key}
            with self._target.finished(numbered):
                nothing_done = False
        except BaseException:
            # If a commit failed, it may still have taken place. Then the database stays closed.
            if nothing_done:
                self.source.allow_writes()
            raise
        return compared

    def abandon(self) -> None:
        """Abandon the migration. The database continues as before.

        Raises Unusable if the migration may be finished.
        """
        if self.closed:
            if not self._unfinished():
                raise Unusable("the move may be finished: name its own target")
            self.source.allow_writes()
        self.source.end()

    def _unfinished(self) -> bool:
        """Return whether the migration that closed the database is known to be unfinished."""
        if self._target.key() is not None:
            return self._target.key() == self.source.key()
        # The whole reason is compared, because the name of one database may begin another's.
        return self.source.closed() == self._refusal() and not self._target.held()
