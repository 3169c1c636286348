"""Records of running artifacts: one for each deployment in an environment and a cluster."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import orjson

from store.accounts.viewers import RepositoryViewer, may_see
from store.artifacts import artifacts
from store.artifacts.artifacts import NamedArtifact
from store.database.connection import Connection, Row, json_array, prefixed

COLUMNS = (
    "id, organization_id, artifact_id, digest, cluster, logical_environment,"
    " physical_environment, deployment_name, status, tags, runtime_risks, attestation_id,"
    " created_at, updated_at"
)
KEY = "organization_id, cluster, logical_environment, physical_environment, deployment_name"
# The columns whose new values count as a change. A repeated record changes nothing.
SAID = ("artifact_id", "status", "tags", "runtime_risks", "attestation_id")
STATUSES = ("deployed", "decommissioned")
# The longest environment, cluster and name. An index of PostgreSQL takes 2,704 bytes for all four.
LONGEST_PLACE, LONGEST_NAME = 128, 256


@dataclass(frozen=True, slots=True)
class DeploymentPlace:
    """The place of deployments. Unknown parts are empty."""

    logical_environment: str
    physical_environment: str = ""
    cluster: str = ""


@dataclass(frozen=True, slots=True)
class Deployment:
    """An artifact from a repository that is deployed under a name.

    If the status, tags or risks are None, the stored ones stay. A new one is `deployed` then. Tags
    and risks of another repository's deployment do not stay: it may be private.

    `replaces` is the repository of the record with its name, as the caller saw it, or None. A job
    has it, because it records the deployment later.
    """

    repo_id: int
    attestation_id: int | None
    name: str
    digest: str
    version: str | None
    status: str | None
    deployment_name: str
    tags: dict[str, str] | None
    runtime_risks: list[str] | None
    replaces: int | None = None

    @property
    def artifact(self) -> NamedArtifact:
        return NamedArtifact((self.repo_id, self.digest), self.name, self.version)

    def packed(self) -> str:
        """Return the deployment as JSON."""
        return orjson.dumps(asdict(self)).decode()


def unpacked(text: str) -> Deployment:
    """Return the deployment from its `packed` form."""
    return Deployment(**orjson.loads(text))


def put(
    db: Connection,
    organization_id: int,
    place: DeploymentPlace,
    wanted: Sequence[Deployment],
    *,
    renew: bool = True,
) -> list[Row]:
    """Store deployments with different names. Each replaces the one with its name in this place.

    If `renew`, a record that stays the same gets a new `updated_at` too. Return the records:
    COLUMNS with tags and risks as objects, `repo_id`, `name`, `version`, and the `change`, which is
    `created`, `updated` or None.
    """
    artifacts.lock(db, organization_id)
    built = artifacts.put(db, organization_id, [one.artifact for one in wanted])
    ids = [built[one.artifact.key]["id"] for one in wanted]
    names = [one.deployment_name for one in wanted]
    before = _at(db, organization_id, place, names)
    wanted = [_settled(one, before.get(one.deployment_name)) for one in wanted]
    made = db.insert_many(
        "deployment_record",
        f"{KEY}, artifact_id, digest, status, tags, runtime_risks, attestation_id, created_at,"
        " updated_at",
        [
            _row(db, organization_id, place, one, artifact_id)
            for one, artifact_id in zip(wanted, ids, strict=True)
            if renew or _differs(one, artifact_id, before.get(one.deployment_name))
        ],
        f"ON CONFLICT ({KEY}) DO UPDATE SET artifact_id = excluded.artifact_id,"
        " digest = excluded.digest, status = excluded.status,"
        " tags = coalesce(excluded.tags, deployment_record.tags), runtime_risks ="
        " coalesce(excluded.runtime_risks, deployment_record.runtime_risks),"
        " attestation_id = excluded.attestation_id, updated_at = excluded.updated_at"
        f" RETURNING {COLUMNS}",
    )
    after = before | _by_name(dict(zip(COLUMNS.split(", "), row, strict=True)) for row in made)
    old = [row["artifact_id"] for row in before.values()]
    artifacts.count(db, "deployments", artifacts.moves(old, ids))
    return [_record(after[one.deployment_name], built[one.artifact.key], before) for one in wanted]


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

    They have COLUMNS, with tags and risks as objects.
    """
    source = f"SELECT {prefixed('s', COLUMNS)} FROM deployment_record s"
    rows = artifacts.records(
        db, source, organization_id, digest, viewer, limit=limit, offset=offset
    )
    return [decode_row(row) for row in rows]


