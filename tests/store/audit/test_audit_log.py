"""The audit log: entries are only appended, and any other change is detected."""

import random
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from audit_forgery import forge
from engines import embedded
from statement_log import plan_lines, statements

from store import Connection, Row, Store, open_store
from store.accounts import accounts
from store.audit import audit_check, audit_log, audit_search
from store.audit.audit_check import Chain
from store.audit.audit_log import Actor, AuditEntry
from store.audit.audit_search import AuditFilter, NameMatches
from store.clock import DAY, SECOND, MovableClock
from store.database import list_order
from store.database.list_order import Matches
from store.database.sqlite.connections import SqliteSession
from store.errors import StoreError, Unavailable
from store.monitoring import minute_counters

ADA = Actor("ada", "token", 1, 7, "192.0.2.1")
ROOT = Actor("root@tower", "command")


def entry(number: int, actor: Actor = ADA, **more: object) -> AuditEntry:
    return AuditEntry(actor, "repos/create-webhook", f"/repos/ada/bell/{number}", "201", **more)


def write(store: Store, *entries: AuditEntry) -> None:
    def adding(db: Connection) -> None:
        for one in entries:
            audit_log.add(db, one)

    store.write_sync(adding)


def checked(store: Store, portion: int = 2) -> Chain:
    chain = store.read_sync(audit_check.start_check)
    while store.read_sync(audit_check.check, chain, portion):
        pass
    return chain


def problems(store: Store) -> list[str]:
    return checked(store).problems


def rows(store: Store, **given: object) -> list[Row]:
    return store.read_sync(audit_search.page, AuditFilter(**given), limit=100)


def numbers(store: Store, **given: object) -> list[int]:
    return [row["id"] for row in rows(store, **given)]


@pytest.mark.parametrize("first", [True, False])
def test_the_chain_is_locked_after_all_counters(
    store: Store, monkeypatch: pytest.MonkeyPatch, first: bool
) -> None:
    def count(db: Connection) -> None:
        minute_counters.increment(db, (1, (minute_counters.EVENTS,)))

    def add(db: Connection) -> None:
        audit_log.add(db, entry(1))

    asked = statements(monkeypatch)
    calls = (add, count) if first else (count, add)
    store.write_sync(lambda db: [call(db) for call in calls])
    places = [sql.split()[2] for sql in asked if sql.startswith("INSERT INTO")]
    assert places[-1] == "audit"
    assert "tally" in places


def test_an_entry_has_the_given_values(store: Store, clock: MovableClock) -> None:
    fields = ("active", "config.url")
    write(store, entry(1, request_id="abc", fields=fields, ids={"id": 5, "repository": 1}))
    assert rows(store) == [
        {
            "id": 1,
            "at": clock.now(),
            "actor": "ada",
            "via": "token",
            "account_id": 1,
            "token_id": 7,
            "address": "192.0.2.1",
            "action": "repos/create-webhook",
            "target": "/repos/ada/bell/1",
            "outcome": "201",
            "request_id": "abc",
            "details": {"fields": ["active", "config.url"], "id": 5, "repository": 1},
            "through": None,
        }
    ]


def test_long_values_are_cut(store: Store) -> None:
    names = tuple(f"field-{number}" for number in range(1000))
    write(store, AuditEntry(ADA, "x", "/\0" + "y" * 10_000, "204", fields=names))
    (row,) = rows(store)
    assert row["target"] == "/\N{REPLACEMENT CHARACTER}" + "y" * 498
    assert len(row["details"]["fields"]) == 100


def test_an_entry_is_written_with_the_change_or_not_at_all(store: Store) -> None:
    def failing(db: Connection) -> None:
        audit_log.add(db, entry(1))
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        store.write_sync(failing)
    assert rows(store) == []


async def test_failed_writes_of_a_group_have_no_entry(store: Store) -> None:
    """Each failed write is undone alone, and the entries of the others form one chain."""
    import asyncio

    def job(db: Connection, number: int) -> None:
        accounts.create(db, f"user-{number}")
        audit_log.add(db, entry(number))
        if number % 3 == 0:
            raise StoreError("no")

    answers = await asyncio.gather(
        *(store.write(job, number) for number in range(12)), return_exceptions=True
    )
    assert sum(isinstance(answer, StoreError) for answer in answers) == 4
    targets = sorted(row["target"] for row in rows(store))
    assert targets == sorted(f"/repos/ada/bell/{number}" for number in range(12) if number % 3)
    assert numbers(store) == list(range(8, 0, -1))
    assert problems(store) == []


