"""Requested imports of a repository's history from another host."""

import os
from collections.abc import Mapping
from typing import Any

import orjson

from store.database.connection import Connection, Row
from store.errors import Invalid, existing
from store.jobs import jobs

COLUMNS = (
    "repo_id, round, account_id, vcs_url, vcs, project, username, password, status, step, due_at,"
    " tries, failed_step, error_message, commit_count, authors_count, import_percent, push_percent,"
    " use_lfs, large_files_count, large_files_size, project_choices, created_at, updated_at"
)
FRESH = (
    "failed_step = NULL, error_message = NULL, commit_count = NULL, authors_count = NULL,"
    " import_percent = NULL, push_percent = NULL, large_files_count = 0, large_files_size = 0,"
    " project_choices = '[]'"
)
AT_WORK = ("detecting", "importing", "mapping", "pushing")
NEEDS_ATTENTION = (
    "auth_failed",
    "error",
    "detection_needs_auth",
    "detection_found_nothing",
    "detection_found_multiple",
)
UNDER_WAY = "An import is under way for this repository: it can be updated, or cancelled"
RESOURCE = "Import"


def get(db: Connection, repo_id: int) -> Row | None:
    """Return the repository's import (COLUMNS, password sealed, choices as a list), or None."""
    row = db.one(f"SELECT {COLUMNS} FROM source_import WHERE repo_id = :id", id=repo_id)
    return row and row | {"project_choices": orjson.loads(row["project_choices"])}


def start(
    db: Connection,
    repo_id: int,
    account_id: int,
    vcs_url: str,
    *,
    vcs: str | None = None,
    project: str | None = None,
    username: str | None = None,
    password: str | None = None,
) -> Row:
    """Start an import. Without `vcs`, the system at the URL is detected.

    Raises Invalid if another import of this repository is under way. A former one is deleted.
    """
    db.alone(f"import {repo_id}")
    before = get(db, repo_id)
    if before is not None and before["status"] in AT_WORK:
        raise Invalid(UNDER_WAY, field="vcs_url", code="custom", resource=RESOURCE)
    delete(db, repo_id)
    step = "detecting" if vcs is None else "importing"
    db.execute(
        "INSERT INTO source_import (repo_id, round, account_id, vcs_url, vcs, project, username,"
        " password, status, step, due_at, tries, use_lfs, large_files_count, large_files_size,"
        " project_choices, created_at, updated_at) VALUES (:repo_id, :round, :account_id, :vcs_url,"
        " :vcs, :project, :username, :password, :step, :step, :now, 0, 'undecided', 0, 0, '[]',"
        " :now, :now)",
        repo_id=repo_id,
        round=new_round(),
        account_id=account_id,
        vcs_url=vcs_url,
        vcs=vcs,
        project=project,
        username=username,
        password=_sealed(db, password),
        step=step,
    )
    jobs.notify_worker(db)
    return needed(db, repo_id)


def restart(db: Connection, row: Row, account_id: int, changed: Mapping[str, Any]) -> Row:
    """Restart an import with new values of `vcs`, `project`, `username` and `password`.

    The names of authors and the preference for large files stay.
    """
    db.alone(f"import {row['repo_id']}")
    row = needed(db, row["repo_id"])
    given = {name: changed.get(name, row[name]) for name in ("vcs", "project", "username")}
    password = _sealed(db, changed["password"]) if "password" in changed else row["password"]
    step = "detecting" if given["vcs"] is None else "importing"
    db.execute(
        "UPDATE source_import SET vcs = :vcs, project = :project, username = :username,"
        f" password = :password, account_id = :account_id, {FRESH} WHERE repo_id = :repo_id",
        repo_id=row["repo_id"],
        account_id=account_id,
        password=password,
        **given,
    )
    return _again(db, row, step)


def remap(db: Connection, repo_id: int) -> None:
    """Repeat the mapping of authors if the import is complete, because their names have changed.

    An import under way reads the new names itself. Raises Missing if there is no import.
    """
    db.alone(f"import {repo_id}")
    row = needed(db, repo_id)
    if row["status"] == "complete":
        _again(db, row, "mapping")


def _again(db: Connection, row: Row, step: str) -> Row:
    db.execute(
        "UPDATE source_import SET round = :round, status = :step, step = :step, due_at = :now,"
        " tries = 0, push_percent = NULL, updated_at = :now WHERE repo_id = :repo_id",
        round=new_round(),
        step=step,
        repo_id=row["repo_id"],
    )
    jobs.notify_worker(db)
    return needed(db, row["repo_id"])


def new_round() -> int:
    """Return a random round, different from all former ones, even of deleted imports."""
    return int.from_bytes(os.urandom(7))


def needed(db: Connection, repo_id: int) -> Row:
    """Return the repository's import. Raises Missing if there is none."""
    return existing(get(db, repo_id), "import")


def delete(db: Connection, repo_id: int) -> str | None:
    """Delete a repository's import, which cancels it. Return its last status, or None."""
    jobs.notify_worker(db)
    status: str | None = db.value(
        "DELETE FROM source_import WHERE repo_id = :id RETURNING status", id=repo_id
    )
    return status


def set_preferences(db: Connection, repo_id: int, use_lfs: str) -> Row:
    """Set the preference for large files. Raises Missing if there is no import."""
    db.execute(
        "UPDATE source_import SET use_lfs = :use_lfs, updated_at = :now WHERE repo_id = :id",
        use_lfs=use_lfs,
        id=repo_id,
    )
    return needed(db, repo_id)


def password_of(db: Connection, row: Row) -> str | None:
    """Return the decrypted password for the source, or None."""
    return None if row["password"] is None else db.vault.open(row["password"])


def _sealed(db: Connection, password: str | None) -> bytes | None:
    return None if password is None else db.vault.seal(password)
