"""Topics: the events that can be subscribed to, and their subscribers."""

from typing import Any

from hub.ui.pages.hooks import within
from hub.ui.section import ROOT, Section
from hub.ui.view_context import ViewContext
from store import Row
from store.delivery import subscribers
from store.delivery.websub_topics import FEEDS, PUBLIC_EVENTS
from store.hooks.event_names import PLATFORM_EVENTS, WILDCARD

ui = Section("Topics", "/topics", second=True)

PAGE = 50
HOOKS, FOLLOWERS, ELSEWHERE = 100, 100, 100
NOBODY = {"hooks": 0, "followers": 0}


@ui.page("/topics", "topics.html")
def list_topics(look: ViewContext) -> dict[str, Any]:
    """List the repositories with the numbers of their subscribers."""
    named = look.asked("repository")
    after = look.asked_number("after") or 0
    repo_ids = within(look, named)
    rows = subscribers.repositories(look.db, limit=PAGE + 1, after=after, repo_ids=repo_ids)
    more = f"{ROOT}/topics?after={rows[PAGE - 1]['id']}" if len(rows) > PAGE else ""
    return {
        "repositories": rows[:PAGE],
        "chosen": {"repository": named},
        "first": f"{ROOT}/topics" if after else "",
        "more": more,
        "elsewhere": subscribers.list_external_topics(look.db, ELSEWHERE)
        if look.viewer.operator
        else [],
    }


@ui.page("/topics/followers", "followers.html")
def list_followers(look: ViewContext) -> dict[str, Any]:
    """List the WebSub subscriptions."""
    before = look.asked_number("before")
    rows = subscribers.list_subscriptions(
        look.db, limit=PAGE + 1, before=before, repo_ids=look.repositories()
    )
    last = rows[PAGE - 1]["id"] if len(rows) > PAGE else None
    return {
        "followers": rows[:PAGE],
        "newest": f"{ROOT}/topics/followers" if before else "",
        "older": f"{ROOT}/topics/followers?before={last}" if last else "",
        "hub": f"{look.services.urls.root}/hub",
        "origin": look.services.urls.origin,
    }


@ui.page("/topics/{repo_id}", "topic.html")
def show_topics(look: ViewContext) -> dict[str, Any]:
    """Show a repository's topics, each with its subscribers."""
    repo = look.viewer.repository(look.db, look.number("repo_id"))
    counts = subscribers.counts_by_event(look.db, repo["id"])
    feeds = subscribers.subscription_counts(look.db, repo["id"])
    topics = [
        _topic(look, repo, name, counts, feeds) for name in sorted(PLATFORM_EVENTS | set(counts))
    ]
    event = look.asked("event", 100)
    return {
        "repo": repo,
        "topics": [one for one in topics if one["hooks"] or one["followers"]],
        "others": [one for one in topics if not one["hooks"] and not one["followers"]],
        "every": counts.get(WILDCARD, NOBODY)["hooks"],
        "feeds": [
            {"url": _url(look, repo, name), "kind": kind, "followers": feeds.get(name, 0)}
            for name, kind in FEEDS.items()
        ],
        "event": event,
        "hooks": subscribers.hooks_of_event(look.db, repo["id"], event, HOOKS) if event else [],
        "example": _url(look, repo, event or "push"),
        "hub": f"{look.services.urls.root}/hub",
    }


def _topic(
    look: ViewContext, repo: Row, name: str, counts: dict[str, Row], feeds: dict[str, int]
) -> dict[str, Any]:
    public = not repo["private"]
    return {
        "name": name,
        "url": _url(look, repo, name),
        "hooks": counts.get(name, NOBODY)["hooks"],
        "followers": feeds.get(name, 0),
        "open": public and name in PUBLIC_EVENTS,
    }


def _url(look: ViewContext, repo: Row, name: str) -> str:
    suffix = name if name in FEEDS else f"events/{name}"
    return f"{look.services.urls.origin}/{repo['full_name']}/{suffix}"
