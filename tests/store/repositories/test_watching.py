"""Watchers of repositories, their notifications, and the lists of watched repositories."""

from typing import Any

import pytest
from racing import overlap
from store_world import World

from store import Connection, Row, Store
from store.accounts import accounts, sso, tokens
from store.accounts.viewers import RepositoryViewer
from store.registry import account_removal
from store.repositories import repositories, watching

NOBODY = RepositoryViewer(None)


@pytest.fixture
def bob(world: World) -> Row:
    return world.store.write_sync(accounts.create, "bob")


def put(
    world: World, account: Row, *, repo: Row | None = None, **given: Any
) -> tuple[Row, watching.Change]:
    flags = {"subscribed": True, "ignored": False} | given
    return world.store.write_sync(watching.put, (repo or world.repo)["id"], account["id"], **flags)


def watched(world: World, account: Row, viewer: RepositoryViewer) -> list[str]:
    rows = world.store.read_sync(watching.watched, account["id"], viewer, limit=100, offset=0)
    assert world.store.read_sync(watching.count_watched, account["id"], viewer) == len(rows)
    return [row["full_name"] for row in rows]


def test_watching_begins_once(world: World, bob: Row) -> None:
    row, change = put(world, bob)
    assert change == "watched"
    assert row == {
        "repo_id": world.repo["id"],
        "account_id": bob["id"],
        "subscribed": 1,
        "ignored": 0,
        "created_at": world.now,
    }
    assert world.store.read_sync(watching.get, world.repo["id"], bob["id"]) == row
    world.clock.advance(5)
    assert put(world, bob) == (row, "nothing")


def test_ignoring_is_no_watching_and_both_may_hold(world: World, bob: Row) -> None:
    row, change = put(world, bob, subscribed=False, ignored=True)
    assert (row["subscribed"], row["ignored"], change) == (0, 1, "set")
    assert world.store.read_sync(watching.counts, [world.repo["id"]]) == {world.repo["id"]: (0, 0)}
    row, change = put(world, bob, ignored=True)
    assert (row["subscribed"], row["ignored"], change) == (1, 1, "watched")
    assert world.store.read_sync(watching.settings, world.repo["id"]) == {"bob": "ignoring"}


def test_neither_is_no_subscription(world: World, bob: Row) -> None:
    put(world, bob)
    row, change = put(world, bob, subscribed=False)
    assert (row["subscribed"], row["ignored"], change) == (0, 0, "ended")
    assert put(world, bob, subscribed=False)[1] == "nothing"
    assert world.store.read_sync(watching.get, world.repo["id"], bob["id"]) is None


def test_a_subscription_is_removed_once(world: World, bob: Row) -> None:
    put(world, bob)
    assert world.store.write_sync(watching.remove, world.repo["id"], bob["id"])
    assert not world.store.write_sync(watching.remove, world.repo["id"], bob["id"])


@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_a_subscription_that_two_hubs_change_is_counted_once(
    world: World, other: Store, url: str, bob: Row
) -> None:
    put(world, bob)
    repo_id, bob_id = world.repo["id"], bob["id"]

    def ignore(db: Connection) -> tuple[Row, watching.Change]:
        return watching.put(db, repo_id, bob_id, subscribed=True, ignored=True)

    first = (world.store, lambda db: watching.remove(db, repo_id, bob_id))
    _, (_, change) = overlap(url, first, (other, ignore))
    assert change == "watched"
    assert world.store.read_sync(watching.counts, [repo_id]) == {repo_id: (1, 0)}


def test_the_longest_watcher_comes_first(world: World, bob: Row) -> None:
    put(world, bob)
    world.clock.advance(1)
    put(world, world.user)
    put(world, world.store.write_sync(accounts.create, "cyd"), subscribed=False, ignored=True)
    look, repo_id = world.store.read_sync, world.repo["id"]
    assert look(watching.watchers, repo_id, limit=5, offset=0) == [bob, world.user]
    assert look(watching.watchers, repo_id, limit=1, offset=1) == [world.user]


def test_watchers_and_stars_are_counted_for_many_at_once(world: World, bob: Row) -> None:
    other = world.another_repo()
    put(world, bob)
    put(world, world.user)
    assert world.store.write_sync(watching.set_stars, other["id"], 7)
    assert not world.store.write_sync(watching.set_stars, other["id"], 7)
    counted = world.store.read_sync(watching.counts, [world.repo["id"], other["id"], 999])
    assert counted == {world.repo["id"]: (2, 0), other["id"]: (0, 7)}
    assert world.store.read_sync(watching.counts, []) == {}


