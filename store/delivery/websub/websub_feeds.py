"""The content of a repository's topics: the latest event, or a feed of the last ones.

The hub serves it and the worker distributes it, and both must produce the same bytes.
"""

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from store import json_bytes
from store.clock import iso
from store.database import body_codec
from store.database.connection import LAST_ID, Connection, Row, json_array
from store.database.payload_reader import read_part
from store.delivery.incoming import EXAMPLE_SOURCE
from store.delivery.websub.publication import is_hidden, is_published, read
from store.delivery.websub.websub_topics import PUBLIC_EVENTS, Topic

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

MANY = 30
# If drafts and other hidden events take the place of entries, older events are read, so many times.
READS = 4
# The number of newest events among which `latest` looks for a published one.
BEHIND = 20
# Examples are rare, and no index has this column. So only feeds with an example use the condition.
NO_EXAMPLE = f" AND x.source_id <> {EXAMPLE_SOURCE}"
# In bytes. If a payload is larger, the feed has only the name and the action of its event.
READ = 64 * 1024
ATOM = "http://www.w3.org/2005/Atom"
SUBJECTS = ("issue", "pull_request", "discussion", "release", "milestone", "label", "forkee")
NAMED = ("title", "name", "tag_name", "full_name")


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """One event as an entry of a feed."""

    id: str
    title: str
    text: str
    url: str
    at: int
    author: str | None


def latest(db: Connection, repo_id: int, name: str, *, public: bool = True) -> Row | None:
    """Return the latest published event of this name with its `body`; None without one.

    Examples do not count. `public` is whether the repository is.
    """
    ids = db.column(
        "SELECT id FROM event WHERE repo_id = :repo_id AND name = :name"
        f" AND body IS NOT NULL AND source_id <> {EXAMPLE_SOURCE} ORDER BY id DESC LIMIT {BEHIND}",
        repo_id=repo_id,
        name=name,
    )
    # Bodies may be large, and the first one is nearly always published. So no other is read.
    found = (_published(db, event_id, name, public) for event_id in ids)
    return next((row for row in found if row is not None), None)


def _published(db: Connection, event_id: int, name: str, public: bool) -> Row | None:
    row = db.one(
        "SELECT id, received_at, body FROM event WHERE id = :id AND body IS NOT NULL", id=event_id
    )
    if row is None:
        return None
    body = body_codec.decompress(row["body"])
    return {**row, "body": body} if is_published(name, body, public=public) else None


def feed(
    db: Connection,
    topic: Topic,
    hub: str | None,
    until: int = LAST_ID,
    *,
    names: frozenset[str] = PUBLIC_EVENTS,
    public: bool = True,
) -> bytes:
    """Return the feed as it was after the event `until`, with the events of these names.

    `hub` is the hub's URL, or None. Hidden events are left out. `public` is whether the repository
    is.
    """
    rows: list[Row] = []
    for _ in range(READS):
        newer = _up_to(db, topic, until, names)
        rows += [row for row in newer if not is_hidden(row, public=public)]
        if len(newer) < MANY or len(rows) >= MANY:
            break
        until = newer[-1]["id"] - 1
    entries = [_entry(topic, row) for row in rows[:MANY]]
    return (_atom if topic.key == "events.atom" else _json)(topic, hub, entries)


def _up_to(db: Connection, topic: Topic, until: int, names: frozenset[str]) -> list[Row]:
    rows = _read(db, _last(db, topic, until, names))
    if any(row["source_id"] == EXAMPLE_SOURCE for row in rows):
        rows = _read(db, _last(db, topic, until, names, NO_EXAMPLE))
    return rows


def _read(db: Connection, ids: list[int]) -> list[Row]:
    return db.all(
        "SELECT id, name, action, received_at, source_id,"
        " CASE WHEN size <= :most THEN body END AS body"
        f" FROM event WHERE id {db.among('ids')}"
        " ORDER BY id DESC",
        most=READ,
        ids=json_array(ids),
    )


def _last(
    db: Connection, topic: Topic, until: int, names: frozenset[str], condition: str = ""
) -> list[int]:
    """Return the ids of the last events up to `until`.

    Without a condition, it reads nothing but an index.
    """
    last = (
        "SELECT x.id FROM event x WHERE x.repo_id = :repo_id AND x.name = w.name"
        f" AND x.id <= :until{condition} ORDER BY x.id DESC LIMIT {MANY}"
    )
    return db.column(
        f"SELECT e.id FROM {db.each('names', name='text')} AS w {db.lateral('event', 'e', last)}"
        f" ORDER BY e.id DESC LIMIT {MANY}",
        names=json_array(sorted(names)),
        repo_id=topic.repo_id,
        until=until,
    )


