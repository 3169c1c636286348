"""Lists of hooks: by their ids, of a target, and of the whole installation."""

from collections.abc import Iterable

from store.database import paging
from store.database.connection import ENDLESS, Connection, Row, json_array, prefixed
from store.hooks.hook_targets import NAMED, NAMES, HookTarget, as_target
from store.hooks.hooks import COLUMNS, decode_row


def by_ids(db: Connection, hook_ids: Iterable[int]) -> list[Row]:
    """Return the hooks with these ids, deleted or not, by id."""
    rows = db.all(
        f"SELECT {COLUMNS}, deleted_at FROM hook WHERE id {db.among('ids')} ORDER BY id",
        ids=json_array(hook_ids),
    )
    return [decode_row(row) for row in rows]


def repository_ids(db: Connection, hook_ids: Iterable[int]) -> list[tuple[int, int]]:
    """Return the ids of these hooks that are not deleted, each with its repository's id.

    Hooks of organizations, of apps and of the whole installation are left out.
    """
    rows = db.tuples(
        f"SELECT h.id, h.repo_id FROM {db.each('hooks', wanted='integer')} AS w"
        " JOIN hook h ON h.id = w.wanted WHERE h.deleted_at IS NULL AND h.repo_id IS NOT NULL"
        " ORDER BY h.repo_id, h.id",
        hooks=json_array(hook_ids),
    )
    return [(hook_id, repo_id) for hook_id, repo_id in rows]


def page(db: Connection, target: HookTarget | int, *, limit: int, offset: int = 0) -> list[Row]:
    """Return a page of the target's hooks, oldest first. A number is the id of a repository."""
    target = as_target(target)
    query = (
        f"SELECT {COLUMNS} FROM hook WHERE {target.condition} AND deleted_at IS NULL ORDER BY id"
    )
    rows = paging.page(db, query, limit, offset, target_id=target.id)
    return [decode_row(row) for row in rows]


def every(db: Connection) -> list[Row]:
    """Return every hook, oldest first, each with its `repository`, `organization` or `app`."""
    rows = db.all(
        f"SELECT {prefixed('h', COLUMNS)}, {NAMES} FROM hook h{NAMED}"
        " WHERE h.deleted_at IS NULL ORDER BY h.id"
    )
    return [decode_row(row) for row in rows]


def count(db: Connection, target: HookTarget | int, most: int = ENDLESS) -> int:
    """Return how many hooks the target has, up to `most`. A number is the id of a repository."""
    target = as_target(target)
    query = f"SELECT id FROM hook WHERE {target.condition} AND deleted_at IS NULL"
    return paging.count(db, query, most, target_id=target.id)
