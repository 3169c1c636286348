"""Topics of other sites: the hub fetches a published topic, and distributes it if it changed."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from waiting import until
from websub_site import Peer, Site, peer, site

from store import Connection, Row
from store.delivery.websub import websub_foreign, websub_topics
from worker.websub import feed_diff, tasks
from worker.websub.feed_diff import find_entries, remove_known_entries
from worker.websub.fetch import fetch_topic

FEED = b"""<?xml version="1.0"?>
<feed xmlns="http://www.w3.org/2005/Atom" xmlns:a="http://www.w3.org/2005/Atom"><title>T</title>
%s<updated>now</updated>
<!-- <entry/> --></feed>
"""
RSS = b'<rss version="2.0"><channel><title>T</title>%s</channel></rss>'
ONE, TWO = b"<entry><id>1</id></entry>\n", b"<a:entry x='>'><id>2</id><p><entry/></p></a:entry >\n"


@pytest.fixture
async def blog(anyio_backend: str) -> AsyncIterator[Peer]:
    async with peer() as made:
        yield made


@pytest.fixture
async def subscriber(anyio_backend: str) -> AsyncIterator[Peer]:
    async with peer() as made:
        yield made


@pytest.fixture
async def place(anyio_backend: str, tmp_path: Path, url: str, blog: Peer) -> AsyncIterator[Site]:
    async with site(
        tmp_path, url, websub_topics=[f"{blog.url}/*"], websub_max_topic_bytes=2048
    ) as made:
        yield made


async def publish(place: Site, url: str, field: str = "topic") -> None:
    """Move the clock by 2 s, and publish a change of a topic."""
    place.clock.by += 2
    answer = await place.ask(mode="publish", **{field: url})
    assert (answer.status_code, answer.content) == (204, b""), answer.text


def topic_row(place: Site) -> Row:
    found = place.store.read_sync(lambda db: db.one("SELECT * FROM websub_topic"))
    assert found is not None
    return found


async def fetched(place: Site, blog: Peer, many: int) -> Row:
    await until(lambda: len(blog.fetches) >= many)
    await until(lambda: topic_row(place)["taken_until"] == 0)
    return topic_row(place)


@pytest.mark.parametrize("field", ["topic", "url"])
async def test_6_a_published_topic_is_fetched_and_distributed(
    place: Site, blog: Peer, subscriber: Peer, field: str
) -> None:
    topic = f"{blog.url}/feed?a=%2f"
    await place.subscribe(f"{subscriber.url}/x", topic=topic, secret="s")
    blog.pages["/feed?a=%2F"] = (200, {"Content-Type": "Text/Plain; charset=x"}, b"caf\xe9\r\n\0")
    await publish(place, topic, field)
    await until(lambda: subscriber.contents)
    (content,) = subscriber.contents
    assert content.body == b"caf\xe9\r\n\0"
    assert content.one("Content-Type") == "Text/Plain; charset=x"
    own = f"{blog.url}/feed?a=%2F"
    assert content.one("Link") == f'<{place.hub}>; rel="hub", <{own}>; rel="self"'
    assert content.signed_by("s")
    assert [row["state"] for row in await place.over()] == ["delivered"]


async def test_only_changed_content_is_distributed(
    place: Site, blog: Peer, subscriber: Peer
) -> None:
    topic = f"{blog.url}/a"
    await place.subscribe(subscriber.url, topic=topic)
    blog.pages["/a"] = (200, {"ETag": '"1"', "Last-Modified": "then"}, b"one")
    await publish(place, topic)
    assert (await fetched(place, blog, 1))["error"] is None
    await publish(place, topic)
    await fetched(place, blog, 2)
    assert blog.fetches[1].one("If-None-Match") == '"1"'
    assert blog.fetches[1].one("If-Modified-Since") == "then"
    blog.pages["/a"] = (200, {"ETag": '"2"'}, b"one")
    await publish(place, topic)
    await fetched(place, blog, 3)
    blog.pages["/a"] = (200, {"ETag": '"3"'}, b"two")
    await publish(place, topic)
    await until(lambda: len(subscriber.contents) == 2)
    assert [one.body for one in subscriber.contents] == [b"one", b"two"]


async def test_saying_it_often_fetches_once_a_second(
    place: Site, blog: Peer, subscriber: Peer
) -> None:
    topic = f"{blog.url}/a"
    await place.subscribe(subscriber.url, topic=topic)
    blog.pages["/a"] = (200, {}, b"one")
    place.clock.stop()
    await publish(place, topic)
    await fetched(place, blog, 1)
    for _ in range(5):
        assert (await place.ask(mode="publish", url=topic)).status_code == 204
    assert len(blog.fetches) == 1
    blog.pages["/a"] = (200, {}, b"two")
    place.clock.go_on()
    await until(lambda: len(subscriber.contents) == 2)
    assert len(blog.fetches) == 2


async def test_fetches_are_limited_and_keep_back_no_verification(
    place: Site, blog: Peer, subscriber: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, held = asyncio.Event(), []

    async def hold(*given: Any) -> None:
        held.append(given)
        await gate.wait()
        await fetch_topic(*given)

    monkeypatch.setattr(tasks, "MOST", 2)
    monkeypatch.setattr(tasks, "fetch_topic", hold)
    topics = {path: f"{blog.url}{path}" for path in ("/a", "/b", "/c", "/d")}
    for path, topic in topics.items():
        blog.pages[path] = (200, {}, path.encode())
        await place.subscribe(f"{subscriber.url}/x", topic=topic)
    for topic in topics.values():
        await publish(place, topic)
    await place.ask(mode="subscribe", topic=place.topic(), callback=f"{subscriber.url}/late")
    await until(lambda: len(held) > 2 or len(place.rows()) > len(topics))
    assert len(held) == 2
    gate.set()
    await until(lambda: len(subscriber.contents) == len(topics))


async def test_all_topics_that_are_due_are_fetched_at_once(
    place: Site, blog: Peer, subscriber: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slow topics keep back no other one, after a pause of the worker for example."""
    held: list[object] = []

    async def hold(*given: Any) -> None:
        held.append(given)
        await asyncio.Event().wait()

    monkeypatch.setattr(tasks, "fetch_topic", hold)
    topics = [websub_topics.external_topic(f"{blog.url}/{number}") for number in range(20)]

    def announce(db: Connection) -> None:
        for topic in topics:
            websub_foreign.mark_changed(db, topic)

    for topic in topics:
        await place.subscribe(f"{subscriber.url}/x", topic=topic.self_url)
    place.store.write_sync(announce)
    await until(lambda: held)
    assert len(held) == len(topics)


