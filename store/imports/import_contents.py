"""The results of an import: the authors of its history, and its large files."""

from collections.abc import Sequence
from typing import NamedTuple

from store.database.connection import Connection, Row, json_array
from store.errors import Missing

AUTHOR = "id, repo_id, digest, remote_name, remote_id, name, email"
Renamed = dict[str, tuple[str, str]]
"""The digests of renamed authors to their new names and addresses."""
LARGE_FILE = "ref_name, path, oid, size"


class Author(NamedTuple):
    """An author as the source has it. `digest` stands for the bytes, which may be invalid text."""

    digest: str
    name: str
    email: str


class LargeFile(NamedTuple):
    """A file, the ref with which it was found, and its size in bytes."""

    ref_name: str
    path: str
    oid: str
    size: int


def put_authors(db: Connection, repo_id: int, found: Sequence[Author]) -> None:
    """Add these authors. Known ones keep the names that they were given."""
    db.insert_many(
        "import_author",
        "repo_id, digest, remote_name, remote_id, name, email",
        [(repo_id, one.digest, one.name, one.email, one.name, one.email) for one in found],
        "ON CONFLICT (repo_id, digest) DO NOTHING",
    )


def digests(db: Connection, repo_id: int) -> list[str]:
    return db.column("SELECT digest FROM import_author WHERE repo_id = :repo_id", repo_id=repo_id)


def remove_authors(db: Connection, repo_id: int, gone: Sequence[str]) -> None:
    db.execute(
        f"DELETE FROM import_author WHERE repo_id = :repo_id AND digest {db.among('gone', 'text')}",
        repo_id=repo_id,
        gone=json_array(gone),
    )


def authors(db: Connection, repo_id: int, *, since: int = 0, limit: int) -> list[Row]:
    """Return the authors with ids above `since`, by id (AUTHOR)."""
    return db.all(
        f"SELECT {AUTHOR} FROM import_author WHERE repo_id = :repo_id AND id > :since"
        " ORDER BY id LIMIT :limit",
        repo_id=repo_id,
        since=since,
        limit=limit,
    )


def author(db: Connection, repo_id: int, author_id: int) -> Row | None:
    """Return the author with this id in the repository's import, or None."""
    return db.find(f"SELECT {AUTHOR} FROM import_author", repo_id=repo_id, id=author_id)


def rename(db: Connection, row: Row, **given: str) -> Row:
    """Set an author's `name` or `email`, or both. Raises Missing if the author is gone."""
    assert set(given) <= {"name", "email"}, given
    changed = db.one(
        f"UPDATE import_author SET {', '.join(f'{name} = :{name}' for name in given)}"
        f" WHERE id = :id RETURNING {AUTHOR}",
        id=row["id"],
        **given,
    )
    if changed is None:
        raise Missing("author")
    return changed


def renamed(db: Connection, repo_id: int) -> Renamed:
    rows = db.tuples(
        "SELECT digest, name, email FROM import_author WHERE repo_id = :repo_id"
        " AND (name <> remote_name OR email <> remote_id)",
        repo_id=repo_id,
    )
    return {digest: (name, email) for digest, name, email in rows}


def put_large_files(
    db: Connection, repo_id: int, found: Sequence[LargeFile], *, count: int, size: int
) -> None:
    """Replace the large files. `count` and `size` are their number and total size in bytes."""
    db.delete("import_large_file", repo_id=repo_id)
    rows = [(repo_id, position, *one) for position, one in enumerate(found)]
    db.insert_many("import_large_file", f"repo_id, position, {LARGE_FILE}", rows)
    db.execute(
        "UPDATE source_import SET large_files_count = :count, large_files_size = :size"
        " WHERE repo_id = :repo_id",
        count=count,
        size=size,
        repo_id=repo_id,
    )


def large_files(db: Connection, repo_id: int) -> list[Row]:
    """Return the large files (LARGE_FILE)."""
    return db.all(
        f"SELECT {LARGE_FILE} FROM import_large_file WHERE repo_id = :repo_id ORDER BY position",
        repo_id=repo_id,
    )
