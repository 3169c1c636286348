"""The API shows the state that events describe, even if the processes are killed."""

import asyncio
import json
from typing import Any

import httpx
from daemon import Site
from waiting import PATIENCE, until

from store import Store
from store.projection import projection_cursor

EVENTS = 400


def closed(number: int) -> dict[str, Any]:
    moment = f"2026-11-20T10:{number // 60:02}:{number % 60:02}Z"
    issue = {"number": number, "title": f"No. {number}", "state": "closed", "closed_at": moment}
    return {
        "action": "closed",
        "issue": issue | {"updated_at": moment, "labels": [{"name": "bug", "color": "d73a4a"}]},
        "sender": {"login": "robin", "type": "User"},
    }


def behind(store: Store) -> tuple[int, int]:
    """Return the id of the last event in the projected state, and of the newest event."""
    state = store.read_sync(projection_cursor.state)
    assert state["skipped"] == 0
    return state["event_id"], state["newest"]


async def post(site: Site) -> None:
    """Post EVENTS events in batches of 100."""
    lines = [
        {"id": f"g-{at}", "event": "issues", "repository": "ada/engine", "payload": closed(at)}
        for at in range(1, EVENTS + 1)
    ]
    headers = {
        "Authorization": f"Bearer {site.token}",
        "Content-Type": "application/x-ndjson",
        "User-Agent": "tests",
    }
    async with httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{site.port}", timeout=PATIENCE
    ) as client:
        for first in range(0, EVENTS, 100):
            body = "\n".join(json.dumps(line) for line in lines[first : first + 100])
            answer = await client.post("/events", content=body, headers=headers)
            assert answer.status_code == 202, answer.text


async def shown(site: Site) -> list[dict[str, Any]]:
    """Return the `closed` events that the API shows, newest first."""
    headers = {"Authorization": f"Bearer {site.token}", "User-Agent": "tests"}
    found: list[dict[str, Any]] = []
    async with httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{site.port}", timeout=PATIENCE
    ) as client:
        url: str | None = "/repos/ada/engine/issues/events?per_page=100"
        while url is not None:
            answer = await client.get(url, headers=headers)
            assert answer.status_code == 200, answer.text
            found += answer.json()
            url = answer.links.get("next", {}).get("url")
    return [event for event in found if event["event"] == "closed"]


async def all_is_shown(site: Site) -> None:
    with site.opened() as store:
        await until(lambda: behind(store) == (EVENTS, EVENTS), "the projection of all events")
    events = await shown(site)
    assert sorted(event["issue"]["number"] for event in events) == list(range(1, EVENTS + 1))
    assert {event["actor"]["login"] for event in events} == {"robin"}
    assert {event["issue"]["labels"][0]["name"] for event in events} == {"bug"}


async def test_killed_in_the_middle_each_is_taken_up_once(site: Site) -> None:
    daemon = await site.serve(TOCSIN_REFLECT="false")
    await post(site)
    with site.opened() as store:
        assert behind(store) == (0, EVENTS)
        await daemon.kill()
        reached = 0
        kills = 0
        while kills < 3 and reached < EVENTS:
            daemon = await site.serve()
            await until(lambda: behind(store)[0] > reached, "the projection of some events")  # noqa: B023
            await daemon.kill()
            kills += 1
            reached = behind(store)[0]
    assert kills > 1, "all events were projected before the first kill"
    await site.serve()
    await all_is_shown(site)


async def test_a_worker_apart_finds_them_by_itself(site: Site) -> None:
    await asyncio.gather(site.serve("--only", "hub"), site.serve("--only", "worker"))
    await post(site)
    await all_is_shown(site)
