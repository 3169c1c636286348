"""The worker's side of WebSub: verification, leases, denial, distribution. Tests are named after
the sections of the W3C Recommendation of 23 January 2018.
"""

import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from required import required
from waiting import until
from websub_site import PUSH, Peer, Request, Said, Site, peer, site

from store import Connection, Row
from store.clock import SECOND
from store.delivery.websub import websub
from store.delivery.websub import websub_requests as requests
from store.errors import Unusable
from store.jobs import jobs
from store.jobs.jobs import JobSchedule
from store.repositories import repositories
from worker.delivery.lane import FIRST_WINDOW
from worker.jobs.prune import prune
from worker.settings import WorkerSettings
from worker.websub.verify import with_query

DAY = 86_400
CALLBACKS = [
    "/cb?foo=bar&red=fish",
    "/cb?a=%7e%2F+b;c&&d",
    "/cb?hub.mode=mine&hub.topic=mine",
    "/a%2Fb//c/../d?",
    "/cb?x=1&",
    "/cb?'(*)!~{}|",
    "/cb",
]


@pytest.fixture
async def place(anyio_backend: str, tmp_path: Path, url: str) -> AsyncIterator[Site]:
    async with site(tmp_path, url, retries=[0, 5]) as made:
        yield made


@pytest.fixture
async def subscriber(anyio_backend: str) -> AsyncIterator[Peer]:
    async with peer() as made:
        yield made


async def received(subscriber: Peer, many: int = 1) -> list[Request]:
    await until(lambda: len(subscriber.contents) >= many)
    return subscriber.contents


# 5.1 Subscriber Sends Subscription Request


async def test_5_1_a_verified_request_overrides_the_former_one(
    place: Site, subscriber: Peer
) -> None:
    first = await place.subscribe(f"{subscriber.url}/x", secret="one", lease_seconds="5000")
    ends_at = place.rows()[0]["lease_ends_at"]
    again = await place.subscribe(f"{subscriber.url}/x", secret="two", lease_seconds="9000")
    assert again == first
    (row,) = place.rows()
    assert row["lease_ends_at"] > ends_at + 3999 * 1_000_000
    await place.push()
    (content,) = await received(subscriber)
    assert content.signed_by("two")
    await place.subscribe(f"{subscriber.url}/x")
    await place.push()
    assert (await received(subscriber, 2))[1].every("X-Hub-Signature") == []


async def test_5_1_a_request_that_fails_changes_nothing(place: Site, subscriber: Peer) -> None:
    await place.subscribe(f"{subscriber.url}/x", secret="one")
    before = place.rows()
    subscriber.agrees = False
    form = {"topic": place.topic(), "callback": f"{subscriber.url}/x"}
    await place.ask(mode="subscribe", secret="two", lease_seconds="4000", **form)
    await place.ask(mode="unsubscribe", **form)
    await place.settled(3)
    assert subscriber.modes() == ["subscribe", "subscribe", "unsubscribe"]
    assert place.rows() == before
    await place.push()
    assert (await received(subscriber))[0].signed_by("one")


async def test_5_1_a_subscriber_of_a_renamed_repository_renews_and_unsubscribes(
    place: Site, subscriber: Peer
) -> None:
    """It knows the topic by the URL that it subscribed to, and needs to discover it no more."""
    first = await place.subscribe(f"{subscriber.url}/x", lease_seconds="5000")
    former, ends_at = place.topic(), place.rows()[0]["lease_ends_at"]
    repo = place.store.read_sync(repositories.find, "ada", "engine")
    assert repo is not None
    place.store.write_sync(repositories.rename, repo, "machine")
    assert await place.subscribe(f"{subscriber.url}/x", topic=former, lease_seconds="9000") == first
    (row,) = place.rows()
    assert row["lease_ends_at"] > ends_at + 3999 * 1_000_000
    assert row["self_url"] == place.topic("machine/events/push")
    found = await place.client.get(former)
    assert found.links["self"]["url"] == place.topic("machine/events/push")
    await place.ask(mode="unsubscribe", topic=former, callback=f"{subscriber.url}/x")
    await place.settled(3)
    assert subscriber.modes() == ["subscribe", "subscribe", "unsubscribe"]
    assert place.rows() == []