def test_the_audit_log_in_pages(store: Store, clock: MovableClock) -> None:
    for number in range(1, 6):
        write(store, entry(number, ADA if number % 2 else ROOT))
        clock.advance(60)
    write(store, AuditEntry(ADA, "hub/subscribe", "/hub", "204"))
    assert numbers(store) == [6, 5, 4, 3, 2, 1]
    assert [row["id"] for row in store.read_sync(audit_search.page, limit=2)] == [6, 5]
    assert [
        row["id"] for row in store.read_sync(audit_search.page, AuditFilter(before=5), limit=2)
    ] == [
        4,
        3,
    ]
    assert numbers(store, actors=["root@tower"]) == [4, 2]
    assert numbers(store, actions=["hub/subscribe"]) == [6]
    assert numbers(store, since=clock.now() - 130 * SECOND) == [6, 5, 4]
    assert numbers(store, since=clock.now() + 1) == []
    assert numbers(store, actors=["ada"], actions=["repos/create-webhook"], before=5) == [3, 1]
    found = store.read_sync(audit_search.latest_entry, "hub/subscribe")
    assert found is not None
    assert found["id"] == 6
    assert store.read_sync(audit_search.latest_entry, "nothing") is None


def test_a_part_of_a_name_finds_entries_of_all_such_names(store: Store) -> None:
    write(store, entry(1))
    write(store, AuditEntry(Actor("Adam", "token"), "hub/subscribe", "/hub", "204"))
    write(store, AuditEntry(Actor("bob_%", "token"), "hub/unsubscribe", "/hub", "204"))
    found = {
        text: sorted(store.read_sync(audit_search.find_names, "actor", text).names)
        for text in ("ada", "AD", "b_", "%", "nobody")
    }
    assert found == {
        "ada": ["ada"], "AD": ["Adam", "ada"], "b_": ["bob_%"], "%": ["bob_%"], "nobody": [],
    }  # fmt: skip
    hub = ["hub/subscribe", "hub/unsubscribe"]
    assert store.read_sync(audit_search.find_names, "action", "subscribe") == NameMatches(hub)
    both = {"actors": ["Adam", "ada"], "actions": ["hub/subscribe", "hub/unsubscribe"]}
    assert numbers(store, actors=both["actors"]) == [2, 1]
    assert numbers(store, **both) == [2]
    assert numbers(store, actors=[]) == []
    counts = [
        store.read_sync(audit_search.count, wanted).many
        for wanted in (
            AuditFilter(),
            AuditFilter(actors=["ada"]),
            AuditFilter(before=2),
            AuditFilter(**both),
        )
    ]
    assert counts == [3, 1, 3, 1]


