"""Deliveries in other formats: what is sent, and that exactly these bytes are signed."""

import orjson
import pytest
from house import House
from waiting import until

from store.formats.formats import FORMATS, JSON
from worker.delivery.sign import Signer

BODY = b'{"ref": "refs/heads/main", "repository": {"full_name": "ada/bells"}}'
SECRET = "s3cret"


@pytest.mark.parametrize("format_", FORMATS)
async def test_a_delivery_in_each_format(house: House, format_: str) -> None:
    options = {"format": format_}
    hook_id = house.hook(options=options, secret=SECRET, content_type="form")
    await house.work()
    await house.event(BODY)
    await house.recorded(hook_id, 1)
    (post,) = house.network.posts
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


async def test_the_types_begin_as_the_hook_says(house: House) -> None:
    house.hook(options={"format": "cloudevents_binary", "type_prefix": "com.github"})
    await house.work()
    await house.event(BODY)
    await until(lambda: bool(house.network.posts))
    headers = house.network.posts[0].headers
    assert headers["ce-type"] == "com.github.push"
    assert headers["ce-id"] == headers["webhook-id"]
    assert house.network.posts[0].body == BODY


async def test_a_change_of_the_format_is_noticed(house: House) -> None:
    hook_id = house.hook()
    await house.work()
    await house.event(BODY)
    await house.recorded(hook_id, 1)
    house.edit(hook_id, options={"format": "thin"})
    await house.event(BODY)
    await house.recorded(hook_id, 2)
    first, second = house.network.posts
    assert first.body == BODY
    assert orjson.loads(second.body)["type"] == "push"
