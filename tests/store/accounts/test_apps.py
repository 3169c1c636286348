"""Applications: their data, their secret, and the grants by which they act."""

from functools import partial
from typing import Any

import pytest
from store_world import World
from transactions import transaction

from store import Row
from store.accounts import accounts, app_list, app_tokens, apps, grants, tokens
from store.clock import SECOND
from store.errors import Conflict, Invalid
from store.registry import app_removal

UNCHANGED: dict[str, Any] = {
    "url": "https://lab.example/",
    "description": None,
    "permissions": {},
    "events": [],
    "public": True,
}


def made(world: World, name: str = "Lab", **given: object) -> tuple[str, Row]:
    given = {"url": "https://lab.example/"} | given
    return world.store.write_sync(apps.create, world.user["id"], name, **given)


def test_an_app_has_the_given_values(world: World) -> None:
    given = {"kind": "integration", "permissions": {"contents": "read"}}
    secret, app = made(world, description="tries things", **given)
    hashed = app.pop("secret_hash")
    assert app == {
        "id": app["id"],
        "owner_id": world.user["id"],
        "owner": "ada",
        "kind": "integration",
        "name": "Lab",
        "slug": "lab",
        "url": "https://lab.example/",
        "description": "tries things",
        "permissions": {"contents": "read"},
        "events": [],
        "public": True,
        "bot_id": app["bot_id"],
        "client_id": app["client_id"],
        "created_at": world.now,
        "updated_at": world.now,
    }
    assert app["bot_id"] is not None
    assert len(app["client_id"]) == 20
    assert len(secret) == 40
    assert secret not in str(app) + hashed


def test_an_app_is_found(world: World) -> None:
    _, app = made(world)
    look = world.store.read_sync
    assert look(apps.by_client_id, app["client_id"]) == app
    assert look(apps.by_name, "LAB") == app
    assert look(apps.get, app["id"]) == app
    for nothing in ("", "x", "0" * 20, "\0" * 20, "ü" * 20, app["client_id"] + "\n"):
        assert look(apps.by_client_id, nothing) is None


def test_the_secret_is_checked_and_replaced(world: World) -> None:
    secret, app = made(world)
    assert apps.check_secret(app, secret)
    for wrong in ("", "x", secret[:-1], secret + " ", "ü"):
        assert not apps.check_secret(app, wrong)
    world.store.write_sync(apps.set_secret, app["id"], "n" * 40)
    changed = world.store.read_sync(apps.get, app["id"])
    assert apps.check_secret(changed, "n" * 40)
    assert not apps.check_secret(changed, secret)
    with pytest.raises(Invalid):
        world.store.write_sync(apps.set_secret, app["id"], "short")


@pytest.mark.parametrize(
    "given",
    [
        {"name": ""},
        {"name": "x" * 101},
        {"name": "a\nb"},
        {"url": "ftp://lab.example/"},
        {"url": "lab.example"},
        {"url": "http://["},
        {"url": "https://lab.example/a b"},
        {"kind": "robot"},
        {"client_id": "x" * 21},
        {"client_id": "a b c d e"},
        {"client_secret": "short"},
        {"client_secret": "x" * 41},
        {"permissions": {"contents": "all"}},
    ],
)
def test_an_invalid_app_is_rejected(world: World, given: dict[str, object]) -> None:
    with pytest.raises(Invalid):
        made(world, **given)


def test_names_and_client_ids_are_taken_once(world: World) -> None:
    _, app = made(world)
    with pytest.raises(Conflict):
        made(world, "LAB")
    with pytest.raises(Conflict):
        made(world, "Other", client_id=app["client_id"])


def test_apps_are_listed_with_their_tokens(world: World) -> None:
    _, app = made(world)
    made(world, "Bench")
    world.store.write_sync(grants.issue, app, world.user["id"], scopes=["repo"])
    listed = world.store.read_sync(app_list.every)
    assert [(row["name"], row["owner"], row["tokens"]) for row in listed] == [
        ("Bench", "ada", 0),
        ("Lab", "ada", 1),
    ]


@pytest.mark.parametrize("ignored", [{"permissions": {"checks": "read"}}, {"events": ["push"]}])
def test_an_oauth_app_has_no_permissions_and_events(
    world: World, ignored: dict[str, object]
) -> None:
    with pytest.raises(Invalid, match="Lab is an OAuth app"):
        made(world, **ignored)
    _, app = made(world)
    with pytest.raises(Invalid, match="Lab is an OAuth app"):
        world.store.write_sync(lambda db: apps.update(db, app["id"], **UNCHANGED | ignored))


def test_an_app_changes(world: World) -> None:
    _, app = made(world, kind="integration")
    world.clock.advance(5)
    world.store.write_sync(
        apps.update,
        app["id"],
        url="https://new.example/",
        description=None,
        permissions={"checks": "write"},
        events=["push"],
        public=False,
    )
    changed = world.store.read_sync(apps.get, app["id"])
    assert changed["permissions"] == {"checks": "write"}
    assert (changed["events"], changed["public"]) == (["push"], False)
    assert changed["updated_at"] == world.now
    with pytest.raises(Invalid):
        world.store.write_sync(lambda db: apps.update(db, app["id"], **UNCHANGED | {"url": "x"}))


