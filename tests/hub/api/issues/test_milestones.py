"""Milestones of a repository are created, changed and deleted through the API."""

from typing import Any

import httpx
import pytest
from assertions import BASE, assert_error, bodies
from bearer import Headers
from issue_world import Platform, issue

from store import Store
from store.clock import MovableClock, iso

HELLO = "/repos/octo/hello"
MILESTONES = f"{HELLO}/milestones"
PEAL = {"id": 21, "number": 3, "title": "v1.0", "open_issues": 1, "closed_issues": 0}
DUE = "2026-12-24T08:00:00Z"


async def done(answer: httpx.Response, status: int = 200) -> Any:
    assert answer.status_code == status, answer.text
    return answer.json() if answer.content else None


async def titles(client: httpx.AsyncClient) -> list[str]:
    answer = await client.get(f"{MILESTONES}?state=all")
    return sorted(one["title"] for one in await done(answer))


async def test_a_milestone_is_created(client: httpx.AsyncClient, store: Store, seed: Any) -> None:
    given = {"title": "v1.0", "description": "First", "due_on": DUE}
    made = await done(await client.post(MILESTONES, json=given), 201)
    assert made.items() >= (given | {"number": 1, "state": "open", "closed_at": None}).items()
    assert (made["creator"]["login"], made["open_issues"]) == ("octo", 0)
    assert made["url"] == f"{BASE}{MILESTONES}/1"
    assert await done(await client.get(f"{MILESTONES}/1")) == made
    (payload,) = bodies(store, "milestone")
    assert (payload["action"], payload["milestone"]) == ("created", made)
    assert payload["sender"]["login"] == "octo"
    closed = await done(await client.post(MILESTONES, json={"title": "v0", "state": "closed"}), 201)
    assert (closed["number"], closed["due_on"]) == (2, None)
    assert closed["closed_at"] == closed["created_at"]


async def test_a_milestone_is_edited_closed_and_opened(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    await done(await client.post(MILESTONES, json={"title": "v1.0", "due_on": DUE}), 201)
    at = f"{MILESTONES}/1"
    given = {"title": "v1.1", "description": "Late", "due_on": None, "state": "closed"}
    changed = await done(await client.patch(at, json=given))
    assert changed.items() >= given.items()
    assert changed["closed_at"] is not None
    assert await done(await client.patch(at, json={})) == changed
    opened = await done(await client.patch(at, json={"state": "open"}))
    assert (opened["closed_at"], opened["title"]) == (None, "v1.1")
    _, edited, closed, reopened = bodies(store, "milestone")
    assert edited["action"] == "edited"
    former = {"title": "v1.0", "description": "", "due_on": DUE}
    assert edited["changes"] == {name: {"from": text} for name, text in former.items()}
    assert edited["milestone"] == closed["milestone"] == changed
    assert (closed["action"], reopened["action"]) == ("closed", "opened")
    assert reopened["milestone"] == opened


async def test_a_deleted_milestone_is_removed_from_issues(
    client: httpx.AsyncClient, platform: Platform, store: Store
) -> None:
    platform.report("issues", "opened", issue=issue(milestone=PEAL))
    assert (await done(await client.get(f"{HELLO}/issues/1")))["milestone"]["title"] == "v1.0"
    assert (await client.delete(f"{MILESTONES}/3")).status_code == 204
    assert (await done(await client.get(f"{HELLO}/issues/1")))["milestone"] is None
    (payload,) = bodies(store, "milestone")
    assert (payload["action"], payload["milestone"]["title"]) == ("deleted", "v1.0")
    for method in ("GET", "DELETE", "PATCH"):
        body = {"title": "v2"} if method == "PATCH" else None
        assert_error(await client.request(method, f"{MILESTONES}/3", json=body), 404)
    # The number of a deleted milestone is not used again.
    made = await done(await client.post(MILESTONES, json={"title": "v2.0"}), 201)
    assert made["number"] == 4


async def test_an_earlier_event_undoes_no_change_of_a_milestone(
    client: httpx.AsyncClient, platform: Platform, clock: MovableClock
) -> None:
    """The platform's event is accepted first, and becomes state afterwards."""
    other = {"id": 22, "number": 4, "title": "v2.0"}
    for milestone in (PEAL, other):
        platform.report("milestone", "created", milestone=milestone)
    clock.advance(60)
    await done(await client.patch(f"{MILESTONES}/3", json={"title": "v1.1", "state": "closed"}))
    await done(await client.delete(f"{MILESTONES}/4"), 204)
    clock.advance(-30)
    old = PEAL | {"state": "open", "description": "First", "open_issues": 7}
    platform.report("issues", "milestoned", issue=issue(milestone=old))
    platform.report("milestone", "edited", milestone=other)
    (row,) = await done(await client.get(f"{MILESTONES}?state=all"))
    assert (row["title"], row["state"], row["open_issues"]) == ("v1.1", "closed", 7)
    clock.advance(60)
    platform.report("milestone", "edited", milestone=PEAL | {"title": "v1.2", "state": "open"})
    platform.report("milestone", "edited", milestone=other)
    assert await titles(client) == ["v1.2", "v2.0"]


async def test_a_platforms_milestone_keeps_its_number(
    client: httpx.AsyncClient, platform: Platform, clock: MovableClock
) -> None:
    for title in ("ours", "others"):
        await done(await client.post(MILESTONES, json={"title": title}), 201)
    clock.advance(60)
    theirs = {"id": 21, "number": 1, "title": "theirs", "created_at": "2026-11-20T10:00:00Z"}
    platform.report("issues", "opened", issue=issue(milestone=theirs))
    found = {one["number"]: one["title"] for one in await done(await client.get(MILESTONES))}
    assert found == {1: "theirs", 2: "others", 3: "ours"}
    assert (await done(await client.get(f"{HELLO}/issues/1")))["milestone"]["title"] == "theirs"


async def test_a_deletion_by_the_platform_leaves_a_milestone_made_here(
    client: httpx.AsyncClient, platform: Platform
) -> None:
    await done(await client.post(MILESTONES, json={"title": "ours"}), 201)
    theirs = PEAL | {"number": 1, "created_at": "2026-11-20T10:00:00Z"}
    platform.report("milestone", "deleted", milestone=theirs)
    assert await titles(client) == ["ours"]


@pytest.mark.parametrize(
    ("body", "code"),
    [({"title": " "}, "missing_field"), ({"title": "v1.0"}, "already_exists")],
)
async def test_an_invalid_milestone_is_refused(
    client: httpx.AsyncClient, store: Store, seed: Any, body: dict[str, Any], code: str
) -> None:
    for title in ("v1.0", "v2.0"):
        await done(await client.post(MILESTONES, json={"title": title}), 201)
    for answer in (
        await client.post(MILESTONES, json=body),
        await client.patch(f"{MILESTONES}/2", json=body),
    ):
        content = assert_error(answer, 422, "Validation Failed", code=code)
        assert content["errors"][0].items() >= {"resource": "Milestone", "field": "title"}.items()
    assert await titles(client) == ["v1.0", "v2.0"]
    assert len(bodies(store, "milestone")) == 2


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"title": None},
        {"title": "x" * 256},
        {"title": "x", "due_on": "soon"},
        {"title": "x", "state": "all"},
        {"title": "x", "description": 7},
    ],
)
async def test_a_malformed_milestone_is_refused(
    client: httpx.AsyncClient, seed: Any, body: dict[str, Any]
) -> None:
    assert_error(await client.post(MILESTONES, json=body), 422)
    assert await titles(client) == []


