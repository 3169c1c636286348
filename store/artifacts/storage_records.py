"""Records of stored artifacts: one for each place in a registry."""

import hashlib
from dataclasses import asdict, dataclass

import orjson

from store.accounts.viewers import RepositoryViewer
from store.artifacts import artifacts
from store.artifacts.artifacts import NamedArtifact
from store.database import upsert
from store.database.connection import Connection, Row, prefixed

COLUMNS = (
    "id, organization_id, artifact_id, digest, registry_url, repository, path, artifact_url,"
    " status, created_at, updated_at"
)
KEY = "artifact_id, place"
STATUSES = ("active", "eol", "deleted")


@dataclass(frozen=True, slots=True)
class Storage:
    """A place in a registry. Unknown parts are empty.

    If `artifact_url` or `status` is None, the stored one stays. A new record is `active` then.
    """

    registry_url: str
    repository: str = ""
    path: str = ""
    artifact_url: str | None = None
    status: str | None = None

    @property
    def place(self) -> str:
        """Return a digest of the place. Its parts are too long for an index of PostgreSQL."""
        parts = self.registry_url, self.repository, self.path
        return hashlib.sha256(orjson.dumps(parts)).hexdigest()


def put(
    db: Connection,
    organization_id: int,
    named: NamedArtifact,
    wanted: Storage,
    *,
    renew: bool = True,
) -> Row:
    """Record an artifact's place, and replace the record of the same place.

    If `renew`, a record that stays the same gets a new `updated_at` too. Return the record:
    COLUMNS, `repo_id`, `name`, `version`, and the `change`, which is `created`, `updated` or None.
    """
    artifacts.lock(db, organization_id)
    artifact = artifacts.put(db, organization_id, [named])[named.key]
    artifact_id = artifact["id"]
    before = get(db, artifact_id, wanted)
    values: Row = {"artifact_id": artifact_id, **asdict(wanted)}
    if before is None:
        values |= {"organization_id": organization_id, "digest": named.key[1]}
        values["place"] = wanted.place
        values["status"] = wanted.status or STATUSES[0]
        values |= {"created_at": db.now, "updated_at": db.now}
        upsert.insert_if_absent(db, "storage_record", values, KEY)
        artifacts.count(db, "storages", {artifact_id: 1})
    else:
        changes = {name: value for name, value in values.items() if value is not None}
        moment = {"updated_at": db.now} if renew else {}
        upsert.update(db, "storage_record", before, changes | moment)
    after = get(db, artifact_id, wanted)
    assert after is not None, "it has just been written"
    return artifact | after | {"change": _change(before, after)}


def get(db: Connection, artifact_id: int, at: Storage) -> Row | None:
    """Return the record of an artifact at this place (COLUMNS), or None."""
    return db.find(f"SELECT {COLUMNS} FROM storage_record", artifact_id=artifact_id, place=at.place)


def of_digest(
    db: Connection,
    organization_id: int,
    digest: str,
    viewer: RepositoryViewer,
    *,
    limit: int,
    offset: int,
) -> list[Row]:
    """Return the records of a digest in repositories that the viewer may see, oldest first.

    They have COLUMNS and the artifact's `name`.
    """
    source = (
        f"SELECT {prefixed('s', COLUMNS)}, t.name FROM storage_record s"
        " JOIN artifact t ON t.id = s.artifact_id"
    )
    return artifacts.records(
        db, source, organization_id, digest, viewer, limit=limit, offset=offset
    )


def _change(before: Row | None, after: Row) -> str | None:
    if before is None:
        return "created"
    same = {**before, "updated_at": after["updated_at"]} == after
    return None if same else "updated"
