"""Both engines' connections find, update and delete rows by their columns' names."""

import pytest
from store_world import World

from store import Row

QUERY = "SELECT id, repo_id, name, color FROM label"
COLUMNS = "repo_id, name, name_key, color, created_at, updated_at"


@pytest.fixture
def labels(world: World) -> list[Row]:
    """Labels `bell` and `rope` of two repositories each."""
    repos = (world.repo["id"], world.another_repo()["id"])
    rows = [(repo_id, name, name, "ff0000", 1, 1) for repo_id in repos for name in ("bell", "rope")]
    world.store.write_sync(lambda db: db.insert_many("label", COLUMNS, rows))
    return names(world)


def names(world: World) -> list[Row]:
    return world.store.read_sync(lambda db: db.all(f"{QUERY} ORDER BY id"))


def test_a_row_is_found_by_all_columns(world: World, labels: list[Row]) -> None:
    def find(**columns: object) -> Row | None:
        return world.store.read_sync(lambda db: db.find(QUERY, **columns))

    assert find(repo_id=labels[2]["repo_id"], name="rope") == labels[3]
    assert find(repo_id=labels[2]["repo_id"], name="wheel") is None
    color = world.store.read_sync(
        lambda db: db.find_value("SELECT color FROM label", id=labels[0]["id"])
    )
    assert color == "ff0000"
    missing = world.store.read_sync(lambda db: db.find_value("SELECT color FROM label", id=0))
    assert missing is None


def test_an_update_changes_only_its_row(world: World, labels: list[Row]) -> None:
    def update(row_id: int) -> int:
        given = {"name": "it's :now", "color": "00ff00"}
        return world.store.write_sync(lambda db: db.update("label", row_id, **given))

    assert (update(labels[1]["id"]), update(0)) == (1, 0)
    changed = labels[1] | {"name": "it's :now", "color": "00ff00"}
    assert names(world) == [labels[0], changed, *labels[2:]]


def test_a_deletion_takes_only_rows_with_all_columns(world: World, labels: list[Row]) -> None:
    def delete(**columns: object) -> int:
        return world.store.write_sync(lambda db: db.delete("label", **columns))

    assert delete(repo_id=labels[0]["repo_id"], name="rope") == 1
    assert delete(repo_id=labels[0]["repo_id"], name="rope") == 0
    assert names(world) == [labels[0], *labels[2:]]


def test_many_are_deleted_by_ids_and_columns(world: World, labels: list[Row]) -> None:
    ids = [row["id"] for row in labels]

    def delete(wanted: list[int], **columns: object) -> int:
        return world.store.write_sync(
            lambda db: db.delete_many("label", "id", iter(wanted), **columns)
        )

    assert delete([]) == 0
    assert delete([*ids, 0], repo_id=labels[0]["repo_id"], name="bell") == 1
    assert delete([ids[1], ids[2]]) == 2
    assert names(world) == [labels[3]]