async def test_milestones_need_write_access(
    client: httpx.AsyncClient, store: Store, seed: Any, reader: Headers
) -> None:
    await done(await client.post(MILESTONES, json={"title": "v1.0"}), 201)
    requests = (
        ("POST", MILESTONES, {"title": "v2.0"}),
        ("PATCH", f"{MILESTONES}/1", {"title": "v2.0"}),
        ("DELETE", f"{MILESTONES}/1", None),
    )
    for method, path, body in requests:
        assert_error(await client.request(method, path, json=body, headers=reader), 403)
    sql = "UPDATE repository SET archived = 1 WHERE id = :id"
    store.write_sync(lambda db: db.execute(sql, id=seed.hello["id"]))
    for method, path, body in requests:
        answer = await client.request(method, path, json=body)
        assert_error(answer, 403, "Repository was archived so is read-only.")
    assert await titles(client) == ["v1.0"]


async def test_a_milestone_made_here_counts_its_issues_after_events_too(
    client: httpx.AsyncClient, platform: Platform, clock: MovableClock
) -> None:
    async def counts(number: int = 1) -> tuple[int, int]:
        one = await done(await client.get(f"{MILESTONES}/{number}"))
        return one["open_issues"], one["closed_issues"]

    for number in (1, 2, 3, 4):
        platform.report("issues", "opened", issue=issue(number))
    for title in ("ours", "others"):
        await done(await client.post(MILESTONES, json={"title": title}), 201)
    for number in (1, 2, 3, 4):
        at = f"{HELLO}/issues/{number}"
        await done(await client.patch(at, json={"milestone": 1}))
    assert await counts() == (4, 0)
    clock.advance(60)
    later = {"updated_at": iso(clock.now())}
    closed = issue(1, state="closed", **later)
    del closed["milestone"]
    for _ in range(2):
        platform.report("issues", "closed", issue=closed)
        assert await counts() == (3, 1)
    platform.report("issues", "demilestoned", issue=issue(2, **later))
    assert await counts() == (2, 1)
    platform.report("issues", "deleted", issue=closed)
    assert await counts() == (2, 0)
    transfer = {"new_repository": {"full_name": "octo/other"}, "new_issue": {"number": 1}}
    for _ in range(2):
        platform.report("issues", "transferred", issue=issue(3), changes=transfer)
        assert await counts() == (1, 0)
    theirs = PEAL | {"open_issues": 1}
    platform.report("issues", "milestoned", issue=issue(4, milestone=theirs, **later))
    assert (await counts(), await counts(3)) == ((0, 0), (1, 0))
