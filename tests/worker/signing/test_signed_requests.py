"""Signed requests, verified by independent libraries."""

import hashlib
import hmac
import json
from base64 import b64encode
from email.parser import BytesHeaderParser
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from receivers import ok, serving
from standardwebhooks import Webhook, WebhookVerificationError
from waiting import until
from worker_harness import Post, WorkerHarness, said

from hub import __version__
from store.clock import SECOND, MovableClock
from store.delivery import deliveries
from store.hooks.hook_targets import SYSTEM, organization
from worker.settings import USER_AGENT

PAYLOAD = json.dumps(
    {"ref": "refs/heads/main", "text": "a+b & c=d %41 ü 日本\n"}, indent=1
).encode()
SECRET = "open sesame"


async def one_post(harness: WorkerHarness, body: bytes = PAYLOAD, **hook: object) -> Post:
    """Create a hook, deliver one event to it, and return the request."""
    harness.hook(**hook)
    await harness.work()
    await harness.event(body, guid="72d3162e-cc78-11e3-81ab-4c9367dc0958")
    await harness.over(delivered=1)
    (post,) = harness.network.posts
    return post


def hexdigest(secret: str, body: bytes, kind: str) -> str:
    return f"{kind}=" + hmac.new(secret.encode(), body, getattr(hashlib, kind)).hexdigest()


