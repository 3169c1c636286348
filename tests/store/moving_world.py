"""Helpers for tests of whole databases: rows in every table, random changes, and a busy hub."""

import asyncio
import itertools
import random
import threading
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
from store_world import World
from waiting import PATIENCE

from store import Connection, Row, Store, open_store
from store.accounts import tokens
from store.database.encrypted_columns import ENCRYPTED_COLUMNS
from store.delivery import events, incoming, sources
from store.hooks import hooks
from store.ordering.delivery_states import DEAD, DELIVERED
from store.repositories import repositories

Contents = dict[str, list[Row]]
# The text index is not moved: the worker builds it again.
REBUILT = {"text_portion", "text_slice"}


def tables(db: Connection) -> list[str]:
    rows = db.tuples("SELECT name FROM sqlite_master WHERE type = 'table'")
    own = ("sqlite_", "moving", "migration", "server_history")
    return sorted(name for (name,) in rows if not name.startswith(own))


def contents(store: Store, names: list[str]) -> Contents:
    """All rows of each table, in a fixed order."""

    def rows(db: Connection, name: str) -> list[Row]:
        return sorted(db.all(f'SELECT * FROM "{name}"'), key=lambda row: repr(sorted(row.items())))

    return {name: store.read_sync(rows, name) for name in names}


def with_bytes(found: Contents) -> Contents:
    return {
        name: [{key: _plain(value) for key, value in row.items()} for row in rows]
        for name, rows in found.items()
    }


def _plain(value: Any) -> Any:
    return bytes(value) if isinstance(value, memoryview) else value


def same(store: Store, other: Store) -> bool:
    names = [name for name in store.read_sync(tables) if name not in REBUILT]
    left, right = contents(store, names), contents(other, names)
    assert with_bytes(right) == with_bytes(left)
    return True


def execute(store: Store, sql: str, **given: Any) -> int:
    return store.write_sync(lambda db: db.execute(sql, **given))


def on_target(target: str, statement: str) -> None:
    with psycopg.connect(target, autocommit=True) as raw:
        raw.execute(statement)


# Rows in every table.

TEXTS = (
    "",
    "plain",
    "Ünïcödé ✓ 𝄞",
    "tab\tline\nback\\slash \\N 'quoted' \"\\.\r\n",
    " ",
    "\x01\x7f",
)
SECRETS = {(one.table, one.column) for one in ENCRYPTED_COLUMNS}
BLOBS = (b"", bytes(range(256)), b"\\x00\\N\n\t")


def fill(db: Connection, name: str) -> None:
    """Insert seven rows into a table, with extreme values for each column's type."""
    columns = db.tuples(f"SELECT name, type, \"notnull\", pk FROM pragma_table_info('{name}')")
    parents = {
        column: (parent, key or "id")
        for parent, column, key in db.tuples(
            f'SELECT "table", "from", "to" FROM pragma_foreign_key_list(\'{name}\')'
        )
    }
    for parent, _ in parents.values():
        if parent != name and not db.value(f'SELECT count(*) FROM "{parent}"'):
            fill(db, parent)
    for number in range(1, 8):
        row = {
            column: db.vault.seal(f"secret {number}")
            if (name, column) in SECRETS
            else _reference(db, *parents[column], number)
            if column in parents
            else _value(kind, number, nullable=not required and not pk)
            for column, kind, required, pk in columns
        }
        listed = ", ".join(f'"{column}"' for column in row)
        named = ", ".join(f":{column}" for column in row)
        db.execute(f'INSERT INTO "{name}" ({listed}) VALUES ({named})', **row)


def _reference(db: Connection, parent: str, key: str, number: int) -> Any:
    return db.value(
        f'SELECT "{key}" FROM "{parent}" ORDER BY "{key}" LIMIT 1 OFFSET :skip', skip=number - 1
    )


def _value(kind: str, number: int, *, nullable: bool) -> Any:
    if nullable and number % 3 == 0:
        return None
    if kind == "TEXT":
        return f"{number}{TEXTS[number % len(TEXTS)]}"
    if kind == "BLOB":
        return BLOBS[number % len(BLOBS)]
    most = {"SMALLINT": 2**15 - 1, "INTEGER": 2**31 - 1}.get(kind, 2**63 - 1)
    return (number, most - number, number - most)[number % 3] if most < 2**63 - 1 else most - number


def fill_all(db: Connection) -> list[str]:
    names = tables(db)
    for name in names:
        if not db.value(f'SELECT count(*) FROM "{name}"'):
            fill(db, name)
    return names