async def test_5_1_topic_and_callback_are_the_key(place: Site, subscriber: Peer) -> None:
    await place.subscribe(f"{subscriber.url}/x")
    await place.subscribe(f"{subscriber.url}/y")
    await place.subscribe(f"{subscriber.url}/x", topic=place.topic("engine/events/issues"))
    assert len(place.rows()) == 3
    await place.push()
    await place.over()
    assert sorted(one.target for one in subscriber.contents) == ["/x", "/y"]


async def test_5_1_of_two_requests_the_later_one_counts(place: Site, subscriber: Peer) -> None:
    """The later request counts even if it is verified first."""
    await place.subscribe(f"{subscriber.url}/x")
    row = place.rows()[0]
    request = {**row, "key": "k", "secret": None, "lease_seconds": 5000}
    late = {**request, "id": 11, "mode": "unsubscribe"}
    early = {**request, "id": 10, "mode": "subscribe"}
    assert place.store.write_sync(websub.apply_verified, late, 0)
    assert not place.store.write_sync(websub.apply_verified, early, place.clock.now())
    assert len(place.rows()) == 1


# 5.1.1 Subscription Parameter Details


async def test_5_1_1_escapes_that_nothing_needs_make_no_other_topic(
    place: Site, subscriber: Peer
) -> None:
    topic = place.topic("%65ngine/events/push").replace("http://", "HTTP://")
    first = await place.subscribe(f"{subscriber.url}/x", topic=topic)
    assert subscriber.questions[0].query["hub.topic"] == topic
    again = await place.subscribe(f"{subscriber.url}/%78")
    assert again == first


async def test_5_1_1_the_callback_is_kept_byte_for_byte(place: Site, subscriber: Peer) -> None:
    for many, target in enumerate(CALLBACKS):
        one = await place.subscribe(subscriber.url + target)
        question = subscriber.questions[many]
        begin = target if "?" in target else f"{target}?"
        joint = "" if begin.endswith(("?", "&")) else "&"
        assert question.target.startswith(f"{begin}{joint}hub.mode=subscribe&hub.topic=http")
        await place.push()
        content = (await received(subscriber, many + 1))[many]
        assert content.target == target
        assert content.body == PUSH
        place.store.write_sync(websub.end, {one: "the next"})


def test_5_1_1_parameters_are_appended() -> None:
    assert with_query("/", [("a", "b c"), ("d", "é&")]) == "/?a=b+c&d=%C3%A9%26"
    assert with_query("/?x", [("a", "b")]) == "/?x&a=b"


# 5.2 Subscription Validation


async def test_5_2_a_denial_is_sent_to_the_subscriber(place: Site, subscriber: Peer) -> None:
    for many, path in enumerate(("secret/events/push", "no/events/push", "engine/events/meta")):
        form = {"topic": place.topic(path), "callback": f"{subscriber.url}/x?y"}
        assert (await place.ask(mode="subscribe", **form)).status_code == 202
        await place.settled(many + 1)
        question = subscriber.questions[many]
        assert question.target.startswith("/x?y&hub.mode=denied")
        assert question.query == {
            "y": "",
            "hub.mode": "denied",
            "hub.topic": place.topic(path),
            "hub.reason": "there is no such public topic",
        }
    assert place.rows(ended=True) == []


async def test_5_2_subscribers_of_a_private_topic_are_denied(place: Site, subscriber: Peer) -> None:
    await place.subscribe(f"{subscriber.url}/x", secret="s")
    repo = place.rows()[0]["repo_id"]
    place.store.write_sync(repositories.update, repo, private=True, description=None)
    await place.push()
    assert place.deliveries() == []
    await place.settled(2)
    assert subscriber.modes() == ["subscribe", "denied"]
    assert subscriber.questions[1].query["hub.reason"] == "the topic is no longer public"
    (row,) = place.rows(ended=True)
    assert row["secret"] is None


