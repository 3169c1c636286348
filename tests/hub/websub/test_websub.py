"""The hub's side of WebSub: topics, and the answers to requests. Tests are named after
the sections of the W3C Recommendation of 23 January 2018."""

from collections.abc import AsyncIterator
from pathlib import Path
from xml.etree import ElementTree

import httpx
import pytest
from bearer import bearer
from websub_site import PUSH, Peer, Site, peer, site

from hub.http.topic_patterns import ForeignTopics
from hub.settings import HubSettings
from hub.websub.websub import refusal
from hub.websub.websub_topics import negotiate_feed
from store.accounts import tokens
from store.delivery.websub.websub_requests import RequestRateExceeded
from store.errors import Busy, Contended, StoreError, Unavailable

ATOM = "{http://www.w3.org/2005/Atom}"


@pytest.fixture
async def hub(anyio_backend: str, tmp_path: Path, url: str) -> AsyncIterator[Site]:
    async with site(tmp_path, url) as made:
        yield made


@pytest.fixture
async def subscriber(anyio_backend: str) -> AsyncIterator[Peer]:
    async with peer() as made:
        yield made


def links(answer: httpx.Response) -> dict[str, str]:
    assert len(answer.headers.get_list("Link")) == 1
    return {str(rel): link["url"] for rel, link in answer.links.items()}


def assert_refused(answer: httpx.Response, status: int, *words: str) -> None:
    assert answer.status_code == status, answer.text
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    for word in words:
        assert word in answer.text


# Settings


async def test_switched_off_there_is_nothing(anyio_backend: str, tmp_path: Path, url: str) -> None:
    async with site(tmp_path, url, websub=False) as made:
        await made.push()
        form = {"mode": "subscribe", "topic": made.topic(), "callback": "http://127.0.0.1:1024/"}
        assert (await made.ask(**form)).status_code == 404
        for path in ("events/push", "events", "events.json", "events.atom"):
            answer = await made.client.get(made.topic(f"engine/{path}"))
            assert answer.status_code == 404
            assert "Link" not in answer.headers


