"""Topics: the events that can be subscribed to, and their subscribers."""

from operator import itemgetter
from typing import Any

from hub.ui.lists import filters, paging, views
from hub.ui.lists.newest import NewestList
from hub.ui.lists.sorting import Sorting
from hub.ui.section import ROOT, Section
from hub.ui.view_context import ViewContext
from store import Row
from store.delivery import subscribers
from store.delivery.listing import topic_list
from store.delivery.listing.topic_list import TopicFilter
from store.delivery.replay_selection import first_event_since
from store.delivery.websub_topics import FEEDS, PUBLIC_EVENTS
from store.hooks.event_names import PLATFORM_EVENTS, WILDCARD

ui = Section("Topics", "/topics", second=True)

PATH = f"{ROOT}/topics"
SORTING = Sorting("created", repository=False, hooks=True, followers=True, latest=True)
PAGE = 50
HOOKS, FOLLOWERS, ELSEWHERE = 100, 100, 100
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
def list_topics(look: ViewContext) -> dict[str, Any]:
    """List the repositories with the numbers of their subscribers."""
    asked = filters.period(look)
    names = ("repository", "event", "hook")
    chosen = {**{name: look.asked(name) for name in names}, **asked.chosen}
    wanted = _filter(look, chosen, asked)
    sort, skip = SORTING.asked(look), paging.skipped(look)
    rows = topic_list.page(look.db, wanted, limit=PAGE + 1, order=SORTING.order(sort), skip=skip)
    following = {**chosen, "sort": sort}
    return {
        "repositories": rows[:PAGE],
        "chosen": chosen,
        "filtered": any(chosen.values()),
        "ranges": filters.RANGES,
        "problem": asked.problem,
        "names": sorted(PLATFORM_EVENTS),
        "sort": sort,
        "heads": SORTING.heads(sort, PATH, chosen),
        "views": views.of_list(look, PATH, following),
        "matches": topic_list.count(look.db, wanted),
        "first": paging.first(PATH, following) if skip else "",
        "more": paging.following(PATH, following, skip + PAGE, more=len(rows) > PAGE),
        "elsewhere": subscribers.list_external_topics(look.db, ELSEWHERE)
        if look.viewer.operator
        else [],
    }


def _filter(look: ViewContext, chosen: dict[str, str], asked: filters.Period) -> TopicFilter:
    repo_ids = filters.within(look, chosen["repository"])
    return TopicFilter(
        repo_ids,
        chosen["event"].partition(".")[0],
        filters.hook_ids(look, chosen["hook"], repo_ids),
        None if asked.since is None else first_event_since(look.db, asked.since),
        None if asked.until is None else first_event_since(look.db, asked.until),
    )


@ui.page("/topics/followers", "followers.html")
def list_followers(look: ViewContext) -> dict[str, Any]:
    """List the WebSub subscriptions."""
    asked, repo_ids = filters.period(look), look.repositories()
    rows, values = FOLLOWER_LIST.page(
        look,
        asked.chosen,
        lambda limit, before: subscribers.list_subscriptions(
            look.db, limit=limit, before=before, repo_ids=repo_ids, times=asked.times
        ),
        lambda: subscribers.count_subscriptions(look.db, repo_ids, asked.times),
    )
    return {
        **values,
        "followers": rows,
        "chosen": asked.chosen,
        "filtered": any(asked.chosen.values()),
        "ranges": filters.RANGES,
        "problem": asked.problem,
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