@pytest.mark.parametrize("limit", ["MOST_EXAMINED", "MOST_NAMES"])
def test_a_search_says_when_it_leaves_out_names(
    store: Store, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    for name in ("ada", "adam", "bob"):
        write(store, AuditEntry(Actor(name, "token"), "x", "/", "204"))
    monkeypatch.setattr(audit_search, limit, 2)
    assert store.read_sync(audit_search.find_names, "actor", "bob") == NameMatches(["bob"])
    wanted, partial = store.read_sync(audit_search.find, "a", "", AuditFilter())
    assert (wanted.actors, partial) == (["ada", "adam"], ["a"] if limit == "MOST_EXAMINED" else [])
    monkeypatch.setattr(audit_search, limit, 1)
    assert store.read_sync(audit_search.find_names, "actor", "a") == NameMatches(["ada"], more=True)


def test_a_search_finds_the_newest_of_all_names(
    store: Store, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With any filter, a page has the entries that a scan of all entries finds."""
    choice = random.Random(21)
    people, deeds = ["ada", "bob", "cy", "dee"], ["make", "change", "drop"]
    for _ in range(60):
        actor = Actor(choice.choice(people), "token")
        write(store, AuditEntry(actor, choice.choice(deeds), "/x", "204"))
        clock.advance(1)
    every = [(row["id"], row["at"], row["actor"], row["action"]) for row in rows(store)]
    for module in (audit_search, list_order):
        monkeypatch.setattr(module, "MOST", 5)
    for _ in range(100):
        actors, actions = (
            choice.choice([None, choice.sample(names, choice.randint(0, len(names)))])
            for names in (people, deeds)
        )
        since, before = choice.choice([None, every[40][1]]), choice.choice([None, 50])
        of_time = [
            number
            for number, at, actor, action in every
            if (actors is None or actor in actors)
            and (actions is None or action in actions)
            and at >= (since or 0)
        ]
        found = [number for number in of_time if before is None or number < before]
        wanted = AuditFilter(actors, actions, since, before=before)
        page = store.read_sync(audit_search.page, wanted, limit=4)
        assert [row["id"] for row in page] == found[:4], wanted
        counted = store.read_sync(audit_search.count, wanted)
        assert counted == Matches(min(len(of_time), 5), more=len(of_time) > 5), wanted


def test_a_part_of_a_target_is_searched_in_the_newest_entries(
    store: Store, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rare one is not searched in the whole log at once."""
    monkeypatch.setattr(audit_search, "MOST_SEARCHED", 4)
    for number in range(1, 11):
        write(store, entry(number % 5, actor=ROOT if number == 9 else ADA))
        clock.advance(1)
    last = rows(store, before=8)[0]["at"]
    for given, found, earlier in (
        ({"target": "ADA/bell"}, [10, 9, 8, 7], 7),
        ({"target": "bell/3"}, [8], 7),
        ({"target": "bell/3", "before": 7}, [3], 3),
        ({"target": "bell/3", "before": 3}, [], None),
        ({"target": "bell/%"}, [], 7),
        ({"target": "bell/4", "actors": ["ada"]}, [], 7),
        ({"target": "bell/4", "actors": ["ada"], "before": 7}, [4], 3),
        ({"target": "bell/3", "until": last}, [3], 3),
        ({"target": "bell", "since": last}, [10, 9, 8, 7], None),
        ({"target": "bell", "since": last - SECOND}, [10, 9, 8, 7], 7),
        ({}, list(range(10, 0, -1)), None),
    ):
        wanted = AuditFilter(**given)
        assert numbers(store, **given) == found, given
        assert store.read_sync(audit_search.searched_from, wanted) == earlier, given
        if "before" not in given:
            assert store.read_sync(audit_search.count, wanted).many == len(found), given


def test_a_search_for_a_target_goes_on_before_a_removed_entry(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_search, "MOST_SEARCHED", 4)
    write(store, *(entry(number) for number in range(1, 7)))
    store.write_sync(forge, "DELETE FROM audit WHERE id = 2")
    assert store.read_sync(audit_search.searched_from, AuditFilter(target="bell")) == 3
    store.write_sync(forge, "DELETE FROM audit WHERE id = 1")
    assert store.read_sync(audit_search.searched_from, AuditFilter(target="bell")) is None


def test_a_target_is_found_by_letters_other_than_ascii(store: Store) -> None:
    """The databases know no lower case of these."""
    write(store, replace(entry(1), target="hook add --name Ärger_2"), entry(2))
    assert numbers(store, target="ADD --NAME Ärger") == [1]
    assert numbers(store, target="Ärger_") == [1]
    assert numbers(store, target="rger%2") == numbers(store, target="%") == []


def test_a_slash_ends_the_number_in_a_target(store: Store) -> None:
    write(store, *(entry(number) for number in (1, 12, 1)))
    assert numbers(store, target="/bell/1") == [3, 2, 1]
    assert numbers(store, target="/bell/1/") == [3, 1]


def test_pages_are_read_by_an_index(tmp_path: Path) -> None:
    wanted = {
        "ORDER BY": {},
        "audit_actor": {"actors": ["ada"]},
        "audit_action": {"actions": ["x"]},
        "audit_actor_action": {"actors": ["ada"], "actions": ["x"]},
        "audit_at": {"since": 1},
    }
    store = open_store("sqlite", data_dir=tmp_path)
    for index, given in wanted.items():
        plan = store.read_sync(lambda db, given=given: explained(db, given))
        # With names, the plan sorts only the newest entries of each name, at most a page of them.
        assert "TEMP B-TREE" not in plan or "actors" in given or "actions" in given
        assert index == "ORDER BY" or f"INDEX {index} " in plan, plan
    store.shut()


def explained(db: Connection, given: dict[str, Any]) -> str:
    return "; ".join(
        plan_lines(db, lambda db: audit_search.page(db, AuditFilter(**given), limit=10))
    )


def test_a_clock_that_is_set_back_keeps_the_order(store: Store, clock: MovableClock) -> None:
    write(store, entry(1))
    clock.advance(-60)
    write(store, entry(2))
    assert len({row["at"] for row in rows(store)}) == 1
    assert numbers(store, since=clock.now()) == [2, 1]
    assert problems(store) == []


# Tampering.


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE audit SET actor = 'eve' WHERE id = 2",
        "DELETE FROM audit WHERE id = 2",
        "DELETE FROM audit",
    ],
)
def test_the_database_refuses_changes(store: Store, sql: str) -> None:
    if not store.engine.embedded and "WHERE" not in sql:
        sql = "TRUNCATE audit"
    write(store, entry(1), entry(2))
    with pytest.raises(Unavailable, match="the audit log is only added to"):
        store.write_sync(lambda db: db.execute(sql))
    assert numbers(store) == [2, 1]


