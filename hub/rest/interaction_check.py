"""Checks whether an account may comment, or open issues and pull requests in a repository."""

from hub.http.errors import Forbidden
from store import Connection, Row
from store.errors import Invalid
from store.repositories import interaction_limits, pull_request_caps

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


def check_archived(repo: Row) -> None:
    """Check that a repository is not archived. Raises Forbidden if it is."""
    if repo["archived"]:
        raise Forbidden("Repository was archived so is read-only.")


def check_text(body: str, resource: str) -> None:
    """Check that a comment has a text. Raises Invalid if it is empty."""
    if not body.strip():
        raise Invalid(
            "a comment must not be empty", field="body", code="missing_field", resource=resource
        )


def check_pull_request_cap(db: Connection, repo: Row, account_id: int) -> None:
    """Check that an account may open one more pull request. Raises Forbidden if not."""
    pull_request_caps.lock(db, account_id)
    cap = pull_request_caps.reached(db, repo, account_id)
    if cap is not None:
        whose, most = cap
        raise Forbidden(
            f"You have reached the limit of open pull requests in this {whose}: {most:,}."
        )
