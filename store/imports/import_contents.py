"""What was found in an imported history: who made it, and its large files."""

from collections.abc import Sequence
from typing import NamedTuple

from store.database.connection import Connection, Row, json_array

AUTHOR = "id, repo_id, digest, remote_name, remote_id, name, email"
Renamed = dict[str, tuple[str, str]]
"""The digests of those who are to be called otherwise, and their names and addresses then."""
LARGE_FILE = "ref_name, path, oid, size"


class Author(NamedTuple):
    """Somebody as the source calls them; `digest` stands for the bytes there, which need be no
    text.
    """

    digest: str
    name: str
    email: str


class LargeFile(NamedTuple):
    """A file with the ref that it was found by, and its size in bytes."""

    ref_name: str
    path: str
    oid: str
    size: int


def put_authors(db: Connection, repo_id: int, found: Sequence[Author]) -> None:
    """Remember who was found, and nobody else; those that are known keep the names that they were
    given.
    """
    db.insert_many(
        "import_author",
        "repo_id, digest, remote_name, remote_id, name, email",
        [(repo_id, one.digest, one.name, one.email, one.name, one.email) for one in found],
        "ON CONFLICT (repo_id, digest) DO NOTHING",
    )
    db.execute(
        "DELETE FROM import_author WHERE repo_id = :repo_id AND digest NOT IN"
        f" (SELECT i.digest FROM {db.each('found', digest='text')} AS i)",
        repo_id=repo_id,
        found=json_array(one.digest for one in found),
    )


def authors(db: Connection, repo_id: int, *, since: int = 0, limit: int) -> list[Row]:
    """The authors with a greater id than `since`, by id: AUTHOR."""
    return db.all(
        f"SELECT {AUTHOR} FROM import_author WHERE repo_id = :repo_id AND id > :since"
        " ORDER BY id LIMIT :limit",
        repo_id=repo_id,
        since=since,
        limit=limit,
    )


def author(db: Connection, repo_id: int, author_id: int) -> Row | None:
    """The author with this id in the repository's import."""
    return db.one(
        f"SELECT {AUTHOR} FROM import_author WHERE repo_id = :repo_id AND id = :id",
        repo_id=repo_id,
        id=author_id,
    )


def rename(db: Connection, row: Row, *, name: str, email: str) -> Row:
    """Say what an author is to be called."""
    db.execute(
        "UPDATE import_author SET name = :name, email = :email WHERE id = :id",
        name=name,
        email=email,
        id=row["id"],
    )
    return row | {"name": name, "email": email}


def renamed(db: Connection, repo_id: int) -> Renamed:
    """Who is to be called otherwise than in the source."""
    rows = db.tuples(
        "SELECT digest, name, email FROM import_author WHERE repo_id = :repo_id"
        " AND (name <> remote_name OR email <> remote_id)",
        repo_id=repo_id,
    )
    return {digest: (name, email) for digest, name, email in rows}


def put_large_files(
    db: Connection, repo_id: int, found: Sequence[LargeFile], *, count: int, size: int
) -> None:
    """Remember the large files, of which there are so many and of that size in all."""
    db.execute("DELETE FROM import_large_file WHERE repo_id = :repo_id", repo_id=repo_id)
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
    """The large files that were found: LARGE_FILE."""
    return db.all(
        f"SELECT {LARGE_FILE} FROM import_large_file WHERE repo_id = :repo_id ORDER BY position",
        repo_id=repo_id,
    )
