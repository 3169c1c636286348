"""Commit statuses that the API created, and commit statuses that a platform reported."""

from typing import Any

import httpx
import pytest
from assertions import BASE, assert_error, bodies, links
from bearer import by
from issue_world import SHA, Platform

from store import Store
from store.checks import commit_statuses
from store.clock import SECOND, iso
from store.repositories import refs

HELLO = "/repos/octo/hello"
AT = f"{HELLO}/statuses/{SHA}"
LIST = f"{HELLO}/commits/{SHA}/statuses"
COMBINED = f"{HELLO}/commits/{SHA}/status"


async def made(client: httpx.AsyncClient, state: str, **more: Any) -> Any:
    answer = await client.post(AT, json={"state": state, **more})
    assert answer.status_code == 201, answer.text
    return answer.json()


async def test_a_commit_status_is_created(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    store.write_sync(refs.put, seed.hello["id"], "refs/heads/topic/bell", SHA)
    given = {"context": "ci/tone", "description": "In tune", "target_url": "https://ci.example/1"}
    answer = await client.post(f"{HELLO}/statuses/topic%2Fbell", json={"state": "success", **given})
    shown = answer.json()
    assert {name: shown[name] for name in given} == given
    assert (shown["state"], shown["creator"]["login"]) == ("success", "octo")
    assert answer.headers["Location"] == shown["url"] == f"{BASE}{AT}"
    for at in (f"{HELLO}/commits/topic/bell/statuses", shown["url"]):
        assert (await client.get(at)).json() == [shown]
    (payload,) = bodies(store, "status")
    assert {name: payload[name] for name in given} == given
    assert (payload["id"], payload["sha"], payload["name"]) == (shown["id"], SHA, "octo/hello")
    assert payload["commit"]["sha"] == SHA
    (branch,) = payload["branches"]
    assert (branch["name"], branch["commit"]["sha"]) == ("topic/bell", SHA)
    assert branch["protected"] is False
    assert (payload["sender"]["login"], payload["repository"]["name"]) == ("octo", "hello")
    assert "action" not in payload


async def test_the_event_of_a_status_has_the_commit_as_it_was_pushed(
    client: httpx.AsyncClient, store: Store, platform: Platform
) -> None:
    person = {"name": "Octo", "email": "octo@bells.example", "username": "octo"}
    text = {"message": "Oil the bell", "timestamp": "2026-11-20T08:15:00Z"}
    head = {"id": SHA, "tree_id": "b" * 40, "author": person, "committer": person, **text}
    platform.report("push", None, ref="refs/heads/main", after=SHA, head_commit=head)
    await made(client, "success")
    commit = bodies(store, "status")[-1]["commit"]
    branch = (await client.get(f"{HELLO}/branches/main")).json()
    verification = commit["commit"]["verification"]
    assert commit == branch["commit"]
    assert commit["commit"]["author"]["name"] == "Octo"
    assert (verification["verified"], verification["signature"]) == (False, None)


async def test_the_event_of_a_status_names_nobody_as_the_author_of_an_unknown_commit(
    client: httpx.AsyncClient, store: Store
) -> None:
    """Typed receivers refuse an author or a committer that is null."""
    shown = await made(client, "success")
    inner = bodies(store, "status")[-1]["commit"]["commit"]
    nobody = {"name": "", "email": "", "date": shown["created_at"]}
    assert inner["author"] == inner["committer"] == nobody


async def test_the_event_of_a_status_names_ten_branches_at_most(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    """A commit can be at thousands of branches, and each status would have them all."""
    names = [f"refs/heads/{number:02}" for number in range(12)]
    store.write_sync(refs.replace, seed.hello["id"], dict.fromkeys([*names, "refs/tags/0"], SHA))
    await made(client, "success")
    (payload,) = bodies(store, "status")
    assert [one["name"] for one in payload["branches"]] == [f"{number:02}" for number in range(10)]
    assert store.read_sync(refs.branch_at, seed.hello["id"], SHA) == "00"


@pytest.mark.parametrize("few", [1, 2, 3, 100])
async def test_the_newest_of_each_context_counts(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr(commit_statuses, "FEW", few)
    nothing = (await client.get(COMBINED)).json()
    assert (nothing["state"], nothing["total_count"], nothing["statuses"]) == ("pending", 0, [])
    for state, context, expected in (
        ("pending", "lint", "pending"),
        ("success", "Lint", "success"),
        ("error", "tone", "failure"),
        ("failure", "tone", "failure"),
        ("success", "tone", "success"),
        ("pending", "default", "pending"),
    ):
        await made(client, state, context=context)
        assert (await client.get(COMBINED)).json()["state"] == expected, (state, context)
    whole = (await client.get(COMBINED)).json()
    assert (whole["total_count"], whole["sha"]) == (3, SHA)
    assert [one["context"] for one in whole["statuses"]] == ["default", "tone", "Lint"]
    assert "creator" not in whole["statuses"][0]
    assert whole["repository"]["full_name"] == "octo/hello"
    assert len((await client.get(LIST)).json()) == 6
    first = await client.get(f"{COMBINED}?per_page=2")
    assert len(first.json()["statuses"]) == 2
    assert links(first)["last"].endswith("per_page=2&page=2")


async def test_statuses_of_a_platform(client: httpx.AsyncClient, platform: Platform) -> None:
    reported = {
        "id": 6805126730,
        "sha": SHA,
        "context": "default",
        "state": "failure",
        "description": None,
        "target_url": "https://ci.example/2",
        "created_at": "2026-11-20T10:00:00+00:00",
        "updated_at": "2026-11-20T10:00:00+00:00",
    }
    for _ in range(2):
        platform.report("status", None, **reported)
    (shown,) = (await client.get(LIST)).json()
    assert (shown["id"], shown["state"], shown["creator"]["login"]) == (
        6805126730,
        "failure",
        "robin",
    )
    assert shown["created_at"] == "2026-11-20T10:00:00Z"
    # The status that the API creates is newer than the platform's.
    await made(client, "success")
    assert (await client.get(COMBINED)).json()["state"] == "success"


async def test_a_platforms_status_from_the_future_hides_no_later_one(
    client: httpx.AsyncClient, platform: Platform
) -> None:
    later = iso(platform.world.now)
    for number, state, at in ((1, "success", "2099-01-01T00:00:00Z"), (2, "failure", later)):
        times = {"created_at": at, "updated_at": at}
        platform.report("status", None, id=number, sha=SHA, state=state, **times)
    combined = (await client.get(COMBINED)).json()
    assert (combined["state"], combined["statuses"][0]["created_at"]) == ("failure", later)
    assert {one["updated_at"] for one in (await client.get(LIST)).json()} == {later}
    await made(client, "success")
    assert (await client.get(COMBINED)).json()["state"] == "success"


async def test_statuses_of_a_fast_clock_keep_their_order_and_hide_no_later_one(
    client: httpx.AsyncClient, platform: Platform
) -> None:
    # They pass each other on their way.
    for number, state, seconds in ((2, "success", 61), (1, "pending", 60)):
        at = iso(platform.world.now + seconds * SECOND)
        platform.report("status", None, id=number, sha=SHA, state=state, created_at=at)
        platform.world.clock.advance(0.1)
    assert (await client.get(COMBINED)).json()["state"] == "success"
    await made(client, "failure")
    assert (await client.get(COMBINED)).json()["state"] == "failure"


@pytest.mark.parametrize("change", [{"id": "x"}, {"sha": "main"}, {"state": "good"}, {"id": None}])
async def test_a_platforms_status_that_is_none(
    client: httpx.AsyncClient, platform: Platform, change: dict[str, Any]
) -> None:
    platform.report("status", None, **{"id": 1, "sha": SHA, "state": "success"} | change)
    assert (await client.get(LIST)).json() == []


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"state": "good"},
        {"state": "success", "context": " "},
        {"state": "success", "target_url": "javascript:alert()"},
        {"state": "success", "description": "x" * 141},
    ],
)
async def test_a_wrong_status_is_refused(client: httpx.AsyncClient, body: dict[str, Any]) -> None:
    assert_error(await client.post(AT, json=body), 422)


async def test_statuses_of_an_unknown_commit_are_refused(client: httpx.AsyncClient) -> None:
    for at in ("main", "0123"):
        answer = await client.post(f"{HELLO}/statuses/{at}", json={"state": "success"})
        assert_error(answer, 422, f"No commit found for SHA: {at}")
        assert_error(await client.get(f"{HELLO}/commits/{at}/status"), 422)


async def test_statuses_of_a_context_are_bounded(
    client: httpx.AsyncClient, store: Store, seed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit_statuses, "MOST", 2)
    for _ in range(2):
        await made(client, "success")
    assert_error(await client.post(AT, json={"state": "success"}), 422)
    await made(client, "success", context="other")


async def test_a_scope_for_statuses_alone(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    headers = by(store, seed.octo, scopes=["repo:status"])
    at = f"/repos/octo/vault/statuses/{SHA}"
    answer = await client.post(at, json={"state": "success"}, headers=headers)
    assert answer.status_code == 201, answer.text
    found = await client.get(f"/repos/octo/vault/commits/{SHA}/status", headers=headers)
    assert found.json()["total_count"] == 1
    assert_error(await client.get("/repos/octo/vault/issues", headers=headers), 404)