def _entry(topic: Topic, row: Row) -> FeedEntry:
    payload = _payload(row["body"])
    action = row["action"] or _text(payload.get("action"))
    sender = read_part(payload, "sender").get("login")
    author = _text(sender) or None
    at = iso(row["received_at"])
    url, subject = _subject(payload)
    what = f"{row['name']} {action}".strip()
    return FeedEntry(
        f"tag:{urlsplit(topic.self_url).hostname},{at[:10]}:event-{row['id']}",
        f"{what}: {subject}" if subject else what,
        f"{what} by {author}" if author else what,
        url or f"{_base(topic)}/{row['name']}",
        row["received_at"],
        author,
    )


def _payload(packed: bytes | None) -> dict[str, Any]:
    return {} if packed is None else read(body_codec.decompress(packed))


def _subject(payload: dict[str, Any]) -> tuple[str | None, str]:
    """Return the URL and the name of the event's subject."""
    for name in SUBJECTS:
        thing = read_part(payload, name)
        if thing:
            named = next((_text(thing[name]) for name in NAMED if thing.get(name)), "")
            return _web(thing.get("html_url")), named
    # Forgejo, Gitea and Gogs name it otherwise.
    compare = _web(payload.get("compare")) or _web(payload.get("compare_url"))
    return compare, _text(payload.get("ref"))


def _text(value: object) -> str:
    if not isinstance(value, str):
        return ""
    return _not_in_xml().sub("\N{REPLACEMENT CHARACTER}", value[:500])


@cache
def _not_in_xml() -> re.Pattern[str]:
    """Return the pattern of the characters that XML 1.0 cannot contain, not even escaped."""
    # Compiled here, because it takes milliseconds and many processes serve no feed.
    return re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _web(value: object) -> str | None:
    text = _text(value)
    return text if re.fullmatch(r"https?://[!-~]+", text) else None


def _base(topic: Topic) -> str:
    """Return the URL below which the repository's topics are."""
    return topic.self_url.removesuffix(topic.key.removeprefix("events"))


def _title(topic: Topic) -> str:
    owner, repo, _ = _base(topic).rsplit("/", 2)
    return f"{owner.rpartition('/')[2]}/{repo}: events"


def _json(topic: Topic, hub: str | None, entries: list[FeedEntry]) -> bytes:
    made: dict[str, Any] = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": _title(topic),
        "home_page_url": _base(topic).removesuffix("/events"),
        "feed_url": topic.self_url,
    }
    if hub is not None:
        made["hubs"] = [{"type": "WebSub", "url": hub}]
    made["items"] = [_item(entry) for entry in entries]
    return json_bytes.dumps(made)


def _item(entry: FeedEntry) -> dict[str, Any]:
    item: dict[str, Any] = {
        "id": entry.id,
        "url": entry.url,
        "title": entry.title,
        "content_text": entry.text,
        "date_published": iso(entry.at),
    }
    if entry.author is not None:
        item["authors"] = [{"name": entry.author}]
    return item


def _atom(topic: Topic, hub: str | None, entries: list[FeedEntry]) -> bytes:
    # Imported here, because many processes serve no feed.
    from xml.etree import ElementTree

    root = ElementTree.Element("feed", {"xmlns": ATOM})
    _add(root, "id", topic.self_url)
    _add(root, "title", _title(topic))
    # An empty feed was never updated, but Atom requires the element.
    _add(root, "updated", iso(entries[0].at if entries else 0))
    _add(_add(root, "author"), "name", "tocsin")
    _add(root, "link", rel="self", type="application/atom+xml", href=topic.self_url)
    if hub is not None:
        _add(root, "link", rel="hub", href=hub)
    for entry in entries:
        _write(_add(root, "entry"), entry)
    made: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return made


def _write(parent: "Element", entry: FeedEntry) -> None:
    _add(parent, "id", entry.id)
    _add(parent, "title", entry.title)
    _add(parent, "updated", iso(entry.at))
    _add(parent, "link", href=entry.url)
    if entry.author is not None:
        _add(_add(parent, "author"), "name", entry.author)
    _add(parent, "content", entry.text, type="text")


def _add(parent: "Element", name: str, text: str | None = None, **given: str) -> "Element":
    from xml.etree import ElementTree

    made = ElementTree.SubElement(parent, name, given)
    made.text = text
    return made
