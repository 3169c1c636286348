"""Removed repositories and accounts: the rows that are deleted with them, and other rows."""

from typing import Any

import pytest
from engines import embedded
from statement_log import plan_lines, plans
from store_world import World
from transactions import transaction
from websub_followers import follow_pushes

from store import Connection, Row
from store.accounts import accounts, app_list, apps, teams, tokens
from store.apps import app_hooks, installations
from store.assistant import assistant_seats, assistant_subscriptions, seat_tally
from store.database import upsert
from store.delivery import delivery_queries, event_queries, hook_removal, sources
from store.errors import Conflict
from store.hooks import hooks
from store.hooks.hook_targets import repository
from store.ordering.delivery_states import BEHIND, WAITING
from store.projection import projection_table, workflow_projection
from store.registry import account_removal, app_removal
from store.repositories import membership_dump, refs, repositories, repository_removal, stars
from store.repositories.repository_removal import LargeTable


def remove_repository(world: World) -> None:
    world.store.write_sync(repository_removal.remove, world.repo)


def states(world: World) -> dict[int, tuple[str, str | None]]:
    rows = world.store.read_sync(delivery_queries.page, limit=100)
    return {row["id"]: (row["state"], row["reason"]) for row in rows}


def user(world: World, login: str, **given: object) -> Row:
    return world.store.write_sync(lambda db: accounts.create(db, login, **given))


def test_a_removed_repository_ends_its_hooks_and_deliveries(world: World) -> None:
    hook = world.hook("push")
    world.arrive()
    parts = world.store.read_sync(repository_removal.parts, world.repo["id"])
    assert (parts["hooks"], parts["waiting_deliveries"], parts["issues"]) == (1, 1, 0)
    remove_repository(world)
    assert world.store.read_sync(repositories.get, world.repo["id"]) is None
    assert world.store.read_sync(hooks.by_id, hook["id"]) is None
    assert [*states(world).values()] == [("dead", "the repository was removed")]
    assert len(world.store.read_sync(event_queries.newest, limit=10)) == 1, "events stay"


def test_another_repository_keeps_everything(world: World) -> None:
    other = world.another_repo()
    hook = world.hook("push", repo=other)
    world.arrive("other", repo_id=other["id"])
    remove_repository(world)
    assert world.store.read_sync(hooks.by_id, hook["id"]) is not None
    assert [*states(world).values()] == [("waiting", None)]


def test_deliveries_of_a_worker_are_left_to_it(world: World) -> None:
    hook = world.hook("push")
    world.arrive()
    (one,) = world.claim(world.lease(), hook["id"])
    remove_repository(world)
    assert states(world)[one.id] == ("waiting", None)


def test_a_name_can_be_used_again(world: World) -> None:
    remove_repository(world)
    again = world.store.write_sync(repositories.create, world.user["id"], "engine")
    assert again["id"] != world.repo["id"]


def test_a_removed_account_takes_everything_it_owns_along(world: World) -> None:
    world.hook("push")
    world.arrive()
    ada = world.store.read_sync(accounts.by_login, "ada")
    bob = user(world, "bob")
    world.store.write_sync(repositories.grant, world.repo["id"], bob["id"], "read")

    with transaction(world.store) as db:
        tokens.create(db, ada["id"])
        apps.create(db, ada["id"], "Lab", url="https://lab.example/")
        sources.create(db, "forge", "hush", owner_id=ada["id"])
        sources.create(db, "open", "hush")
    parts = world.store.read_sync(account_removal.parts, ada)
    named = {name: many for name, many in parts.items() if many}
    assert named == {
        "repositories": 1,
        "hooks": 1,
        "waiting_deliveries": 1,
        "collaborators": 1,
        "tokens": 1,
        "apps": 1,
        "sources": 1,
    }
    world.store.write_sync(account_removal.remove, ada)
    assert world.store.read_sync(accounts.by_login, "ada") is None
    assert world.store.read_sync(repositories.list_all) == []
    assert world.store.read_sync(tokens.list_all) == []
    assert world.store.read_sync(app_list.every) == []
    assert [row["name"] for row in world.store.read_sync(sources.every)] == ["open"]
    assert world.store.read_sync(accounts.by_login, "bob") is not None


def waiting(world: World) -> int:
    return [state for state, _ in states(world).values()].count("waiting")


