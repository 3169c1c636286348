"""Interaction limits (group 11): temporary limits on comments, issues and pull requests.

They apply to public repositories. A limit that has expired counts as none.
"""

from collections.abc import Sequence
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from hub.auth.access import on_user
from hub.auth.organization_access import on_org
from hub.auth.repository_access import on_repo
from hub.auth.token_rights import not_accessible
from hub.http.errors import Forbidden
from hub.http.response import TypedReply
from hub.rest import organization_serializers, serializers
from hub.rest.context import Context
from hub.rest.event_payloads import EventData
from hub.rest.group import OperationGroup
from hub.rest.organization_serializers import OrganizationSimple
from hub.rest.repository_serializers import DetailedRepository
from hub.rest.serializers import SimpleUser
from hub.rest.urls import Urls
from store import Connection, Row
from store.accounts import accounts, organizations
from store.clock import iso
from store.delivery.outbox import SnapshotEvent
from store.errors import existing
from store.repositories import interaction_limits, repositories

ops = OperationGroup("interactions", org=organizations.by_login)

OF_ORG = on_org("organization_administration", "read", scopes=("read:org",))
TO_ORG = on_org("organization_administration", "write", owner=True, scopes=("admin:org",))
OF_REPO = on_repo("administration", "read", role="admin", public_scopes=("public_repo",))
TO_REPO = on_repo("administration", "write", role="admin", public_scopes=("public_repo",))
MINE = on_user("interaction_limits", "read", scopes=("user",))
TO_MINE = on_user("interaction_limits", "write", scopes=("user",))
SET, REMOVED = "interaction_limit.set", "interaction_limit.removed"
EXPIRED = "interaction_limit.expired"

Limit = Literal["existing_users", "contributors_only", "collaborators_only"]


class NewInteractionLimit(TypedDict):
    """A new limit. The default of `expiry` is one day."""

    limit: Limit
    expiry: NotRequired[Literal["one_day", "three_days", "one_week", "one_month", "six_months"]]


class InteractionLimit(TypedDict):
    """A limit.

    `origin` is the kind of its owner: the repository itself, an organization or a user.
    """

    limit: Limit
    origin: Literal["organization", "user", "repository"]
    expires_at: str


class NoInteractionLimit(TypedDict):
    """An empty object: there is no limit."""


class InteractionLimitEvent(TypedDict):
    """A change of an interaction limit

    It contains the organization, user or repository that the limit belongs to. There is no sender
    if the limit expired.
    """

    action: Literal["set", "removed", "expired"]
    interaction_limit: InteractionLimit
    organization: NotRequired[OrganizationSimple]
    user: NotRequired[SimpleUser]
    repository: NotRequired[DetailedRepository]
    sender: NotRequired[SimpleUser]


@ops("GET /orgs/{org}/interaction-limits", OF_ORG)
def get_restrictions_for_org(ctx: Context, org: Row) -> InteractionLimit | NoInteractionLimit:
    """Get interaction restrictions for an organization"""
    row = interaction_limits.of_account(ctx.db, org["id"])
    return {} if row is None else _serialize(row, org)


@ops("PUT /orgs/{org}/interaction-limits", TO_ORG, emits=(EXPIRED, SET, REMOVED))
def set_restrictions_for_org(ctx: Context, org: Row, body: NewInteractionLimit) -> InteractionLimit:
    """Set interaction restrictions for an organization

    Removes the limits of its repositories, which then have the organization's limit.
    """
    return _limit_account(ctx, org, body)


@ops("DELETE /orgs/{org}/interaction-limits", TO_ORG, emits=(REMOVED,))
def remove_restrictions_for_org(ctx: Context, org: Row) -> None:
    """Remove interaction restrictions for an organization"""
    _free_account(ctx, org)


@ops("GET /repos/{owner}/{repo}/interaction-limits", OF_REPO)
def get_restrictions_for_repo(ctx: Context, repo: Row) -> InteractionLimit | NoInteractionLimit:
    """Get interaction restrictions for a repository

    Its own limit, or its owner's.
    """
    row = interaction_limits.in_force(ctx.db, repo)
    return {} if row is None else _serialize(row, {"kind": repo["owner_kind"]})


@ops("PUT /repos/{owner}/{repo}/interaction-limits", TO_REPO, emits=(EXPIRED, SET))
def set_restrictions_for_repo(
    ctx: Context, repo: Row, body: NewInteractionLimit
) -> InteractionLimit:
    """Set interaction restrictions for a repository

    409 while its owner has a limit.
    """
    _expire(ctx, repo["owner_id"])
    row = interaction_limits.limit_repository(ctx.db, repo, *_given(ctx, body))
    ctx.emit(SET, repo, interaction_limit=_serialize(row))
    return _serialize(row)


