"""Check suites that the API created, and check suites that a platform reported."""

from typing import Any

import httpx
from assertions import assert_error, links
from issue_world import SHA, Platform

from store import Store
from store.repositories import refs

HELLO = "/repos/octo/hello"
APP = {"id": 900, "name": "Lint", "slug": "lint", "owner": {"login": "octo"}}
COMMIT = {
    "id": SHA,
    "tree_id": "f" * 40,
    "message": "Ring",
    "timestamp": "2026-11-01T09:00:00Z",
    "author": {"name": "Robin", "email": "robin@tower.example"},
    "committer": {"name": "Robin", "email": "robin@tower.example"},
}


def suite(number: int, **changed: Any) -> dict[str, Any]:
    return {
        "id": number,
        "head_sha": SHA,
        "head_branch": "main",
        "status": "completed",
        "conclusion": "success",
        "app": APP,
        "head_commit": COMMIT,
    } | changed


async def test_a_suite_is_shown_with_its_commit(hub: httpx.AsyncClient, platform: Platform) -> None:
    platform.report("check_suite", "completed", check_suite=suite(5))
    shown = (await hub.get(f"{HELLO}/check-suites/5")).json()
    assert shown["head_commit"] == COMMIT
    assert shown["repository"]["full_name"] == "octo/hello"
    assert shown["app"]["slug"] == "lint"
    listed = (await hub.get(f"{HELLO}/commits/{SHA}/check-suites")).json()
    assert listed == {"total_count": 1, "check_suites": [shown]}


async def test_a_suite_with_half_a_commit_shows_only_its_id(
    hub: httpx.AsyncClient, platform: Platform
) -> None:
    given = suite(5, head_commit={"id": SHA, "message": "half of it"})
    platform.report("check_suite", "completed", check_suite=given)
    shown = (await hub.get(f"{HELLO}/check-suites/5")).json()
    empty = {"tree_id": "", "message": "", "author": None, "committer": None}
    assert shown["head_commit"] == {"id": SHA, "timestamp": shown["created_at"], **empty}


async def test_a_suite_shows_the_commit_that_a_push_described(
    hub: httpx.AsyncClient, platform: Platform
) -> None:
    author = {"name": "Robin", "email": "robin@tower.example", "username": "robin"}
    reported = COMMIT | {"author": author, "committer": None}
    platform.report("check_suite", "completed", check_suite=suite(5, head_commit=None))
    platform.report("push", None, ref="refs/heads/main", after=SHA, head_commit=reported)
    shown = (await hub.get(f"{HELLO}/check-suites/5")).json()
    assert shown["head_commit"] == COMMIT | {"committer": None}


async def test_a_suite_shows_the_commit_that_another_suite_described(
    hub: httpx.AsyncClient, platform: Platform
) -> None:
    platform.report("check_suite", "completed", check_suite=suite(5))
    other = suite(6, head_commit=None, app=APP | {"id": 901, "slug": "spell"})
    platform.report("check_suite", "completed", check_suite=other)
    assert (await hub.get(f"{HELLO}/check-suites/6")).json()["head_commit"] == COMMIT


async def test_suites_of_a_branch(
    hub: httpx.AsyncClient, platform: Platform, store: Store, seed: Any
) -> None:
    store.write_sync(refs.put, seed.hello["id"], "refs/heads/topic/bell", SHA)
    other = APP | {"id": 901, "name": "Ring", "slug": "ring"}
    platform.report("check_suite", "completed", check_suite=suite(6, app=other))
    run = {"id": 1, "name": "tone", "status": "queued", "head_sha": SHA, "check_suite": suite(5)}
    platform.report("check_run", "created", check_run=run)
    platform.report("check_suite", "completed", check_suite=suite(7, head_sha="1" * 40))
    at = f"{HELLO}/commits/topic/bell/check-suites"
    for query, expected in (
        ("", [5, 6]),
        ("app_id=901", [6]),
        ("check_name=tone", [5]),
        ("check_name=other", []),
    ):
        found = (await hub.get(f"{at}?{query}")).json()
        assert [one["id"] for one in found["check_suites"]] == expected, query
        assert found["total_count"] == len(expected)
    first = await hub.get(f"{at}?per_page=1")
    assert [one["id"] for one in first.json()["check_suites"]] == [5]
    assert links(first)["next"].endswith("per_page=1&page=2")
    assert_error(await hub.get(f"{HELLO}/commits/no-such/check-suites"), 422)
