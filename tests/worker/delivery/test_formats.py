"""Deliveries in each payload format: their headers and bodies, and signatures of these bodies."""

import orjson
import pytest
from waiting import until
from worker_harness import WorkerHarness

from store.formats.formats import FORMATS, JSON
from worker.signing.sign import Signer

BODY = b'{"ref": "refs/heads/main", "repository": {"full_name": "ada/bells"}}'
SECRET = "s3cret"


@pytest.mark.parametrize("format_", FORMATS)
async def test_each_format_is_sent_with_its_signatures(
    harness: WorkerHarness, format_: str
) -> None:
    options = {"format": format_}
    hook_id = harness.hook(options=options, secret=SECRET, content_type="form")
    await harness.work()
    await harness.event(BODY)
    await harness.recorded(hook_id, 1)
    (post,) = harness.network.posts
    headers = post.headers
    signer = Signer(SECRET)
    assert headers["x-hub-signature-256"] == signer.sha256(post.body)
    signed = signer.standard(headers["webhook-id"], int(headers["webhook-timestamp"]), post.body)
    assert headers["webhook-signature"] == signed
    assert int(headers["content-length"]) == len(post.body)
    if format_ == "platform":
        assert "webhook-format" not in headers
        assert headers["content-type"] == "application/x-www-form-urlencoded"
        return
    assert headers["webhook-format"] == format_
    structured = format_ == "cloudevents_structured"
    assert headers["content-type"] == ("application/cloudevents+json" if structured else JSON)
    orjson.loads(post.body)


async def test_the_types_begin_as_the_hook_says(harness: WorkerHarness) -> None:
    harness.hook(options={"format": "cloudevents_binary", "type_prefix": "com.github"})
    await harness.work()
    await harness.event(BODY)
    await until(lambda: bool(harness.network.posts))
    headers = harness.network.posts[0].headers
    assert headers["ce-type"] == "com.github.push"
    assert headers["ce-id"] == headers["webhook-id"]
    assert harness.network.posts[0].body == BODY


async def test_a_change_of_the_format_is_noticed(harness: WorkerHarness) -> None:
    hook_id = harness.hook()
    await harness.work()
    await harness.event(BODY)
    await harness.recorded(hook_id, 1)
    harness.edit(hook_id, options={"format": "thin"})
    await harness.event(BODY)
    await harness.recorded(hook_id, 2)
    first, second = harness.network.posts
    assert first.body == BODY
    assert orjson.loads(second.body)["type"] == "push"


async def test_a_payload_without_a_repository_gets_the_event_s(harness: WorkerHarness) -> None:
    repo = {"id": harness.repo["id"], "full_name": harness.repo["full_name"], "url": None}
    harness.hook(options={"format": "thin"})
    harness.hook(options={"format": "cloudevents_binary"})
    harness.hook()
    bare = b'{"ref": "refs/heads/main"}'
    receipt = await harness.event(bare)
    await harness.work()
    await until(lambda: len(harness.network.posts) == 3)
    later = await harness.event(bare)
    await until(lambda: len(harness.network.posts) == 6)
    posts = {
        (post.headers["webhook-id"], post.headers.get("webhook-format")): post
        for post in harness.network.posts
    }
    for guid in (receipt.guid, later.guid):
        assert orjson.loads(posts[guid, "thin"].body)["repository"] == repo
        source = posts[guid, "cloudevents_binary"].headers["ce-source"]
        assert source == f"/repos/{repo['full_name']}"
        assert posts[guid, "cloudevents_binary"].body == posts[guid, None].body == bare


async def test_a_recorded_attempt_has_the_repository_of_its_format(harness: WorkerHarness) -> None:
    hook_id = harness.hook(options={"format": "thin"})
    await harness.work()
    for body in (b"{}", BODY):
        await harness.event(body)
    own = {"id": harness.repo["id"], "full_name": harness.repo["full_name"]}
    # Both are sent at once, so either attempt may be recorded first.
    found = sorted(await harness.recorded(hook_id, 2), key=lambda one: one["event_id"])
    assert [one["event_repository"] for one in found] == [own, {}]