def test_the_database_refuses_to_replace_an_entry(store: Store) -> None:
    columns = "id, at, actor, via, action, target, outcome, details, digest"
    forged = columns.replace("actor", "'eve'")
    sql = f"INSERT INTO audit ({columns}) SELECT {forged} FROM audit WHERE id = 2"
    write(store, entry(1), entry(2))
    ways = [f"{sql} ON CONFLICT (id) DO UPDATE SET actor = 'eve'"]
    if store.engine.embedded:
        ways.append(sql.replace("INSERT", "INSERT OR REPLACE"))
    for way in ways:
        with pytest.raises(Unavailable, match="the audit log is only added to"):
            store.write_sync(lambda db, way=way: db.execute(way))
    assert [row["actor"] for row in rows(store)] == ["ada", "ada"]


Tampering = Callable[..., None]


@pytest.fixture
def tamper(store: Store, url: str) -> Tampering:
    """Returns a function that bypasses the triggers, as the owner of the database could."""
    write(store, *(entry(number) for number in range(1, 7)))
    assert problems(store) == []

    def run(*statements: str) -> None:
        store.write_sync(forge, *statements)

    return run


@pytest.mark.parametrize(
    "change",
    ["actor = 'eve'", "at = at + 1", "outcome = '500'", "details = '{}'", "token_id = NULL"],
)
def test_a_changed_entry_is_noticed(store: Store, tamper: Tampering, change: str) -> None:
    if change == "details = '{}'":
        change = "details = '{\"id\":9}'"
    tamper(f"UPDATE audit SET {change} WHERE id = 3")
    assert problems(store) == ["entry 3 is not what was written, or the one before it is not"]


@embedded("PostgreSQL stores no value of another type")
@pytest.mark.parametrize(
    ("change", "numbers"),
    [
        ("actor = CAST(x'ff' AS TEXT)", [3]),
        ("details = x'ff'", [3]),
        ("at = 'x'", [3]),
        ("digest = 'x'", [3, 4]),
        ("digest = CAST(x'ff' AS TEXT)", [3, 4]),
        ("digest = 99999999999999", [3, 4]),
    ],
)
def test_a_value_of_another_type_is_noticed(
    store: Store, tamper: Tampering, change: str, numbers: list[int]
) -> None:
    tamper(f"UPDATE audit SET {change} WHERE id = 3")
    assert problems(store) == [
        f"entry {number} is not what was written, or the one before it is not" for number in numbers
    ]


@embedded("PostgreSQL stores no value of another type")
@pytest.mark.parametrize(
    ("change", "name", "shown"),
    [
        ("actor = CAST(x'ff' AS TEXT)", "actor", "\N{REPLACEMENT CHARACTER}"),
        ("target = x'616263'", "target", "abc"),
        ("outcome = 7", "outcome", "7"),
        ("details = x'ff'", "details", {"details": "\N{REPLACEMENT CHARACTER}"}),
        ("details = '[1]'", "details", {"details": "[1]"}),
        ("details = '{\"fields\":1}'", "details", {"details": '{"fields":1}'}),
        ("at = 'x'", "at", 0),
        ("at = 9000000000000000000", "at", 0),
    ],
)
def test_an_entry_with_a_value_of_another_type_is_listed(
    store: Store, tamper: Tampering, change: str, name: str, shown: object
) -> None:
    tamper(f"UPDATE audit SET {change} WHERE id = 3")
    rows = {row["id"]: row for row in store.read_sync(audit_search.page, limit=10)}
    assert sorted(rows) == [1, 2, 3, 4, 5, 6]
    assert rows[3][name] == shown


