"""Watching (group 10): the users who are notified about a repository. Stars are separate."""

from collections.abc import Sequence
from typing import Literal, NotRequired

from typing_extensions import TypedDict

from hub.auth.access import on_user, public
from hub.auth.repository_access import OnRepo, on_repo
from hub.auth.token_rights import CLASSIC
from hub.auth.viewing import viewer_of
from hub.rest import repository_serializers, serializers
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.operation import Deprecation
from hub.rest.organization_serializers import OrganizationSimple
from hub.rest.paging import NumberedPaging
from hub.rest.repository_serializers import DetailedRepository, MinimalRepository
from hub.rest.urls import Urls
from store import Connection, Row
from store.accounts import accounts
from store.clock import iso
from store.delivery.outbox import SnapshotEvent
from store.errors import existing
from store.repositories import watching

ops = OperationGroup("activity", username=accounts.by_login)


LIST = on_repo("metadata", "read").or_has("contents", "write").or_anyone()
OWN = OnRepo(role="read", scopes=("repo",), public_scopes=("public_repo",), kinds=CLASSIC)
MINE = on_user(
    "watching",
    "read",
    scopes=("repo", "public_repo", "read:user", "user:email", "user:follow"),
)
# The platform announces the deprecation but no end. The sunset is not before the end of the last
# version that has the operation.
LEAVING = Deprecation(
    "2026-07-01", sunset="2028-03-10", successor="/users/{username}/subscriptions"
)


class RepositorySubscription(TypedDict):
    subscribed: bool
    ignored: bool
    reason: None
    created_at: str
    url: str
    repository_url: str


class RepositorySubscriptionEvent(TypedDict):
    """A user has watched, ignored or left a repository

    `subscription` is present unless it was deleted.
    """

    action: Literal["updated", "deleted"]
    subscription: NotRequired[RepositorySubscription]
    repository: DetailedRepository
    organization: NotRequired[OrganizationSimple]
    sender: serializers.SimpleUser | None


ops.declare_events(repository_subscription=RepositorySubscriptionEvent)


class NewRepositorySubscription(TypedDict, total=False):
    """A new subscription. By default it is watched unless it is ignored."""

    subscribed: bool
    ignored: bool


@ops("GET /repos/{owner}/{repo}/subscribers", LIST)
def list_watchers_for_repo(
    ctx: Context, repo: Row, page: NumberedPaging
) -> list[serializers.SimpleUser]:
    """List watchers

    The users who watch the repository, the longest-standing first.
    """
    page.total, _ = watching.counts(ctx.db, [repo["id"]])[repo["id"]]
    rows = watching.watchers(ctx.db, repo["id"], **page.bounds)
    return [serializers.simple_user(ctx.urls, row) for row in rows]


@ops("GET /repos/{owner}/{repo}/subscription", OWN)
def get_repo_subscription(ctx: Context, repo: Row) -> RepositorySubscription:
    """Get a repository subscription"""
    row = existing(watching.get(ctx.db, repo["id"], ctx.required_caller.account_id), "subscription")
    return _serialize(ctx.urls, repo, row)


@ops(
    "PUT /repos/{owner}/{repo}/subscription",
    OWN,
    emits=(
        "watch.started",
        "repository_subscription.updated",
        "repository_subscription.deleted",
    ),
)
def set_repo_subscription(
    ctx: Context, repo: Row, body: NewRepositorySubscription
) -> RepositorySubscription:
    """Set a repository subscription

    `subscribed` watches the repository; `ignored` suppresses its notifications. If both are false,
    the subscription ends.
    """
    ignored = body.get("ignored", False)
    row, change = watching.put(
        ctx.db,
        repo["id"],
        ctx.required_caller.account_id,
        subscribed=body.get("subscribed", not ignored),
        ignored=ignored,
    )
    shown = _serialize(ctx.urls, repo, row)
    if change == "watched":
        ctx.emit("watch.started", repo)
    if change in ("watched", "set"):
        ctx.emit("repository_subscription.updated", repo, subscription=shown)
    if change == "ended":
        ctx.emit("repository_subscription.deleted", repo)
    return shown


@ops("DELETE /repos/{owner}/{repo}/subscription", OWN, emits=("repository_subscription.deleted",))
def delete_repo_subscription(ctx: Context, repo: Row) -> None:
    """Delete a repository subscription

    Ends watching and ignoring. Changes nothing if there is no subscription.
    """
    if watching.remove(ctx.db, repo["id"], ctx.required_caller.account_id):
        ctx.emit("repository_subscription.deleted", repo)


@ops("GET /user/subscriptions", MINE, deprecated=LEAVING)
def list_watched_repos_for_authenticated_user(
    ctx: Context, page: NumberedPaging
) -> list[MinimalRepository]:
    """List repositories watched by the authenticated user

    Includes private ones that the token can see.
    """
    return _watched(ctx, ctx.required_caller.account_id, page)


@ops("GET /users/{username}/subscriptions", public())
def list_repos_watched_by_user(
    ctx: Context, username: Row, page: NumberedPaging
) -> list[MinimalRepository]:
    """List repositories watched by a user

    Only those that the caller may see.
    """
    return _watched(ctx, username["id"], page)


def _snapshot(urls: Urls, db: Connection, repo: Row, rows: Sequence[Row]) -> list[SnapshotEvent]:
    people = serializers.simple_users(urls, db, {row["account_id"] for row in rows})
    return [
        SnapshotEvent(
            "repository_subscription.updated",
            repo["id"],
            # Only the sender identifies the subscriber.
            {"subscription": _serialize(urls, repo, row), "sender": people[row["account_id"]]},
        )
        for row in rows
    ]


def _serialize(urls: Urls, repo: Row, row: Row) -> RepositorySubscription:
    return {
        "subscribed": bool(row["subscribed"]),
        "ignored": bool(row["ignored"]),
        "reason": None,
        "created_at": iso(row["created_at"]),
        "url": urls.subscription(repo),
        "repository_url": urls.repository(repo),
    }


def _watched(ctx: Context, account_id: int, page: NumberedPaging) -> list[MinimalRepository]:
    viewer = viewer_of(ctx.caller)
    page.count(lambda most: watching.count_watched(ctx.db, account_id, viewer, most))
    rows = watching.watched(ctx.db, account_id, viewer, **page.bounds)
    return repository_serializers.repositories(ctx.urls, ctx.db, rows)


ops.declare_snapshots(subscription=_snapshot)