async def test_5_2_a_topic_hidden_in_the_store_is_denied(place: Site, subscriber: Peer) -> None:
    await place.subscribe(f"{subscriber.url}/x")
    place.store.write_sync(lambda db: db.execute("UPDATE repository SET private = 1"))
    await place.pass_time(0)
    await place.settled(2)
    assert subscriber.modes() == ["subscribe", "denied"]


async def test_5_2_a_topic_may_become_private_while_it_is_verified(
    place: Site, subscriber: Peer
) -> None:
    def hides(request: Request) -> Said:
        if request.query["hub.mode"] == "subscribe":
            place.store.write_sync(lambda db: db.execute("UPDATE repository SET private = 1"))
        return 200, {}, request.query.get("hub.challenge", "").encode()

    subscriber.challenged = hides
    await place.ask(mode="subscribe", topic=place.topic(), callback=subscriber.url)
    await place.settled(2)
    assert subscriber.modes() == ["subscribe", "denied"]
    assert place.rows(ended=True) == []


async def test_5_2_an_operator_revokes(place: Site, subscriber: Peer) -> None:
    one = await place.subscribe(f"{subscriber.url}/x")
    assert place.store.write_sync(websub.deny, {one: "enough & more"}) == 1
    assert place.store.write_sync(websub.deny, {one: "again"}) == 0
    await place.settled(2)
    assert subscriber.questions[1].query["hub.reason"] == "enough & more"
    await place.push()
    assert place.deliveries() == []


# 5.3 Hub Verifies Intent of the Subscriber


async def test_5_3_the_hub_s_question_has_the_required_parameters(
    place: Site, subscriber: Peer
) -> None:
    await place.subscribe(f"{subscriber.url}/x", lease_seconds="7200", secret="s")
    await place.ask(mode="unsubscribe", topic=place.topic(), callback=f"{subscriber.url}/x")
    await place.settled(2)
    first, second = subscriber.questions
    assert first.method == second.method == "GET"
    challenge = first.query["hub.challenge"]
    assert first.query == {
        "hub.mode": "subscribe",
        "hub.topic": place.topic(),
        "hub.challenge": challenge,
        "hub.lease_seconds": "7200",
    }
    assert second.query.keys() == {"hub.mode", "hub.topic", "hub.challenge"}
    assert second.query["hub.mode"] == "unsubscribe"
    assert "X-Hub-Signature" not in dict(first.fields)
    # Section 8.2: the challenge is random and used once.
    assert len(challenge) >= 32
    assert challenge != second.query["hub.challenge"]


async def test_5_3_leases_are_granted_within_bounds(place: Site, subscriber: Peer) -> None:
    for given, granted in (
        ("", 10 * DAY),
        ("0", 10 * DAY),
        ("60", 3600),
        ("86400", DAY),
        ("99999999999999", 30 * DAY),
    ):
        before = place.clock.now()
        await place.subscribe(subscriber.url, lease_seconds=given)
        assert subscriber.questions[-1].query["hub.lease_seconds"] == str(granted)
        lease = place.rows()[0]["lease_ends_at"] - before
        assert 0 <= lease - granted * 1_000_000 < 10_000_000


async def test_5_3_1_any_2xx_with_the_challenge_confirms(place: Site, subscriber: Peer) -> None:
    for status in (200, 201, 202, 299):
        await answering(place, subscriber, status, "{}")
        assert len(place.rows()) == 1
        place.store.write_sync(websub.end, {place.rows()[0]["id"]: "the next"})


async def answering(place: Site, subscriber: Peer, status: int, body: str) -> None:
    """Subscribe, and let the subscriber answer with `status` and `body`. `{}` is the challenge."""
    subscriber.challenged = lambda asked: (
        status,
        {"Location": f"{subscriber.url}/elsewhere?{asked.target.partition('?')[2]}"},
        body.format(asked.query["hub.challenge"]).encode(),
    )
    before = place.asked()
    callback = f"{subscriber.url}/x"
    await place.ask(mode="subscribe", topic=place.topic(), callback=callback)
    await place.settled(before + 1)


