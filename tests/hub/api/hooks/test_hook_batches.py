"""The option `batch` of hooks through the API: saved with its defaults, changed, and rejected."""

from typing import Any

import httpx
import pytest

HOOKS = "/repos/octo/hello/hooks"
CONFIG = {"url": "https://receiver.example/in"}
DEFAULTS = {"max_events": 100, "max_bytes": 1_000_000, "max_wait": 1.0}


async def test_batches_are_asked_for_changed_and_ended(client: httpx.AsyncClient) -> None:
    body = {"config": CONFIG, "delivery": {"batch": {}}}
    hook = (await client.post(HOOKS, json=body)).json()
    assert hook["delivery"] == {"batch": DEFAULTS}
    change = {"delivery": {"batch": {"max_events": 7, "max_wait": 0}}}
    answer = await client.patch(hook["url"], json=change)
    expected = DEFAULTS | {"max_events": 7, "max_wait": 0.0}
    assert answer.json()["delivery"] == {"batch": expected}
    answer = await client.patch(hook["url"], json={"delivery": {"batch": None}})
    assert answer.json()["delivery"] == {}


@pytest.mark.parametrize(
    "limits",
    [
        {"max_events": 0},
        {"max_events": 101},
        {"max_bytes": 999},
        {"max_bytes": 10_000_001},
        {"max_wait": -1},
        {"max_wait": 61},
        {"most": 3},
        5,
    ],
)
async def test_limits_out_of_bounds(client: httpx.AsyncClient, limits: Any) -> None:
    body = {"config": CONFIG, "delivery": {"batch": limits}}
    answer = await client.post(HOOKS, json=body)
    assert answer.status_code == 422
    assert "delivery/batch" in answer.json()["message"]


@pytest.mark.parametrize("format_", ["cloudevents_binary", "slack", "teams", "discord"])
async def test_a_format_that_cannot_be_sent_in_batches(
    client: httpx.AsyncClient, format_: str
) -> None:
    body = {"config": CONFIG, "delivery": {"batch": {}, "format": format_}}
    answer = await client.post(HOOKS, json=body)
    assert answer.status_code == 422
    (error,) = answer.json()["errors"]
    assert error["field"] == "batch"
    assert f"does not work with the format {format_}" in error["message"]
    body = {"config": CONFIG, "delivery": {"batch": {}}}
    hook = (await client.post(HOOKS, json=body)).json()
    answer = await client.patch(hook["url"], json={"delivery": {"format": format_}})
    assert answer.status_code == 422, "a hook with batches cannot change to this format"


async def test_a_pull_hook_has_no_batches(client: httpx.AsyncClient) -> None:
    body = {"config": {"url": "pull:ci"}, "delivery": {"batch": {}}}
    answer = await client.post(HOOKS, json=body)
    assert answer.status_code == 422
    assert "batch is for hooks with an endpoint" in answer.text