class Bustle:
    """Simulates a daemon at work: each call makes up to four random changes."""

    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.random = random.Random(seed)
        self.numbers = itertools.count(seed * 10_000)
        self.actions = [value for name, value in vars(Bustle).items() if name.startswith("_do_")]

    def __call__(self, *given: Any) -> None:
        for _ in range(self.random.randint(0, 4)):
            self.world.clock.advance(1)
            self.world.store.write_sync(lambda db: self.random.choice(self.actions)(self, db))

    def _any(self, db: Connection, table: str) -> int | None:
        found = db.tuples(f"SELECT id FROM {table} ORDER BY id")
        return self.random.choice(found)[0] if found else None

    def _do_arrive(self, db: Connection) -> None:
        for _ in range(3):
            events.accept_all(db, [self.world.arrival(f"new-{next(self.numbers)}")])

    def _do_deliver(self, db: Connection) -> None:
        execute = "UPDATE delivery SET state = :state, attempts = attempts + 1 WHERE id = :id"
        state = self.random.choice([DELIVERED, DEAD])
        db.execute(execute, id=self._any(db, "delivery"), state=state)

    def _do_lease(self, db: Connection) -> None:
        db.execute("UPDATE delivery SET lease_id = 9 WHERE id = :id", id=self._any(db, "delivery"))

    def _do_prune_a_body(self, db: Connection) -> None:
        db.execute("UPDATE event SET body = NULL WHERE id = :id", id=self._any(db, "event"))

    def _do_forget_an_event(self, db: Connection) -> None:
        event_id = self._any(db, "event")
        db.execute("DELETE FROM delivery WHERE event_id = :id", id=event_id)
        db.execute("DELETE FROM event WHERE id = :id", id=event_id)

    def _do_forget_the_last_event(self, db: Connection) -> None:
        db.execute("DELETE FROM event WHERE id = (SELECT max(id) FROM event)")

    def _do_give_a_guid_again(self, db: Connection) -> None:
        row = db.one("SELECT id, guid FROM event ORDER BY id LIMIT 1")
        if row is not None:
            db.execute("DELETE FROM event WHERE id = :id", id=row["id"])
            events.accept_all(db, [self.world.arrival(row["guid"])])

    def _do_hook(self, db: Connection) -> None:
        number = next(self.numbers)
        names = self.random.sample(["push", "issues", "star", "fork"], 2)
        url = f"https://x.example/{number}"
        hooks.create(db, self.world.repo["id"], url=url, events=names, secret="é")

    def _do_change_a_hook(self, db: Connection) -> None:
        hook = hooks.get(db, self.world.repo["id"], self._any(db, "hook") or 0)
        if hook is not None:
            names = self.random.sample(["push", "issues", "star", "fork"], 3)
            hooks.update(db, hook, events=names, secret=None)

    def _do_remove_a_hook(self, db: Connection) -> None:
        db.execute("DELETE FROM hook WHERE id = :id", id=self._any(db, "hook"))

    def _do_replace_a_source(self, db: Connection) -> None:
        known = sources.by_name(db, "forge")
        if known is not None:
            sources.remove(db, known["id"])
        sources.create(db, "forge", f"secret {next(self.numbers)}")

    def _do_exchange_names(self, db: Connection) -> None:
        found = db.tuples("SELECT id, name_key FROM repository ORDER BY id LIMIT 2")
        if len(found) == 2:
            (one, name), (other, other_name) = found
            for row_id, key in ((one, "between"), (other, name), (one, other_name)):
                db.execute("UPDATE repository SET name_key = :k WHERE id = :id", k=key, id=row_id)

    def _do_repository(self, db: Connection) -> None:
        name = f"r{next(self.numbers)}"
        made = repositories.create(db, self.world.user["id"], name)
        hooks.create(db, made["id"], url="https://y.example", events=["push"])
        repositories.grant(db, made["id"], self.world.user["id"], "read")

    def _do_remove_a_repository(self, db: Connection) -> None:
        chosen = self._any(db, "repository")
        if chosen != self.world.repo["id"]:
            db.execute("DELETE FROM repository WHERE id = :id", id=chosen)

    def _do_token(self, db: Connection) -> None:
        tokens.create(db, self.world.user["id"], note="ü")
        tokens.revoke(db, self._any(db, "token") or 0)

    def _do_upsert(self, db: Connection) -> None:
        number = self.random.randint(1, 9)
        db.execute(
            "INSERT INTO failed_login (who, times, since) VALUES (:who, 1, 0)"
            " ON CONFLICT (who) DO UPDATE SET times = failed_login.times + 1",
            who=f"{number} ✓",
        )

    def _do_rename_the_key(self, db: Connection) -> None:
        number = next(self.numbers)
        db.execute("UPDATE failed_login SET who = :who WHERE who LIKE '1 %'", who=f"z{number}")


def settled(world: World) -> Bustle:
    """Make every kind of change several times. Return the `Bustle` that made them."""
    bustle = Bustle(world, 99)
    for action in bustle.actions * 4:
        world.store.write_sync(partial(action, bustle))
    return bustle


class Load:
    """Accepts events as another hub process would, until one is refused. Keeps the receipts."""

    def __init__(self, folder: Path, world: World) -> None:
        self.receipts: list[incoming.Receipt] = []
        self.refused: list[BaseException] = []
        self._folder, self._world = folder, world
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))

    async def _run(self) -> None:
        store = open_store("sqlite", data_dir=self._folder)
        rounds = itertools.count()
        while not self.refused:
            number = next(rounds)
            arrivals = [self._world.arrival(f"load-{number}-{at}") for at in range(10)]
            found = await asyncio.gather(
                *[store.batch(events.accept, arrival) for arrival in arrivals],
                return_exceptions=True,
            )
            for each in found:
                if isinstance(each, incoming.Receipt):
                    self.receipts.append(each)
                else:
                    self.refused.append(each)
            # The pause is short, so that writes are in progress at nearly any time.
            await asyncio.sleep(0.01)
        await store.close()

    def __enter__(self) -> "Load":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()
