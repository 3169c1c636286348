"""Secrets of a repository for its environments.

They are stored encrypted. Only `value_of` returns a value.
"""

import base64

from store.agents import variable_names
from store.database import paging
from store.database.connection import Connection, Row
from store.devenvs.devenv_keys import RESOURCE
from store.errors import Invalid, Missing

COLUMNS = "repo_id, name, created_at, updated_at"
MOST = 100
"""The limit of secrets of a repository."""
MOST_BYTES = 48 * 1024
"""The limit of a value in bytes."""


def put(db: Connection, repo_id: int, name: str, value: bytes) -> bool:
    """Store a secret. Return True if it is new.

    Raises Invalid for a bad name, a value that is too long, or too many secrets.
    """
    known = variable_names.checked(name, RESOURCE, "secret_name")
    if len(value) > MOST_BYTES:
        raise _wrong("encrypted_value", f"a secret has at most {MOST_BYTES} bytes")
    db.alone(f"secrets of {repo_id}")
    before = get(db, repo_id, known)
    if before is None and count(db, repo_id) >= MOST:
        raise _wrong("secret_name", f"a repository has at most {MOST} secrets")
    db.execute(
        "INSERT INTO devenv_secret (repo_id, name, value, created_at, updated_at)"
        " VALUES (:repo_id, :name, :value, :now, :now) ON CONFLICT (repo_id, name)"
        " DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at",
        repo_id=repo_id,
        name=known,
        value=db.vault.seal(base64.b64encode(value).decode()),
    )
    return before is None


def get(db: Connection, repo_id: int, name: str) -> Row | None:
    """Return the secret with this name, in any case, without its value (COLUMNS), or None."""
    return db.find(f"SELECT {COLUMNS} FROM devenv_secret", repo_id=repo_id, name=name.upper())


def value_of(db: Connection, row: Row) -> bytes:
    """Return the decrypted value of a secret, for authorized receivers only."""
    sealed = db.find_value(
        "SELECT value FROM devenv_secret", repo_id=row["repo_id"], name=row["name"]
    )
    return base64.b64decode(db.vault.open(sealed))


def page(db: Connection, repo_id: int, *, limit: int, offset: int) -> list[Row]:
    """Return a page of the repository's secrets, by name (COLUMNS)."""
    return paging.page(
        db,
        f"SELECT {COLUMNS} FROM devenv_secret WHERE repo_id = :repo_id ORDER BY name",
        limit,
        offset,
        repo_id=repo_id,
    )


def count(db: Connection, repo_id: int) -> int:
    return db.number("SELECT count(*) FROM devenv_secret WHERE repo_id = :repo_id", repo_id=repo_id)


def delete(db: Connection, row: Row) -> None:
    """Delete a secret. Raises Missing if it is gone."""
    if not db.delete("devenv_secret", repo_id=row["repo_id"], name=row["name"]):
        raise Missing("secret")


def _wrong(field: str, message: str) -> Invalid:
    return Invalid(message, field=field, resource=RESOURCE)