@ops("DELETE /repos/{owner}/{repo}/interaction-limits", TO_REPO, emits=(REMOVED,))
def remove_restrictions_for_repo(ctx: Context, repo: Row) -> None:
    """Remove interaction restrictions for a repository

    409 while its owner has a limit.
    """
    row = interaction_limits.remove_repository_limit(ctx.db, repo)
    if row is not None:
        ctx.emit(REMOVED, repo, interaction_limit=_serialize(row))


@ops("GET /user/interaction-limits", MINE, also=(204,))
def get_restrictions_for_authenticated_user(
    ctx: Context,
) -> InteractionLimit | NoInteractionLimit | TypedReply:
    """Get interaction restrictions for your public repositories"""
    user = _user(ctx)
    row = interaction_limits.of_account(ctx.db, user["id"])
    return TypedReply(204) if row is None else _serialize(row, user)


@ops("PUT /user/interaction-limits", TO_MINE, emits=(EXPIRED, SET, REMOVED))
def set_restrictions_for_authenticated_user(
    ctx: Context, body: NewInteractionLimit
) -> InteractionLimit:
    """Set interaction restrictions for your public repositories

    Removes the limits of single repositories.
    """
    return _limit_account(ctx, _user(ctx), body)


@ops("DELETE /user/interaction-limits", TO_MINE, emits=(REMOVED,))
def remove_restrictions_for_authenticated_user(ctx: Context) -> None:
    """Remove interaction restrictions from your public repositories"""
    _free_account(ctx, _user(ctx))


def _user(ctx: Context) -> Row:
    """Return the user.

    Raises Forbidden if the token is limited to another account's repositories.
    """
    caller = ctx.required_caller
    user = existing(accounts.get(ctx.db, caller.account_id), "account")
    if not caller.within(ctx.db, user["id"]).reaches_account(user["id"]):
        raise Forbidden(not_accessible(caller))
    return user


def _given(ctx: Context, body: NewInteractionLimit) -> tuple[str, int]:
    return body["limit"], interaction_limits.ends_at(ctx.now, body.get("expiry", "one_day"))


def _limit_account(ctx: Context, account: Row, body: NewInteractionLimit) -> InteractionLimit:
    _expire(ctx, account["id"])
    limits = interaction_limits.limit_account(ctx.db, account["id"], *_given(ctx, body))
    row, overwritten = limits
    ctx.emit_all(REMOVED, event_data(ctx.urls, ctx.db, overwritten))
    ctx.emit(SET, None, **_event_members(ctx.urls, row, account))
    return _serialize(row, account)


def _expire(ctx: Context, owner_id: int) -> None:
    """Report expired limits before the new one, as the worker would have done by now."""
    expired = interaction_limits.take_expired(ctx.db, owner_id)
    ctx.emit_all(EXPIRED, event_data(ctx.urls, ctx.db, expired), sent=False)


def _free_account(ctx: Context, account: Row) -> None:
    row = interaction_limits.remove_account_limit(ctx.db, account["id"])
    if row is not None:
        ctx.emit(REMOVED, None, **_event_members(ctx.urls, row, account))


def _serialize(row: Row, owner: Row | None = None) -> InteractionLimit:
    """Serialize a limit. For an account's limit, `owner` must have that account's `kind`."""
    origin: Any = "repository"
    if row["account_id"] is not None:
        assert owner is not None, "it is somebody's"
        origin = owner["kind"].lower()
    return {"limit": row["allowed"], "origin": origin, "expires_at": iso(row["expires_at"])}


def _event_members(urls: Urls, row: Row, owner: Row | None = None) -> dict[str, Any]:
    payload: dict[str, Any] = {"interaction_limit": _serialize(row, owner)}
    if owner is not None and owner["kind"] == "Organization":
        payload["organization"] = organization_serializers.organization(urls, owner)
    elif owner is not None:
        payload["user"] = serializers.simple_user(urls, owner)
    return payload


def event_data(urls: Urls, db: Connection, rows: Sequence[Row]) -> list[EventData]:
    """Return the event data for limits that have ended."""
    repos = repositories.of(db, {row["repo_id"] for row in rows if row["repo_id"] is not None})
    owners = accounts.of(db, {row["account_id"] for row in rows if row["account_id"] is not None})
    return [
        (repos.get(row["repo_id"]), _event_members(urls, row, owners.get(row["account_id"])))
        for row in rows
    ]


def _snapshot(urls: Urls, db: Connection, repo: Row, rows: Sequence[Row]) -> list[SnapshotEvent]:
    return [SnapshotEvent(SET, repo["id"], _event_members(urls, row)) for row in rows]


ops.declare_events(interaction_limit=InteractionLimitEvent)
ops.declare_serializers(interaction_limit=event_data)
ops.declare_snapshots(interaction_limit=_snapshot)
