"""Authorizations: the records of a user's tokens, and the tokens that an app holds."""

import hashlib
from typing import Any

import pytest
from store_world import World

from store import Row
from store.accounts import accounts, app_tokens, apps, authorizations, grants, sso, tokens
from store.clock import SECOND
from store.errors import Invalid, Missing
from store.repositories import repositories


@pytest.fixture
def app(world: World) -> Row:
    return world.store.write_sync(apps.create, world.user["id"], "Lab", url="https://lab.example/")[
        1
    ]


@pytest.fixture
def integration(world: World) -> Row:
    return world.store.write_sync(
        apps.create,
        world.user["id"],
        "Mill",
        url="https://mill.example/",
        kind="integration",
        permissions={"contents": "write", "metadata": "read"},
    )[1]


def personal(world: World, note: str | None = "laptop", **given: Any) -> tuple[str, Row]:
    return world.store.write_sync(
        authorizations.create_personal, world.user["id"], note=note, **given
    )


def test_a_personal_authorization_has_the_given_values(world: World) -> None:
    value, row = personal(
        world, scopes=["user:email", "user", "repo"], note_url="https://x.example/", fingerprint="f"
    )
    assert row == {
        "id": row["id"],
        "account_id": world.user["id"],
        "kind": "personal",
        "hash": hashlib.sha256(value.encode()).hexdigest(),
        "last_eight": value[-8:],
        "note": "laptop",
        "note_url": "https://x.example/",
        "scopes": ["user", "repo"],
        "permissions": {},
        "fingerprint": "f",
        "created_at": world.now,
        "updated_at": world.now,
        "expires_at": None,
        "app_id": None,
        "target_id": None,
        "repositories": None,
        "where_installed": 0,
        "app_name": None,
        "app_url": None,
        "client_id": None,
    }
    found = world.store.read_sync(tokens.find, value)
    assert found["by_password"] == 1
    assert found["scopes"] == {"user", "repo"}


def test_a_personal_one_needs_a_note_of_its_own(world: World) -> None:
    personal(world)
    for note, code in (
        (None, "missing_field"),
        ("", "missing_field"),
        ("laptop", "already_exists"),
    ):
        with pytest.raises(Invalid) as caught:
            personal(world, note)
        assert (caught.value.code, caught.value.field) == (code, "note")
    eve = world.store.write_sync(accounts.create, "eve")["id"]
    world.store.write_sync(authorizations.create_personal, eve, note="laptop")


def test_an_app_has_one_token_for_each_fingerprint(world: World, app: Row) -> None:
    create, mine = authorizations.create_for_app, world.user["id"]
    made = {
        name: world.store.write_sync(create, mine, app, fingerprint=name)[1]["id"]
        for name in (None, "a", "b")
    }
    assert len(set(made.values())) == 3
    for name, number in made.items():
        with pytest.raises(Invalid) as caught:
            world.store.write_sync(create, mine, app, fingerprint=name)
        assert (caught.value.code, caught.value.field) == ("already_exists", "fingerprint")
        found = world.store.read_sync(authorizations.of_fingerprint, mine, app["id"], name)
        assert found["id"] == number
    assert world.store.read_sync(authorizations.of_fingerprint, mine, app["id"], "c") is None


def test_get_or_create(world: World, app: Row) -> None:
    ask, mine = authorizations.get_or_create, world.user["id"]
    value, first = world.store.write_sync(
        ask, mine, app, scopes=["repo"], note="n", fingerprint="a"
    )
    assert value is not None
    assert world.store.write_sync(ask, mine, app, scopes=["gist"], fingerprint="a") == (None, first)
    other, second = world.store.write_sync(ask, mine, app)
    assert other is not None
    assert second["id"] != first["id"]
    assert second["fingerprint"] is None


def test_an_expired_one_is_not_given_again(world: World, app: Row) -> None:
    mine = world.user["id"]
    world.store.write_sync(grants.issue, app, mine, expires_at=world.now + SECOND)
    world.clock.advance(1)
    value, _ = world.store.write_sync(authorizations.get_or_create, mine, app)
    assert value is not None


