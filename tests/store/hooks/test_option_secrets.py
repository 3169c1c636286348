"""Secret values in delivery options: asterisks keep a stored value, for the same server only."""

import json
from typing import Any

import pytest
from store_world import World

from store import Row
from store.endpoint_access.secret_parts import MASK
from store.errors import Invalid
from store.hooks import hooks, option_secrets
from store.hooks.hook_options import DeliveryOptions

KEY = "Bearer hunter2-hunter2"
HEADERS = {"Authorization": KEY, "X-Env": "live"}
MASKED = {"Authorization": MASK, "X-Env": "live"}


def with_headers(world: World, headers: dict[str, str] = HEADERS) -> Row:
    return world.hook("push", options={"headers": headers})


def revealed(world: World, hook: Row) -> dict[str, Any]:
    return world.store.read_sync(option_secrets.revealed, hook)


def test_the_row_has_asterisks_and_an_encrypted_value(world: World) -> None:
    hook = with_headers(world)
    assert hook["options"] == {"headers": MASKED}
    assert b"hunter2" not in bytes(hook["option_secrets"])
    assert "hunter2" not in json.dumps(hook["options"])
    assert revealed(world, hook) == {"headers": HEADERS}


def test_without_a_secret_nothing_is_encrypted(world: World) -> None:
    hook = with_headers(world, {"X-Env": "live"})
    assert hook["option_secrets"] is None
    assert revealed(world, hook) == {"headers": {"X-Env": "live"}}


def test_asterisks_keep_the_stored_value(world: World) -> None:
    hook = with_headers(world)
    headers = MASKED | {"X-Env": "test"}
    hook = world.store.write_sync(hooks.update, hook, options={"headers": headers, "rate": 2})
    assert revealed(world, hook)["headers"] == HEADERS | {"X-Env": "test"}
    hook = world.store.write_sync(
        hooks.update, hook, options={"headers": {"Authorization": "Basic x"}}
    )
    assert revealed(world, hook)["headers"] == {"Authorization": "Basic x"}
    hook = world.store.write_sync(hooks.update, hook, options={})
    assert hook["option_secrets"] is None


@pytest.mark.parametrize("name", ["X-Api-Key", "Authorization"])
def test_asterisks_need_a_stored_value(world: World, name: str) -> None:
    with pytest.raises(Invalid, match=f"the hook has none for {name}"):
        with_headers(world, {name: MASK})


@pytest.mark.parametrize(
    ("place", "allowed"),
    [
        ("https://receiver.example/other", True),
        ("https://RECEIVER.example/other", True),
        ("https://other.example/in", False),
        ("http://receiver.example/in", False),
        ("https://receiver.example:8443/in", False),
    ],
)
def test_stored_values_stay_with_their_server(world: World, place: str, allowed: bool) -> None:
    hook = world.hook("push", url="https://receiver.example/in", options={"headers": HEADERS})
    if allowed:
        changed = world.store.write_sync(hooks.update, hook, url=place)
        assert revealed(world, changed) == {"headers": HEADERS}
    else:
        with pytest.raises(Invalid, match="on another server"):
            world.store.write_sync(hooks.update, hook, url=place)
        again = world.store.write_sync(hooks.update, hook, url=place, options={"headers": HEADERS})
        assert revealed(world, again) == {"headers": HEADERS}


def test_no_repr_shows_a_value() -> None:
    assert "hunter2" not in repr(DeliveryOptions(headers=HEADERS))