@embedded("PostgreSQL stores no value of another type")
@pytest.mark.parametrize("change", ["at = 'x'", "digest = 'x'", "digest = CAST(x'ff' AS TEXT)"])
def test_entries_can_be_added_after_a_forged_value(
    store: Store, tamper: Tampering, change: str
) -> None:
    tamper(f"UPDATE audit SET {change} WHERE id = 6")
    write(store, entry(7))
    assert problems(store) == [
        "entry 6 is not what was written, or the one before it is not",
    ]


def test_a_missing_entry_is_noticed(store: Store, tamper: Tampering) -> None:
    tamper("DELETE FROM audit WHERE id IN (3, 4)")
    assert problems(store) == ["entries 3 to 4 are missing"]


def test_renumbered_entries_are_noticed(store: Store, tamper: Tampering) -> None:
    # PostgreSQL compares each changed id with the others at once, in the order of the rows on disk.
    # So the ids first move to where none is.
    tamper(
        "DELETE FROM audit WHERE id = 3",
        "UPDATE audit SET id = 1 - id WHERE id > 3",
        "UPDATE audit SET id = -id WHERE id < 0",
    )
    assert problems(store) == [
        f"entry {number} is not what was written, or the one before it is not"
        for number in (3, 4, 5)
    ]


def test_a_known_digest_shows_that_the_end_was_cut_off(store: Store, tamper: Tampering) -> None:
    number, digest, _ = store.read_sync(audit_log.chain_head)
    assert store.read_sync(audit_check.has_digest, number, digest.hex())
    tamper("DELETE FROM audit WHERE id > 4")
    assert problems(store) == []
    assert not store.read_sync(audit_check.has_digest, number, digest.hex())
    write(store, entry(9), entry(9))
    assert not store.read_sync(audit_check.has_digest, number, digest.hex())


def test_a_known_digest_shows_a_chain_that_was_made_anew(store: Store, tamper: Tampering) -> None:
    """With the key file, an attacker can do that, and the chain itself does not show it."""
    number, digest, _ = store.read_sync(audit_log.chain_head)
    tamper("UPDATE audit SET actor = 'eve' WHERE id = 2")
    tamper(*store.read_sync(new_digests))
    assert problems(store) == []
    assert not store.read_sync(audit_check.has_digest, number, digest.hex())


def new_digests(db: Connection) -> list[str]:
    """Return the statements that give each entry the digest of its present content."""
    key, digest, statements = audit_log.chain_key(db), b"", []
    for content in db.tuples(f"SELECT {audit_log.CONTENT} FROM audit ORDER BY id"):
        digest = audit_log.entry_digest(key, digest, tuple(content))
        # The literal of bytes in SQLite, and in PostgreSQL.
        literal = f"x'{digest.hex()}'" if isinstance(db, SqliteSession) else f"'\\x{digest.hex()}'"
        statements.append(f"UPDATE audit SET digest = {literal} WHERE id = {content[0]}")
    return statements


def test_the_beginning_cut_off_is_noticed(store: Store, tamper: Tampering) -> None:
    tamper("DELETE FROM audit WHERE id < 3")
    assert problems(store) == ["entries 1 to 2 are missing"]


# Retention.


def release(store: Store, before: int) -> None:
    last = store.read_sync(audit_check.last_before, before)
    chain = store.read_sync(audit_check.start_check)
    while store.read_sync(audit_check.check, chain, 2, last):
        pass
    if chain.count:
        store.write_sync(audit_check.record_pruning, chain)


def prune(store: Store, before: int) -> int:
    release(store, before)
    many = 0
    while dropped := store.write_sync(audit_check.drop, before, 2):
        many += dropped
    return many


def test_the_rest_can_be_checked_after_old_entries_are_pruned(
    store: Store, clock: MovableClock
) -> None:
    for number in range(5):
        write(store, entry(number))
        clock.advance(2 * DAY / SECOND)
    before = clock.now() - 5 * DAY
    assert prune(store, before) == 3
    assert numbers(store) == [6, 5, 4]
    assert rows(store)[0]["action"] == audit_log.PRUNED
    chain = checked(store)
    assert (chain.first, chain.count, chain.problems) == (4, 3, [])
    assert prune(store, before) == 0
    assert numbers(store) == [6, 5, 4], "a pruning that deletes no entry is not recorded"
    clock.advance(30 * DAY / SECOND)
    assert prune(store, clock.now() - 5 * DAY) == 3
    assert numbers(store) == [7]
    assert problems(store) == []
    write(store, entry(1))
    assert numbers(store) == [8, 7]
    assert problems(store) == []