async def test_5_3_1_any_other_status_is_a_failure(place: Site, subscriber: Peer) -> None:
    statuses = (300, 301, 302, 307, 308, 400, 404, 410, 500, 503)
    for status in statuses:
        await answering(place, subscriber, status, "{}")
        assert place.rows(ended=True) == [], status
    assert len(subscriber.seen) == len(statuses), "a redirect is not followed"


async def test_5_3_1_a_body_that_is_not_the_challenge_is_a_failure(
    place: Site, subscriber: Peer
) -> None:
    for wrong in ("", "{}x", "{}\n", " {}", '"{}"', "ok"):
        await answering(place, subscriber, 200, wrong)
        assert place.rows(ended=True) == [], wrong


async def test_5_3_a_silent_subscriber_is_asked_again_a_few_times(place: Site) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        await asked_again(place, f"http://127.0.0.1:{silent.getsockname()[1]}/x")


async def asked_again(place: Site, callback: str) -> None:
    await place.ask(mode="subscribe", topic=place.topic(), callback=callback)

    def tried(times: int) -> bool:
        row = place.store.read_sync(lambda db: db.one("SELECT * FROM websub_request"))
        return row is not None and row["tries"] == times and row["taken_until"] == 0

    await until(lambda: tried(1))
    await place.pass_time(11)
    await until(lambda: tried(2))
    await place.pass_time(61)
    await place.settled(1)
    assert place.rows(ended=True) == []


async def test_5_3_a_callback_that_the_guard_refuses_is_never_dialled(
    anyio_backend: str, tmp_path: Path
) -> None:
    async with peer() as one, site(tmp_path, allow_networks=[], resolver=_loopback) as place:
        callback = f"http://127.0.0.1.nip.example:{one.port}/"
        await place.ask(mode="subscribe", topic=place.topic(), callback=callback)
        await until(lambda: place.store.read_sync(requests.page, limit=9)[0]["outcome"])
        assert "guard" in place.store.read_sync(requests.page, limit=9)[0]["outcome"]
        assert one.seen == []


async def _loopback(host: str, port: int) -> list[str]:
    return ["127.0.0.1"]


async def test_5_3_1_leases_are_enforced(place: Site, subscriber: Peer) -> None:
    await place.subscribe(f"{subscriber.url}/x", lease_seconds="3600")
    await place.pass_time(3590)
    await place.push()
    await received(subscriber)
    await place.pass_time(11)
    (row,) = place.rows(ended=True)
    assert row["reason"] == "the lease ended"
    await place.push()
    assert len(place.deliveries()) == 1
    assert subscriber.modes() == ["subscribe"]


