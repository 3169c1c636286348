"""The check whether an interaction limit lets an account comment, open issues or pull requests."""

from hub.http.errors import Forbidden
from store import Connection, Row
from store.repositories import interaction_limits

ALLOWED = {
    "existing_users": "users whose accounts are a day old",
    "contributors_only": "prior contributors",
    "collaborators_only": "collaborators",
}


def check_interaction(db: Connection, repo: Row, account_id: int) -> None:
    """Check that no interaction limit excludes the account. Raises Forbidden if one does."""
    limit = interaction_limits.excludes(db, repo, account_id)
    if limit is not None:
        allowed = ALLOWED[limit["allowed"]]
        raise Forbidden(f"Interactions on this repository have been restricted to {allowed}.")