def test_with_an_app_go_its_grants_and_tokens(world: World) -> None:
    _, app = made(world)
    value, _ = world.store.write_sync(grants.issue, app, world.user["id"])
    assert world.store.write_sync(app_removal.remove, app["id"])
    assert world.store.read_sync(tokens.find, value) is None
    assert world.store.read_sync(grants.count, world.user["id"]) == 0
    assert not world.store.write_sync(app_removal.remove, app["id"])


def test_an_app_has_one_grant_for_each_user(world: World) -> None:
    """A grant has the scopes of all live tokens that the app holds for the user."""
    _, lab = made(world)
    _, bench = made(world, "Bench")
    eve = world.store.write_sync(accounts.create, "eve")
    soon = world.now + 60 * SECOND

    with transaction(world.store) as db:
        mine = world.user["id"]
        grants.issue(db, lab, mine, scopes=["repo", "user:email"])
        grants.issue(db, lab, mine, scopes=["user"], fingerprint="b")
        grants.issue(db, lab, mine, scopes=["gist"], fingerprint="c", expires_at=soon)
        grants.issue(db, bench, mine)
        grants.issue(db, lab, eve["id"], scopes=["delete_repo"])
    look = world.store.read_sync
    first, second = look(grants.page, world.user["id"], limit=10, offset=0)
    assert first["scopes"] == ["repo", "user", "gist"]
    assert (first["app_name"], first["client_id"]) == ("Lab", lab["client_id"])
    assert second["scopes"] == []
    assert look(grants.count, world.user["id"]) == 2
    assert look(grants.page, world.user["id"], limit=10, offset=1) == [second]
    assert look(grants.page, world.user["id"], limit=10, offset=0, app_id=lab["id"]) == [first]
    assert look(grants.count, world.user["id"], app_id=lab["id"]) == 1
    assert look(grants.get, world.user["id"], first["id"]) == first
    assert look(grants.get, eve["id"], first["id"]) is None
    assert look(grants.of_app, world.user["id"], lab["id"]) == first
    world.clock.advance(61)
    assert look(grants.get, world.user["id"], first["id"])["scopes"] == ["repo", "user"]


def test_a_grant_ends_with_that_app_s_tokens_of_that_user(world: World) -> None:
    _, lab = made(world)
    _, bench = made(world, "Bench")
    eve = world.store.write_sync(accounts.create, "eve")["id"]
    mine = world.user["id"]
    ended = [world.store.write_sync(grants.issue, lab, mine, fingerprint=name)[0] for name in "ab"]
    kept = [
        world.store.write_sync(grants.issue, bench, mine)[0],
        world.store.write_sync(grants.issue, lab, eve)[0],
        world.store.write_sync(tokens.create, mine)[0],
    ]
    grant = world.store.read_sync(grants.of_app, mine, lab["id"])
    assert world.store.write_sync(grants.delete, grant) == 2
    assert all(world.store.read_sync(tokens.find, value) is None for value in ended)
    assert all(world.store.read_sync(tokens.find, value) is not None for value in kept)
    assert world.store.read_sync(grants.of_app, mine, lab["id"]) is None
    assert world.store.read_sync(grants.of_app, eve, lab["id"]) is not None


def test_an_integration_s_tokens_have_permissions(world: World) -> None:
    held = {"contents": "write", "metadata": "read"}
    _, app = made(world, kind="integration", permissions=held)
    issue, mine = partial(grants.issue, where_installed=False), world.user["id"]

    def permissions(**given: object) -> tuple[str, dict[str, str]]:
        value, _ = world.store.write_sync(issue, app, mine, **given)
        found = world.store.read_sync(tokens.find, value)
        assert found["app_id"] == app["id"]
        return found["kind"], found["permissions"]

    assert permissions() == ("app_user", held)
    assert permissions(permissions={"contents": "read"}) == ("app_user", {"contents": "read"})
    for more in ({"contents": "admin"}, {"checks": "read"}, {"contents": "x"}):
        with pytest.raises(Invalid):
            permissions(permissions=more)
    with pytest.raises(Invalid):
        permissions(scopes=["repo"])
    _, plain = made(world, "Plain")
    with pytest.raises(Invalid):
        world.store.write_sync(issue, plain, mine, permissions={"contents": "read"})


def test_a_user_s_token_of_an_app_has_no_more_than_the_app_at_present(world: World) -> None:
    _, app = made(world, kind="integration", permissions={"issues": "write", "contents": "read"})
    issued = partial(grants.issue, where_installed=False)
    value, _ = world.store.write_sync(issued, app, world.user["id"])

    def edit(**permissions: str) -> None:
        unchanged = {"url": app["url"], "description": None, "events": [], "public": True}
        world.store.write_sync(apps.update, app["id"], permissions=permissions, **unchanged)

    for held, expected in (
        ({"issues": "read"}, {"issues": "read"}),
        ({"metadata": "read"}, {}),
        ({"issues": "admin", "checks": "read"}, {"issues": "write"}),
    ):
        edit(**held)
        assert world.store.read_sync(tokens.find, value)["permissions"] == expected
        seen = world.store.read_sync(app_tokens.of_app, app["id"], value)
        assert seen["permissions"] == expected
