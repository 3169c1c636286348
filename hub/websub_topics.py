"""Topics of WebSub in the hub: their URLs, and what a GET of one answers with."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote, unquote

from hub import access, auth, conditional
from hub.access import on_repo
from hub.answers import Answer, Header, header
from hub.call import Call
from hub.context import House
from hub.resolve import find_repository
from store import Connection, Row, websub_feeds
from store.errors import Missing
from store.event_names import NAMES, OWN
from store.websub_topics import FEEDS, OPEN, Topic, content_type, foreign, plain

READ = on_repo("contents", "read").or_anyone()
# Other events may tell what only those who administer a repository are to know.
ADMINISTER = on_repo("webhooks", "read", role="admin", scopes=("read:repo_hook", "repo"))
OWN_PATH = re.compile(
    r"([^/?#]+)/([^/?#]+)/(?:(events\.(?:json|atom))|events/([^/?#]+?)(?:\.json)?)"
)
ORIGIN = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*")
NOWHERE = -1
FRESH: Header = (b"cache-control", b"no-cache")
FRESH_PRIVATE: Header = (b"cache-control", b"private, no-cache")


@dataclass(frozen=True, slots=True)
class Place:
    """A topic of this server, as its URL names it."""

    owner: str
    repo: str
    key: str


def hub_url(house: House) -> str:
    """Where subscribers post to."""
    return f"{house.urls.root}/hub/websub"


def topic_of(house: House, repo: Row, key: str) -> Topic:
    """The repository's topic with this key."""
    path = key if key in FEEDS else f"events/{quote(key)}"
    return Topic(repo["id"], key, f"{house.urls.root}/{repo['full_name']}/{path}")


def place_of(house: House, url: str) -> Place | None:
    """What of this server a URL names, if it is a topic's."""
    url = plain(url)
    begun = ORIGIN.match(url)
    if begun is None:
        return None
    url = begun[0].lower() + url[begun.end() :]
    for root in (house.urls.root, house.urls.origin):
        start = ORIGIN.sub(lambda found: found[0].lower(), root) + "/"
        found = OWN_PATH.fullmatch(url[len(start) :]) if url.startswith(start) else None
        if found is not None:
            return Place(unquote(found[1]), unquote(found[2]), found[3] or unquote(found[4]))
    return None


def hosted(db: Connection, house: House, place: Place, url: str) -> Topic:
    """The topic at a place; one that is nowhere, if there is none that is anybody's to follow."""
    repo = find_repository(db, place.owner, place.repo)
    if repo is None or place.key not in OPEN | FEEDS.keys():
        return Topic(NOWHERE, place.key, plain(url))
    return topic_of(house, repo, place.key)


class Foreign:
    """The topics hosted elsewhere that are served: those that match a pattern. `*` in one stands
    for anything, before the path only for a part of the host's name or the port.
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        self._patterns = [_compiled(pattern) for pattern in patterns]

    def find(self, url: str) -> Topic | None:
        """The topic with this URL, if it is served."""
        topic = foreign(url)
        served = any(pattern.fullmatch(topic.self_url) for pattern in self._patterns)
        return topic if served else None


def _compiled(pattern: str) -> re.Pattern[str]:
    origin, slash, path = _halves(pattern)
    host = "[^/?#@:\\\\]*".join(re.escape(part) for part in origin.split("*"))
    rest = "[^#\\s]*".join(re.escape(part) for part in path.split("*"))
    return re.compile(host + slash + rest)


def _halves(pattern: str) -> tuple[str, str, str]:
    scheme, _, rest = pattern.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host}", slash, path


class Reader:
    """Answers a GET of a topic."""

    def __init__(self, house: House) -> None:
        self._house = house

    async def event(self, call: Call) -> Answer:
        """GET /{owner}/{repo}/events/{event}"""
        return await self._read(call, call.values["event"].removesuffix(".json"))

    async def feed(self, call: Call) -> Answer:
        """GET /{owner}/{repo}/events"""
        answer = await self._read(call, wanted(call.text(b"accept") or ""))
        answer.headers.append((b"vary", b"Accept, Authorization"))
        return answer

    async def json_feed(self, call: Call) -> Answer:
        """GET /{owner}/{repo}/events.json"""
        return await self._read(call, "events.json")

    async def atom_feed(self, call: Call) -> Answer:
        """GET /{owner}/{repo}/events.atom"""
        return await self._read(call, "events.atom")

    async def _read(self, call: Call, key: str) -> Answer:
        if key not in NAMES | OWN | FEEDS.keys():
            raise Missing("topic")
        return await self._house.store.read(self._answer, call, key)

    def _answer(self, db: Connection, call: Call, key: str) -> Answer:
        repo = _seen(db, call, key)
        topic = topic_of(self._house, repo, key)
        offered = not repo["private"] and key in OPEN | FEEDS.keys()
        hub = hub_url(self._house) if offered else None
        answer, changed_at = _content(db, topic, hub)
        if hub is not None:
            answer.headers.append(header("Link", link(hub, topic.self_url)))
        answer.headers.append(FRESH_PRIVATE if repo["private"] else FRESH)
        if answer.status == 200:
            conditional.applied(answer, call.headers, changed_at)
        return answer


def link(hub: str, self_url: str) -> str:
    """The Link header of a topic."""
    return f'<{hub}>; rel="hub", <{self_url}>; rel="self"'


def _seen(db: Connection, call: Call, key: str) -> Row:
    token = auth.token_of(call.headers)
    caller = None if token is None else auth.authenticate(db, token)
    repo = find_repository(db, call.values["owner"], call.values["repo"])
    if repo is None:
        raise Missing("repository")
    needed = READ if key in OPEN | FEEDS.keys() else ADMINISTER
    if caller is None and not needed.anyone:
        # Who gives no name does not learn whether the repository is there.
        access.check(db, READ, None, repo)
        auth.needed(token)
    access.check(db, needed, caller, repo)
    return repo


def _content(db: Connection, topic: Topic, hub: str | None) -> tuple[Answer, int | None]:
    kind = header("Content-Type", content_type(topic.key))
    if topic.key in FEEDS:
        return Answer(200, websub_feeds.feed(db, topic, hub), [kind]), None
    row = websub_feeds.latest(db, topic.repo_id, topic.key, drafts=hub is None)
    if row is None:
        # It can be followed before anything has happened.
        return Answer(204), None
    return Answer(200, row["body"], [kind]), row["received_at"]


def wanted(accept: str) -> str:
    """Which of the feeds an Accept header prefers: JSON, if it does not care."""
    best, chosen = 0.0, "events.json"
    for part in accept.lower().split(","):
        name, *parameters = (piece.strip() for piece in part.split(";"))
        key = _feed_of(name)
        quality = _quality(parameters)
        if key is not None and quality > best:
            best, chosen = quality, key
    return chosen


def _feed_of(media: str) -> str | None:
    if media in ("application/atom+xml", "application/xml", "text/xml"):
        return "events.atom"
    if media in ("application/feed+json", "application/json", "*/*", "application/*"):
        return "events.json"
    return None


def _quality(parameters: list[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0