async def test_a_topic_without_subscribers_is_not_fetched(place: Site, blog: Peer) -> None:
    await publish(place, f"{blog.url}/a")
    assert place.store.read_sync(lambda db: db.value("SELECT count(*) FROM websub_topic")) == 0


async def test_only_known_topics_can_be_published(place: Site, blog: Peer) -> None:
    await publish(place, place.topic())
    refused = await place.ask(mode="publish", topic="https://other.example/feed")
    assert refused.status_code == 403
    assert refused.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert (await place.ask(mode="publish")).status_code == 400
    assert (await place.ask(mode="publish", topic=f"{blog.url}/<x>")).status_code == 400


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ((302, {"Location": "/b"}, b""), "status 302"),
        ((404, {}, b""), "status 404"),
        ((200, {}, b"x" * 3000), "the topic is larger than websub_max_topic_bytes"),
        ((200, {"Content-Encoding": "gzip"}, b"x"), "the topic comes compressed"),
    ],
)
async def test_a_topic_that_cannot_be_had_is_not_distributed(
    place: Site, blog: Peer, subscriber: Peer, said: tuple[int, dict[str, str], bytes], error: str
) -> None:
    topic = f"{blog.url}/a"
    await place.subscribe(subscriber.url, topic=topic)
    blog.pages["/a"] = said
    await publish(place, topic)
    row = await fetched(place, blog, 1)
    assert row["error"].startswith(error)
    assert row["due_at"] is None
    assert place.deliveries() == []


async def test_a_topic_in_trouble_is_fetched_again(
    place: Site, blog: Peer, subscriber: Peer
) -> None:
    topic = f"{blog.url}/a"
    await place.subscribe(subscriber.url, topic=topic)
    blog.pages["/a"] = (503, {}, b"")
    await publish(place, topic)
    assert (await fetched(place, blog, 1))["error"] == "status 503"
    blog.pages["/a"] = (200, {}, b"one")
    await place.pass_time(6)
    await until(lambda: subscriber.contents)


async def test_a_topic_at_an_address_that_is_refused_is_not_fetched(
    anyio_backend: str, tmp_path: Path, blog: Peer, subscriber: Peer
) -> None:
    async with site(
        tmp_path, websub_topics=["http://10.0.0.1/*"], callback_ports="1024-65535"
    ) as place:
        await place.subscribe(subscriber.url, topic="http://10.0.0.1/a")
        await publish(place, "http://10.0.0.1/a")
        await until(lambda: topic_row(place)["error"])
        assert topic_row(place)["error"].startswith("guard: ")


async def test_7_entries_that_were_delivered_are_left_out(
    place: Site, blog: Peer, subscriber: Peer
) -> None:
    topic = f"{blog.url}/a"
    kind = {"Content-Type": "application/atom+xml"}
    await place.subscribe(f"{subscriber.url}/1", topic=topic)
    blog.pages["/a"] = (200, kind, FEED % ONE)
    await publish(place, topic)
    await place_over(place, 1)
    await place.subscribe(f"{subscriber.url}/2", topic=topic)
    blog.pages["/a"] = (200, kind, FEED % (TWO + ONE))
    await publish(place, topic)
    await place_over(place, 3)
    # The second subscriber has not received the first entry before, so it gets both.
    assert bodies_to(subscriber, "/1") == [FEED % ONE, FEED % (TWO + b"\n")]
    assert bodies_to(subscriber, "/2") == [FEED % (TWO + ONE)]


