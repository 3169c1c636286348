"""Artifacts: a repository's builds, identified by digest, and their attestations."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from store.accounts import organizations
from store.accounts.role_grants import GRANTS
from store.accounts.viewers import RepositoryViewer, may_see, visible_among
from store.database import paging, upsert
from store.database.connection import Connection, Row, json_array

# Algorithm to its number of hexadecimal digits.
ALGORITHMS = {"sha256": 64, "sha384": 96, "sha512": 128}
DIGEST = re.compile(rf"(?:({'|'.join(ALGORITHMS)}):)?([0-9a-fA-F]+)")
STORED = ("id", "repo_id", "digest", "name", "version")

Cause = Literal["unauthorized", "not_found"]
Key = tuple[int, str]
"""A repository's id and a digest."""


@dataclass(frozen=True, slots=True)
class ArtifactSource:
    """The repository that built an artifact, and the id of the attestation for that, or None."""

    repo_id: int
    attestation_id: int | None


@dataclass(frozen=True, slots=True)
class NamedArtifact:
    """An artifact as a record names it."""

    key: Key
    name: str
    version: str | None


def normal_digest(text: str) -> str:
    """Return the digest with its algorithm, in lower case. Raises ValueError if it is malformed."""
    found = DIGEST.fullmatch(text)
    sizes = {size: name for name, size in ALGORITHMS.items()}
    if found is not None:
        algorithm = sizes.get(len(found[2]))
        if algorithm is not None and found[1] in (None, algorithm):
            return f"{algorithm}:{found[2].lower()}"
    raise ValueError("not a digest such as sha256: and 64 hexadecimal digits")


def attest(db: Connection, repo_id: int, digest: str) -> bool:
    """Record that a repository has built an artifact. Return False if that is known."""
    values = {"repo_id": repo_id, "digest": digest, "created_at": db.now}
    return upsert.insert_if_absent(db, "attestation", values, "repo_id, digest") is not None


def attestation(db: Connection, repo_id: int, digest: str) -> int | None:
    """Return the id of the attestation that a repository has built an artifact, or None."""
    found: int | None = db.find_value("SELECT id FROM attestation", repo_id=repo_id, digest=digest)
    return found


def sources(
    db: Connection,
    organization: Row,
    viewer: RepositoryViewer,
    wanted: Sequence[tuple[str, str | None]],
) -> list[ArtifactSource | Cause]:
    """Return the source of each digest, or the cause why there is none.

    Each digest may have the name of a repository of the organization; an attestation takes
    precedence over it. The viewer must be able to see the repository and to push to it.
    """
    attested = _attested(db, organization["id"], {digest for digest, _ in wanted})
    named = _named(db, organization["id"], {name.lower() for _, name in wanted if name})
    found = [
        attested.get(digest) or (named.get(name.lower()) if name else None)
        for digest, name in wanted
    ]
    ids = {source.repo_id for source in found if source is not None}
    shown = visible_among(db, viewer, organization["id"], ids)
    mine = _writable(db, organization, viewer, shown)
    return [_judged(source, shown, mine) for source in found]


def _judged(
    source: ArtifactSource | None, shown: set[int], mine: set[int]
) -> ArtifactSource | Cause:
    if source is None or source.repo_id not in shown:
        return "not_found"
    return source if source.repo_id in mine else "unauthorized"


def _attested(db: Connection, organization_id: int, digests: set[str]) -> dict[str, ArtifactSource]:
    """Return digest to the source in its latest attestation."""
    rows = db.tuples(
        f"SELECT t.digest, t.repo_id, t.id FROM {db.each('digests', digest='text')} AS w"
        " JOIN attestation t ON t.digest = w.digest JOIN repository r ON r.id = t.repo_id"
        " WHERE r.owner_id = :organization_id ORDER BY t.id",
        digests=json_array(digests),
        organization_id=organization_id,
    )
    return {digest: ArtifactSource(repo_id, attestation) for digest, repo_id, attestation in rows}


def _named(db: Connection, organization_id: int, names: set[str]) -> dict[str, ArtifactSource]:
    rows = db.tuples(
        f"SELECT r.name_key, r.id FROM {db.each('names', name='text')} AS w"
        " JOIN repository r ON r.name_key = w.name AND r.owner_id = :organization_id",
        names=json_array(names),
        organization_id=organization_id,
    )
    return {name: ArtifactSource(repo_id, None) for name, repo_id in rows}


