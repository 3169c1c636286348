"""Watching (group 10): who is told what happens in a repository. It is no star."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NotRequired

from typing_extensions import TypedDict

from hub import repository_shapes, shapes
from hub.access import CLASSIC, OnRepo, on_repo, on_user, public
from hub.auth import Caller
from hub.context import Context
from hub.group import Group
from hub.operation import Deprecation
from hub.paging import Page
from hub.repository_shapes import MinimalRepository
from hub.urls import Urls
from hub.viewing import viewer_of
from store import Connection, Row, accounts, watching
from store.clock import iso
from store.errors import Missing
from store.own_events import State

ops = Group("activity", username=accounts.by_login)


@dataclass(frozen=True, slots=True, kw_only=True)
class Own(OnRepo):
    """What is a user's own in a repository: no scope is asked for where everybody sees it."""

    @property
    def accepted(self) -> tuple[str, ...]:
        return self.public_scopes


LIST = on_repo("metadata", "read").or_has("contents", "write").or_anyone()
OWN = Own(role="read", scopes=("repo",), kinds=CLASSIC)
MINE = on_user("watching", "read")
# The platform says when it leaves and not when it ends: not before the last version that has it.
LEAVING = Deprecation(
    "2026-07-01", sunset="2028-03-10", successor="/users/{username}/subscriptions"
)


class Subscription(TypedDict):
    subscribed: bool
    ignored: bool
    reason: None
    created_at: str
    url: str
    repository_url: str


class SubscriptionEvent(TypedDict):
    """Somebody watches, ignores or leaves a repository

    `subscription` is there unless it has ended.
    """

    action: Literal["updated", "deleted"]
    subscription: NotRequired[Subscription]
    repository: MinimalRepository
    sender: shapes.SimpleUser | None


ops.tells(repository_subscription=SubscriptionEvent)


class Wanted(TypedDict, total=False):
    """Without `subscribed`, a repository is watched unless it is ignored."""

    subscribed: bool
    ignored: bool


@ops("GET /repos/{owner}/{repo}/subscribers", LIST)
def list_watchers_for_repo(ctx: Context, repo: Row, page: Page) -> list[shapes.SimpleUser]:
    """List watchers

    Those who watch the repository, the longest first.
    """
    page.total, _ = watching.counts(ctx.db, [repo["id"]])[repo["id"]]
    rows = watching.watchers(ctx.db, repo["id"], limit=page.limit, offset=page.offset)
    return [shapes.simple_user(ctx.urls, row) for row in rows]


@ops("GET /repos/{owner}/{repo}/subscription", OWN)
def get_repo_subscription(ctx: Context, repo: Row) -> Subscription:
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
def set_repo_subscription(ctx: Context, repo: Row, body: Wanted) -> Subscription:
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
def list_watched_repos_for_authenticated_user(ctx: Context, page: Page) -> list[MinimalRepository]:
    """List repositories watched by the authenticated user

    Private ones where the token shows them.
    """
    return _watched(ctx, _caller(ctx).account_id, page)


@ops("GET /users/{username}/subscriptions", public())
def list_repos_watched_by_user(ctx: Context, username: Row, page: Page) -> list[MinimalRepository]:
    """List repositories watched by a user

    Those of them that the caller may see.
    """
    return _watched(ctx, username["id"], page)


def _caller(ctx: Context) -> Caller:
    assert ctx.caller is not None, "the declaration asks for a token"
    return ctx.caller


def _current(urls: Urls, db: Connection, repo: Row, rows: Sequence[Row]) -> list[State]:
    people = shapes.people(urls, db, {row["account_id"] for row in rows})
    return [
        State(
            "repository_subscription.updated",
            repo["id"],
            # Whose it is, only the sender tells.
            {"subscription": _shown(urls, repo, row), "sender": people[row["account_id"]]},
        )
        for row in rows
    ]


def _shown(urls: Urls, repo: Row, row: Row) -> Subscription:
    return {
        "subscribed": bool(row["subscribed"]),
        "ignored": bool(row["ignored"]),
        "reason": None,
        "created_at": iso(row["created_at"]),
        "url": urls.subscription(repo),
        "repository_url": urls.repository(repo),
    }


def _watched(ctx: Context, account_id: int, page: Page) -> list[MinimalRepository]:
    viewer = viewer_of(ctx.caller)
    page.count(lambda most: watching.count_watched(ctx.db, account_id, viewer, most))
    rows = watching.watched(ctx.db, account_id, viewer, limit=page.limit, offset=page.offset)
    return repository_shapes.repositories(ctx.urls, ctx.db, rows)


ops.current(subscription=_current)
