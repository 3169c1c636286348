"""The relation between an author and a repository."""

from typing import Literal, get_args

from store.accounts import accounts
from store.database.connection import Connection, Row
from store.repositories import membership_dump

AuthorAssociation = Literal[
    "COLLABORATOR",
    "CONTRIBUTOR",
    "FIRST_TIMER",
    "FIRST_TIME_CONTRIBUTOR",
    "MANNEQUIN",
    "MEMBER",
    "NONE",
    "OWNER",
]
"""The relation of an author to the repository."""
ASSOCIATIONS: tuple[str, ...] = get_args(AuthorAssociation)


def association_of(db: Connection, repo: Row, account_id: int) -> str:
    """Return OWNER, MEMBER (of the owning organization), COLLABORATOR or NONE."""
    if account_id == repo["owner_id"]:
        return "OWNER"
    if accounts.organization_role(db, repo["owner_id"], account_id) is not None:
        return "MEMBER"
    granted = membership_dump.granted(db, repo["id"], account_id)
    return "NONE" if granted is None else "COLLABORATOR"
