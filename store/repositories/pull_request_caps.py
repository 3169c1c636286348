"""Caps on the open pull requests of one user, and the accounts exempt from them."""

from collections.abc import Collection

from store.accounts import accounts
from store.database import upsert
from store.database.connection import Connection, Row, json_array
from store.errors import Invalid

LEAST, MOST = 1, 1000
DEFAULT = {"enabled": 0, "most": 10}
MOST_BYPASSING = 100
# Kind of owner to the table of its caps and the table's key.
TABLES = {
    "organization": ("organization_cap", "account_id"),
    "repository": ("repository_cap", "repo_id"),
}


def stored(db: Connection, whose: str, key: int) -> Row | None:
    """Return the cap that was set (`enabled` as 0 or 1, and `most`), or None."""
    table, column = TABLES[whose]
    return db.one(f"SELECT enabled, most FROM {table} WHERE {column} = :key", key=key)


def get(db: Connection, whose: str, key: int) -> Row:
    """Return the cap of an `organization` or `repository`. By default it is disabled."""
    return stored(db, whose, key) or DEFAULT


def put(
    db: Connection, whose: str, key: int, *, enabled: bool, most: int | None = None
) -> tuple[Row, bool]:
    """Set the cap. Without `most`, its number stays. Return the cap, and whether it changes."""
    table, column = TABLES[whose]
    db.alone(f"cap of {whose} {key}")
    before = stored(db, whose, key)
    row = {"enabled": int(enabled), "most": most or (before or DEFAULT)["most"]}
    if row != before:
        values = {column: key, **row, "updated_at": db.now}
        upsert.insert_or_replace(db, table, values, column)
    return row, row != (before or DEFAULT)


def lock(db: Connection, account_id: int) -> None:
    """Lock the number of an account's open pull requests until the transaction ends."""
    db.alone(f"open pull requests of {account_id}")


def reached(db: Connection, repo: Row, account_id: int) -> tuple[str, int] | None:
    """Return the cap that keeps an account from opening one more pull request, or None.

    It is `repository` or `organization`, and the number. Private repositories and exempt accounts
    have no cap. An organization's cap counts the pull requests in all its public repositories.
    """
    if repo["private"] or _is_exempt(db, repo["id"], account_id):
        return None
    for whose, key in (("repository", repo["id"]), ("organization", repo["owner_id"])):
        cap = stored(db, whose, key)
        if cap is None or not cap["enabled"]:
            continue
        if _open(db, whose, key, account_id) >= cap["most"]:
            return whose, cap["most"]
    return None


def _is_exempt(db: Connection, repo_id: int, account_id: int) -> bool:
    return db.exists(
        "SELECT 1 FROM cap_bypass WHERE repo_id = :repo_id AND account_id = :account_id",
        repo_id=repo_id,
        account_id=account_id,
    )


def _open(db: Connection, whose: str, key: int, account_id: int) -> int:
    column = {"repository": "r.id", "organization": "r.owner_id"}[whose]
    return db.number(
        "SELECT count(*) FROM issue i JOIN repository r ON r.id = i.repo_id"
        f" WHERE {column} = :key AND r.private = 0 AND i.author_id = :account_id"
        " AND i.is_pull = 1 AND i.state = 'open' AND i.deleted_at IS NULL AND i.moved_to IS NULL",
        key=key,
        account_id=account_id,
    )


def bypassing(db: Connection, repo_id: int) -> list[Row]:
    """Return the accounts that are exempt from caps in a repository, by login."""
    return db.all(
        f"SELECT {accounts.OF_JOINED} FROM cap_bypass b JOIN account a ON a.id = b.account_id"
        " WHERE b.repo_id = :repo_id ORDER BY a.login_key",
        repo_id=repo_id,
    )


def add_bypass(db: Connection, repo_id: int, account_ids: Collection[int]) -> set[int]:
    """Exempt accounts. Return those that were not exempt. Raises Invalid for more than 100."""
    db.alone(f"cap bypass of {repo_id}")
    known = {row["id"] for row in bypassing(db, repo_id)}
    added = set(account_ids) - known
    if len(known) + len(added) > MOST_BYPASSING:
        raise Invalid(
            f"The bypass list holds at most {MOST_BYPASSING} users.",
            field="users",
            code="unprocessable",
            resource="PullRequestBypassList",
        )
    rows = [(repo_id, account_id, db.now) for account_id in sorted(added)]
    db.insert_many("cap_bypass", "repo_id, account_id, created_at", rows)
    return added


def remove_bypass(db: Connection, repo_id: int, account_ids: Collection[int]) -> set[int]:
    """Remove exemptions. Return the accounts that were exempt."""
    rows = db.column(
        "DELETE FROM cap_bypass WHERE repo_id = :repo_id AND account_id"
        f" {db.among('ids')} RETURNING account_id",
        repo_id=repo_id,
        ids=json_array(account_ids),
    )
    return set(rows)
