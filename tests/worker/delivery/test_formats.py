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
