"""Which repositories somebody may see, for lists: as `repositories.role_of` and the token have it
for one, in SQL for many.

The SQL speaks of a repository `r` and its owner, the account `a`.
"""

from dataclasses import dataclass
from typing import Any

from store.connection import Connection, Row, listed


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who looks: an account (`id`, `site_admin`), or None for nobody known, by a token or None.

    `private` tells whether the token shows private repositories at all.
    """

    account: Row | None
    token: Row | None = None
    """As `tokens.find` gives it."""
    private: bool = False


def seen_by(who: str) -> str:
    """SQL for: the account with the id `who`, a column or a parameter, may see the repository."""
    return (
        f"(r.private = 0 OR r.owner_id = {who}"
        f" OR EXISTS (SELECT 1 FROM collaborator c WHERE c.repo_id = r.id AND c.account_id = {who})"
        " OR EXISTS (SELECT 1 FROM membership m"
        f" WHERE m.organization_id = r.owner_id AND m.account_id = {who}))"
    )


def shown_to(db: Connection, viewer: Viewer) -> tuple[str, dict[str, Any]]:
    """SQL for: the viewer may see the repository. Also its parameters."""
    if viewer.account is None or not viewer.private:
        return "r.private = 0", {}
    allowed = []
    given: dict[str, Any] = {}
    if not viewer.account["site_admin"]:
        allowed.append(seen_by(":viewer_id"))
        given["viewer_id"] = viewer.account["id"]
    if viewer.token is not None:
        reached, more = _reached(db, viewer.token)
        allowed.append(reached)
        given |= more
    return " AND ".join(allowed) or "1 = 1", given


def _reached(db: Connection, token: Row) -> tuple[str, dict[str, Any]]:
    # An organization with single sign-on, and a target, close private repositories to a token.
    reached, given = ["a.sso = 0"], {}
    if not token["by_password"]:
        reached[0] = (
            "(a.sso = 0 OR EXISTS (SELECT 1 FROM token_authorization t"
            " WHERE t.organization_id = a.id AND t.token_id = :token_id))"
        )
        given["token_id"] = token["id"]
    if token["target_id"] is not None:
        reached.append("r.owner_id = :target_id")
        given["target_id"] = token["target_id"]
    if token["repositories"] is not None:
        reached.append(f"r.id IN (SELECT o.id FROM {db.each('only', id='integer')} AS o)")
        given["only"] = listed(token["repositories"])
    return f"(r.private = 0 OR {' AND '.join(reached)})", given
