"""State documents and `tocsin org join`: seats of an organization's members at the assistant."""

import json
from typing import Any

import pytest

from store import Connection, Row, Store
from store.accounts import accounts
from store.assistant import assistant_seats, seat_rows
from worker.jobs import expire

PEOPLE: dict[str, Any] = {
    "users": [{"login": "ada"}, {"login": "bob"}, {"login": "eve"}],
    "organizations": [{"login": "tower", "members": {"ada": "admin", "bob": "member"}}],
}


@pytest.fixture
def load(run):
    def call(**parts: Any) -> str:
        said: str = run("load", "-", stdin=json.dumps(PEOPLE | parts)).stdout
        return said.splitlines()[-1]

    return call


def subscription(how: str, **more: Any) -> dict[str, Any]:
    return {"assistant_subscriptions": [{"organization": "tower", "seat_management": how, **more}]}


def seats(store: Store) -> dict[str, bool]:
    """Return for each login whether its seat has an end."""

    def read(db):
        tower = accounts.by_login(db, "tower")
        rows: list[Row] = assistant_seats.page(db, tower["id"], limit=99, offset=0)
        people = accounts.of(db, [row["account_id"] for row in rows])
        return {people[row["account_id"]]["login"]: row["expires_at"] is not None for row in rows}

    return store.read_sync(read)


def test_all_members_have_a_seat_and_those_to_come(load, run, store: Store):
    load(**subscription("assign_all"))
    assert seats(store) == {"ada": False, "bob": False}
    assert "0 created, 0 updated" in load(**subscription("assign_all"))
    organization = {**PEOPLE["organizations"][0], "members": {"eve": "member"}}
    assert "0 created, 1 updated" in load(organizations=[organization])
    assert seats(store) == {"ada": False, "bob": False, "eve": False}


def test_selected_members_keep_their_seats(load, store: Store):
    load(**subscription("assign_all"))
    assert "0 created, 1 updated" in load(**subscription("assign_selected", users=["ada"]))
    assert seats(store) == {"ada": False, "bob": True}
    assert "0 created, 0 updated" in load(**subscription("assign_selected", users=["ada"]))


def test_a_seat_that_comes_with_joining_emits_an_event(load, run, store: Store):
    load(**subscription("assign_all"))
    run("org", "join", "tower", "eve")
    assert seats(store) == {"ada": False, "bob": False, "eve": False}
    run("org", "join", "tower", "eve", "--role", "admin")
    reported = store.read_sync(lambda db: db.all("SELECT name, action FROM event"))
    assert reported == [{"name": "assistant_seat", "action": "created"}]


def test_a_seat_ends_with_the_membership(load, run, store: Store):
    load(**subscription("assign_all"))
    run("org", "leave", "tower", "bob")
    assert seats(store) == {"ada": False, "bob": True}
    reported = store.read_sync(lambda db: db.all("SELECT name, action FROM event"))
    assert reported == [{"name": "assistant_seat", "action": "cancelled"}]


def end_seat(db: Connection, login: str) -> None:
    """End a seat now. No worker runs that removes it."""
    tower, person = accounts.by_login(db, "tower"), accounts.by_login(db, login)
    assert tower is not None
    assert person is not None
    rows = seat_rows.of_users(db, tower["id"], [person["id"]])
    seat_rows.cancel(db, [*rows.values()], db.now)


def test_a_seat_that_ended_without_a_worker_is_reported(load, run, store: Store):
    load(**subscription("assign_all"))
    store.write_sync(end_seat, "bob")
    load(**subscription("assign_all", plan="enterprise"))
    assert seats(store) == {"ada": False, "bob": False}
    store.write_sync(end_seat, "bob")
    run("org", "join", "tower", "bob")
    assert seats(store) == {"ada": False, "bob": False}
    reported = store.read_sync(lambda db: db.tuples("SELECT action FROM event ORDER BY id"))
    assert reported == [("cancelled",), ("cancelled",), ("created",)]


def test_seats_that_ended_are_reported_in_transactions_before_the_document(
    load, run, store: Store, monkeypatch: pytest.MonkeyPatch
):
    """All other writers would wait for the end of one transaction with many seats."""
    monkeypatch.setattr(expire, "BATCH", 1)
    load(**subscription("assign_all"))
    for login in ("ada", "bob"):
        store.write_sync(end_seat, login)
    unknown = subscription("assign_selected", teams=["none"])
    run("load", "-", stdin=json.dumps(PEOPLE | unknown), code=2)
    reported = store.read_sync(lambda db: db.tuples("SELECT action FROM event ORDER BY id"))
    assert reported == [("cancelled",), ("cancelled",)]