def test_pages_hold_the_user_s_own_authorizations(world: World, app: Row, integration: Row) -> None:
    mine = world.user["id"]
    _, first = personal(world)
    _, second = world.store.write_sync(authorizations.create_for_app, mine, app)
    world.store.write_sync(grants.issue, integration, mine)
    world.store.write_sync(tokens.create, mine, kind="fine_grained")
    eve = world.store.write_sync(accounts.create, "eve")["id"]
    world.store.write_sync(tokens.create, eve)
    look, page = world.store.read_sync, authorizations.page
    assert look(page, mine, limit=10, offset=0) == [first, second]
    assert look(page, mine, limit=1, offset=1) == [second]
    assert look(page, mine, limit=10, offset=0, app_id=app["id"]) == [second]
    assert look(authorizations.count, mine) == 2
    assert look(authorizations.count, mine, app_id=app["id"]) == 1
    assert second["app_name"] == "Lab"
    assert look(authorizations.get, mine, first["id"]) == first
    assert look(authorizations.get, eve, first["id"]) is None


def changed(world: World, row: Row, **what: Any) -> Row:
    texts = {key: what.pop(key) for key in ("note", "fingerprint") if key in what}
    after, _ = world.store.write_sync(authorizations.update, row, texts=texts, **what)
    return after


def test_a_change_is_kept(world: World, app: Row) -> None:
    value, row = world.store.write_sync(authorizations.create_for_app, world.user["id"], app)
    world.clock.advance(5)
    after = changed(world, row, scopes=["user", "user:email"], note="n", fingerprint="f")
    assert after == row | {
        "scopes": ["user"],
        "note": "n",
        "fingerprint": "f",
        "updated_at": world.now,
    }
    assert world.store.read_sync(tokens.find, value)["scopes"] == {"user"}
    grant = world.store.read_sync(grants.of_app, world.user["id"], app["id"])
    assert (grant["scopes"], grant["updated_at"]) == (["user"], world.now)


def test_a_change_to_a_taken_name_is_refused(world: World, app: Row) -> None:
    personal(world, "taken")
    _, mine = personal(world, "mine")
    changed(world, mine, note="mine")
    for note, code in (("taken", "already_exists"), ("", "missing_field")):
        with pytest.raises(Invalid) as caught:
            changed(world, mine, note=note)
        assert caught.value.code == code
    for name in ("a", "b"):
        _, row = world.store.write_sync(
            authorizations.create_for_app, world.user["id"], app, fingerprint=name
        )
    with pytest.raises(Invalid) as caught:
        changed(world, row, fingerprint="a")
    assert caught.value.code == "already_exists"
    with pytest.raises(Invalid, match="scope"):
        changed(world, row, scopes=["nothing"])


@pytest.mark.parametrize(
    ("how", "scopes"),
    [
        ({"scopes": ["user"]}, ["user"]),
        ({"scopes": []}, []),
        ({"added": ["user"]}, ["repo", "gist", "user"]),
        ({"removed": ["repo", "user"]}, ["gist"]),
        ({}, ["repo", "gist"]),
    ],
)
def test_changes_of_scopes(world: World, how: dict[str, list[str]], scopes: list[str]) -> None:
    _, row = personal(world, scopes=["repo", "gist"])
    assert changed(world, row, **how)["scopes"] == scopes


def test_changes_apply_to_the_current_row(world: World, app: Row) -> None:
    _, row = personal(world)
    changed(world, row, added=["repo"])
    assert changed(world, row, added=["gist"])["scopes"] == ["repo", "gist"]
    world.store.write_sync(authorizations.delete, row)
    with pytest.raises(Missing):
        changed(world, row, added=["user"])
    _, row = world.store.write_sync(authorizations.create_for_app, world.user["id"], app)
    world.store.write_sync(app_tokens.reset, row)
    with pytest.raises(Missing):
        world.store.write_sync(app_tokens.reset, row)


def test_visible_repositories_of_an_account_are_found(world: World) -> None:
    def names(owner: Row, account: Row) -> tuple[list[int], list[int]]:
        asked = (owner, account, ["engine", "secret", "lent", "none"])
        by_name = world.store.read_sync(repositories.find_visible_by_name, *asked)
        numbers = [world.repo["id"], secret["id"], lent["id"], 999]
        return by_name, world.store.read_sync(
            repositories.find_visible_by_id, owner, account, numbers
        )

    ada = world.user
    secret = world.another_repo("secret", private=True)
    lent = world.another_repo("lent", private=True)
    eve = world.store.write_sync(accounts.create, "eve")
    root = world.store.write_sync(accounts.create, "root", site_admin=True)
    world.store.write_sync(repositories.grant, lent["id"], eve["id"], "read")
    every = [world.repo["id"], secret["id"], lent["id"]]
    assert names(ada, ada) == names(ada, root) == (every, every)
    some = [world.repo["id"], lent["id"]]
    assert names(ada, eve) == (some, some)
    assert names(eve, eve) == ([], [])