def _writable(
    db: Connection, organization: Row, viewer: RepositoryViewer, ids: set[int]
) -> set[int]:
    """Return which of these repositories of the organization the viewer may push to."""
    account = viewer.account
    if account is None:
        return set()
    reached = ids if viewer.repositories is None else ids & set(viewer.repositories)
    if organizations.role_of(db, organization, account) == "admin":
        return reached
    rows = db.column(
        f"SELECT c.repo_id FROM {db.each('ids', id='integer')} AS w"
        f" JOIN {GRANTS} AS c ON c.repo_id = w.id AND c.account_id = :account_id"
        " WHERE c.role IN ('write', 'maintain', 'admin')",
        ids=json_array(reached),
        account_id=account["id"],
    )
    return set(rows)


def lock(db: Connection, organization_id: int) -> None:
    """Lock an organization's records until the transaction ends, because of their counts."""
    db.alone(f"artifacts of {organization_id}")


def put(db: Connection, organization_id: int, wanted: Iterable[NamedArtifact]) -> dict[Key, Row]:
    """Store artifacts. Return them as they are then (STORED).

    If an artifact has several names, the first one counts. Without a version, the stored one stays.
    """
    first: dict[Key, NamedArtifact] = {}
    for one in wanted:
        first.setdefault(one.key, one)
    values = [
        (organization_id, *one.key, one.name, one.version, db.now, db.now) for one in first.values()
    ]
    made = db.insert_many(
        "artifact",
        "organization_id, repo_id, digest, name, version, created_at, updated_at",
        values,
        "ON CONFLICT (repo_id, digest) DO UPDATE SET name = excluded.name,"
        " version = coalesce(excluded.version, artifact.version),"
        " updated_at = CASE WHEN artifact.name = excluded.name AND"
        " coalesce(excluded.version, artifact.version, '') = coalesce(artifact.version, '')"
        " THEN artifact.updated_at ELSE excluded.updated_at END RETURNING " + ", ".join(STORED),
    )
    rows = [dict(zip(STORED, row, strict=True)) for row in made]
    return {(row["repo_id"], row["digest"]): row for row in rows}


def count(
    db: Connection, kind: Literal["deployments", "storages"], changes: Mapping[int, int]
) -> None:
    """Add to the numbers of records of these artifacts. Changes may be negative."""
    changed = [(artifact_id, change) for artifact_id, change in changes.items() if change]
    if changed:
        db.execute(
            f"UPDATE artifact SET {kind} = {kind} + (SELECT w.change FROM"
            f" {db.each('changes', id='integer', change='integer')} AS w WHERE w.id = artifact.id)"
            f" WHERE id IN (SELECT v.id FROM {db.each('changes', id='integer', change='integer')}"
            " AS v)",
            changes=json_array(sorted(changed)),
        )


def moves(before: Iterable[int], after: Iterable[int]) -> dict[int, int]:
    """Return artifact id to the change of its number of records."""
    changes = Counter(after)
    changes.subtract(Counter(before))
    return dict(changes)


def _visible(db: Connection, viewer: RepositoryViewer) -> tuple[str, dict[str, Any]]:
    """Return SQL that follows SELECT for the visible artifacts `t`, and its parameters.

    These are the artifacts of `:digest` in `:organization_id`, in repositories that the viewer may
    see.
    """
    shown, given = may_see(db, viewer)
    return (
        "FROM artifact t JOIN repository r ON r.id = t.repo_id JOIN account a ON a.id = r.owner_id"
        f" WHERE t.organization_id = :organization_id AND t.digest = :digest AND {shown}",
        given,
    )


def records(
    db: Connection,
    source: str,
    organization_id: int,
    digest: str,
    viewer: RepositoryViewer,
    *,
    limit: int,
    offset: int,
) -> list[Row]:
    """Return a page of the records of a digest, oldest first.

    They are in repositories that the viewer may see. `source` is SQL that selects records `s`.
    """
    visible, given = _visible(db, viewer)
    # The plus keeps the database from using the artifact's index: the rows are found by digest, in
    # their order, because an artifact may have many.
    return paging.page(
        db,
        f"{source} WHERE s.organization_id = :organization_id AND s.digest = :digest"
        f" AND +s.artifact_id IN (SELECT t.id {visible}) ORDER BY s.id",
        limit,
        offset,
        organization_id=organization_id,
        digest=digest,
        **given,
    )


def total(
    db: Connection,
    organization_id: int,
    digest: str,
    viewer: RepositoryViewer,
    kind: Literal["deployments", "storages"],
) -> int:
    """Return how many records of a digest there are in repositories that the viewer may see."""
    visible, given = _visible(db, viewer)
    found = db.number(
        f"SELECT coalesce(sum(t.{kind}), 0) {visible}",
        organization_id=organization_id,
        digest=digest,
        **given,
    )
    return int(found)
