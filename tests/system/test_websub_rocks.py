"""The tests of websub.rocks for hubs, 100 to 106, written out from their descriptions: once for a
topic that the hub hosts, and once for one that it fetches, as an open hub does.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import httpx
import pytest
from waiting import until
from websub_site import Peer, Request, Site, peer, site


class Rocks:
    """The tester: a subscriber and a publisher, and its checks of a notification."""

    def __init__(self, place: Site, subscriber: Peer, blog: Peer, hosted: bool) -> None:
        self.place, self.subscriber, self.blog = place, subscriber, blog
        self.hosted = hosted
        self.kind = "text/html; charset=UTF-8"
        self.posts = 0
        self.callback = f"{subscriber.url}/hub/100/sub/token"
        self.topic = place.topic() if hosted else f"{blog.url}/hub/100/pub/token"

    async def subscribe(self, mode: str = "subscribe", **fields: str) -> Request:
        """Send a request to the hub. Return the hub's verification request."""
        before = len(self.subscriber.questions)
        answer = await self.place.ask(mode=mode, topic=self.topic, callback=self.callback, **fields)
        assert answer.status_code == 202
        await until(lambda: len(self.subscriber.questions) > before)
        await self.place.settled()
        question = self.subscriber.questions[-1]
        assert question.query["hub.mode"] == mode
        assert question.query["hub.topic"] == self.topic
        assert question.query["hub.challenge"]
        if mode == "subscribe":
            assert int(question.query["hub.lease_seconds"]) > 0
        return question

    async def publish(self) -> httpx.Response:
        """Publish a new post. Return the topic's content afterwards, as a response."""
        self.posts += 1
        self.place.clock.by += 2
        if self.hosted:
            await self.place.push(b'{"post": %d}' % self.posts)
        else:
            text = b"post %d" % self.posts
            body = b'{"p": "%s"}' % text if "json" in self.kind else b"<p>" + text
            link = f'<{self.topic}>; rel="self", <{self.place.hub}>; rel="hub"'
            path = self.topic.removeprefix(self.blog.url)
            self.blog.pages[path] = (200, {"Content-Type": self.kind, "Link": link}, body)
            await self.place.ask(mode="publish", topic=self.topic)
        return await self.place.client.get(self.topic)

    async def notified(self, topic: httpx.Response, many: int = 1) -> Request:
        """Return notification number `many`, after checks against the topic's response."""
        await until(lambda: len(self.subscriber.contents) >= many)
        assert len(self.subscriber.contents) == many
        sent = self.subscriber.contents[-1]
        assert sent.body
        assert sent.body == topic.content
        assert sent.one("Content-Type") == topic.headers["Content-Type"]
        links = httpx.Response(200, headers={"Link": sent.one("Link")}).links
        assert links["hub"]["url"] == self.place.hub
        assert links["self"]["url"] == self.topic
        assert {str(rel): one["url"] for rel, one in topic.links.items()} == {
            str(rel): one["url"] for rel, one in links.items()
        }
        return sent


@pytest.fixture(params=["hosted", "fetched"])
async def rocks(
    anyio_backend: str, tmp_path: Path, request: pytest.FixtureRequest
) -> AsyncIterator[Rocks]:
    async with AsyncExitStack() as stack:
        subscriber = await stack.enter_async_context(peer())
        blog = await stack.enter_async_context(peer())
        place = await stack.enter_async_context(site(tmp_path, websub_topics=[f"{blog.url}/hub/*"]))
        yield Rocks(place, subscriber, blog, request.param == "hosted")


async def test_100_typical_subscriber_request(rocks: Rocks) -> None:
    await rocks.subscribe()
    sent = await rocks.notified(await rocks.publish())
    assert sent.every("X-Hub-Signature") == []


async def test_101_subscription_with_secret(rocks: Rocks) -> None:
    await rocks.subscribe(secret="tH9wqLkzeB2mfo4KXdVc")
    sent = await rocks.notified(await rocks.publish())
    assert sent.signed_by("tH9wqLkzeB2mfo4KXdVc")


async def test_102_subscriber_sends_additional_parameters(rocks: Rocks) -> None:
    await rocks.subscribe(_foo="bar", foo="hub.bar")
    await rocks.notified(await rocks.publish())


async def test_103_re_subscribes_before_expiration(rocks: Rocks) -> None:
    await rocks.subscribe()
    await rocks.notified(await rocks.publish())
    await rocks.subscribe()
    await rocks.notified(await rocks.publish(), 2)
    assert len(rocks.place.rows()) == 1


async def test_104_unsubscription(rocks: Rocks) -> None:
    await rocks.subscribe()
    await rocks.notified(await rocks.publish())
    await rocks.subscribe("unsubscribe")
    await rocks.publish()
    await rocks.place.over()
    assert len(rocks.subscriber.contents) == 1
    assert len(rocks.place.deliveries()) == 1


@pytest.mark.parametrize("rocks", ["fetched"], indirect=True)
async def test_105_plaintext_topic(rocks: Rocks) -> None:
    rocks.kind = "text/plain"
    await rocks.subscribe()
    sent = await rocks.notified(await rocks.publish())
    assert sent.one("Content-Type") == "text/plain"


async def test_106_json_topic(rocks: Rocks) -> None:
    rocks.kind = "application/json"
    await rocks.subscribe()
    sent = await rocks.notified(await rocks.publish())
    assert sent.one("Content-Type") == "application/json"