async def test_a_feed_is_parsed_beside_the_event_loop(
    place: Site, blog: Peer, subscriber: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Deliveries go on meanwhile, however large the feed is."""
    threads = []

    def parsed(*given: Any) -> bytes | None:
        threads.append(threading.current_thread())
        return remove_known_entries(*given)

    monkeypatch.setattr(feed_diff, "remove_known_entries", parsed)
    topic = f"{blog.url}/feed"
    await place.subscribe(subscriber.url, topic=topic)
    blog.pages["/feed"] = (200, {"Content-Type": "application/atom+xml"}, FEED % ONE)
    await publish(place, topic)
    await until(lambda: subscriber.contents)
    assert threads
    assert threading.current_thread() not in threads


async def test_one_feed_is_parsed_at_a_time(
    place: Site, blog: Peer, subscriber: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sign-ins and large requests need the same threads."""
    others, together, turn = threading.Event(), [], threading.Lock()

    def parsed(*given: Any) -> None:
        if not turn.acquire(blocking=False):
            together.append(given)
            others.set()
            return
        # If another one may begin meanwhile, it begins within this time.
        others.wait(0.5)
        turn.release()

    monkeypatch.setattr(feed_diff, "remove_known_entries", parsed)
    for path in ("/a", "/b", "/c"):
        blog.pages[path] = (200, {"Content-Type": "application/atom+xml"}, FEED % ONE)
        await place.subscribe(f"{subscriber.url}{path}", topic=f"{blog.url}{path}")
    for path in ("/a", "/b", "/c"):
        await publish(place, f"{blog.url}{path}")
    await until(lambda: len(subscriber.contents) == 3)
    assert not together


async def test_7_undelivered_entries_are_sent_again(
    place: Site, blog: Peer, subscriber: Peer
) -> None:
    topic = f"{blog.url}/a"
    kind = {"Content-Type": "application/rss+xml; charset=utf-8"}
    await place.subscribe(subscriber.url, topic=topic)
    subscriber.status = 500
    blog.pages["/a"] = (200, kind, RSS % b"<item>1</item>")
    await publish(place, topic)
    await until(lambda: subscriber.contents)
    await place.over()
    blog.pages["/a"] = (200, kind, RSS % b"<item>2</item><item>1</item>")
    await publish(place, topic)
    await until(lambda: len(subscriber.contents) == 2)
    assert subscriber.contents[1].body == RSS % b"<item>2</item><item>1</item>"


def bodies_to(subscriber: Peer, target: str) -> list[bytes]:
    return [one.body for one in subscriber.contents if one.target == target]


async def place_over(place: Site, many: int) -> None:
    await until(lambda: place.states() == ["delivered"] * many)


# Removal of entries that a subscriber already has.


def test_known_entries_are_cut_out_and_every_other_byte_stays() -> None:
    before = FEED % (ONE + TWO)
    three = b"<entry><id>3</id></entry>\n"
    assert remove_known_entries(FEED % (three + ONE + TWO), before) == FEED % (three + b"\n\n")
    changed = ONE.replace(b"1", b"one")
    assert remove_known_entries(FEED % (changed + TWO), before) == FEED % (changed + b"\n")
    item = b"<item><title>%d</title></item>"
    assert remove_known_entries(RSS % (item % 2 + item % 1), RSS % (item % 1)) == RSS % (item % 2)


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"plain",
        b"<feed><entry/></feed>",
        FEED % b"<entry>",
        RSS % b"",
        b"<!DOCTYPE rss [<!ENTITY a 'b'>]>" + RSS % b"<item>&a;</item>",
        (RSS % b"<item/>").decode().encode("utf-16"),
        b"<x>" * 200 + b"</x>" * 200,
    ],
)
def test_a_document_that_is_no_feed_is_left_whole(document: bytes) -> None:
    assert remove_known_entries(document, document) is None


def test_entries_of_a_feed_are_found() -> None:
    document = FEED % (ONE + TWO)
    assert [document[a:b] for a, b in find_entries(document) or []] == [ONE[:-1], TWO[:-1]]
    assert remove_known_entries(document, None) is None
    assert remove_known_entries(FEED % TWO, FEED % ONE) is None


def test_an_empty_entry_is_one() -> None:
    items = [b"<item x='>'/>", b"<item>1</item>", b"<item />"]
    document = RSS % b"".join(items)
    assert [document[a:b] for a, b in find_entries(document) or []] == items


async def test_answers_are_as_clients_of_old_expect(place: Site) -> None:
    """Libraries of publishers expect the status 204."""
    answer: httpx.Response = await place.ask(mode="publish", url=place.topic())
    assert answer.status_code == 204
