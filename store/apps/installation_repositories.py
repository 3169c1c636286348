"""The repositories that an installation covers: all of its account's, or those that were chosen."""

import json
from collections.abc import Iterable

from store.database import upsert
from store.database.connection import Connection, Row
from store.errors import Invalid
from store.hooks import app_subscriptions

# The limit of repositories in an event.
MOST_LISTED = 5_000
CHOSEN = ("installation_id", "repo_id")


def covers(db: Connection, installation: Row, repo: Row) -> bool:
    if repo["owner_id"] != installation["account_id"]:
        return False
    if installation["every_repository"]:
        return True
    return db.exists(
        "SELECT 1 FROM installation_repository WHERE installation_id = :id AND repo_id = :repo_id",
        id=installation["id"],
        repo_id=repo["id"],
    )


def covered_ids(db: Connection, installation: Row) -> set[int]:
    """Return the ids of the repositories that an installation covers at present, 5,000 at most."""
    source = (
        "repository r WHERE r.owner_id = :id"
        if installation["every_repository"]
        else "repository r JOIN installation_repository c ON c.repo_id = r.id"
        " WHERE c.installation_id = :id"
    )
    rows = db.column(
        f"SELECT r.id FROM {source} ORDER BY r.id LIMIT {MOST_LISTED}",
        id=installation["account_id" if installation["every_repository"] else "id"],
    )
    return set(rows)


def choose(db: Connection, installation: Row, repositories: Iterable[int] | None) -> bool:
    """Let an installation cover only these repositories; None stands for all of the account's.

    Return whether that changes anything. Raises Invalid if the account does not own one.
    """
    changed = db.execute(
        "UPDATE installation SET every_repository = :every WHERE id = :id"
        " AND every_repository <> :every",
        every=int(repositories is None),
        id=installation["id"],
    )
    chosen = set_chosen(db, installation["id"], installation["account_id"], repositories or ())
    if changed or chosen:
        db.update("installation", installation["id"], updated_at=db.now)
        app_subscriptions.sync_account(db, installation["app_id"], installation["account_id"])
    return bool(changed or chosen)


def set_chosen(
    db: Connection, installation_id: int, account_id: int, repositories: Iterable[int]
) -> bool:
    """Store which repositories an installation covers. Return whether that changes anything.

    Raises Invalid if the account does not own one.
    """
    wanted = set(repositories)
    owned = db.tuples(
        f"SELECT r.id FROM {db.each('ids', wanted='integer')} AS w"
        " JOIN repository r ON r.id = w.wanted WHERE r.owner_id = :account_id",
        ids=json.dumps(sorted(wanted)),
        account_id=account_id,
    )
    if len(owned) < len(wanted):
        raise Invalid("the account does not own all of these repositories", field="repositories")
    return upsert.set_related(db, "installation_repository", CHOSEN, installation_id, wanted)


def forget(db: Connection, repo_id: int) -> None:
    """Remove a repository from all installations that chose it."""
    db.delete("installation_repository", repo_id=repo_id)


def chosen_names(db: Connection, installation: Row, most: int) -> list[str]:
    """Return the names of the repositories that were chosen, the first `most` of them."""
    if installation["every_repository"]:
        return []
    # One query for each installation, because it reads no more than `most` rows.
    names = db.column(
        "SELECT r.name FROM installation_repository c JOIN repository r ON r.id = c.repo_id"
        " WHERE c.installation_id = :id ORDER BY c.repo_id LIMIT :most",
        id=installation["id"],
        most=most,
    )
    return sorted(names, key=str.lower)
