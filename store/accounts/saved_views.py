"""Saved views: the filters of a list under a name, for one account or for everybody.

Views of the administrators' token belong to no account: their account is None.
"""

from store.database.connection import Connection, Row
from store.errors import Invalid, Missing

# The limits of an account's views, of a name and of a query.
MOST, LONGEST_NAME, LONGEST_QUERY = 100, 60, 4_000
COLUMNS = (
    "v.id, v.name, v.page, v.query, v.shared, v.created_at, a.login AS made_by"
    " FROM saved_view v LEFT JOIN account a ON a.id = v.account_id"
)


def save(
    db: Connection, account_id: int | None, page: str, name: str, query: str, *, shared: bool
) -> int:
    """Save a view, in place of the account's view of this name. Return its id.

    Raises Invalid if the name is empty or too long, or if there are too many views.
    """
    if not 0 < len(name) <= LONGEST_NAME:
        raise Invalid(f"The name of a view has 1 to {LONGEST_NAME} characters.", field="name")
    if len(query) > LONGEST_QUERY:
        raise Invalid("These filters are too long to be saved.", field="query")
    mine, whose = _mine(account_id)
    same = f"v.page = :page AND v.name = :name AND {mine}"
    db.execute(
        f"DELETE FROM saved_view WHERE id IN (SELECT v.id FROM saved_view v WHERE {same})",
        page=page,
        name=name,
        **whose,
    )
    if db.value(f"SELECT count(*) FROM saved_view v WHERE {mine}", **whose) >= MOST:
        raise Invalid(f"You have {MOST} views. Remove one first.", field="name")
    return db.number(
        "INSERT INTO saved_view (account_id, name, page, query, shared, created_at)"
        " VALUES (:account, :name, :page, :query, :shared, :now) RETURNING id",
        account=account_id,
        name=name,
        page=page,
        query=query,
        shared=int(shared),
    )


def of_page(db: Connection, account_id: int | None, page: str) -> list[Row]:
    """Return the views of a list by name: the account's own, and the shared ones.

    Each has `made_by`, the login of its account. Each has `mine`, which is 1 or 0.
    """
    mine, whose = _mine(account_id)
    return db.all(
        f"SELECT CASE WHEN {mine} THEN 1 ELSE 0 END AS mine, {COLUMNS}"
        f" WHERE v.page = :page AND ({mine} OR v.shared = 1)"
        f" ORDER BY v.name, v.id LIMIT {2 * MOST}",
        page=page,
        **whose,
    )


def remove(db: Connection, account_id: int | None, view_id: int, *, every: bool) -> Row:
    """Remove one of the account's views; with `every`, also a shared one of somebody else.

    Return it. Raises Missing if there is none.
    """
    mine, whose = _mine(account_id)
    condition = f"({mine} OR v.shared = 1)" if every else mine
    row = db.one(f"SELECT {COLUMNS} WHERE v.id = :id AND {condition}", id=view_id, **whose)
    if row is None:
        raise Missing("view")
    db.delete("saved_view", id=view_id)
    return row


def _mine(account_id: int | None) -> tuple[str, dict[str, int]]:
    if account_id is None:
        return "v.account_id IS NULL", {}
    return "v.account_id = :account_id", {"account_id": account_id}