def test_a_repository_with_many_deliveries_goes_in_parts(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook_removal, "MOST", 2)
    world.hook("push")
    world.hook("push", options={"ordering": "hook"})
    for number in range(3):
        world.arrive(f"g-{number}")
    left = []
    while not world.store.write_sync(repository_removal.remove_part, world.repo):
        assert world.store.read_sync(repositories.get, world.repo["id"]) is not None
        left.append(waiting(world))
        assert world.arrive(f"later-{left}").deliveries == 0, "its hooks get no more events"
    assert left == [4, 2, 0]
    assert world.store.read_sync(repositories.get, world.repo["id"]) is None
    assert {*states(world).values()} == {("dead", "the repository was removed")}


@pytest.mark.parametrize("table", repository_removal.LARGE, ids=lambda table: table.name)
def test_every_large_table_belongs_to_its_repository(world: World, table: LargeTable) -> None:
    sql = f"SELECT count(*) FROM (SELECT {table.key} FROM {table.name} WHERE repo_id = :id) AS x"
    assert world.store.read_sync(lambda db: db.value(sql, id=world.repo["id"])) == 0


def test_deliveries_that_have_not_ended_are_counted(world: World) -> None:
    hook = world.hook("push")
    world.hook("push", repo=world.another_repo())
    for number in range(3):
        world.arrive(f"g-{number}")
    world.claim(world.lease(), hook["id"], limit=1)
    other = world.hook("push", options={"ordering": "hook"})
    for number in range(3, 5):
        world.arrive(f"g-{number}")
    ordered = [row["state"] for row in world.rows() if row["hook_id"] == other["id"]]
    assert ordered == [WAITING, BEHIND]
    assert (
        world.store.read_sync(repository_removal.parts, world.repo["id"])["waiting_deliveries"] == 7
    )


@embedded("the planner of PostgreSQL knows how many deliveries there are")
def test_the_count_of_deliveries_reads_none_that_have_ended(world: World) -> None:
    def count(db: Connection) -> int:
        return hook_removal.count_unended(db, repository(world.repo["id"]))

    lines = world.store.read_sync(plan_lines, count)
    found = [line for line in lines if line.split()[1] == "x"]
    assert len(found) == 3
    assert [line for line in found if "INDEX delivery_" not in line] == []


@embedded("SQLite uses a part of an index if the columns are in another order")
@pytest.mark.parametrize(
    ("drop", "tables"),
    [
        (repository_removal.shrink, {table.name for table in repository_removal.LARGE}),
        (refs.drop_reports, {"ref_report"}),
    ],
)
def test_a_deletion_reads_only_rows_that_go(world: World, drop: Any, tables: set[str]) -> None:
    with transaction(world.store) as db:
        ran = plans(db, lambda db: drop(db, world.repo["id"], 5000))
    found = {sql.split()[2]: lines[0] for sql, lines in ran if sql.startswith("DELETE FROM ")}
    assert found.keys() >= tables
    assert [one for one in found.values() if one.endswith("(repo_id=?)")] == []


def follow(world: World, number: int) -> None:
    world.store.write_sync(follow_pushes, world.repo["id"], f"https://reader.example/{number}")


def star(world: World, number: int) -> None:
    world.store.write_sync(stars.put, world.repo["id"], user(world, f"user-{number}")["id"], number)


def open_issue(world: World, number: int) -> None:
    world.store.write_sync(upsert.insert_with_number, "issue", world.repo["id"], number, {})


FILLED = {
    "star": (star, 2),
    # These count as many small rows.
    "websub WHERE ended_at IS NULL": (follow, 20),
    "issue": (open_issue, 40),
}


@pytest.mark.parametrize("table", FILLED)
def test_all_that_a_repository_may_have_much_of_goes_in_parts(
    world: World, monkeypatch: pytest.MonkeyPatch, table: str
) -> None:
    fill, most = FILLED[table]
    monkeypatch.setattr(hook_removal, "MOST", most)
    for number in range(1, 6):
        fill(world, number)
    left = []
    while not world.store.write_sync(repository_removal.remove_part, world.repo):
        left.append(world.store.read_sync(lambda db: db.value(f"SELECT count(*) FROM {table}")))
    assert left == [3, 1]
    assert world.store.read_sync(repositories.get, world.repo["id"]) is None


def report_job(world: World, number: int) -> None:
    job = {"workflow_job": {"id": number, "run_id": 1}}

    def report(db: Connection) -> None:
        event = projection_table.projected_events(db)
        workflow_projection.project_job(db, world.repo, job, event)

    world.store.write_sync(report)


