"""The stored number of open issues equals the number of rows after any change."""

import random

from issue_world import Platform, issue
from required import required
from store_world import World

from store import Connection, Row
from store.clock import SECOND, iso
from store.issues import issue_changes, issues
from store.repositories import repository_details, repository_removal

OPEN = (
    "SELECT count(*) FROM issue WHERE repo_id = :id AND state = 'open'"
    " AND deleted_at IS NULL AND moved_to IS NULL"
)


def assert_counted(world: World) -> int:
    repo_id = world.repo["id"]
    (shown,) = world.store.read_sync(repository_details.details, [repo_id]).values()
    number = world.store.read_sync(lambda db: db.number(OPEN, id=repo_id))
    assert shown["open_issues"] == number
    return number


def change(db: Connection, world: World, number: int, chance: random.Random) -> None:
    """Change an issue as operations and state documents do."""
    row = issues.get(db, world.repo["id"], number)
    match chance.randrange(4), row:
        case 0, _:
            given = {"title": "T", "state": chance.choice(("open", "closed"))}
            issue_changes.create(db, world.repo, world.user["id"], given)
        case 1 | 2, dict():
            locked = issue_changes.lock(db, required(row))
            state = chance.choice(("open", "closed"))
            issue_changes.set_state(db, locked, world.user["id"], state, None)
        case 3, dict() if chance.random() < 0.3:
            chance.choice((issues.delete, move))(db, required(row))


def move(db: Connection, row: Row) -> None:
    issues.move(db, row, "ada/other", 1)


def report(world: World, number: int, chance: random.Random) -> None:
    """Project an event of an issue or a pull request. Some are late."""
    at = iso(world.now + chance.randint(-9, 9) * SECOND)
    state = chance.choice(("open", "closed"))
    action = chance.choice(("opened", "closed", "reopened", "deleted", "transferred"))
    if action in ("deleted", "transferred") and chance.random() < 0.7:
        action = "edited"
    moved = {"new_repository": {"full_name": "ada/other"}, "new_issue": {"number": 1}}
    given = issue(number=number, state=state, updated_at=at)
    Platform(world).report("issues", action, issue=given, changes=moved)


def test_open_issues_are_counted(world: World) -> None:
    chance, numbers = random.Random(4), []
    for _ in range(120):
        number = chance.randint(1, 12)
        if chance.random() < 0.5:
            world.store.write_sync(change, world, number, chance)
        else:
            report(world, number, chance)
        world.clock.advance(chance.random())
        numbers.append(assert_counted(world))
    assert len({*numbers}) > 3


def test_the_number_goes_with_the_repository(world: World) -> None:
    Platform(world).report("issues", "opened", issue=issue(state="open"))
    assert assert_counted(world) == 1
    world.store.write_sync(repository_removal.remove, world.repo)
    count = "SELECT count(*) FROM issue_tally"
    assert world.store.read_sync(lambda db: db.value(count)) == 0


def test_a_transaction_sees_the_number_that_it_changed(world: World) -> None:
    def open_and_close(db: Connection) -> list[int]:
        given: Row = {"title": "T"}
        made = issue_changes.create(db, world.repo, world.user["id"], given)
        numbers = [shown(db)]
        issue_changes.set_state(db, made, world.user["id"], "closed", None)
        return [*numbers, shown(db)]

    def shown(db: Connection) -> int:
        (row,) = repository_details.details(db, [world.repo["id"]]).values()
        return int(row["open_issues"])

    Platform(world).report("issues", "opened", issue=issue(state="open"))
    assert world.store.write_sync(open_and_close) == [2, 1]


def test_an_issue_counts_for_nothing_if_its_repository_goes_in_the_same_transaction(
    world: World,
) -> None:
    other = world.another_repo()

    def create_and_remove(db: Connection) -> None:
        for repo in (world.repo, other):
            issue_changes.create(db, repo, world.user["id"], {"title": "T"})
        repository_removal.remove(db, other)

    world.store.write_sync(create_and_remove)
    assert assert_counted(world) == 1
    assert world.store.read_sync(lambda db: db.column("SELECT repo_id FROM issue_tally")) == [
        world.repo["id"]
    ]