def _people(db: Connection) -> dict[str, Row]:
    names = ("owner", "collaborator", "member", "stranger")
    found = {name: accounts.create(db, name) for name in names}
    return found | {"admin": accounts.create(db, "admin", site_admin=True)}


def test_lists_agree_with_the_roles(store: Store, world: World) -> None:
    """A viewer sees in a list exactly the repositories that `role_of` shows one by one."""
    people = store.write_sync(_people)
    tower = store.write_sync(accounts.create, "tower", kind="Organization")
    store.write_sync(accounts.join, tower["id"], people["member"]["id"], "member")
    owners = (people["owner"], tower)
    repos = [
        store.write_sync(repositories.create, owner["id"], name, private=name == "closed")
        for owner in owners
        for name in ("open", "closed")
    ]
    for repo in repos:
        put(world, world.user, repo=repo)
        if repo["private"]:
            store.write_sync(repositories.grant, repo["id"], people["collaborator"]["id"], "triage")
    for account in (*people.values(), None):
        expected = [
            repo["full_name"]
            for repo in repos
            if store.read_sync(repositories.role_of, repo, account)
        ]
        assert watched(world, world.user, RepositoryViewer(account, private=True)) == expected
        open_ones = ["owner/open", "tower/open"]
        assert watched(world, world.user, RepositoryViewer(account)) == open_ones


def test_repositories_out_of_a_token_s_reach_are_not_listed(store: Store, world: World) -> None:
    tower = store.write_sync(accounts.create, "tower", kind="Organization")
    store.write_sync(accounts.join, tower["id"], world.user["id"], "member")
    for owner, name, private in (
        (world.user, "mine", True),
        (tower, "open", False),
        (tower, "closed", True),
        (tower, "other", True),
    ):
        repo = store.write_sync(repositories.create, owner["id"], name, private=private)
        put(world, world.user, repo=repo)
    every = ["ada/mine", "tower/open", "tower/closed", "tower/other"]

    def shown(**given: Any) -> list[str]:
        return watched(world, world.user, RepositoryViewer(world.user, private=True, **given))

    _, made = store.write_sync(tokens.create, world.user["id"], scopes=["repo"])
    assert shown() == shown(token_id=made["id"]) == every
    store.write_sync(sso.enforce, tower["id"], True)
    assert shown() == every
    assert shown(token_id=made["id"]) == ["ada/mine", "tower/open"]
    store.write_sync(sso.authorize, made["id"], tower["id"])
    assert shown(token_id=made["id"]) == every
    closed = store.read_sync(repositories.find, "tower", "closed")
    assert closed is not None
    narrow = {"target_id": tower["id"], "repositories": {closed["id"]}}
    assert shown(**narrow) == ["tower/open", "tower/closed"]
    assert shown(target_id=tower["id"]) == every[1:]
    assert shown(repositories=[]) == ["tower/open"]


def test_a_list_is_cut_into_pages(world: World, bob: Row) -> None:
    for number in range(3):
        put(world, bob, repo=world.another_repo(f"r{number}"))
        world.clock.advance(1)
    rows = world.store.read_sync(watching.watched, bob["id"], NOBODY, limit=2, offset=1)
    assert [row["name"] for row in rows] == ["r1", "r2"]
    assert world.store.read_sync(watching.count_watched, bob["id"], NOBODY) == 3


def test_a_removed_account_watches_nothing(world: World, bob: Row) -> None:
    ignored, quiet = world.another_repo("ignored"), world.another_repo("quiet")
    put(world, world.user)
    put(world, bob)
    put(world, bob, repo=ignored, subscribed=False, ignored=True)
    world.store.write_sync(account_removal.remove, bob)
    ids = [world.repo["id"], ignored["id"], quiet["id"]]
    counted = world.store.read_sync(watching.counts, ids)
    assert [counted[repo_id][0] for repo_id in ids] == [1, 0, 0]
    assert world.store.read_sync(accounts.get, bob["id"]) is None


def test_only_watchers_are_counted(world: World, bob: Row) -> None:
    def counted() -> int:
        return world.store.read_sync(watching.counts, [world.repo["id"]])[world.repo["id"]][0]

    seen = []
    for flags in ((True, False), (True, False), (True, True), (False, True), (True, True)):
        put(world, bob, subscribed=flags[0], ignored=flags[1])
        seen.append(counted())
    put(world, bob, subscribed=False, ignored=False)
    seen.append(counted())
    assert not world.store.write_sync(watching.remove, world.repo["id"], bob["id"])
    assert [*seen, counted()] == [1, 1, 1, 0, 1, 0, 0]