def hidden_names(
    db: Connection,
    organization_id: int,
    place: DeploymentPlace,
    names: Iterable[str],
    viewer: RepositoryViewer,
) -> set[str]:
    """Return which of these names have a record here of a repository that the viewer may not see.

    Only those who may see a record may replace it.
    """
    shown, given = may_see(db, viewer)
    found = db.column(
        "SELECT d.deployment_name FROM deployment_record d JOIN artifact t ON t.id = d.artifact_id"
        " JOIN repository r ON r.id = t.repo_id JOIN account a ON a.id = r.owner_id"
        " WHERE d.organization_id = :organization_id AND d.cluster = :cluster"
        " AND d.logical_environment = :logical_environment"
        " AND d.physical_environment = :physical_environment AND d.deployment_name"
        f" {db.among('names', 'text')} AND NOT ({shown})",
        organization_id=organization_id,
        names=json_array(names),
        **asdict(place),
        **given,
    )
    return set(found)


def get(db: Connection, organization_id: int, place: DeploymentPlace, name: str) -> Row | None:
    """Return the record of a deployment (COLUMNS, tags and risks as objects), or None."""
    row = _at(db, organization_id, place, [name]).get(name)
    return None if row is None else decode_row(row)


def repository_ids(
    db: Connection, organization_id: int, place: DeploymentPlace, names: Iterable[str]
) -> dict[str, int]:
    """Return name to the repository of the record with this name, for names that have one."""
    found = _at(db, organization_id, place, names)
    return {name: row["repo_id"] for name, row in found.items()}


def _at(
    db: Connection, organization_id: int, place: DeploymentPlace, names: Iterable[str]
) -> dict[str, Row]:
    rows = db.all(
        f"SELECT {COLUMNS}, (SELECT a.repo_id FROM artifact a WHERE a.id = artifact_id) AS repo_id"
        " FROM deployment_record WHERE organization_id = :organization_id"
        " AND cluster = :cluster AND logical_environment = :logical_environment"
        " AND physical_environment = :physical_environment AND deployment_name"
        f" {db.among('names', 'text')}",
        organization_id=organization_id,
        names=json_array(names),
        **asdict(place),
    )
    return _by_name(rows)


def _by_name(rows: Iterable[Row]) -> dict[str, Row]:
    return {row["deployment_name"]: row for row in rows}


def _settled(one: Deployment, old: Row | None) -> Deployment:
    """Return the deployment with a status. The column cannot be null, not even in a conflict.

    In place of another repository's deployment, it has tags and risks too.
    """
    one = replace(one, status=one.status or (STATUSES[0] if old is None else old["status"]))
    if old is None or old["repo_id"] == one.repo_id:
        return one
    return replace(one, tags=one.tags or {}, runtime_risks=one.runtime_risks or [])


def _differs(one: Deployment, artifact_id: int, old: Row | None) -> bool:
    if old is None:
        return True
    kept = {
        "status": one.status,
        "tags": _json(one.tags),
        "runtime_risks": _json(one.runtime_risks),
    }
    new = {name: old[name] if value is None else value for name, value in kept.items()}
    new |= {"artifact_id": artifact_id, "attestation_id": one.attestation_id}
    return any(old[name] != new[name] for name in SAID)


def _row(
    db: Connection, organization_id: int, place: DeploymentPlace, one: Deployment, artifact_id: int
) -> tuple[Any, ...]:
    return (
        organization_id,
        place.cluster,
        place.logical_environment,
        place.physical_environment,
        one.deployment_name,
        artifact_id,
        one.digest,
        one.status,
        _json(one.tags),
        _json(one.runtime_risks),
        one.attestation_id,
        db.now,
        db.now,
    )


def _json(value: object) -> str | None:
    # Keys are sorted, so that equal values are equal texts.
    return None if value is None else orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def _record(row: Row, artifact: Row, before: dict[str, Row]) -> Row:
    old = before.get(row["deployment_name"])
    change: str | None = "created"
    if old is not None:
        change = "updated" if any(row[name] != old[name] for name in SAID) else None
    return decode_row(row) | {
        "repo_id": artifact["repo_id"],
        "name": artifact["name"],
        "version": artifact["version"],
        "change": change,
    }


def decode_row(row: Row) -> Row:
    """Decode the JSON columns of a row: tags and risks."""
    return row | {
        "tags": orjson.loads(row["tags"] or "{}"),
        "runtime_risks": orjson.loads(row["runtime_risks"] or "[]"),
    }
