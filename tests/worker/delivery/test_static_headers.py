"""Static headers on the wire, and their secret values nowhere else."""

from base64 import b64encode

import pytest
from house import House, said

from store.clock import MovableClock
from store.hooks.hook_options import DeliveryOptions
from store.hooks.trial import TrialRequest
from worker.delivery.trial import TrialSender
from worker.http.guard import Guard
from worker.settings import WorkerSettings

TOKEN = "hunter2-hunter2"
HEADERS = {"Authorization": f"Bearer {TOKEN}", "X-Env": "live"}


async def test_a_delivery_with_headers(house: House) -> None:
    hook_id = house.hook(options={"headers": HEADERS}, secret="open sesame")
    answered = f"Bearer {TOKEN} and {TOKEN}".encode()
    await house.work()
    house.network.script = lambda post: said(body=answered, head=f"X-Seen: {TOKEN}".encode())
    await house.event()
    await house.over(delivered=1)
    (post,) = house.network.posts
    assert post.headers["authorization"] == f"Bearer {TOKEN}"
    assert post.headers["x-env"] == "live"
    assert post.head.endswith(b"\r\n\r\n")
    (attempt,) = await house.recorded(hook_id, 1)
    assert attempt["response_body"] == "******** and ********"
    assert TOKEN not in repr(attempt)
    recorded = {name.lower(): value for name, value in attempt["request_headers"].items()}
    assert recorded == post.headers | {"authorization": "********"}, "all else is as it was sent"


async def test_headers_of_an_ordered_hook(house: House) -> None:
    house.hook(options={"headers": HEADERS, "ordering": "hook"})
    await house.work()
    await house.event()
    await house.over(delivered=1)
    (post,) = house.network.posts
    assert post.headers["webhook-sequence"] == "1"
    assert post.headers["x-env"] == "live"


async def test_without_headers_the_target_has_no_access(house: House) -> None:
    hook_id = house.hook()
    worker = await house.work()
    await house.event()
    await house.over(delivered=1)
    target = worker.dispatcher.lanes.get(hook_id).target
    assert target is not None
    assert target.access is None


@pytest.mark.parametrize("sends", [True, False])
async def test_a_trial_with_headers(house: House, sends: bool) -> None:
    basic = b64encode(b"ada:open sesame").decode()
    trial = TrialRequest(
        repo_id=1, url="https://receiver.example/in", content_type="json", insecure_ssl=False,
        secret=None, event="push", guid="g", body=b"{}",
        options=DeliveryOptions(headers={"Authorization": f"Basic {basic}"}),
    )  # fmt: skip
    sender = TrialSender(Guard(), WorkerSettings(), MovableClock(), house.network)
    answer = await sender.send(trial) if sends else sender.build(trial)
    assert "Authorization: ********" in answer.request_head
    assert basic not in repr(answer) + repr(trial)
    assert [post.headers["authorization"] for post in house.network.posts] == (
        [f"Basic {basic}"] if sends else []
    )
