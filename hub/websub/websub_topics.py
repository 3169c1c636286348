"""WebSub topics hosted here: their URLs, and the responses to a GET."""

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

from hub.http import conditional
from hub.http.accept import Accept
from hub.http.response import Header, Response, header
from hub.rest.context import Services
from hub.rest.request import Request
from hub.websub import topic_access
from store import Connection, Row
from store.delivery.websub import websub_feeds
from store.delivery.websub.websub_topics import (
    FEEDS,
    PUBLIC_EVENTS,
    Topic,
    content_type,
    normalize_url,
)
from store.errors import Missing
from store.hooks.event_names import HUB_EVENTS, PLATFORM_EVENTS
from store.repositories import repository_names

PATH = "/hub/websub"
OWN_PATH = re.compile(
    r"([^/?#]+)/([^/?#]+)/(?:(events\.(?:json|atom))|events/([^/?#]+?)(?:\.json)?)"
)
ORIGIN = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*")
NOWHERE = -1
OFFERED = {
    "events.json": ("application/feed+json", "application/json"),
    "events.atom": ("application/atom+xml", "application/xml", "text/xml"),
}
"""The feeds, and the media types that select them."""
FRESH: Header = (b"cache-control", b"no-cache")
FRESH_PRIVATE: Header = (b"cache-control", b"private, no-cache")


@dataclass(frozen=True, slots=True)
class HostedTopic:
    """A topic hosted here, as its URL names it."""

    owner: str
    repo: str
    key: str

    @property
    def has_nul(self) -> bool:
        """Return whether a name holds a NUL, so that no database has such a topic."""
        return "\0" in f"{self.owner}{self.repo}{self.key}"


def hub_url(services: Services) -> str:
    """Return the URL that subscribers post to."""
    return services.urls.root + PATH


def topic_of(services: Services, repo: Row, key: str) -> Topic:
    return Topic(repo["id"], key, f"{services.urls.root}/{topic_path(repo, key)}")


def topic_path(repo: Row, key: str) -> str:
    """Return the path of a repository's topic, without a slash before it."""
    return f"{repo['full_name']}/{key if key in FEEDS else f'events/{quote(key)}'}"


def hosted_topic_of(services: Services, url: str) -> HostedTopic | None:
    """Return the topic hosted here that a URL names, or None."""
    url = normalize_url(url)
    site = ORIGIN.match(url)
    if site is None:
        return None
    url = site[0].lower() + url[site.end() :]
    for root in (services.urls.root, services.urls.origin):
        start = ORIGIN.sub(lambda found: found[0].lower(), root) + "/"
        found = OWN_PATH.fullmatch(url[len(start) :]) if url.startswith(start) else None
        if found is not None:
            place = HostedTopic(*map(unquote, (found[1], found[2], found[3] or found[4])))
            return None if place.has_nul else place
    return None


def hosted(db: Connection, services: Services, place: HostedTopic, url: str) -> Topic:
    """Return the topic.

    If the repository does not exist, or the event is not public, the topic has no repository:
    its `repo_id` is NOWHERE.
    """
    repo = repository_names.find(db, place.owner, place.repo)
    if repo is None or place.key not in PUBLIC_EVENTS | FEEDS.keys():
        return Topic(NOWHERE, place.key, normalize_url(url))
    return topic_of(services, repo, place.key)


class TopicReader:
    """Answers a GET of a topic."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def event(self, request: Request) -> Response:
        """Return the latest event: GET /{owner}/{repo}/events/{event}."""
        return await self._read(request, request.values["event"].removesuffix(".json"))

    async def feed(self, request: Request) -> Response:
        """Return the feed that the client accepts: GET /{owner}/{repo}/events."""
        answer = await self._read(request, negotiate_feed(request.accept))
        answer.headers.append((b"vary", b"Accept, Authorization"))
        return answer

    async def json_feed(self, request: Request) -> Response:
        """Return the JSON feed: GET /{owner}/{repo}/events.json."""
        return await self._read(request, "events.json")

    async def atom_feed(self, request: Request) -> Response:
        """Return the Atom feed: GET /{owner}/{repo}/events.atom."""
        return await self._read(request, "events.atom")

    async def _read(self, request: Request, key: str) -> Response:
        if key not in PLATFORM_EVENTS | HUB_EVENTS | FEEDS.keys():
            raise Missing("topic")
        return await self._services.store.read(self._answer, request, key)

    def _answer(self, db: Connection, request: Request, key: str) -> Response:
        repo, events = topic_access.check_visible(db, request, key)
        topic = topic_of(self._services, repo, key)
        public = not repo["private"]
        offered = public and key in PUBLIC_EVENTS | FEEDS.keys()
        hub = hub_url(self._services) if offered else None
        answer, changed_at = _content(db, topic, hub, events, public)
        if hub is not None:
            answer.headers.append(header("Link", link(hub, topic.self_url)))
        answer.headers.append(FRESH if public else FRESH_PRIVATE)
        if answer.status == 200:
            last_modified = conditional.settled(changed_at, db.now)
            conditional.apply_conditions(answer, request.headers, last_modified)
        return answer


def link(hub: str, self_url: str) -> str:
    return f'<{hub}>; rel="hub", <{self_url}>; rel="self"'


def _content(
    db: Connection, topic: Topic, hub: str | None, events: frozenset[str], public: bool
) -> tuple[Response, int | None]:
    kind = header("Content-Type", content_type(topic.key))
    if topic.key in FEEDS:
        feed = websub_feeds.feed(db, topic, hub, names=events, public=public)
        return Response(200, feed, [kind]), None
    row = websub_feeds.latest(db, topic.repo_id, topic.key, public=public)
    if row is None:
        # A topic can be subscribed to before its first event.
        return Response(204), None
    return Response(200, row["body"], [kind]), row["received_at"]


def negotiate_feed(accept: str) -> str:
    """Return the feed that an Accept header prefers. The default is JSON."""
    return Accept(accept).choose(OFFERED) or "events.json"
