"""Static headers of a hook: requests have them, and records show no secret value."""

import json
from base64 import b64encode
from collections.abc import Callable

import pytest
from worker_harness import WorkerHarness, said

from store.clock import MovableClock
from store.hooks.hook_options import DeliveryOptions
from store.hooks.trial import TrialRequest
from worker.delivery.trial import TrialSender
from worker.http.guard import Guard
from worker.settings import WorkerSettings

TOKEN = "hunter2-hunter2"
HEADERS = {"Authorization": f"Bearer {TOKEN}", "X-Env": "live"}


async def test_a_delivery_with_headers(harness: WorkerHarness) -> None:
    hook_id = harness.hook(options={"headers": HEADERS}, secret="open sesame")
    answered = f"Bearer {TOKEN} and {TOKEN}".encode()
    await harness.work()
    harness.network.script = lambda post: said(body=answered, head=f"X-Seen: {TOKEN}".encode())
    await harness.event()
    await harness.over(delivered=1)
    (post,) = harness.network.posts
    assert post.headers["authorization"] == f"Bearer {TOKEN}"
    assert post.headers["x-env"] == "live"
    assert post.head.endswith(b"\r\n\r\n")
    (attempt,) = await harness.recorded(hook_id, 1)
    assert attempt["response_body"] == "******** and ********"
    assert TOKEN not in repr(attempt)
    recorded = {name.lower(): value for name, value in attempt["request_headers"].items()}
    assert recorded == post.headers | {"authorization": "********"}, (
        "other headers are recorded as they were sent"
    )


@pytest.mark.parametrize(
    "echo",
    [
        json.dumps,
        lambda text: json.dumps(text, ensure_ascii=False),
        lambda text: json.dumps(text).replace("/", "\\/"),
        lambda text: json.dumps(text).replace("&", "\\u0026").replace("<", "\\u003c"),
        lambda text: json.dumps(text).replace("=", "\\u003d").replace("/", "\\/"),
        lambda text: "".join(['"', *(f"\\u{ord(one):04X}" for one in text), '"']),
    ],
    ids=["ascii", "utf-8", "slashes", "html", "equals", "codes"],
)
async def test_secrets_in_json_are_masked(
    harness: WorkerHarness, echo: Callable[[str], str]
) -> None:
    """Receivers that answer with JSON may escape characters of the secrets."""
    headers = {"Authorization": "Basic ZGVlcA/+c2Vj==", "X-Api-Key": 'a"b\\c&d<e-1234'}
    secrets = ["Basic ZGVlcA/+c2Vj==", "ZGVlcA/+c2Vj==", headers["X-Api-Key"], "söster/one"]
    hook_id = harness.hook(options={"headers": headers}, secret=secrets[-1])
    answered = f"[{', '.join(echo(secret) for secret in secrets)}]"
    await harness.work()
    harness.network.script = lambda post: said(body=answered.encode())
    await harness.event()
    (attempt,) = await harness.recorded(hook_id, 1)
    assert attempt["response_body"] == str(["********"] * 4).replace("'", '"')


async def test_a_header_that_contains_the_secret_is_masked_whole(harness: WorkerHarness) -> None:
    headers = {"X-Api-Key": "open-sesame-1234"}
    hook_id = harness.hook(options={"headers": headers}, secret="open-sesame")
    await harness.work()
    harness.network.script = lambda post: said(body=headers["X-Api-Key"].encode())
    await harness.event()
    (attempt,) = await harness.recorded(hook_id, 1)
    assert attempt["response_body"] == "********"


async def test_headers_of_an_ordered_hook(harness: WorkerHarness) -> None:
    harness.hook(options={"headers": HEADERS, "ordering": "hook"})
    await harness.work()
    await harness.event()
    await harness.over(delivered=1)
    (post,) = harness.network.posts
    assert post.headers["webhook-sequence"] == "1"
    assert post.headers["x-env"] == "live"


async def test_without_headers_the_target_has_no_access(harness: WorkerHarness) -> None:
    hook_id = harness.hook()
    worker = await harness.work()
    await harness.event()
    await harness.over(delivered=1)
    target = worker.dispatcher.lanes.get(hook_id).target
    assert target is not None
    assert target.access is None


@pytest.mark.parametrize("sends", [True, False])
async def test_a_trial_with_headers(harness: WorkerHarness, sends: bool) -> None:
    basic = b64encode(b"ada:open sesame").decode()
    trial = TrialRequest(
        repo_id=1, url="https://receiver.example/in", content_type="json", insecure_ssl=False,
        secret=None, event="push", guid="g", body=b"{}",
        options=DeliveryOptions(headers={"Authorization": f"Basic {basic}"}),
    )  # fmt: skip
    sender = TrialSender(Guard(), WorkerSettings(), MovableClock(), harness.network)
    answer = await sender.send(trial) if sends else sender.build(trial)
    assert "Authorization: ********" in answer.request_head
    assert basic not in repr(answer) + repr(trial)
    assert [post.headers["authorization"] for post in harness.network.posts] == (
        [f"Basic {basic}"] if sends else []
    )