def test_authorizations_by_password_are_not_authorized_for_sso(
    world: World, app: Row, integration: Row
) -> None:
    """A token made with a password is never authorized. A scoped token is, if the first one is."""
    tower = world.store.write_sync(accounts.create, "tower", kind="Organization")["id"]
    world.store.write_sync(sso.enforce, tower, True)
    _, made = personal(world)
    _, other = world.store.write_sync(authorizations.get_or_create, world.user["id"], app)
    for row in (made, other):
        with pytest.raises(Invalid):
            world.store.write_sync(sso.authorize, row["id"], tower)
        assert not world.store.read_sync(sso.permits, tower, row["id"])
    value, token = world.store.write_sync(grants.issue, integration, world.user["id"])
    world.store.write_sync(sso.authorize, token["id"], tower)
    row = world.store.read_sync(app_tokens.of_app, integration["id"], value)
    _, narrow = world.store.write_sync(
        app_tokens.scope, row, target_id=tower, repositories=None, permissions=None
    )
    assert world.store.read_sync(sso.permits, tower, narrow["id"])


def test_an_app_finds_its_own_live_tokens_only(world: World, app: Row, integration: Row) -> None:
    find, mine = app_tokens.of_app, world.user["id"]
    value, _ = world.store.write_sync(grants.issue, app, mine, expires_at=world.now + SECOND)
    assert world.store.read_sync(find, app["id"], value)["account_id"] == mine
    assert world.store.read_sync(find, integration["id"], value) is None
    other, _ = world.store.write_sync(tokens.create, mine)
    for wrong in ("", "x", tokens.new_value("oauth"), other):
        assert world.store.read_sync(find, app["id"], wrong) is None
    world.clock.advance(1)
    assert world.store.read_sync(find, app["id"], value) is None


def test_a_reset_invalidates_the_old_value_at_once(world: World, app: Row) -> None:
    old, row = world.store.write_sync(
        authorizations.create_for_app, world.user["id"], app, scopes=["repo"], fingerprint="f"
    )
    world.clock.advance(5)
    new, after = world.store.write_sync(app_tokens.reset, row)
    assert world.store.read_sync(tokens.find, old) is None
    assert world.store.read_sync(tokens.find, new)["scopes"] == {"repo"}
    assert after == row | {
        "hash": tokens.digest(new),
        "last_eight": new[-8:],
        "updated_at": world.now,
    }
    assert world.store.read_sync(app_tokens.of_app, app["id"], new) == after


def test_a_scoped_token_is_narrower_and_ends_with_the_first(world: World, integration: Row) -> None:
    mine, ends = world.user["id"], world.now + 60 * SECOND
    given = {"expires_at": ends, "where_installed": False}
    value, _ = world.store.write_sync(grants.issue, integration, mine, **given)
    row = world.store.read_sync(app_tokens.of_app, integration["id"], value)
    narrow, made = world.store.write_sync(
        app_tokens.scope,
        row,
        target_id=mine,
        repositories=[world.repo["id"]],
        permissions={"contents": "read"},
    )
    found = world.store.read_sync(tokens.find, narrow)
    assert found["permissions"] == {"contents": "read"}
    assert (found["target_id"], found["repositories"]) == (mine, {world.repo["id"]})
    assert (found["kind"], found["expires_at"]) == ("app_user", ends)
    assert made["repositories"] == [world.repo["id"]]
    assert world.store.read_sync(tokens.find, value)["repositories"] is None
    with pytest.raises(Invalid):
        world.store.write_sync(
            app_tokens.scope,
            row,
            target_id=mine,
            repositories=None,
            permissions={"contents": "admin"},
        )


def test_a_token_that_has_ended_is_not_narrowed(world: World, integration: Row) -> None:
    value, _ = world.store.write_sync(grants.issue, integration, world.user["id"])
    row = world.store.read_sync(app_tokens.of_app, integration["id"], value)
    world.store.write_sync(
        grants.delete, world.store.read_sync(grants.of_app, row["account_id"], row["app_id"])
    )
    given = {"target_id": row["account_id"], "repositories": None, "permissions": None}
    with pytest.raises(Missing):
        world.store.write_sync(app_tokens.scope, row, **given)
    assert world.store.read_sync(tokens.list_all) == []
