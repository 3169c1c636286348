"""The repositories that a caller may see, as SQL for lists.

It follows the rules of `repositories.role_of` and of tokens for one repository. The SQL refers to a
repository `r` and to its owner, the account `a`.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from store.accounts import sso
from store.accounts.app_rights import COVERED
from store.database.connection import Connection, Row, json_array


@dataclass(frozen=True, slots=True)
class RepositoryViewer:
    """A caller who reads: an account (`id`, `site_admin`), or None if unknown.

    An installation (an account with a `reach`) sees nothing but the repositories that it covers.

    A token shows private repositories only if `private` is true. `target_id` limits these to one
    owner, and `repositories` to these ids, unless they are None. Repositories of an organization
    that enforces single sign-on are shown only if the token `token_id` is authorized. If the token
    is only valid where its app is installed, `covering_app` is that app.
    """

    account: Row | None
    private: bool = False
    token_id: int | None = None
    target_id: int | None = None
    repositories: Collection[int] | None = None
    covering_app: int | None = None


def visible_repositories(who: str) -> str:
    """Return SQL for: the account `who` (a column or a parameter) may see the repository."""
    return (
        f"(r.private = 0 OR r.owner_id = {who}"
        f" OR EXISTS (SELECT 1 FROM collaborator c WHERE c.repo_id = r.id AND c.account_id = {who})"
        " OR EXISTS (SELECT 1 FROM membership m"
        f" WHERE m.organization_id = r.owner_id AND m.account_id = {who}))"
    )


def may_see(
    db: Connection, viewer: RepositoryViewer, owner_id: int | None = None
) -> tuple[str, dict[str, Any]]:
    """Return SQL for: the viewer may see the repository. Also return its parameters.

    `owner_id` is the repository's owner, if that is known.
    """
    public = viewer.account is None or not viewer.private
    if viewer.account is not None and viewer.account.get("reach") is not None:
        allowed, given = reached(db, viewer)
        return " AND ".join([*allowed, *(["r.private = 0"] if public else [])]), given
    if public:
        return "r.private = 0", {}
    allowed, given = reached(db, viewer)
    assert viewer.account is not None, "only public ones are shown to others"
    if not viewer.account["site_admin"] and viewer.account["id"] != owner_id:
        allowed.append(visible_repositories(":viewer_id"))
        given["viewer_id"] = viewer.account["id"]
    return f"(r.private = 0 OR ({' AND '.join(allowed) or '1 = 1'}))", given


def reached(db: Connection, viewer: RepositoryViewer) -> tuple[list[str], dict[str, Any]]:
    """Return SQL for: the viewer's token is valid for the repository. Also return its parameters.

    These are conditions that must all hold, or none. The rights of the account do not count.
    """
    wanted: list[str] = []
    given: dict[str, Any] = {}
    if viewer.token_id is not None:
        wanted.append(sso.authorizing("a"))
        given["token_id"] = viewer.token_id
    if viewer.target_id is not None:
        wanted.append("r.owner_id = :target_id")
        given["target_id"] = viewer.target_id
    if viewer.repositories is not None:
        wanted.append(f"r.id {db.among('only')}")
        given["only"] = json_array(viewer.repositories)
    if viewer.covering_app is not None:
        wanted.append(COVERED)
        given["covering_app"] = viewer.covering_app
    return wanted, given


def visible_among(
    db: Connection, viewer: RepositoryViewer, owner_id: int, repo_ids: Iterable[int]
) -> set[int]:
    """Return the owner's repositories among these ids that the viewer may see."""
    shown, given = may_see(db, viewer)
    rows = db.column(
        f"SELECT r.id FROM {db.each('wanted', wanted='integer')} AS w"
        " JOIN repository r ON r.id = w.wanted JOIN account a ON a.id = r.owner_id"
        f" WHERE r.owner_id = :owner_id AND {shown}",
        wanted=json_array(set(repo_ids)),
        owner_id=owner_id,
        **given,
    )
    return set(rows)