def test_the_log_is_pruned_once_a_day_at_most(store: Store, clock: MovableClock) -> None:
    write(store, entry(1))
    clock.advance(60)
    assert prune(store, clock.now()) == 0
    clock.advance(DAY / SECOND)
    assert prune(store, clock.now()) == 1


def test_pruning_that_was_cut_off_can_be_checked_and_goes_on(
    store: Store, clock: MovableClock
) -> None:
    write(store, *(entry(number) for number in range(5)))
    clock.advance(2 * DAY / SECOND)
    release(store, clock.now())
    assert store.write_sync(audit_check.drop, 0, 2) == 2
    assert numbers(store) == [6, 5, 4, 3]
    assert problems(store) == []
    assert prune(store, clock.now()) == 3
    assert problems(store) == []


def test_entries_that_were_not_pruned_cannot_be_deleted(store: Store) -> None:
    write(store, entry(1))
    assert store.write_sync(audit_check.drop, 1 << 60, 10) == 0
    with pytest.raises((Unavailable, sqlite3.Error)):
        store.write_sync(lambda db: db.execute("DELETE FROM audit WHERE id = 1"))


# Forged prunings. An attacker may add rows, but does not have the key.


def add_forged(store: Store, through: int, at: int, digest: str = "00" * 32) -> int:
    number, _, _ = store.read_sync(audit_log.chain_head)
    details = f'{{"through":{through},"digest":"{digest}"}}'
    row = (number + 1, at, "retention", "daemon", "audit prune", "/", "done", details, through)
    columns = "id, at, actor, via, action, target, outcome, details, through, digest"
    store.write_sync(lambda db: db.insert_many("audit", columns, [(*row, bytes(32))]))
    return number + 1


def test_a_row_that_releases_itself_releases_no_row(store: Store, clock: MovableClock) -> None:
    """Neither the check nor the database accepts it."""
    write(store, *(entry(number) for number in range(3)))
    forged = add_forged(store, 4, clock.now())
    assert forged == 4
    for number in (2, forged):
        sql = f"DELETE FROM audit WHERE id = {number}"
        with pytest.raises(Unavailable, match="the audit log is only added to"):
            store.write_sync(lambda db, sql=sql: db.execute(sql))
    assert store.write_sync(audit_check.drop, 0, 10) == 0
    chain = checked(store)
    assert (chain.first, chain.count) == (1, 4)
    assert chain.problems == ["entry 4 is not what was written, or the one before it is not"]


@pytest.mark.parametrize("digest", ["00" * 32, "x"])
def test_a_forged_pruning_is_noticed(store: Store, clock: MovableClock, digest: str) -> None:
    """The database lets it delete the rows before, but the check covers the row itself."""
    write(store, *(entry(number) for number in range(3)))
    forged = add_forged(store, 3, clock.now(), digest)
    store.write_sync(lambda db: db.execute("DELETE FROM audit WHERE id <= 3"))
    wrong = f"entry {forged} is not what was written, or the one before it is not"
    assert problems(store) == [wrong]
    write(store, entry(9))
    assert problems(store) == [wrong]


def test_pruning_keeps_the_problems_of_deleted_entries(store: Store, clock: MovableClock) -> None:
    """A forged entry may be as old as the attacker likes, so that the next pruning deletes it."""
    write(store, *(entry(number) for number in range(3)))
    clock.advance(10 * DAY / SECOND)
    forged = add_forged(store, 3, 0)
    store.write_sync(lambda db: db.execute("DELETE FROM audit WHERE id <= 3"))
    assert prune(store, clock.now() - 5 * DAY) == 1
    wrong = f"entry {forged} is not what was written, or the one before it is not"
    kept = f"{wrong} (before entry {forged + 1} let it be deleted)"
    assert numbers(store) == [forged + 1]
    assert problems(store) == [kept]
    write(store, entry(9))
    assert problems(store) == [kept]
    clock.advance(10 * DAY / SECOND)
    assert prune(store, clock.now() - 5 * DAY) == 2
    assert problems(store) == [], "its record was kept as long as any other entry"


def test_pruning_stops_before_its_time_where_entries_are_missing(
    store: Store, clock: MovableClock, tamper: Tampering
) -> None:
    clock.advance(10 * DAY / SECOND)
    write(store, entry(7), entry(8))
    tamper("DELETE FROM audit WHERE id IN (5, 6)")
    assert prune(store, clock.now() - 5 * DAY) == 4
    assert numbers(store) == [9, 8, 7]
    assert problems(store) == ["entries 5 to 6 are missing"]