def test_the_settings() -> None:
    assert HubSettings().websub is False
    assert HubSettings().websub_topics == []
    assert HubSettings().websub_min_lease == 3600
    with pytest.raises(ValueError, match="must not decrease"):
        HubSettings(websub_min_lease=100, websub_default_lease=10)
    with pytest.raises(ValueError, match="less than or equal"):
        HubSettings(websub_max_lease=31 * 86_400)


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("*", "does not begin with http:// or https:// and a host"),
        ("ftp://blog.example/*", "does not begin with http:// or https:// and a host"),
        ("https:///feed", "does not begin with http:// or https:// and a host"),
        ("http://127.0.0.1:*", "has no path; http://127.0.0.1:\\*/\\* stands for all"),
        ("https://blog.example", "has no path; https://blog.example/\\* stands for all"),
        ("https://blog.example?x", "has no path"),
        ("https://ada:secret@blog.example/*", "must not contain a user name"),
        ("https://blog.example/*#top", "has a fragment"),
        ("https://blog.example:http/*", "has a port that is neither a number nor"),
        ("https://blog.example:1*/*", "has a port that is neither a number nor"),
        ("https://blog.example:123456/*", "has a port that is neither a number nor"),
    ],
)
def test_a_pattern_that_no_topic_matches_is_refused(pattern: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        HubSettings(websub_topics=[pattern])


@pytest.mark.parametrize(
    "pattern", ["http://127.0.0.1:*/*", "http://[::1]/*", "http://[::1]:*/*", "https://*/feed"]
)
def test_a_pattern_that_topics_match_is_taken(pattern: str) -> None:
    assert HubSettings(websub_topics=[pattern]).websub_topics == [pattern]


# 4. Discovery


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_4_a_topic_links_to_its_hub_and_itself(hub: Site, method: str) -> None:
    await hub.push()
    answer = await hub.client.request(method, hub.topic())
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.content == (PUSH if method == "GET" else b"")
    assert links(answer) == {"hub": hub.hub, "self": hub.topic()}


async def test_4_a_topic_can_be_discovered_before_anything_happened(hub: Site) -> None:
    answer = await hub.client.get(hub.topic())
    assert (answer.status_code, answer.content) == (204, b"")
    assert links(answer) == {"hub": hub.hub, "self": hub.topic()}


async def test_4_all_spellings_of_a_topic_have_one_self_url(hub: Site) -> None:
    for path in (
        "ADA/Engine/events/push",
        "ada/engine/events/push.json",
        "ada/engine/events/%70ush",
    ):
        assert links(await hub.client.get(f"{hub.url}/{path}"))["self"] == hub.topic()


async def test_a_feed_links_to_the_comparison_of_each_forge(hub: Site) -> None:
    """Forgejo, Gitea and Gogs name it `compare_url`."""
    await hub.push(b'{"compare": "https://hub.example/1"}')
    await hub.push(b'{"compare": "", "compare_url": "https://hub.example/2"}')
    answer = await hub.client.get(hub.topic("engine/events.atom"))
    feed = ElementTree.fromstring(answer.text)  # noqa: S314 - our own
    entries = feed.findall(f"{ATOM}entry")
    found = {one.find(f"{ATOM}link").get("href") for one in entries}  # type: ignore[union-attr]
    assert found == {"https://hub.example/1", "https://hub.example/2"}


async def test_4_a_feed_of_xml_has_embedded_links(hub: Site) -> None:
    await hub.push(b'{"ref": "refs/heads/<main>", "sender": {"login": "ada\\u0001"}}')
    answer = await hub.client.get(hub.topic("engine/events.atom"))
    feed = ElementTree.fromstring(answer.text)  # noqa: S314 - our own
    assert feed.tag == f"{ATOM}feed"
    embedded = {one.get("rel"): one.get("href") for one in feed.findall(f"{ATOM}link")}
    assert embedded == links(answer) == {"hub": hub.hub, "self": hub.topic("engine/events.atom")}
    assert feed.findtext(f"{ATOM}id") == hub.topic("engine/events.atom")
    (entry,) = feed.findall(f"{ATOM}entry")
    assert entry.findtext(f"{ATOM}title") == "push: refs/heads/<main>"
    assert entry.findtext(f"{ATOM}author/{ATOM}name") == "ada\N{REPLACEMENT CHARACTER}"
    assert {"id", "updated", "link", "content"} <= {child.tag[len(ATOM) :] for child in entry}


async def test_4_1_a_self_url_offers_one_representation(hub: Site) -> None:
    await hub.push()
    for accept, kind in (
        ("*/*", "json"),
        ("application/feed+json", "json"),
        ("application/atom+xml, application/xml;q=0.9, */*;q=0.1", "atom"),
    ):
        answer = await hub.client.get(hub.topic("engine/events"), headers={"Accept": accept})
        own = links(answer)["self"]
        assert own == hub.topic(f"engine/events.{kind}")
        assert "Accept" in answer.headers["Vary"]
        for asked in ("application/atom+xml", "application/json"):
            again = await hub.client.get(own, headers={"Accept": asked})
            assert again.headers["Content-Type"] == answer.headers["Content-Type"]
            assert again.content == answer.content


@pytest.mark.parametrize(
    ("accept", "key"),
    [
        ("", "events.json"),
        ("text/html", "events.json"),
        ("text/xml", "events.atom"),
        ("application/json;q=0.2, application/atom+xml;q=0.3", "events.atom"),
        ("application/json;q=0.3, application/atom+xml;q=0.2", "events.json"),
        ("application/atom+xml;q=x", "events.json"),
        ("application/atom+xml;q=0, */*", "events.json"),
        ("application/feed+json;q=0, */*", "events.atom"),
        ("*/*;q=0.1, application/feed+json;q=0", "events.atom"),
        ("application/feed+json;q=0.1, application/*;q=0.5", "events.atom"),
        ("application/atom+xml, application/feed+json", "events.atom"),
        ("application/atom+xml;q=inf, application/json;q=0.5", "events.json"),
    ],
)
def test_4_1_which_feed_is_preferred(accept: str, key: str) -> None:
    assert negotiate_feed(accept) == key


async def test_the_json_feed_is_one(hub: Site) -> None:
    await hub.push(
        b'{"action": "opened", "issue": {"title": "A bell", "html_url": "https://x.example/1"}}',
        "engine/events/issues",
    )
    await hub.push()
    feed = (await hub.client.get(hub.topic("engine/events.json"))).json()
    assert feed["version"] == "https://jsonfeed.org/version/1.1"
    assert feed["title"] == "ada/engine: events"
    assert feed["feed_url"] == hub.topic("engine/events.json")
    assert feed["home_page_url"] == f"{hub.url}/ada/engine"
    assert feed["hubs"] == [{"type": "WebSub", "url": hub.hub}]
    push, issue = feed["items"]
    assert push["url"] == hub.topic()
    assert issue["title"] == "issues opened: A bell"
    assert issue["url"] == "https://x.example/1"
    assert push["id"] != issue["id"]
    assert all(item["content_text"] and item["date_published"] for item in feed["items"])


async def test_a_topic_is_asked_for_again_only_if_it_changed(hub: Site) -> None:
    await hub.push()
    tag = (await hub.client.get(hub.topic())).headers["ETag"]
    known = {"If-None-Match": tag}
    assert (await hub.client.get(hub.topic(), headers=known)).status_code == 304
    await hub.push(b'{"ref": "refs/heads/other"}')
    assert (await hub.client.get(hub.topic(), headers=known)).status_code == 200


async def test_a_topic_has_a_last_modification_after_a_minute(hub: Site) -> None:
    hub.clock.stop()
    await hub.push()
    first = await hub.client.get(hub.topic())
    assert "Last-Modified" not in first.headers
    hub.clock.by += 61
    second = await hub.client.get(hub.topic())
    since = {"If-Modified-Since": second.headers["Last-Modified"]}
    assert (await hub.client.get(hub.topic(), headers=since)).status_code == 304
    await hub.push(b'{"ref": "refs/heads/other"}')
    hub.clock.by += 600
    assert (await hub.client.get(hub.topic(), headers=since)).status_code == 200
    for feed in ("engine/events.json", "engine/events.atom"):
        assert "Last-Modified" not in (await hub.client.get(hub.topic(feed))).headers


async def test_private_topics_need_a_token_and_are_not_offered(hub: Site) -> None:
    await hub.push(path="secret/events/push")
    for path in ("secret/events/push", "secret/events"):
        assert (await hub.client.get(hub.topic(path))).status_code == 404
        answer = await hub.client.get(hub.topic(path), headers=bearer(hub.token))
        assert answer.status_code == 200
        assert "Link" not in answer.headers
        assert b"hub" not in answer.content
        assert answer.headers["Cache-Control"] == "private, no-cache"
    missing = await hub.client.get(hub.topic("nothing/events/push"))
    hidden = await hub.client.get(hub.topic("secret/events/push"))
    assert missing.json() == hidden.json()


async def test_events_for_administrators_are_no_public_topic(hub: Site) -> None:
    path = "engine/events/secret_scanning_alert"
    await hub.push(path=path)
    assert (await hub.client.get(hub.topic(path))).status_code == 401
    answer = await hub.client.get(hub.topic(path), headers=bearer(hub.token))
    assert (answer.status_code, answer.content) == (200, PUSH)
    assert "Link" not in answer.headers
    weak, _ = hub.store.write_sync(lambda db: tokens.create(db, 1, scopes=["user"]))
    answer = await hub.client.get(hub.topic(path), headers=bearer(weak))
    assert answer.status_code == 403
    assert (await hub.client.get(hub.topic("engine/events.json"))).json()["items"] == []
    assert (await hub.client.get(hub.topic("engine/events/nonsense"))).status_code == 404


# 5.1 Subscriber Sends Subscription Request, and 5.1.2 Subscription Response Details


async def test_5_1_2_a_request_is_accepted_before_it_is_verified(
    hub: Site, subscriber: Peer
) -> None:
    subscriber.agrees = False
    for topic in (hub.topic(), hub.topic("secret/events/push"), hub.topic("no/events/push")):
        answer = await hub.ask(mode="subscribe", topic=topic, callback=subscriber.url)
        assert (answer.status_code, answer.content) == (202, b"")
        answer = await hub.ask(mode="unsubscribe", topic=topic, callback=subscriber.url)
        assert (answer.status_code, answer.content) == (202, b"")


async def test_5_1_2_errors_are_plain_text(hub: Site) -> None:
    good = {"mode": "subscribe", "topic": hub.topic(), "callback": "http://127.0.0.1:1024/x"}
    for changes, word in (
        ({"mode": ""}, "hub.mode is missing"),
        ({"mode": "Subscribe"}, "subscribe, unsubscribe, publish"),
        ({"topic": ""}, "hub.topic is missing"),
        ({"topic": "engine"}, "hub.topic is not an http or https URL"),
        ({"callback": ""}, "hub.callback is missing"),
        ({"callback": "ftp://x.example/"}, "hub.callback is not an http or https URL"),
        ({"callback": "http://x.example:0/"}, "hub.callback is not an http or https URL"),
        ({"callback": "http://x.example/ y"}, "hub.callback is not an http or https URL"),
        ({"callback": "http://x.example/#y"}, "fragment"),
        ({"callback": "http://u:p@x.example/"}, "credentials"),
        ({"callback": f"http://x.example/{'x' * 2048}"}, "2048"),
        ({"lease_seconds": "-1"}, "hub.lease_seconds"),
        ({"lease_seconds": "1.5"}, "hub.lease_seconds"),
        ({"verify_token": "x" * 513}, "hub.verify_token"),
        ({"verify_token": "x\0"}, "must not hold a NUL"),
    ):
        assert_refused(await hub.ask(**good | changes), 400, word)
    broken = await hub.client.post(
        hub.hub,
        content=b"hub.mode=%ff",
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )
    assert_refused(broken, 400, "Problems parsing the form")
    assert_refused(await hub.client.post(hub.hub, json={}), 415, "x-www-form-urlencoded")
    large = await hub.ask(**good, _x="x" * 2_000_000)
    assert_refused(large, 413, "larger")
    assert hub.asked() == 0


async def test_5_1_2_topics_of_others_are_refused(hub: Site) -> None:
    for topic in (
        "https://blog.example/feed",
        f"{hub.url}/ada",
        f"{hub.hub}?x",
        f"{hub.topic()}%00",
    ):
        answer = await hub.ask(mode="subscribe", topic=topic, callback="http://127.0.0.1:1024/")
        assert_refused(answer, 403, "hub.topic")


async def test_5_1_2_addresses_that_are_refused_are_refused_at_once(hub: Site) -> None:
    for host in ("10.0.0.1", "[::ffff:10.0.0.1]", "169.254.169.254", "0x0a1"):
        form = {"mode": "subscribe", "topic": hub.topic(), "callback": f"http://{host}/x"}
        assert_refused(await hub.ask(**form), 422)
    assert hub.asked() == 0


async def test_5_1_a_secret_is_shorter_than_200_bytes(hub: Site, subscriber: Peer) -> None:
    form = {"mode": "subscribe", "topic": hub.topic(), "callback": subscriber.url}
    assert (await hub.ask(**form, secret="é" * 99 + "x")).status_code == 202
    assert_refused(await hub.ask(**form, secret="é" * 100), 400, "200 bytes")


async def test_5_1_parameters_that_are_not_known_are_ignored(hub: Site, subscriber: Peer) -> None:
    await hub.subscribe(f"{subscriber.url}/x", foo="hub.bar", _foo="bar")
    assert len(hub.rows()) == 1


async def test_5_1_the_lease_of_an_unsubscription_is_ignored(hub: Site, subscriber: Peer) -> None:
    await hub.subscribe(subscriber.url)
    form = {"mode": "unsubscribe", "topic": hub.topic(), "callback": subscriber.url}
    assert (await hub.ask(**form, lease_seconds="never", secret="x" * 300)).status_code == 202
    await hub.settled(2)
    assert hub.rows() == []


async def test_the_habits_of_pubsubhubbub_do_no_harm(hub: Site, subscriber: Peer) -> None:
    await hub.subscribe(
        subscriber.url, verify="sync", verify_token="a&b", lease_seconds="", secret=""
    )
    (question,) = subscriber.questions
    assert question.query["hub.verify_token"] == "a&b"
    assert question.query["hub.lease_seconds"] == "864000"
    assert hub.rows()[0]["secret"] is None


@pytest.mark.parametrize(
    ("error", "status", "wait"),
    [
        (Busy("too much is waiting"), 503, b"1"),
        (Unavailable("the disk is full"), 503, b"5"),
        (Contended("it is locked"), 503, b"5"),
        (RequestRateExceeded("too many"), 429, b"60"),
    ],
)
def test_a_refusal_has_one_retry_after_header(error: StoreError, status: int, wait: bytes) -> None:
    answer = refusal(error)
    reported = [value for name, value in answer.headers if name == b"retry-after"]
    assert (answer.status, reported) == (status, [wait])


async def test_a_flood_for_one_host_or_from_one_address_is_refused(
    anyio_backend: str, tmp_path: Path, url: str
) -> None:
    async with (
        site(tmp_path, url, websub_requests_per_host=2, websub_requests_per_client=4) as hub,
        peer() as one,
    ):
        form = {"mode": "subscribe", "topic": hub.topic()}
        for number in range(2):
            answer = await hub.ask(**form, callback=f"{one.url}/{number}")
            assert answer.status_code == 202
        answer = await hub.ask(**form, callback=f"{one.url}/2")
        assert_refused(answer, 429, "host")
        assert answer.text.endswith("try again in a minute\n")
        assert answer.headers["Retry-After"] == "60"
        for number in range(2):
            answer = await hub.ask(**form, callback=f"http://localhost:{one.port}/{number}")
            assert answer.status_code == 202
        assert_refused(await hub.ask(**form, callback="http://127.0.0.2/"), 429, "address")
        await hub.pass_time(61)
        await hub.settled()
        assert (await hub.ask(**form, callback=f"{one.url}/2")).status_code == 202


async def test_subscriptions_of_a_host_to_a_topic_are_bounded(
    anyio_backend: str, tmp_path: Path, url: str
) -> None:
    """The limit counts a subscription before and after its verification."""
    async with site(tmp_path, url, hooks_per_event=2) as hub, peer() as one, peer() as other:
        form = {"mode": "subscribe", "topic": hub.topic()}
        full = "this topic cannot have more than 2 subscriptions of 127.0.0.1"
        await hub.subscribe(f"{one.url}/0")
        assert (await hub.ask(**form, callback=f"{one.url}/1")).status_code == 202
        # The second subscription waits or is verified by now. Another port is the same host.
        assert_refused(await hub.ask(**form, callback=f"{other.url}/2"), 422, full)
        await hub.settled()
        assert_refused(await hub.ask(**form, callback=f"{other.url}/2"), 422, full)
        await hub.subscribe(f"{one.url}/1")
        await hub.subscribe(f"{one.url}/2", topic=hub.topic("engine/events/issues"))
        await hub.subscribe(f"http://localhost:{other.port}/2")
        before = hub.asked()
        left = await hub.ask(**form | {"mode": "unsubscribe"}, callback=f"{one.url}/1")
        assert left.status_code == 202
        await hub.settled(before + 1)
        await hub.subscribe(f"{other.url}/2")


@pytest.mark.parametrize(
    ("pattern", "url", "served"),
    [
        ("https://blog.example/*", "https://blog.example/feed?x=1", True),
        ("https://blog.example/*", "https://blog.example.evil/feed", False),
        ("https://blog.example/feed", "https://blog.example/feed2", False),
        ("https://blog.example/f%65ed", "https://blog.example/%66eed", False),
        ("https://blog.example/feed", "https://blog.example/%66eed", True),
        ("https://*.example/feed", "https://a.b.example/feed", True),
        ("https://*.example/feed", "https://evil/.example/feed", False),
        ("https://*.example/feed", "https://evil:1@x.example/feed", False),
        ("http://127.0.0.1:*/a?b=*", "http://127.0.0.1:99/a?b=c", True),
        ("http://127.0.0.1:*/*", "http://127.0.0.1:99/", True),
        ("http://127.0.0.1:*/*", "http://127.0.0.1/", False),
        ("http://127.0.0.1/*", "http://127.0.0.1:99/", False),
        ("http://[::1]:*/*", "http://[::1]:99/a", True),
        ("https://*.*.example/*/b*/*.xml", "https://x.y.z.example/a/a/b/b/c.xml/d.xml", True),
        ("https://*.*.example/*/b*/*.xml", "https://z.example/a/a/b/b/c.xml", False),
        ("https://*.*.example/*/b*/*.xml", "https://x.y.z.example/a/b/c.xml/d", False),
    ],
)
def test_patterns_of_topics_match_whole_urls(pattern: str, url: str, served: bool) -> None:
    assert (ForeignTopics([pattern]).find(url) is not None) is served


def test_a_pattern_with_many_stars_takes_no_time_that_grows_with_a_power() -> None:
    """With such a time, this would take hours."""
    served = ForeignTopics(["https://blog.example/*/*/*/*.xml"])
    assert served.find(f"https://blog.example/{'/' * 20_000}x") is None
