"""Conversations of issues and pull requests are locked and unlocked through the API."""

from typing import Any

import httpx
import pytest
from assertions import assert_error, bodies
from bearer import Headers, by
from issue_world import Platform, issue, pull

from store import Store
from store.accounts import accounts
from store.clock import MovableClock, iso
from store.repositories import repositories

ISSUES = "/repos/octo/hello/issues"
ONE = f"{ISSUES}/1"
LOCK = f"{ONE}/lock"


async def state(client: httpx.AsyncClient, number: int = 1) -> tuple[bool, str | None]:
    shown = (await client.get(f"{ISSUES}/{number}")).json()
    return shown["locked"], shown["active_lock_reason"]


async def timeline(client: httpx.AsyncClient) -> list[tuple[str, str | None]]:
    answer = await client.get(f"{ONE}/timeline")
    return [(one["event"], one.get("lock_reason")) for one in answer.json()]


async def test_a_locked_issue_is_for_writers(
    client: httpx.AsyncClient, platform: Platform, store: Store, reader: Headers
) -> None:
    platform.report("issues", "opened", issue=issue())
    answer = await client.put(LOCK, json={"lock_reason": "too heated"})
    assert (answer.status_code, answer.content) == (204, b"")
    assert await state(client) == (True, "too heated")
    refused = await client.post(f"{ONE}/comments", json={"body": "Hm"}, headers=reader)
    assert_error(refused, 403, "Unable to create comment because issue is locked.")
    assert (await client.post(f"{ONE}/comments", json={"body": "Hm"})).status_code == 201
    # A lock for the same reason, or for none, changes nothing.
    for body in ({"lock_reason": "too heated"}, {}, None):
        assert (await client.put(LOCK, json=body)).status_code == 204
    assert (await client.put(LOCK, json={"lock_reason": "spam"})).status_code == 204
    assert await state(client) == (True, "spam")
    for _ in range(2):
        assert (await client.delete(LOCK)).status_code == 204
    assert await state(client) == (False, None)
    again = await client.post(f"{ONE}/comments", json={"body": "Hm"}, headers=reader)
    assert again.status_code == 201
    reported = [(one["action"], one["issue"]["locked"]) for one in bodies(store, "issues")]
    assert reported == [("locked", True), ("locked", True), ("unlocked", False)]
    assert await timeline(client) == [
        ("locked", "too heated"),
        ("commented", None),
        ("locked", "spam"),
        ("unlocked", None),
        ("commented", None),
    ]


async def test_a_pull_request_is_locked_without_a_reason(
    client: httpx.AsyncClient, platform: Platform, store: Store
) -> None:
    platform.report("pull_request", "opened", pull_request=pull())
    assert (await client.put(f"{ISSUES}/2/lock")).status_code == 204
    assert await state(client, 2) == (True, None)
    (payload,) = bodies(store, "pull_request")
    assert (payload["action"], payload["pull_request"]["locked"]) == ("locked", True)
    assert payload["sender"]["login"] == "octo"


async def test_an_earlier_event_does_not_unlock_an_issue(
    client: httpx.AsyncClient, platform: Platform, clock: MovableClock
) -> None:
    platform.report("issues", "opened", issue=issue())
    clock.advance(60)
    assert (await client.put(LOCK, json={"lock_reason": "resolved"})).status_code == 204
    platform.report("issues", "edited", issue=issue(title="Older", locked=False))
    assert await state(client) == (True, "resolved")
    clock.advance(60)
    newer = iso(clock.now())
    platform.report("issues", "unlocked", issue=issue(locked=False, updated_at=newer))
    assert (await state(client))[0] is False


@pytest.mark.parametrize("body", [{"lock_reason": "boring"}, {"lock_reason": 1}, []])
async def test_an_unknown_reason_is_refused(
    client: httpx.AsyncClient, platform: Platform, body: Any
) -> None:
    platform.report("issues", "opened", issue=issue())
    answer = await client.put(LOCK, json=body)
    assert_error(answer, 400 if body == [] else 422)
    assert await state(client) == (False, None)


async def test_locks_need_write_access(
    client: httpx.AsyncClient, platform: Platform, store: Store, seed: Any, reader: Headers
) -> None:
    platform.report("issues", "opened", issue=issue())
    helper = store.write_sync(accounts.create, "helper")
    store.write_sync(repositories.grant, seed.hello["id"], helper["id"], "triage")
    for headers in (reader, by(store, helper, scopes=["repo"])):
        assert_error(await client.put(LOCK, headers=headers), 403)
        assert_error(await client.delete(LOCK, headers=headers), 403)
    assert_error(await client.put(f"{ISSUES}/77/lock"), 404)
    sql = "UPDATE repository SET archived = 1 WHERE id = :id"
    store.write_sync(lambda db: db.execute(sql, id=seed.hello["id"]))
    assert_error(await client.put(LOCK), 403, "Repository was archived so is read-only.")
    assert await state(client) == (False, None)
