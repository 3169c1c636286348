"""Trials: requests outside the queue, with the headers, body and signatures of a delivery."""

import asyncio
import hashlib
import hmac
from base64 import b64decode
from typing import Any

import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from receivers import LOOPBACK, ok, serving
from worker_harness import Network, Post, said

from store.clock import MovableClock
from store.errors import Busy
from store.hooks.hook_options import DeliveryOptions
from store.hooks.signing_keys import SigningKey
from store.hooks.trial import TrialRequest
from worker.delivery.trial import AT_ONCE, LONGEST, TrialSender
from worker.http.guard import Guard
from worker.settings import WorkerSettings

SECRET = "open sesame"


def a_trial(**given: Any) -> TrialRequest:
    usual: dict[str, Any] = {
        "repo_id": 3,
        "url": "https://receiver.example/in",
        "content_type": "json",
        "insecure_ssl": False,
        "secret": SECRET,
        "event": "push",
        "guid": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
        "body": b'{"a": "b c"}',
    }
    return TrialRequest(**usual | given)


def sender(network: Network | None = None, **guard: Any) -> TrialSender:
    return TrialSender(Guard(**guard), WorkerSettings(), MovableClock(), network or Network())


async def test_a_trial_is_signed_and_the_secret_masked_in_the_answer() -> None:
    network = Network(lambda post: said(401, body=f"no: {SECRET}".encode()))
    answer = await sender(network).send(a_trial(insecure_ssl=True))
    (post,) = network.posts
    digest = hmac.new(SECRET.encode(), post.body, hashlib.sha256).hexdigest()
    assert post.headers["x-hub-signature-256"] == f"sha256={digest}"
    assert post.headers["x-github-event"] == "push"
    assert post.verify_tls is False
    assert answer.request_head.encode() == post.head
    assert (answer.status_code, answer.response_body) == (401, "no: ********")
    assert not answer.succeeded


async def test_a_trial_is_signed_with_the_keys_of_the_hook() -> None:
    network, seed = Network(), bytes(range(32))
    options = DeliveryOptions(signatures=["v1a"])
    trial = a_trial(options=options, keys=[SigningKey(seed, None)])
    assert str(seed) not in repr([trial, *trial.keys])
    await sender(network).send(trial)
    headers = network.posts[0].headers
    assert "x-hub-signature-256" not in headers
    version, _, signature = headers["webhook-signature"].partition(",")
    assert version == "v1a"
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode()
    public = Ed25519PrivateKey.from_private_bytes(seed).public_key()
    public.verify(b64decode(signature), signed + network.posts[0].body)


async def test_a_trial_of_a_hook_with_batches_is_a_batch_of_one() -> None:
    network = Network()
    trial = a_trial(options=DeliveryOptions.model_validate({"batch": {}}))
    await sender(network).send(trial)
    (post,) = network.posts
    (element,) = orjson.loads(post.body)
    assert (element["id"], element["event"]) == (trial.guid, trial.event)
    assert element["payload"] == orjson.loads(trial.body)
    assert post.headers["webhook-batch"] == "1"


async def test_the_timeout_of_a_trial_is_bounded() -> None:
    network = Network()
    for timeout, waits in ((2.0, 2.0), (100.0, LONGEST)):
        options = DeliveryOptions(timeout=timeout)
        answer = await sender(network).send(a_trial(content_type="form", options=options))
        assert network.posts[-1].deadline == waits
        assert network.posts[-1].body == b"payload=%7B%22a%22%3A+%22b+c%22%7D"
        assert answer.succeeded


async def test_a_request_is_built_without_being_sent() -> None:
    network = Network()
    answer = sender(network).build(a_trial(secret=None))
    assert network.posts == []
    assert answer.request_head.startswith("POST /in HTTP/1.1\r\nHost: receiver.example\r\n")
    assert "ignature" not in answer.request_head
    assert answer.request_body == b'{"a": "b c"}'


async def test_the_guard_refuses_a_trial() -> None:
    network = Network()
    answer = await sender(network).send(a_trial(url="http://127.0.0.1/in"))
    assert network.posts == []
    assert answer.error is not None
    assert answer.error.startswith("guard: ")


async def test_concurrent_trials_are_bounded() -> None:
    gate = asyncio.Event()

    async def slow(post: Post) -> Any:
        await gate.wait()
        return said()

    trials = sender(Network(slow))
    running = [asyncio.create_task(trials.send(a_trial())) for _ in range(AT_ONCE)]
    await asyncio.sleep(0)
    with pytest.raises(Busy):
        await trials.send(a_trial())
    gate.set()
    assert all(one.succeeded for one in await asyncio.gather(*running))
    assert (await trials.send(a_trial())).succeeded


async def test_a_real_receiver_gets_it() -> None:
    guard = Guard(allow_networks=LOOPBACK)
    trials = TrialSender(guard, WorkerSettings(), MovableClock())
    async with serving(ok) as receiver:
        answer = await trials.send(a_trial(url=receiver.url))
    assert answer.succeeded
    assert answer.duration > 0
    await trials.close()
    guard.close()
