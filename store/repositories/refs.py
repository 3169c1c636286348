"""Branches and tags, and the commit of each."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from store.clock import MINUTE, SECOND
from store.database import paging, payload_reader, upsert
from store.database.connection import ENDLESS, Connection, Row, json_array, prefixed
from store.delivery import sources
from store.repositories import head_commits, ref_counts

SHA = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
NAME = re.compile(r"refs/(heads|tags)/.{1,250}", re.DOTALL)
COLUMNS = "id, repo_id, name, sha, updated_at, head"
MOST = 20_000
BRANCHES, TAGS = "refs/heads/", "refs/tags/"
# The number of characters at the start of a name that tell a branch from a tag. An index has them.
FOLDER = 10
# The order in which a short name is resolved.
PLACES = ("", "refs/", TAGS, BRANCHES)


def get(db: Connection, repo_id: int, name: str) -> Row | None:
    """Return the ref with this full name, or None."""
    return db.find(f"SELECT {COLUMNS} FROM ref", repo_id=repo_id, name=name)


def resolve(db: Connection, repo_id: int, ref: str) -> str | None:
    """Return the commit that `ref` names: a full or short name, or a SHA, which need not be known.

    Return None for an unknown name.
    """
    found = described(db, repo_id, ref)
    return None if found is None else found[0]


def described(db: Connection, repo_id: int, ref: str) -> tuple[str, str | None] | None:
    """Return the commit that `ref` names, as `resolve` does, and how its push described it.

    The description has the form of `head_commits.read`. A SHA has none here.
    """
    if SHA.fullmatch(ref):
        return ref, None
    found = (get(db, repo_id, place + ref) for place in PLACES)
    row = next((row for row in found if row is not None), None)
    return None if row is None else (commit_of(row), row["head"])


def commit_of(ref: Row) -> str:
    """Return the SHA of a ref's commit. An annotated tag has the SHA of its own object."""
    sha = str(ref["sha"])
    if ref["head"] is None or not ref["name"].startswith(TAGS):
        return sha
    named = str(orjson.loads(ref["head"])["id"])
    return named if SHA.fullmatch(named) else sha


def branches_at(db: Connection, repo_id: int, sha: str, most: int = ENDLESS) -> list[str]:
    """Return the short names of the branches at this commit, or the first of very many."""
    rows = paging.page(
        db,
        # With the first FOLDER characters, the index of all branches could be read for few.
        "SELECT name FROM ref WHERE repo_id = :repo_id AND sha = :sha"
        " AND substr(name, 1, 11) = :branches ORDER BY name",
        most,
        0,
        repo_id=repo_id,
        sha=sha,
        branches=BRANCHES,
    )
    return [row["name"].removeprefix(BRANCHES) for row in rows]


def put(db: Connection, repo_id: int, name: str, sha: str, head: str | None = None) -> bool:
    """Set the commit of a ref. Return whether that changes anything.

    `head` describes the commit, in the form of `head_commits.read`.
    """
    before = get(db, repo_id, name)
    if before is None:
        values = {"repo_id": repo_id, "name": name, "sha": sha, "updated_at": db.now, "head": head}
        made = upsert.insert_if_absent(db, "ref", values, "repo_id, name")
        if made is not None:
            ref_counts.add(db, repo_id, Counter([name[:FOLDER]]))
        _mark_gone(db, repo_id, name)
        return made is not None
    if head is None and sha == before["sha"]:
        return False
    return upsert.update(db, "ref", before, {"sha": sha, "head": head})


def replace(db: Connection, repo_id: int, found: Mapping[str, str]) -> None:
    """Replace all refs of a repository by `found`: names and commits.

    Only branches and tags are kept, and only the first of very many.
    """
    gone = db.column(
        f"DELETE FROM ref WHERE repo_id = :repo_id RETURNING substr(name, 1, {FOLDER})",
        repo_id=repo_id,
    )
    good = [(name, sha) for name, sha in sorted(found.items()) if NAME.fullmatch(name)]
    rows = [(repo_id, name, sha, db.now) for name, sha in good[:MOST]]
    db.insert_many("ref", "repo_id, name, sha, updated_at", rows)
    changes = Counter(name[:FOLDER] for _, name, *_ in rows)
    changes.subtract(gone)
    ref_counts.add(db, repo_id, changes)
    _mark_gone(db, repo_id)


def delete(db: Connection, repo_id: int, name: str) -> bool:
    """Delete a ref. Return False if there is none with this name."""
    gone = db.delete("ref", repo_id=repo_id, name=name)
    if gone:
        ref_counts.add(db, repo_id, Counter({name[:FOLDER]: -gone}))
    _mark_gone(db, repo_id, name)
    return gone > 0


def pushed(db: Connection, repo: Row, payload: dict[str, Any], event: Row) -> None:
    """Update the ref in a push event, or delete it. A late push is ignored."""
    name = payload_reader.read_field(payload, "ref", payload_reader.text(300))
    sha = payload_reader.read_field(payload, "after", payload_reader.text(64))
    if name is None or sha is None or not NAME.fullmatch(name) or not SHA.fullmatch(sha):
        return
    if _is_late(db, repo["id"], name, payload, event):
        return
    if sha.strip("0"):
        put(db, repo["id"], name, sha, head_commits.pushed(payload))
    else:
        delete(db, repo["id"], name)


