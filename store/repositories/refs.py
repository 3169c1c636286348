"""Branches and tags, and the commit that each is at."""

import re
from collections.abc import Mapping
from typing import Any

from store.database import payload_reader, upsert
from store.database.connection import Connection, Row

SHA = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
NAME = re.compile(r"refs/(heads|tags)/.{1,250}", re.DOTALL)
COLUMNS = "id, repo_id, name, sha, updated_at"
MOST = 20_000
# In this order a short name is looked for.
PLACES = ("", "refs/", "refs/tags/", "refs/heads/")


def get(db: Connection, repo_id: int, name: str) -> Row | None:
    """The ref of this full name."""
    return db.one(
        f"SELECT {COLUMNS} FROM ref WHERE repo_id = :repo_id AND name = :name",
        repo_id=repo_id,
        name=name,
    )


def resolve(db: Connection, repo_id: int, ref: str) -> str | None:
    """The commit that `ref` names: a full or short name, or a commit itself, which need not be
    known. None for a name that is not known.
    """
    if SHA.fullmatch(ref):
        return ref
    for place in PLACES:
        row = get(db, repo_id, place + ref)
        if row is not None:
            return str(row["sha"])
    return None


def branches_at(db: Connection, repo_id: int, sha: str) -> list[str]:
    """The short names of the branches that are at this commit."""
    rows = db.tuples(
        "SELECT name FROM ref WHERE repo_id = :repo_id AND sha = :sha ORDER BY name",
        repo_id=repo_id,
        sha=sha,
    )
    heads = "refs/heads/"
    return [name.removeprefix(heads) for (name,) in rows if name.startswith(heads)]


def put(db: Connection, repo_id: int, name: str, sha: str) -> bool:
    """Say what commit a ref is at; whether that changes anything."""
    before = get(db, repo_id, name)
    if before is None:
        values = {"repo_id": repo_id, "name": name, "sha": sha, "updated_at": db.now}
        return upsert.insert_if_absent(db, "ref", values, "repo_id, name") is not None
    return upsert.update(db, "ref", before, {"sha": sha})


def replace(db: Connection, repo_id: int, found: Mapping[str, str]) -> None:
    """Say what refs there are, and that there are no others: names and the commits that they are
    at. Of very many, the first; of other kinds than branches and tags, none.
    """
    db.execute("DELETE FROM ref WHERE repo_id = :repo_id", repo_id=repo_id)
    good = [(name, sha) for name, sha in sorted(found.items()) if NAME.fullmatch(name)]
    rows = [(repo_id, name, sha, db.now) for name, sha in good[:MOST]]
    db.insert_many("ref", "repo_id, name, sha, updated_at", rows)


def delete(db: Connection, repo_id: int, name: str) -> bool:
    """Take a ref away. False where there is none of this name."""
    gone = db.execute(
        "DELETE FROM ref WHERE repo_id = :repo_id AND name = :name", repo_id=repo_id, name=name
    )
    return gone > 0


def pushed(db: Connection, repo: Row, payload: dict[str, Any], event: Row) -> None:
    """Take up a push: its ref is where it says, or gone."""
    name = payload_reader.read_field(payload, "ref", payload_reader.text(300))
    sha = payload_reader.read_field(payload, "after", payload_reader.text(64))
    if name is None or sha is None or not NAME.fullmatch(name) or not SHA.fullmatch(sha):
        return
    if sha.strip("0"):
        put(db, repo["id"], name, sha)
    else:
        delete(db, repo["id"], name)


def deleted(db: Connection, repo: Row, payload: dict[str, Any], event: Row) -> None:
    """Take up that a branch or tag is gone."""
    name = payload_reader.read_field(payload, "ref", payload_reader.text(300))
    kind = {"branch": "refs/heads/", "tag": "refs/tags/"}.get(str(payload.get("ref_type")))
    if name is not None and kind is not None:
        delete(db, repo["id"], kind + name)


def list_all(db: Connection, repo_id: int) -> list[Row]:
    """A repository's refs, by name."""
    return db.all(
        f"SELECT {COLUMNS} FROM ref WHERE repo_id = :repo_id ORDER BY name", repo_id=repo_id
    )


def branch_at(db: Connection, repo_id: int, sha: str) -> str | None:
    """A branch (its short name) that is at this commit."""
    heads = "refs/heads/"
    rows = db.tuples(
        "SELECT name FROM ref WHERE repo_id = :repo_id AND sha = :sha ORDER BY name",
        repo_id=repo_id,
        sha=sha,
    )
    return next((name.removeprefix(heads) for (name,) in rows if name.startswith(heads)), None)
