"""State documents: installations of apps."""

import json
from typing import Any

import pytest
from assertions import bodies

from store import Row, Store
from store.apps import installations

APP: dict[str, Any] = {
    "name": "Mill",
    "owner": "ada",
    "url": "https://mill.example/",
    "kind": "integration",
    "permissions": {"checks": "write", "issues": "read"},
}
KNOWN = {"app": "Mill", "account": "ada"}
CHOSEN = {**KNOWN, "permissions": {"checks": "read"}, "repositories": ["bells"], "suspended": True}


@pytest.fixture
def load(run: Any) -> Any:
    def call(installation: dict[str, Any], **app: Any) -> str:
        document = {
            "users": [{"login": "ada"}],
            "repositories": [{"name": "ada/bells"}],
            "apps": [APP | app],
            "installations": [installation],
        }
        made = json.loads(run("load", "-", "--json", stdin=json.dumps(document)).stdout)
        return str(made["changes"][-1]["outcome"])

    return call


def stored(store: Store) -> Row:
    row = store.read_sync(installations.get, 1)
    assert row is not None
    return row


def test_a_new_installation_has_all_by_default(load: Any, store: Store) -> None:
    assert load(KNOWN) == "created"
    row = stored(store)
    assert row["permissions"] == {"metadata": "read", **APP["permissions"]}
    assert (row["every_repository"], row["suspended_at"]) == (True, None)


def test_an_installation_keeps_the_keys_that_its_entry_leaves_out(load: Any, store: Store) -> None:
    load(CHOSEN)
    before = stored(store)
    assert before["permissions"] == {"metadata": "read", "checks": "read"}
    assert load(KNOWN, events=["push"]) == "unchanged"
    assert stored(store) == before
    assert [event["action"] for event in bodies(store, "installation")] == ["created", "suspend"]


def test_null_stands_for_all(load: Any, store: Store) -> None:
    load(CHOSEN)
    everything = {**KNOWN, "permissions": None, "repositories": None}
    more = {"permissions": {"checks": "admin"}, "events": ["push"]}
    assert load(everything, **more) == "updated"
    row = stored(store)
    assert row["permissions"] == {"metadata": "read", "checks": "admin"}
    assert (row["events"], row["every_repository"]) == (["push"], True)
    assert row["suspended_at"] is not None
    assert load(everything, **more) == "unchanged"


def test_a_suspension_ends_if_the_entry_says_so(load: Any, store: Store) -> None:
    load(CHOSEN)
    assert load({**KNOWN, "suspended": False}) == "updated"
    assert stored(store)["suspended_at"] is None
