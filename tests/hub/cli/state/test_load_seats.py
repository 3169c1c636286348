"""State documents and `tocsin org join`: seats of an organization's members at the assistant."""

import json
from typing import Any

import pytest

from store import Row, Store
from store.accounts import accounts
from store.assistant import assistant_seats

pytestmark = pytest.mark.usefixtures("url")

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
        people = accounts.get_required(db, [row["account_id"] for row in rows])
        return {people[row["account_id"]]["login"]: row["expires_at"] is not None for row in rows}

    return store.look(read)


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
    reported = store.look(lambda db: db.all("SELECT name, action FROM event"))
    assert reported == [{"name": "assistant_seat", "action": "created"}]
