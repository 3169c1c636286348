"""A page of a longer list costs no more, except for the count of the list's rows.

The cost is the number of steps of SQLite's virtual machine, which is the same on each computer.
"""

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from assertions import BASE
from bulk_owners import people
from bulk_repositories import join
from bulk_rows import FILL, Fill
from engines import open_copy
from hub_client import open_client
from operations_world import COMMIT, World, first, path

from hub.operations import OPERATIONS
from hub.rest.operation import Operation
from hub.settings import HubSettings
from store import Connection

SETTINGS = HubSettings(base_url=BASE, rate_limiting=False)
ENDLESS = [one for one in OPERATIONS if one.id in FILL and FILL[one.id].most is None]
# Both numbers exceed 1,000: the hub may sort and count a shorter list in any way.
LONG, MORE = 2_000, 3_000
COUNTED = 5.0
"""The steps for each further row that a count over an index takes. Sorting takes more."""
DEARER = {
    # The count looks up each installation.
    "apps/list-installations-for-authenticated-user": 10.0,
    # The count looks up the newest status of each context.
    "repos/get-combined-status-for-ref": 34.0,
}
KEPT = 0.1
"""The same for lists whose total is stored, so that nothing is counted."""
STORED = {
    "actions/list-workflow-runs",
    "actions/list-workflow-runs-for-repo",
    "apps/list-installation-repos-for-authenticated-user",
    "apps/list-repos-accessible-to-installation",
    "orgs/list-for-authenticated-user",
    "orgs/list-for-user",
    "orgs/list-memberships-for-authenticated-user",
    "pulls/list",
    "repos/list-branches",
    "repos/list-tags",
    "repos/list-teams",
    "teams/list",
    "teams/list-members-in-org",
}
EVERY = 50


class Steps:
    """Counts the steps since `begin`."""

    def __init__(self) -> None:
        self.many = 0

    def begin(self) -> None:
        self.many = 0

    def passed(self) -> int:
        self.many += EVERY
        return 0


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Steps:
    """The steps of all connections that the test opens."""
    found = Steps()
    connect = sqlite3.connect

    class Counting(sqlite3.Connection):
        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            super().set_progress_handler(found.passed, EVERY)

        def set_progress_handler(self, *given: Any, **named: Any) -> None:
            """Ignore the store's handler, which would replace the one above."""

    def counting(*given: Any, **named: Any) -> sqlite3.Connection:
        return connect(*given, **{**named, "factory": Counting})

    monkeypatch.setattr(sqlite3, "connect", counting)
    return found


async def cost(
    operation: Operation, many: int, untouched: tuple[Path, World], directory: Path, steps: Steps
) -> int:
    """The steps of a request for a page, in a new database with `many` added rows."""
    source, made = untouched
    store = open_copy(source, directory)
    world, fill = made.moved(store), FILL[operation.id]
    store.write_sync(fill.add, world, many)
    wanted = f"{fill.path or path(operation, world)}?per_page=10"
    headers = first(operation, world)
    async with open_client(store, SETTINGS) as asker:
        await asker.get(wanted, headers=headers)
        steps.begin()
        answer = await asker.get(wanted, headers=headers)
        taken = steps.many
    assert answer.status_code == 200, answer.text
    assert taken, "no steps were counted"
    return taken


@pytest.mark.parametrize("operation", ENDLESS, ids=lambda one: one.id)
async def test_a_page_of_a_longer_list_costs_no_more_than_the_count(
    operation: Operation, untouched: tuple[Path, World], steps: Steps, tmp_path: Path
) -> None:
    shorter, longer = (tmp_path / name for name in ("shorter", "longer"))
    for folder in (shorter, longer):
        folder.mkdir()
    less = await cost(operation, LONG, untouched, shorter, steps)
    more = await cost(operation, LONG + MORE, untouched, longer, steps)
    assert (more - less) / MORE <= DEARER.get(operation.id, COUNTED)


def repeated_statuses(db: Connection, world: World, n: int) -> None:
    """Add statuses of three contexts of one commit."""
    rows = [
        (world.hello.repo["id"], 2**40 + at, COMMIT, f"c{at % 3}", f"c{at % 3}", "success", 1, 1)
        for at in range(n)
    ]
    columns = "repo_id, number, sha, context, context_key, state, created_at, updated_at"
    db.insert_many("commit_status", columns, rows)


async def test_statuses_that_others_replaced_cost_the_combined_status_nothing(
    untouched: tuple[Path, World],
    steps: Steps,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (operation,) = [one for one in ENDLESS if one.id == "repos/get-combined-status-for-ref"]
    monkeypatch.setitem(FILL, operation.id, Fill(repeated_statuses))
    shorter, longer = (tmp_path / name for name in ("shorter", "longer"))
    for folder in (shorter, longer):
        folder.mkdir()
    less = await cost(operation, LONG, untouched, shorter, steps)
    assert await cost(operation, LONG + MORE, untouched, longer, steps) <= less + EVERY


def concealed_members(db: Connection, world: World, n: int) -> None:
    join(db, [(world.acme.account["id"], who) for who in people(db, n)], public=0)


@pytest.mark.parametrize("at", ["/orgs/acme/public_members", "/repos/acme/tools/assignees"])
async def test_members_that_are_not_shown_cost_nothing(
    at: str,
    untouched: tuple[Path, World],
    steps: Steps,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (operation,) = [one for one in ENDLESS if one.id == "orgs/list-public-members"]
    monkeypatch.setitem(FILL, operation.id, Fill(concealed_members, path=at))
    shorter, longer = (tmp_path / name for name in ("shorter", "longer"))
    for folder in (shorter, longer):
        folder.mkdir()
    # The first credentials are a token without scopes, which shows no concealed members.
    less = await cost(operation, LONG, untouched, shorter, steps)
    assert await cost(operation, LONG + MORE, untouched, longer, steps) <= less + EVERY
