"""Topics: the events that can be subscribed to, and their subscribers."""

from operator import itemgetter
from typing import Any

from hub.ui.lists import filters, paging
from hub.ui.lists.frame import filter_values, frame
from hub.ui.lists.newest import NewestList
from hub.ui.lists.sorting import Sorting
from hub.ui.section import ROOT, Section
from hub.ui.view_context import ViewContext
from hub.websub.websub_topics import hub_url, topic_path
from store import Row
from store.delivery import subscribers
from store.delivery.listing import topic_list
from store.delivery.listing.topic_list import TopicFilter
from store.delivery.replays.replay_selection import first_event_since
from store.delivery.websub.websub_topics import FEEDS, PUBLIC_EVENTS
from store.hooks.event_names import PLATFORM_EVENTS, WILDCARD

ui = Section("Topics", "/topics", second=True)

PATH = f"{ROOT}/topics"
SORTING = Sorting("created", repository=False, hooks=True, followers=True, latest=True)
PAGE = 50
HOOKS, FOLLOWERS, EXTERNAL = 100, 100, 100
NOBODY = {"hooks": 0, "followers": 0}
FOLLOWER_LIST = NewestList(
    f"{ROOT}/topics/followers",
    Sorting("-since", callback=False, topic=False, lease=False, since=True),
    {
        "callback": itemgetter("callback"),
        "topic": itemgetter("topic"),
        "lease": itemgetter("lease_ends_at"),
        "since": itemgetter("id"),
    },
    PAGE,
)


@ui.page("/topics", "topics.html")
def list_topics(ctx: ViewContext) -> dict[str, Any]:
    """List the repositories with the numbers of their subscribers."""
    asked = filters.period(ctx)
    names = ("repository", "event", "hook")
    chosen = {**{name: ctx.asked(name) for name in names}, **asked.chosen}
    wanted = _filter(ctx, chosen, asked)
    sort, skip = SORTING.asked(ctx), paging.skipped(ctx)
    rows = topic_list.page(ctx.db, wanted, limit=PAGE + 1, order=SORTING.order(sort), skip=skip)
    following = {**chosen, "sort": sort}
    return {
        **frame(ctx, PATH, SORTING, chosen, asked),
        "repositories": rows[:PAGE],
        "names": sorted(PLATFORM_EVENTS),
        "matches": topic_list.count(ctx.db, wanted),
        "first": paging.first(PATH, following) if skip else "",
        "more": paging.following(PATH, following, skip + PAGE, more=len(rows) > PAGE),
        "external_topics": subscribers.list_external_topics(ctx.db, EXTERNAL)
        if ctx.viewer.operator
        else [],
    }


def _filter(ctx: ViewContext, chosen: dict[str, str], asked: filters.Period) -> TopicFilter:
    repo_ids = filters.within(ctx, chosen["repository"])
    return TopicFilter(
        repo_ids,
        chosen["event"].partition(".")[0],
        filters.hook_ids(ctx, chosen["hook"], repo_ids),
        None if asked.since is None else first_event_since(ctx.db, asked.since),
        None if asked.until is None else first_event_since(ctx.db, asked.until),
    )


@ui.page("/topics/followers", "followers.html")
def list_followers(ctx: ViewContext) -> dict[str, Any]:
    """List the WebSub subscriptions."""
    asked, repo_ids = filters.period(ctx), ctx.repositories()
    rows, values = FOLLOWER_LIST.page(
        ctx,
        asked.chosen,
        lambda limit, before: subscribers.list_subscriptions(
            ctx.db, limit=limit, before=before, repo_ids=repo_ids, times=asked.times
        ),
        lambda: subscribers.count_subscriptions(ctx.db, repo_ids, asked.times),
    )
    return {
        **values,
        "followers": rows,
        **filter_values(asked.chosen, asked),
        "hub": hub_url(ctx.services),
        "origin": ctx.services.urls.origin,
    }


@ui.page("/topics/{repo_id}", "topic.html")
def show_topics(ctx: ViewContext) -> dict[str, Any]:
    """Show a repository's topics, each with its subscribers."""
    repo = ctx.viewer.repository(ctx.db, ctx.number("repo_id"))
    counts = subscribers.counts_by_event(ctx.db, repo["id"])
    feeds = subscribers.subscription_counts(ctx.db, repo["id"])
    topics = [
        _topic(ctx, repo, name, counts, feeds) for name in sorted(PLATFORM_EVENTS | set(counts))
    ]
    event = ctx.asked("event", 100)
    return {
        "repo": repo,
        "topics": [one for one in topics if one["hooks"] or one["followers"]],
        "others": [one for one in topics if not one["hooks"] and not one["followers"]],
        "every": counts.get(WILDCARD, NOBODY)["hooks"],
        "feeds": [
            {"url": _url(ctx, repo, name), "kind": kind, "followers": feeds.get(name, 0)}
            for name, kind in FEEDS.items()
        ],
        "event": event,
        "hooks": subscribers.hooks_of_event(ctx.db, repo["id"], event, HOOKS) if event else [],
        "example": _url(ctx, repo, event or "push"),
        "hub": f"{ctx.services.urls.root}/hub",
    }


def _topic(
    ctx: ViewContext, repo: Row, name: str, counts: dict[str, Row], feeds: dict[str, int]
) -> dict[str, Any]:
    public = not repo["private"]
    return {
        "name": name,
        "url": _url(ctx, repo, name),
        "hooks": counts.get(name, NOBODY)["hooks"],
        "followers": feeds.get(name, 0),
        "open": public and name in PUBLIC_EVENTS,
    }


def _url(ctx: ViewContext, repo: Row, name: str) -> str:
    # The URL is in a command. The name may come from a link, and must not end the command.
    return f"{ctx.services.urls.origin}/{topic_path(repo, name)}"
