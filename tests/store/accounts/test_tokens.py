"""Tokens: their format, their scopes, their expiry, and the hashes that the store keeps."""

import hashlib
import re
from typing import Any

import pytest
from store_world import World

from store.accounts import tokens
from store.accounts.tokens import KINDS, SCOPES, implies, included, is_well_formed, normalize
from store.clock import SECOND
from store.errors import Conflict, Invalid


@pytest.mark.parametrize(("kind", "prefix"), KINDS.items())
def test_a_value_has_its_kinds_prefix_and_a_checksum(kind: str, prefix: str) -> None:
    value = tokens.new_value(kind)
    assert re.fullmatch(rf"{prefix}[0-9A-Za-z]{{36}}", value)
    assert is_well_formed(value)


def test_values_differ() -> None:
    assert len({tokens.new_value("personal") for _ in range(100)}) == 100


def test_any_changed_character_is_noticed() -> None:
    value = tokens.new_value("personal")
    for at in range(4, len(value)):
        other = "a" if value[at] != "a" else "b"
        assert not is_well_formed(value[:at] + other + value[at + 1 :])


@pytest.mark.parametrize(
    "change",
    [
        lambda value: "",
        lambda value: value[:-1],
        lambda value: value + "0",
        lambda value: value + "\n",
        lambda value: " " + value,
        lambda value: "xyz_" + value[4:],
        lambda value: value.swapcase(),
        lambda value: value[:-1] + "é",
    ],
)
def test_a_malformed_token_is_known_without_a_look_up(change) -> None:
    assert not is_well_formed(change(tokens.new_value("personal")))


@pytest.mark.parametrize(
    ("kind", "ignored", "field"),
    [
        ("personal", {"permissions": {"contents": "read"}}, "permissions"),
        ("oauth", {"permissions": {"contents": "read"}}, "permissions"),
        ("fine_grained", {"scopes": ["repo"]}, "scopes"),
        ("app_user", {"scopes": ["repo"]}, "scopes"),
    ],
)
def test_rights_that_a_token_would_ignore_are_refused(
    world: World, kind: str, ignored: dict[str, Any], field: str
) -> None:
    with pytest.raises(Invalid) as refused:
        world.store.write_sync(tokens.create, world.user["id"], kind=kind, **ignored)
    assert refused.value.field == field


def test_a_token_is_found_by_its_value(world: World) -> None:
    value, made = world.store.write_sync(
        tokens.create,
        world.user["id"],
        scopes=["repo", "user"],
        note="laptop",
    )
    assert made["last_eight"] == value[-8:]
    assert (made["note"], made["created_at"], made["expires_at"]) == ("laptop", world.now, None)
    found = world.store.read_sync(tokens.find, value)
    assert found is not None
    assert found == found | {
        "id": made["id"],
        "account_id": world.user["id"],
        "kind": "personal",
        "scopes": frozenset({"repo", "user"}),
        "permissions": {},
        "expires_at": None,
        "login": "ada",
        "site_admin": 0,
        "app_id": None,
        "by_password": 0,
        "target_id": None,
        "repositories": None,
    }
    assert world.store.read_sync(tokens.find, tokens.new_value("personal")) is None
    assert world.store.read_sync(tokens.find, "") is None


def test_the_value_is_kept_as_a_hash_only(world: World) -> None:
    value, _ = world.store.write_sync(tokens.create, world.user["id"])
    (row,) = world.store.read_sync(lambda db: db.all("SELECT * FROM token"))
    assert row["hash"] == hashlib.sha256(value.encode()).hexdigest()
    assert value not in str(row)
    assert value not in str(world.store.read_sync(tokens.list_all))


def test_a_token_expires_at_its_moment(world: World) -> None:
    value, _ = world.store.write_sync(
        tokens.create, world.user["id"], expires_at=world.now + SECOND
    )
    world.clock.advance(0.999999)
    assert world.store.read_sync(tokens.find, value) is not None
    world.clock.advance(0.000001)
    assert world.store.read_sync(tokens.find, value) is None
    assert world.store.read_sync(tokens.list_all) == []