def deleted(db: Connection, repo: Row, payload: dict[str, Any], event: Row) -> None:
    """Delete the branch or tag in a delete event. A late one is ignored."""
    name = payload_reader.read_field(payload, "ref", payload_reader.text(300))
    place = {"branch": BRANCHES, "tag": TAGS}.get(str(payload.get("ref_type")))
    if name is not None and place is not None:
        full_name = place + name
        if not _is_late(db, repo["id"], full_name, payload, event):
            delete(db, repo["id"], full_name)


def pushed_at(payload: Mapping[str, Any]) -> int | None:
    """Return the platform's time of the push or deletion that an event reports, or None."""
    repository = payload_reader.read_part(payload, "repository")
    found: int | None = payload_reader.read_field(repository, "pushed_at", payload_reader.timestamp)
    return found


def _is_late(db: Connection, repo_id: int, name: str, payload: dict[str, Any], event: Row) -> bool:
    """Return whether a later push or deletion of the ref was reported. If not, keep the time.

    It is kept for deleted refs, too, for a time: a late push would bring them back for ever. The
    time in an unsigned event may be invented, so it is at most a minute after the reception.
    """
    key = {"repo_id": repo_id, "name": name}
    at = pushed_at(payload)
    if at is not None and not sources.is_signed(event):
        at = min(at, event["received_at"] // SECOND * SECOND + MINUTE)
    fields = {} if at is None else upsert.believed(db, {"reported_at": at}, "reported_at")
    before = db.one(
        "SELECT reported_at FROM ref_report WHERE repo_id = :repo_id AND name = :name", **key
    )
    late = upsert.is_outdated(before, fields)
    if fields and not late:
        upsert.insert_or_replace(db, "ref_report", key | fields, "repo_id, name")
    return late


def _mark_gone(db: Connection, repo_id: int, name: str | None = None) -> None:
    """Note in the reports of a ref, or of all, whether the ref is gone, and since when."""
    db.execute(
        "UPDATE ref_report SET gone_at = CASE WHEN gone_at IS NULL THEN CAST(:now AS BIGINT) END"
        f" WHERE repo_id = :repo_id{'' if name is None else ' AND name = :name'}"
        # Only where that has changed: most branches of an import are there as before.
        " AND (gone_at IS NOT NULL) = EXISTS (SELECT 1 FROM ref r"
        " WHERE r.repo_id = ref_report.repo_id AND r.name = ref_report.name)",
        repo_id=repo_id,
        **({} if name is None else {"name": name}),
    )


def drop_reports(db: Connection, before: int, limit: int) -> int:
    """Delete reports of branches and tags that are gone since before a time, up to a limit.

    Return their number.
    """
    # With the columns in the order of the index, SQLite would read all reports of the repositories.
    return db.execute(
        "DELETE FROM ref_report WHERE gone_at < :before AND (name, repo_id) IN (SELECT name,"
        " repo_id FROM ref_report WHERE gone_at < :before ORDER BY gone_at LIMIT :limit)",
        before=before,
        limit=limit,
    )


def branch(db: Connection, repo_id: int, name: str) -> Row | None:
    """Return the branch with this short name, or None."""
    return get(db, repo_id, BRANCHES + name)


def page(
    db: Connection, repo_id: int, prefix: str, *, limit: int = ENDLESS, offset: int = 0
) -> list[Row]:
    """Return a page of the refs whose full names begin with `prefix`, by name."""
    where, given = _beginning(repo_id, prefix)
    return paging.page(
        db,
        f"SELECT {COLUMNS} FROM ref WHERE {where} ORDER BY name",
        limit,
        offset,
        **given,
    )


def names(db: Connection, repo_id: int, prefix: str) -> list[str]:
    """Return the full names that begin with `prefix`, in the order of `page`."""
    where, given = _beginning(repo_id, prefix)
    return db.column(f"SELECT name FROM ref WHERE {where} ORDER BY name", **given)


def several(db: Connection, repo_id: int, wanted: Iterable[str]) -> list[Row]:
    """Return the refs with these full names, by name."""
    return db.all(
        f"SELECT {prefixed('r', COLUMNS)} FROM {db.each('wanted', name='text')} AS w JOIN ref r"
        " ON r.repo_id = :repo_id AND r.name = w.name ORDER BY r.name",
        repo_id=repo_id,
        wanted=json_array(wanted),
    )


def count(db: Connection, repo_id: int, prefix: str) -> int:
    """Return how many refs `page` can return."""
    if prefix in (BRANCHES, TAGS):
        return ref_counts.total(db, repo_id, prefix[:FOLDER])
    where, given = _beginning(repo_id, prefix)
    return db.number(f"SELECT count(*) FROM ref WHERE {where}", **given)


def _beginning(repo_id: int, prefix: str) -> tuple[str, Row]:
    parts = ["repo_id = :repo_id"]
    given: Row = {"repo_id": repo_id}
    if len(prefix) >= FOLDER:
        parts.append(f"substr(name, 1, {FOLDER}) = :folder")
        given["folder"] = prefix[:FOLDER]
    if prefix not in (BRANCHES, TAGS):
        parts.append("substr(name, 1, length(:prefix)) = :prefix")
        given["prefix"] = prefix
    return " AND ".join(parts), given


def list_all(db: Connection, repo_id: int) -> list[Row]:
    """Return a repository's refs, by name."""
    return db.all(
        f"SELECT {COLUMNS} FROM ref WHERE repo_id = :repo_id ORDER BY name", repo_id=repo_id
    )


def branch_at(db: Connection, repo_id: int, sha: str) -> str | None:
    """Return the short name of a branch at this commit, or None."""
    return next(iter(branches_at(db, repo_id, sha, 1)), None)