def test_a_job_counts_as_many_small_rows(world: World) -> None:
    """It has the texts of its steps."""
    for number in range(1, 6):
        report_job(world, number)
    with transaction(world.store) as db:
        assert repository_removal.shrink(db, world.repo["id"], 40) == 0
        assert db.number("SELECT count(*) FROM workflow_job") == 3


def test_a_repository_with_much_state_goes_in_parts(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All other writers wait for a part."""
    monkeypatch.setattr(hook_removal, "MOST", 2)
    other = world.another_repo()
    world.hook("push")
    sql = (
        "INSERT INTO commit_status (repo_id, number, sha, context, context_key, state, created_at,"
        " updated_at) VALUES (:repo_id, :number, 'c0ffee', 'ci', 'ci', 'success', 1, 1)"
    )
    for number in range(5):
        for repo in (world.repo, other):
            given = {"repo_id": repo["id"], "number": number}
            world.store.write_sync(lambda db, given=given: db.execute(sql, **given))

    def statuses(repo: Row) -> int:
        count = "SELECT count(*) FROM commit_status WHERE repo_id = :id"
        return world.store.read_sync(lambda db: db.value(count, id=repo["id"]))

    left = []
    while not world.store.write_sync(repository_removal.remove_part, world.repo):
        assert world.arrive(f"later-{left}").deliveries == 0, "its hooks get no more events"
        left.append(statuses(world.repo))
    assert left == [3, 1]
    assert world.store.read_sync(repositories.get, world.repo["id"]) is None
    assert statuses(other) == 5


def test_an_app_with_many_deliveries_counts_for_the_parts_of_its_owner(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook_removal, "MOST", 2)
    _, app = world.store.write_sync(
        apps.create, world.user["id"], "Loom", url="https://loom.example/"
    )
    hook = world.hook("push")
    for number in range(3):
        world.arrive(f"g-{number}")
    sql = "UPDATE hook SET app_id = :app_id, repo_id = NULL WHERE id = :id"
    world.store.write_sync(lambda db: db.execute(sql, app_id=app["id"], id=hook["id"]))
    assert not world.store.write_sync(account_removal.remove_part, world.user)
    assert waiting(world) == 1
    assert world.store.write_sync(account_removal.remove_part, world.user)
    assert {*states(world).values()} == {("dead", "the app was removed")}


def test_an_app_with_many_deliveries_goes_in_parts(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook_removal, "MOST", 2)
    given = {"kind": "integration", "permissions": {"contents": "read"}, "events": ["push"]}
    _, app = world.store.write_sync(
        apps.create, world.user["id"], "Loom", url="https://loom.example/", **given
    )
    world.store.write_sync(installations.create, app, world.user)
    world.store.write_sync(app_hooks.create, app, url="https://loom.example/hook")
    for number in range(3):
        world.arrive(f"g-{number}")
    assert not world.store.write_sync(app_removal.remove_part, app["id"])
    assert waiting(world) == 1
    assert world.arrive("later").deliveries == 0, "its hook gets no more events"
    assert world.store.write_sync(app_removal.remove_part, app["id"])
    assert {*states(world).values()} == {("dead", "the app was removed")}
    assert world.store.read_sync(app_list.every) == []


def test_an_account_with_many_repositories_goes_in_parts(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(account_removal, "MOST", 2)
    ada = world.user
    for number in range(4):
        world.store.write_sync(repositories.create, ada["id"], f"r{number}")
    world.store.write_sync(tokens.create, ada["id"])
    left = []
    while not world.store.write_sync(account_removal.remove_part, ada):
        assert world.store.read_sync(tokens.list_all) == [], "the tokens go first"
        left.append(len(world.store.read_sync(repositories.list_all)))
    assert left == [3, 1]
    assert world.store.read_sync(accounts.by_login, "ada") is None


def test_the_deliveries_of_an_account_count_for_its_parts(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook_removal, "MOST", 2)
    other = world.another_repo()
    for repo in (world.repo, other):
        world.hook("push", repo=repo)
        for number in range(3):
            world.arrive(f"{repo['id']}-{number}", repo_id=repo["id"])
    left = []
    while not world.store.write_sync(account_removal.remove_part, world.user):
        left.append(waiting(world))
    assert left == [4, 2, 0]
    assert world.store.read_sync(accounts.by_login, "ada") is None


def test_an_account_that_much_of_the_state_names_goes_in_parts(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook_removal, "MOST", 2)
    bob = user(world, "bob")
    for number in range(1, 6):
        given = {"author_id": bob["id"], "closed_by_id": bob["id"] if number == 1 else None}
        world.store.write_sync(upsert.insert_with_number, "issue", world.repo["id"], number, given)
    left = []
    sql = "SELECT count(author_id) + count(closed_by_id) FROM issue"
    while not world.store.write_sync(account_removal.remove_part, bob):
        left.append(world.store.read_sync(lambda db: db.value(sql)))
    assert left == [4, 2, 0]
    assert world.store.read_sync(lambda db: db.value("SELECT count(*) FROM issue")) == 5


def test_an_organization_with_many_members_goes_in_parts(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook_removal, "MOST", 2)
    tower = user(world, "tower", kind="Organization")
    people = [user(world, f"user-{number}")["id"] for number in range(3)]
    team = world.store.write_sync(teams.create, tower["id"], "ringers")
    for one in people:
        world.store.write_sync(accounts.join, tower["id"], one, "member")
    world.store.write_sync(teams.join, team["id"], people)
    world.store.write_sync(assistant_subscriptions.put, tower["id"])
    world.store.write_sync(assistant_seats.give_users, tower["id"], people)
    rows = [many_left(world)]
    while not world.store.write_sync(account_removal.remove_part, tower):
        rows.append(many_left(world))
        assert world.store.read_sync(seat_tally.total, tower["id"]) == rows[-1][0], (
            "seats stay counted"
        )
    assert rows == [(3, 3, 1, 3), (1, 3, 1, 3), (0, 2, 1, 3), (0, 0, 1, 3), (0, 0, 0, 2), (0,) * 4]
    assert world.store.read_sync(accounts.by_login, "tower") is None


def many_left(world: World) -> tuple[int, ...]:
    """The numbers of seats, teams' members, teams and memberships."""
    names = ("assistant_seat", "team_member", "team", "membership")
    counts = (f"(SELECT count(*) FROM {name})" for name in names)
    (row,) = world.store.read_sync(lambda db: db.tuples(f"SELECT {', '.join(counts)}"))
    return tuple(row)


def test_a_delivery_that_was_claimed_meanwhile_is_left_to_the_worker(world: World) -> None:
    hook = world.hook("push")
    world.arrive("g-1")
    world.arrive("g-2")
    (one,) = world.claim(world.lease(), hook["id"], limit=1)
    target = repository(world.repo["id"])
    assert world.store.write_sync(hook_removal.end_deliveries, target, "over", 9) == 1
    assert states(world)[one.id] == ("waiting", None)


def test_the_last_administrator_of_an_organization_stays(world: World) -> None:
    tower = user(world, "tower", kind="Organization")
    bob, eve = user(world, "bob"), user(world, "eve")
    world.store.write_sync(accounts.join, tower["id"], bob["id"], "admin")
    world.store.write_sync(accounts.join, tower["id"], eve["id"], "member")
    with pytest.raises(Conflict, match="bob is the last administrator of tower"):
        world.store.write_sync(account_removal.remove, bob)
    world.store.write_sync(account_removal.remove, eve)
    ada = world.user
    world.store.write_sync(accounts.join, tower["id"], ada["id"], "admin")
    world.store.write_sync(account_removal.remove, bob)
    assert world.store.read_sync(membership_dump.members, tower["id"]) == {"ada": "admin"}


def test_an_organization_goes_with_its_members(world: World) -> None:
    tower = user(world, "tower", kind="Organization")
    world.store.write_sync(accounts.join, tower["id"], world.user["id"], "admin")
    world.store.write_sync(account_removal.remove, tower)
    assert world.store.read_sync(accounts.by_login, "tower") is None
    world.store.write_sync(account_removal.check, world.store.read_sync(accounts.by_login, "ada"))


def test_the_last_site_administrator_stays(world: World) -> None:
    bob = user(world, "bob", site_admin=True)
    with pytest.raises(Conflict, match="bob is the last site administrator"):
        world.store.write_sync(account_removal.remove, bob)
    eve = user(world, "eve", site_admin=True)
    world.store.write_sync(account_removal.remove, bob)
    world.store.write_sync(accounts.set_site_admin, world.user["id"], True)
    world.store.write_sync(accounts.set_site_admin, eve["id"], False)
    world.store.write_sync(account_removal.remove, world.store.read_sync(accounts.by_login, "eve"))
