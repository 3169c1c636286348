"""Names of editors, languages and models in usage, stored once for each enterprise."""

from collections.abc import Mapping

from store.database.connection import Connection, json_array
from store.errors import Invalid

KINDS = ("editor", "language", "model")
MOST = 1000
"""The limit of names of a kind in an enterprise. More would be free text."""

Key = tuple[int, str, str]


def put(db: Connection, wanted: Mapping[Key, int]) -> dict[Key, int]:
    """Return enterprise, kind and name to the id of each; 0 is for an empty name.

    `wanted` has the latest day with each name. New names are stored. Raises Invalid beyond MOST.
    """
    named = sorted(key for key in wanted if key[2])
    new = db.insert_many(
        "usage_name",
        "enterprise_id, kind, name, last_day",
        [(*key, wanted[key]) for key in named],
        "ON CONFLICT (enterprise_id, kind, name) DO UPDATE SET last_day = excluded.last_day"
        " WHERE usage_name.last_day < excluded.last_day RETURNING enterprise_id, kind",
    )
    for enterprise_id, kind in sorted(set(new)):
        _check(db, enterprise_id, kind)
    rows = db.tuples(
        "SELECT n.enterprise_id, n.kind, n.name, n.id"
        f" FROM {db.each('named', enterprise_id='integer', kind='text', name='text')} AS w"
        " JOIN usage_name n ON n.enterprise_id = w.enterprise_id AND n.kind = w.kind"
        " AND n.name = w.name",
        named=json_array(named),
    )
    return {(enterprise_id, kind, name): name_id for enterprise_id, kind, name, name_id in rows}


def _check(db: Connection, enterprise_id: int, kind: str) -> None:
    many = db.find_value("SELECT count(*) FROM usage_name", enterprise_id=enterprise_id, kind=kind)
    if many > MOST:
        raise Invalid(f"an enterprise has at most {MOST} different names of {kind}s")


def drop(db: Connection, before: int) -> None:
    """Delete the names whose usage was all before this day, and so was deleted."""
    db.execute("DELETE FROM usage_name WHERE last_day < :before", before=before)


def list_all(db: Connection, enterprise_id: int) -> dict[int, str]:
    """Return id to name, for all names of an enterprise."""
    return db.mapping("SELECT id, name FROM usage_name WHERE enterprise_id = :id", id=enterprise_id)