async def test_5_3_1_many_leases_end_in_several_transactions(
    place: Site, subscriber: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[int] = []
    end = websub.end_found

    def spied(db: Connection, over: list[int], hidden: list[int]) -> None:
        ended.append(len(over))
        end(db, over, hidden)

    for number in range(5):
        await place.subscribe(f"{subscriber.url}/{number}", lease_seconds="3600")
    monkeypatch.setattr(websub, "MOST", 2)
    monkeypatch.setattr(websub, "end_found", spied)
    await place.pass_time(3601)
    assert {row["reason"] for row in place.rows(ended=True)} == {"the lease ended"}
    assert max(ended) == 2


async def test_5_3_1_nothing_is_sent_for_a_lease_that_is_over(
    place: Site, subscriber: Peer
) -> None:
    """An event after the end of the lease makes a delivery, which ends without a request."""
    await place.subscribe(f"{subscriber.url}/x", lease_seconds="3600")
    await place.advance(3601)
    await place.push()
    (row,) = await place.over()
    assert (row["state"], row["reason"]) == ("dead", "the lease has ended")
    assert subscriber.contents == []


async def test_5_3_1_a_retry_after_the_end_of_the_lease_is_not_sent(
    place: Site, subscriber: Peer
) -> None:
    subscriber.status = 500
    await place.subscribe(f"{subscriber.url}/x", lease_seconds="3600")
    await place.push()
    await received(subscriber)
    await until(lambda: place.deliveries()[0]["attempts"] == 1)
    subscriber.status = 204
    await place.pass_time(3601)
    (row,) = await place.over()
    assert (row["state"], len(subscriber.contents)) == ("dead", 1)


async def test_5_1_a_renewal_counts_at_once(place: Site, subscriber: Peer) -> None:
    await place.subscribe(f"{subscriber.url}/x", lease_seconds="3600")
    await place.push()
    await received(subscriber)
    await place.subscribe(f"{subscriber.url}/x", lease_seconds="7200")
    await place.advance(3601)
    await place.push()
    await received(subscriber, 2)


async def test_claimed_deliveries_are_not_sent_after_an_unsubscription(
    place: Site, subscriber: Peer
) -> None:
    one = await place.subscribe(f"{subscriber.url}/x")
    subscriber.opened.clear()
    for _ in range(12):
        await place.push()
    worker = place.worker.dispatcher
    await until(lambda: len(subscriber.contents) == worker.in_flight == FIRST_WINDOW)
    place.store.write_sync(websub.end, {one: "unsubscribed"})
    begun = len(subscriber.contents)
    subscriber.opened.set()
    await place.over()
    assert len(subscriber.contents) == begun < 12
    assert {row["state"] for row in place.deliveries()} == {"delivered", "dead"}


async def test_drafts_of_releases_are_not_distributed(place: Site, subscriber: Peer) -> None:
    path = "engine/events/release"
    await place.subscribe(f"{subscriber.url}/1", topic=place.topic(path))
    await place.subscribe(f"{subscriber.url}/2", topic=place.topic("engine/events.json"))
    public = b'{"release": {"draft": false, "name": "One", "tag_name": "1"}}'
    for body in (public, b'{"release": {"draft": true, "name": "Two"}}'):
        await place.push(body, path)
    await until(lambda: sorted(place.states()) == ["dead", *["delivered"] * 3])
    assert [one.body for one in subscriber.contents if one.target == "/1"] == [public]
    assert all(b"Two" not in one.body for one in subscriber.contents)
    assert (await place.client.get(place.topic(path))).content == public
    feed = (await place.client.get(place.topic("engine/events.json"))).json()
    assert [item["title"] for item in feed["items"]] == ["release: One"]


async def test_private_issue_fields_are_not_distributed(place: Site, subscriber: Peer) -> None:
    path = "engine/events/issues"
    await place.subscribe(f"{subscriber.url}/1", topic=place.topic(path))
    public = b'{"action":"field_added","issue_field":{"name":"One","visibility":"all"}}'
    hidden = public.replace(b"One", b"Two").replace(b'"all"', b'"organization_members_only"')
    unsaid = b'{"action":"field_removed","issue_field":{"name":"Three"}}'
    for body in (public, hidden, unsaid):
        await place.push(body, path)
    await until(lambda: sorted(place.states()) == ["dead", "dead", "delivered"])
    assert [one.body for one in subscriber.contents] == [public]
    assert (await place.client.get(place.topic(path))).content == public
    feed = await place.client.get(place.topic("engine/events.json"))
    assert len(feed.json()["items"]) == 1


async def test_a_payload_that_says_private_is_not_distributed(
    place: Site, subscriber: Peer
) -> None:
    await place.subscribe(f"{subscriber.url}/1", topic=place.topic("engine/events/push"))
    public = b'{"ref":"refs/heads/main","repository":{"private":false}}'
    for body in (public.replace(b"false", b"true"), public):
        await place.push(body, "engine/events/push")
    await until(lambda: sorted(place.states()) == ["dead", "delivered"])
    assert [one.body for one in subscriber.contents] == [public]


async def test_released_requests_are_due_for_the_next_worker(place: Site, subscriber: Peer) -> None:
    await place.worker.websub.stop()
    await place.ask(mode="subscribe", topic=place.topic(), callback=subscriber.url)
    assert place.store.read_sync(requests.any_due)
    taken = place.store.write_sync(requests.claim, 10)
    assert not place.store.read_sync(requests.any_due)
    place.store.write_sync(requests.release, [row["id"] for row in taken])
    assert place.store.read_sync(requests.any_due)


# 7. Content Distribution


async def test_7_a_distribution_has_the_required_headers(place: Site, subscriber: Peer) -> None:
    await place.subscribe(f"{subscriber.url}/x")
    await place.push()
    (content,) = await received(subscriber)
    assert (content.method, content.target) == ("POST", "/x")
    topic = await place.client.get(place.topic())
    assert content.body == topic.content == PUSH
    assert content.one("Content-Type") == topic.headers["Content-Type"] == "application/json"
    assert content.one("Link") == f'<{place.hub}>; rel="hub", <{place.topic()}>; rel="self"'
    assert {name for name, _ in content.fields} == {
        "Host",
        "User-Agent",
        "Accept",
        "Content-Type",
        "Link",
        "Content-Length",
    }
    assert "GitHub" not in content.one("User-Agent")


@pytest.mark.parametrize("key", ["events.json", "events.atom"])
async def test_7_a_feed_is_sent_as_it_is(place: Site, subscriber: Peer, key: str) -> None:
    topic = place.topic(f"engine/{key}")
    await place.subscribe(f"{subscriber.url}/x", topic=topic)
    await place.push(path="engine/events/secret_scanning_alert")
    for many in (1, 2):
        await place.push()
        content = (await received(subscriber, many))[many - 1]
        page = await place.client.get(topic)
        assert content.body == page.content
        assert content.one("Content-Type") == page.headers["Content-Type"]
        assert content.one("Link") == f'<{place.hub}>; rel="hub", <{topic}>; rel="self"'
    assert len(place.deliveries()) == 2


async def test_7_any_2xx_is_a_success(place: Site, subscriber: Peer) -> None:
    await place.subscribe(f"{subscriber.url}/x")
    for many, status in enumerate((200, 201, 202, 204, 299), 1):
        subscriber.status = status
        await place.push()
        await place.over()
        assert place.states() == ["delivered"] * many


async def test_7_all_else_is_a_failure_and_tried_again(place: Site, subscriber: Peer) -> None:
    await place.subscribe(f"{subscriber.url}/x")
    for many, status in enumerate((302, 307, 308, 400, 404, 500)):
        subscriber.status = status
        await place.push()
        row = (await place.over())[-1]
        assert (row["state"], row["attempts"]) == ("waiting", 1)
        subscriber.status = 204
        await place.pass_time(6)
        await place.over()
        assert place.states() == ["delivered"] * (many + 1)
    assert {one.target for one in subscriber.contents} == {"/x"}, "a redirect is not followed"


async def test_7_failing_ends_the_delivery_and_not_the_subscription(
    anyio_backend: str, tmp_path: Path, url: str, subscriber: Peer
) -> None:
    async with site(tmp_path, url, retries=[0, 5], breaker=0) as place:
        await place.subscribe(f"{subscriber.url}/x", lease_seconds=str(30 * DAY))
        subscriber.status = 500
        for many in (1, 2, 3):
            await place.push()
            await place.over()
            await place.pass_time(6)
            await until(lambda: place.states() == ["dead"] * many)  # noqa: B023 - waited for here
            # Other hooks would be disabled after they had failed for this long.
            await place.pass_time(6 * DAY)
        subscriber.status = 204
        assert len(place.rows()) == 1
        await place.push()
        await until(lambda: place.states()[-1] == "delivered")


async def test_7_410_ends_the_subscription(place: Site, subscriber: Peer) -> None:
    await place.subscribe(f"{subscriber.url}/x")
    subscriber.status = 410
    await place.push()
    await until(lambda: place.rows() == [])
    (row,) = place.rows(ended=True)
    assert row["reason"] == "the receiver answered 410 Gone"
    await place.push()
    assert len(place.deliveries()) == 1
    assert subscriber.modes() == ["subscribe"]
    subscriber.status = 204
    await place.subscribe(f"{subscriber.url}/x")
    await place.push()
    await received(subscriber, 2)


async def test_7_410_of_an_earlier_request_leaves_a_renewed_subscription(
    place: Site, subscriber: Peer
) -> None:
    """The subscriber answers a slow request as it was before it subscribed again."""
    await place.subscribe(f"{subscriber.url}/x")
    subscriber.status = 410
    subscriber.opened.clear()
    await place.push()
    await received(subscriber)
    subscriber.status = 204
    await place.subscribe(f"{subscriber.url}/x", secret="new")
    subscriber.opened.set()
    await until(lambda: place.states()[0] in ("dead", "delivered"))
    assert place.states() == ["delivered"]
    assert subscriber.contents[1].signed_by("new")
    assert len(place.rows()) == 1


async def test_7_the_pause_of_a_subscriber_survives_a_restart(
    anyio_backend: str, tmp_path: Path, url: str, subscriber: Peer
) -> None:
    async with site(tmp_path, url) as place:
        number = await place.subscribe(f"{subscriber.url}/x")
        until_then = place.clock.now() + 3_600 * SECOND
        place.store.write_sync(websub.hold, {-number: (place.rows()[0]["version"], until_then)})
        token = place.token
    async with site(tmp_path, url, token) as place:
        await place.push()
        await until(lambda: place.worker.dispatcher.lanes.get(-number).held_until == until_then)
        assert subscriber.contents == []
        await place.pass_time(3_600)
        await received(subscriber)


async def test_7_a_pause_that_an_earlier_request_asks_for_leaves_a_renewed_subscription(
    place: Site, subscriber: Peer
) -> None:
    """The subscriber answers a slow request as it was before it subscribed again."""
    await place.subscribe(f"{subscriber.url}/x")
    subscriber.status, subscriber.fields = 503, {"Retry-After": "3600"}
    subscriber.opened.clear()
    await place.push()
    await received(subscriber)
    subscriber.status, subscriber.fields = 204, {}
    await place.subscribe(f"{subscriber.url}/x", secret="new")
    await place.push()
    await received(subscriber, 2)
    subscriber.opened.set()
    await until(lambda: [row["attempts"] for row in place.deliveries()] == [1, 1])
    await place.push()
    await received(subscriber, 3)


# 7.1 Authenticated Content Distribution


@pytest.mark.parametrize("method", ["sha1", "sha256", "sha384", "sha512"])
async def test_7_1_content_is_signed(
    anyio_backend: str, tmp_path: Path, url: str, subscriber: Peer, method: str
) -> None:
    async with site(tmp_path, url, websub_signature=method) as place:
        await place.subscribe(f"{subscriber.url}/x", secret="schlüssel")
        await place.push()
        (content,) = await received(subscriber)
        assert content.one("X-Hub-Signature").startswith(f"{method}=")
        assert content.signed_by("schlüssel")


async def test_8_2_the_hub_does_not_store_secrets_in_the_clear(
    place: Site, subscriber: Peer
) -> None:
    await place.subscribe(f"{subscriber.url}/x", secret="a secret that is told to nobody")
    kept = place.store.read_sync(lambda db: db.all("SELECT * FROM websub_request"))
    assert [row["secret"] for row in kept] == [None]
    assert b"nobody" not in place.rows()[0]["secret"]


async def test_the_hub_seals_a_subscribers_token_until_it_is_sent_back(
    place: Site, subscriber: Peer
) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        callback = f"http://127.0.0.1:{silent.getsockname()[1]}/x"
        await place.ask(
            mode="subscribe", topic=place.topic(), callback=callback, verify_token="in the clear"
        )
    (kept,) = place.store.read_sync(lambda db: db.all("SELECT * FROM websub_request"))
    assert b"in the clear" not in kept["verify_token"]
    assert place.store.read_sync(requests.verify_token_of, kept) == "in the clear"
    # The first request is tried for longer than a minute, so nothing waits for it.
    form = {"topic": place.topic(), "callback": f"{subscriber.url}/x"}
    await place.ask(mode="subscribe", verify_token="in the clear", **form)
    sent = "SELECT verify_token FROM websub_request WHERE id > 1 AND done_at IS NOT NULL"
    done = await until(lambda: place.store.read_sync(lambda db: db.tuples(sent)))
    assert subscriber.questions[0].query["hub.verify_token"] == "in the clear"
    assert [*done] == [(None,)]


async def test_a_token_that_does_not_open_ends_the_request(
    place: Site, subscriber: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(db: object, request: object) -> str:
        raise Unusable("it does not open")

    monkeypatch.setattr(requests, "verify_token_of", fail)
    form = {"topic": place.topic(), "callback": f"{subscriber.url}/x"}
    await place.ask(mode="subscribe", verify_token="x", **form)
    await place.settled(1)
    assert place.rows() == []
    (row,) = place.store.read_sync(lambda db: db.all("SELECT * FROM websub_request"))
    assert row["outcome"] == "not verified: secret: it does not open"


async def test_switched_off_nothing_is_sent(anyio_backend: str, tmp_path: Path, url: str) -> None:
    async with peer() as subscriber:
        async with site(tmp_path, url) as place:
            await place.subscribe(f"{subscriber.url}/x")
        async with site(tmp_path, url, seeded=place.token, websub=False) as place:
            await place.push()
            (row,) = await place.over()
            assert row["state"] == "dead"
            await place.pass_time(30 * DAY)
            assert [row["reason"] for row in place.rows(ended=True)] == ["the lease ended"]
            await place.push()
            assert len(place.deliveries()) == 1
        assert subscriber.contents == []


async def test_requests_that_wait_end_a_day_after_it_was_switched_off(
    anyio_backend: str, tmp_path: Path, url: str
) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        callback = f"http://127.0.0.1:{silent.getsockname()[1]}/x"
        async with site(tmp_path, url) as place:
            form = {"topic": place.topic(), "callback": callback, "secret": "until it ends"}
            await place.ask(mode="subscribe", **form)
            await until(lambda: requested(place)["outcome"])
    async with site(tmp_path, url, seeded=place.token, websub=False) as place:
        await pruned_after(place, DAY // 2)
        assert requested(place)["done_at"] is None
        await pruned_after(place, DAY)
        done = requested(place)
        assert done["outcome"] == "not sent: the setting websub is off"
        assert (done["done_at"] is None, done["secret"]) == (False, None)
        await pruned_after(place, DAY)
        assert place.asked() == 0


def requested(place: Site) -> Row:
    return required(place.store.read_sync(lambda db: db.one("SELECT * FROM websub_request")))


async def pruned_after(place: Site, seconds: int) -> None:
    place.clock.by += seconds
    on_time = [JobSchedule("prune", "now", place.clock.now())]
    place.store.write_sync(jobs.save_schedules, on_time)
    await prune(place.store, place.settings, pause=0)


async def test_ended_subscriptions_are_pruned(place: Site, subscriber: Peer) -> None:
    await place.subscribe(f"{subscriber.url}/x")
    await place.subscribe(f"{subscriber.url}/y")
    place.store.write_sync(websub.deny, {1: "x"})
    await place.settled(3)
    place.clock.by += 31 * DAY
    on_time = [JobSchedule("prune", "now", place.clock.now())]
    place.store.write_sync(jobs.save_schedules, on_time)
    await prune(place.store, WorkerSettings())
    assert [row["id"] for row in place.rows(ended=True)] == [2]
    assert place.asked() == 0