async def test_the_headers_of_a_delivery(harness: WorkerHarness) -> None:
    post = await one_post(harness, url="https://h1.example:8443/a%20b?c=d")
    assert post.head.startswith(b"POST /a%20b?c=d HTTP/1.1\r\n")
    expected = {
        "host": "h1.example:8443",
        "user-agent": USER_AGENT,
        "accept": "*/*",
        "content-type": "application/json",
        "content-length": str(len(PAYLOAD)),
        "webhook-id": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
        "webhook-timestamp": str(harness.clock.now() // SECOND),
    }
    for prefix in ("x-service-", "x-github-"):
        expected |= {
            f"{prefix}event": "push",
            f"{prefix}delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
            f"{prefix}hook-id": "1",
            f"{prefix}hook-installation-target-type": "repository",
            f"{prefix}hook-installation-target-id": str(harness.repo["id"]),
        }
    assert post.headers == expected
    assert post.body == PAYLOAD


@pytest.mark.parametrize("stored_before", [False, True])
async def test_headers_name_the_target_of_organization_and_system_hooks(
    harness: WorkerHarness, stored_before: bool
) -> None:
    targets = [organization(harness.repo["owner_id"]), SYSTEM]
    made = [harness.hook(target=target) for target in targets]
    if stored_before:
        await harness.event()
    await harness.work()
    if not stored_before:
        await harness.event()
    await harness.over(delivered=2)
    found = {post.headers["x-service-hook-id"]: post.headers for post in harness.network.posts}
    for hook_id, target in zip(made, targets, strict=True):
        headers = found[str(hook_id)]
        assert headers["x-service-hook-installation-target-type"] == target.kind
        assert headers["x-service-hook-installation-target-id"] == str(target.id)
        (attempt,) = await harness.recorded(hook_id, 1)
        assert attempt["repo_id"] == harness.repo["id"]


def test_the_user_agent_has_the_platform_s_form() -> None:
    digits = hashlib.sha256(__version__.encode()).hexdigest()[:7]
    assert f"GitHub-Hookshot/{digits}" == USER_AGENT


async def test_the_prefixes_and_the_user_agent_are_settings(harness: WorkerHarness) -> None:
    harness.hook(secret=SECRET)
    await harness.work(header_prefixes=["X-Acme-"], user_agent="acme/1")
    await harness.event()
    await harness.over(delivered=1)
    (post,) = harness.network.posts
    assert post.headers["x-acme-event"] == "push"
    assert post.headers["user-agent"] == "acme/1"
    assert not [name for name in post.headers if name.startswith(("x-github", "x-service"))]
    assert "x-hub-signature-256" in post.headers


async def test_without_a_secret_nothing_is_signed(harness: WorkerHarness) -> None:
    post = await one_post(harness)
    assert not [name for name in post.headers if "signature" in name]


@pytest.mark.parametrize("secret", [SECRET, "ünïcödé ✓", "whsec_" + b64encode(b"k" * 24).decode()])
@pytest.mark.parametrize("content_type", ["json", "form"])
async def test_hub_signatures_over_the_exact_bytes(
    harness: WorkerHarness, secret: str, content_type: str
) -> None:
    post = await one_post(harness, secret=secret, content_type=content_type)
    assert post.headers["x-hub-signature"] == hexdigest(secret, post.body, "sha1")
    assert post.headers["x-hub-signature-256"] == hexdigest(secret, post.body, "sha256")


async def test_a_form_parser_reads_the_payload(harness: WorkerHarness) -> None:
    post = await one_post(harness, content_type="form")
    assert post.headers["content-type"] == "application/x-www-form-urlencoded"
    assert int(post.headers["content-length"]) == len(post.body)
    fields = parse_qs(post.body.decode("ascii"), strict_parsing=True)
    assert list(fields) == ["payload"]
    assert fields["payload"] == [PAYLOAD.decode()]
    assert json.loads(fields["payload"][0]) == json.loads(PAYLOAD)


async def test_a_delivery_matches_the_official_vector(harness: WorkerHarness) -> None:
    async with serving(ok) as receiver:
        harness.hook(receiver.url, secret="It's a Secret to Everybody")
        await harness.work(real=True)
        await harness.event(b"Hello, World!")
        await harness.over(delivered=1)
        await harness.rest()
    assert receiver.bodies == [b"Hello, World!"]
    headers = BytesHeaderParser().parsebytes(receiver.heads[0].partition(b"\r\n")[2])
    assert headers.get_all("X-Hub-Signature-256") == [
        "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    ]
    assert headers["X-Hub-Signature"] == hexdigest(
        "It's a Secret to Everybody", b"Hello, World!", "sha1"
    )


@pytest.mark.parametrize(
    ("secret", "key"),
    [
        ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
        (SECRET, b64encode(SECRET.encode()).decode()),
        ("ünïcödé ✓", b64encode("ünïcödé ✓".encode()).decode()),
    ],
)
@pytest.mark.parametrize("content_type", ["json", "form"])
async def test_standard_webhooks_verified_by_their_package_and_by_svix(
    tmp_path: Path, url: str, secret: str, key: str, content_type: str
) -> None:
    # Imported here, because the import takes a third of a second and only this test needs it.
    from svix.webhooks import Webhook as SvixWebhook

    harness = WorkerHarness(
        tmp_path, MovableClock(), url
    )  # the package compares the timestamp with the system clock
    try:
        post = await one_post(harness, b'{"a":1}', secret=secret, content_type=content_type)
        verifier = Webhook(key)
        body = post.body.decode()
        if content_type == "json":
            assert verifier.verify(body, post.headers) == {"a": 1}
        else:
            # The signature is valid, but the package expects JSON and the body is a form.
            with pytest.raises(json.JSONDecodeError):
                verifier.verify(body, post.headers)
        SvixWebhook(key).verify(body, post.headers)
        for name, value in (("webhook-id", "other"), ("webhook-signature", "v1,AAAA")):
            with pytest.raises(WebhookVerificationError):
                verifier.verify(body, post.headers | {name: value})
        for each in (verifier, SvixWebhook(key)):
            with pytest.raises(WebhookVerificationError):
                each.verify(body + " ", post.headers)
    finally:
        await harness.close()


async def test_the_guid_stays_and_the_timestamp_moves(harness: WorkerHarness) -> None:
    answers = [said(500), said(500), said(), said()]
    harness.network.script = lambda post: answers.pop(0)
    hook_id = harness.hook(secret=SECRET)
    await harness.work()
    receipt = await harness.event(guid="g-stays")
    await harness.recorded(hook_id, 1)
    await harness.pass_time(5)
    await harness.recorded(hook_id, 2)
    await harness.pass_time(300)
    await harness.over(delivered=1)
    await harness.pass_time(1000)
    harness.store.write_sync(deliveries.redeliver, receipt.event_id, hook_id, harness.repo["id"])
    await harness.over(delivered=2)
    posts = harness.network.posts
    for name in ("x-github-delivery", "x-service-delivery", "webhook-id"):
        assert [post.headers[name] for post in posts] == ["g-stays"] * 4
    start = int(posts[0].headers["webhook-timestamp"])
    moments = [int(post.headers["webhook-timestamp"]) - start for post in posts]
    assert moments == [0, 5, 305, 1305]
    signatures = {post.headers["webhook-signature"] for post in posts}
    assert len(signatures) == 4
    assert len({post.headers["x-hub-signature-256"] for post in posts}) == 1
    flags = [row["redelivery"] for row in harness.attempts(hook_id)]
    assert flags[0] == 0
    assert flags[3] == 1


async def test_one_guid_for_all_hooks_of_an_event(harness: WorkerHarness) -> None:
    for _ in range(3):
        harness.hook()
    await harness.work()
    await harness.event(guid="g-1")
    await harness.over(delivered=3)
    assert {post.guid for post in harness.network.posts} == {"g-1"}
    assert sorted(post.headers["x-github-hook-id"] for post in harness.network.posts) == list("123")


async def test_tls_and_deadline_are_the_hooks(harness: WorkerHarness) -> None:
    harness.hook()
    harness.hook(insecure_ssl=True, options={"timeout": 3.5})
    await harness.work()
    await harness.event()
    await harness.over(delivered=2)
    (first,) = harness.network.to("h1.example")
    (second,) = harness.network.to("h2.example")
    assert (first.verify_tls, first.deadline) == (True, 10.0)
    assert (second.verify_tls, second.deadline) == (False, 3.5)


async def test_a_large_body_arrives_whole(harness: WorkerHarness) -> None:
    body = json.dumps({"data": "0123456789abcdef" * 65536}).encode()
    async with serving(ok) as receiver:
        harness.hook(receiver.url, secret=SECRET, content_type="form")
        await harness.work(real=True)
        await harness.event(body)
        await harness.over(delivered=1)
        await harness.rest()
    assert parse_qs(receiver.bodies[0].decode()) == {"payload": [body.decode()]}
    headers = BytesHeaderParser().parsebytes(receiver.heads[0].partition(b"\r\n")[2])
    assert headers["X-Hub-Signature-256"] == hexdigest(SECRET, receiver.bodies[0], "sha256")


async def test_the_repr_of_a_target_shows_no_secret(harness: WorkerHarness) -> None:
    harness.hook(secret=SECRET)
    worker = await harness.work()
    await harness.event()
    await harness.over(delivered=1)
    await until(lambda: worker.dispatcher.in_flight == 0)
    assert SECRET not in repr([*worker.dispatcher.lanes])
