"""The hooks of an organization that its users created, or that one OAuth application did.

Each sees only its own hooks in the API. Here an application is its id, and None means the users.
"""

from store.database import paging
from store.database.connection import ENDLESS, Connection, Row
from store.hooks.hooks import COLUMNS, decode_row

OF_CREATOR = (
    "FROM hook WHERE org_id = :org_id AND COALESCE(oauth_app_id, 0) = :creator"
    " AND deleted_at IS NULL"
)


def page(
    db: Connection, organization_id: int, oauth_app_id: int | None, *, limit: int, offset: int = 0
) -> list[Row]:
    """Return a page of an organization's hooks that one creator has, oldest first."""
    query = f"SELECT {COLUMNS} {OF_CREATOR} ORDER BY id"
    creator = oauth_app_id or 0
    found = paging.page(db, query, limit, offset, org_id=organization_id, creator=creator)
    return [decode_row(row) for row in found]


def count(
    db: Connection, organization_id: int, oauth_app_id: int | None, most: int = ENDLESS
) -> int:
    """Return how many hooks of an organization one creator has, up to `most`."""
    query = f"SELECT id {OF_CREATOR}"
    return paging.count(db, query, most, org_id=organization_id, creator=oauth_app_id or 0)
