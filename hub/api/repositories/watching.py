"""Watching (group 10): who is told what happens in a repository. It is no star."""

from collections.abc import Sequence
from typing import Literal, NotRequired

from typing_extensions import TypedDict

from hub.auth.access import CLASSIC, OnRepo, on_repo, on_user, public
from hub.auth.credentials import Caller
from hub.auth.viewing import viewer_of
from hub.rest import repository_serializers, serializers
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.operation import Deprecation
from hub.rest.paging import NumberedPaging
from hub.rest.repository_serializers import MinimalRepository
from hub.rest.urls import Urls
from store import Connection, Row
from store.accounts import accounts
from store.clock import iso
from store.delivery.outbox import SnapshotEvent
from store.errors import Missing
from store.repositories import watching

ops = OperationGroup("activity", username=accounts.by_login)


LIST = on_repo("metadata", "read").or_has("contents", "write").or_anyone()
OWN = OnRepo(role="read", scopes=("repo",), public_scopes=("public_repo",), kinds=CLASSIC)
MINE = on_user("watching", "read", scopes=("repo", "public_repo", "read:user"))
# The platform says when it leaves and not when it ends: not before the last version that has it.
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
    """Somebody watches, ignores or leaves a repository

    `subscription` is there unless it has ended.
    """

    action: Literal["updated", "deleted"]
    subscription: NotRequired[RepositorySubscription]
    repository: MinimalRepository
    sender: serializers.SimpleUser | None


ops.tells(repository_subscription=RepositorySubscriptionEvent)


class NewRepositorySubscription(TypedDict, total=False):
    """Without `subscribed`, a repository is watched unless it is ignored."""

    subscribed: bool
    ignored: bool


@ops("GET /repos/{owner}/{repo}/subscribers", LIST)
def list_watchers_for_repo(
    ctx: Context, repo: Row, page: NumberedPaging
) -> list[serializers.SimpleUser]:
    """List watchers

    Those who watch the repository, the longest first.
    """
    page.total, _ = watching.counts(ctx.db, [repo["id"]])[repo["id"]]
    rows = watching.watchers(ctx.db, repo["id"], limit=page.limit, offset=page.offset)
    return [serializers.simple_user(ctx.urls, row) for row in rows]


@ops("GET /repos/{owner}/{repo}/subscription", OWN)
def get_repo_subscription(ctx: Context, repo: Row) -> RepositorySubscription:
    """Get a repository subscription"""
    row = watching.get(ctx.db, repo["id"], _caller(ctx).account_id)
    if row is None:
        raise Missing("subscription")
    return _shown(ctx.urls, repo, row)


@ops(
    "PUT /repos/{owner}/{repo}/subscription",
    OWN,
    emits=("watch.started", "repository_subscription.updated"),
)
def set_repo_subscription(
    ctx: Context, repo: Row, body: NewRepositorySubscription
) -> RepositorySubscription:
    """Set a repository subscription

    `subscribed` watches the repository, `ignored` keeps its notifications away. Neither ends the
    subscription.
    """
    ignored = body.get("ignored", False)
    row, began = watching.put(
        ctx.db,
        repo["id"],
        _caller(ctx).account_id,
        subscribed=body.get("subscribed", not ignored),
        ignored=ignored,
    )
    shown = _shown(ctx.urls, repo, row)
    if began:
        ctx.emit("watch.started", repo)
    ctx.emit("repository_subscription.updated", repo, subscription=shown)
    return shown


@ops("DELETE /repos/{owner}/{repo}/subscription", OWN, emits=("repository_subscription.deleted",))
def delete_repo_subscription(ctx: Context, repo: Row) -> None:
    """Delete a repository subscription

    Watching and ignoring end. Where neither was, nothing changes.
    """
    if watching.remove(ctx.db, repo["id"], _caller(ctx).account_id):
        ctx.emit("repository_subscription.deleted", repo)


@ops("GET /user/subscriptions", MINE, deprecated=LEAVING)
def list_watched_repos_for_authenticated_user(
    ctx: Context, page: NumberedPaging
) -> list[MinimalRepository]:
    """List repositories watched by the authenticated user

    Private ones where the token shows them.
    """
    return _watched(ctx, _caller(ctx).account_id, page)


@ops("GET /users/{username}/subscriptions", public())
def list_repos_watched_by_user(
    ctx: Context, username: Row, page: NumberedPaging
) -> list[MinimalRepository]:
    """List repositories watched by a user

    Those of them that the caller may see.
    """
    return _watched(ctx, username["id"], page)


def _caller(ctx: Context) -> Caller:
    assert ctx.caller is not None, "the declaration asks for a token"
    return ctx.caller


def _current(urls: Urls, db: Connection, repo: Row, rows: Sequence[Row]) -> list[SnapshotEvent]:
    people = serializers.simple_users(urls, db, {row["account_id"] for row in rows})
    return [
        SnapshotEvent(
            "repository_subscription.updated",
            repo["id"],
            # Whose it is, only the sender tells.
            {"subscription": _shown(urls, repo, row), "sender": people[row["account_id"]]},
        )
        for row in rows
    ]


def _shown(urls: Urls, repo: Row, row: Row) -> RepositorySubscription:
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
    rows = watching.watched(ctx.db, account_id, viewer, limit=page.limit, offset=page.offset)
    return repository_serializers.repositories(ctx.urls, ctx.db, rows)


ops.current(subscription=_current)