def test_an_installations_token_of_a_fast_clock_has_ended(world: World) -> None:
    world.clock.advance(365 * 86_400)
    made = {
        kind: world.store.write_sync(
            tokens.create, world.user["id"], kind=kind, expires_at=world.now + SECOND
        )[0]
        for kind in ("installation", "personal")
    }
    world.clock.advance(-365 * 86_400)
    assert world.store.read_sync(tokens.find, made["installation"]) is None
    assert world.store.read_sync(tokens.find, made["personal"]) is not None


def test_a_revoked_token_is_gone(world: World) -> None:
    value, made = world.store.write_sync(tokens.create, world.user["id"])
    assert world.store.write_sync(tokens.revoke, made["id"])
    assert world.store.read_sync(tokens.find, value) is None
    assert not world.store.write_sync(tokens.revoke, made["id"])


def test_a_given_value_is_taken_once(world: World) -> None:
    value = tokens.new_value("installation")
    made, _ = world.store.write_sync(
        tokens.create, world.user["id"], kind="installation", value=value
    )
    assert made == value
    assert world.store.read_sync(tokens.find, value)["kind"] == "installation"
    with pytest.raises(Conflict) as caught:
        world.store.write_sync(tokens.create, world.user["id"], kind="installation", value=value)
    assert value not in str(caught.value)


@pytest.mark.parametrize(
    "given",
    [
        {"kind": "magic"},
        {"value": "tsp_" + "0" * 36},
        {"value": ""},
        {"scopes": ["repo", "everything"]},
        {"permissions": {"contents": "all"}},
    ],
)
def test_an_invalid_token_is_rejected(world: World, given: dict[str, object]) -> None:
    with pytest.raises(Invalid):
        world.store.write_sync(tokens.create, world.user["id"], **given)
    assert world.store.read_sync(tokens.list_all) == []


def test_tokens_are_listed_newest_first(world: World) -> None:
    for note in ("one", "two"):
        world.store.write_sync(tokens.create, world.user["id"], note=note, scopes=["gist"])
    listed = world.store.read_sync(tokens.list_all)
    assert [(row["note"], row["login"], row["scopes"]) for row in listed] == [
        ("two", "ada", ["gist"]),
        ("one", "ada", ["gist"]),
    ]


@pytest.mark.parametrize(
    ("asked", "kept"),
    [
        ([], ()),
        (["repo"], ("repo",)),
        (["repo", "repo"], ("repo",)),
        (["public_repo", "repo"], ("repo",)),
        (["repo", "public_repo", "gist"], ("repo", "gist")),
        (["read:repo_hook", "admin:repo_hook"], ("admin:repo_hook",)),
        (["read:org", "write:org"], ("write:org",)),
        (["gist", "notifications"], ("gist", "notifications")),
        (["read:enterprise", "admin:business"], ("admin:business",)),
    ],
)
def test_scopes_are_normalized(asked: list[str], kept: tuple[str, ...]) -> None:
    assert normalize(asked) == kept


def test_normalizing_gives_and_takes_no_right() -> None:
    for first in SCOPES:
        for second in SCOPES:
            kept = normalize([first, second])
            assert {name for scope in kept for name in included(scope)} == included(
                first
            ) | included(second)
            assert normalize(kept) == kept


@pytest.mark.parametrize(
    ("scopes", "wanted", "held"),
    [
        (["repo"], "repo", True),
        (["repo"], "public_repo", True),
        (["repo"], "repo:status", True),
        (["public_repo"], "repo", False),
        (["admin:repo_hook"], "read:repo_hook", True),
        (["write:repo_hook"], "read:repo_hook", True),
        (["write:repo_hook"], "admin:repo_hook", False),
        (["repo"], "admin:repo_hook", False),
        (["gist", "admin:org"], "read:org", True),
        (["admin:business"], "manage_billing:assistant", True),
        ([], "gist", False),
    ],
)
def test_scopes_include_their_children(scopes: list[str], wanted: str, held: bool) -> None:
    assert implies(scopes, wanted) is held


def test_a_scope_may_be_any_that_is_included_elsewhere() -> None:
    assert all(included(scope) <= SCOPES for scope in SCOPES)
