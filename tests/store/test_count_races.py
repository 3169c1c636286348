"""Two processes change what a stored count has at the same time."""

from collections.abc import Callable
from typing import Any

import pytest
from engines import served
from issue_world import SHA, issue
from racing import overlap
from store_world import World
from transactions import transaction

from store import Connection, Row, Store
from store.accounts import accounts, memberships
from store.accounts.memberships import OwnSelection
from store.issues import issue_changes, issues
from store.projection import projection_table
from store.repositories import refs, repositories, repository_counts, repository_details
from store.workflows import run_counts

pytestmark = served("SQLite has one writer at a time")
Opened = Callable[[], Store]


def project(db: Connection, world: World, name: str, **payload: Any) -> None:
    event = projection_table.projected_events(db) | {"name": name, "repo_id": world.repo["id"]}
    projection_table.project(db, event | {"action": "closed", "source_id": 0}, payload)


@pytest.mark.parametrize("ours_first", [True, False])
def test_an_issue_that_is_closed_twice_counts_once(
    world: World, opened: Opened, url: str, ours_first: bool
) -> None:
    repo_id = world.repo["id"]
    given = {"title": "T"}
    made = world.store.write_sync(issue_changes.create, world.repo, world.user["id"], given)

    def close(db: Connection) -> None:
        locked = issue_changes.lock(db, made)
        issue_changes.set_state(db, locked, world.user["id"], "closed", None)

    def report(db: Connection) -> None:
        project(db, world, "issues", issue=issue(made["number"], state="closed"))

    works = [(world.store, close), (opened(), report)]
    overlap(url, *(works if ours_first else works[::-1]))
    after = world.store.read_sync(issues.get, repo_id, made["number"])
    assert after is not None
    (shown,) = world.store.read_sync(repository_details.details, [repo_id]).values()
    assert shown["open_issues"] == int(after["state"] == "open")


def test_a_branch_that_is_pushed_and_deleted_twice_counts_once(
    world: World, opened: Opened, url: str
) -> None:
    repo_id, name, other = world.repo["id"], "refs/heads/main", opened()

    def push(db: Connection) -> bool:
        return refs.put(db, repo_id, name, SHA)

    def delete(db: Connection) -> bool:
        return refs.delete(db, repo_id, name)

    for work, number in ((push, 1), (delete, 0)):
        overlap(url, (world.store, work), (other, work))
        assert world.store.read_sync(refs.count, repo_id, refs.BRANCHES) == number


def test_a_repository_that_becomes_private_twice_counts_once(
    world: World, opened: Opened, url: str
) -> None:
    def hide(db: Connection) -> None:
        repositories.update(db, world.repo["id"], private=True, description=None)

    overlap(url, (world.store, hide), (opened(), hide))
    given = {"id": world.user["id"]}
    for private in (0, 1):
        where = f"r.owner_id = :id AND r.private = {private}"
        assert world.store.read_sync(repository_counts.total, where, given) == private


def test_an_account_that_joins_twice_and_is_shown_twice_counts_once(
    world: World, opened: Opened, url: str
) -> None:
    tower = world.store.write_sync(accounts.create, "tower", kind="Organization")
    eve = world.store.write_sync(accounts.create, "eve")
    given, other = (tower["id"], eve["id"]), opened()

    def join(db: Connection) -> None:
        accounts.join(db, *given, "member")

    def show(db: Connection) -> None:
        memberships.publicize(db, *given, True)

    world.store.write_sync(accounts.join, tower["id"], world.user["id"], "admin")
    for work, public in ((join, 0), (show, 1)):
        overlap(url, (world.store, work), (other, work))
        for only_public, number in ((False, 1), (True, public)):
            chosen = OwnSelection(eve["id"], only_public)
            assert world.store.read_sync(memberships.count_of, chosen) == number


def test_groups_that_count_in_the_same_repositories_do_not_wait_for_each_other(
    world: World, opened: Opened
) -> None:
    repos = [world.repo, world.another_repo()]

    def create_in_both(db: Connection) -> list[Row]:
        return [issue_changes.create(db, repo, world.user["id"], {"title": "T"}) for repo in repos]

    def close(db: Connection, made: Row) -> None:
        issue_changes.set_state(db, issue_changes.lock(db, made), world.user["id"], "closed", None)

    def close_both(db: Connection) -> None:
        for made in reversed(later):
            close(db, made)

    first, later = (world.store.write_sync(create_in_both) for _ in range(2))
    with transaction(world.store) as db:
        for made in first:
            close(db, made)
        # This would wait for ever if a count was locked before the end of a transaction.
        opened().write_sync(close_both)
    shown = world.store.read_sync(repository_details.details, [repo["id"] for repo in repos])
    assert [row["open_issues"] for row in shown.values()] == [0, 0]


def test_a_run_that_moves_to_a_workflow_twice_counts_once(
    world: World, opened: Opened, url: str
) -> None:
    def report(db: Connection, workflow: int = 8, number: int = 9) -> None:
        project(db, world, "workflow_run", workflow_run={"id": number, "workflow_id": workflow})

    world.store.write_sync(report, 8, 1)
    world.store.write_sync(report, 7)
    overlap(url, (world.store, report), (opened(), report))
    counted = [
        world.store.read_sync(run_counts.total, world.repo["id"], workflow) for workflow in (7, 8)
    ]
    assert counted == [0, 2]
