"""Rate limits: counters, refused requests, and the storage of the counts."""

import asyncio
import threading
from collections.abc import AsyncIterator
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Any

import httpx
import pytest
from assertions import BASE, assert_error
from bearer import bearer
from waiting import PATIENCE, until

from hub.app import create_app
from hub.auth import rate_counters
from hub.auth.quotas import RateCharge, RateSubject
from hub.auth.rate_counters import RateCounters
from hub.auth.rate_limits import RateLimits
from hub.http import client_address
from hub.http.client_address import ClientAddresses
from hub.http.errors import Exhausted, TooFast
from hub.rate_limit_settings import RATE_LIMITS
from hub.settings import HubSettings
from hub.ui import cookies, csrf
from store import Connection, Store, open_store
from store.accounts import accounts, rate_limits, tokens
from store.clock import SECOND, MovableClock

HOOKS = "/repos/octo/hello/hooks"
USER = RateSubject("user", "7")


async def never(url: str) -> None:
    raise AssertionError(url)


def client_of(store: Store, token: str | None, **settings: Any) -> httpx.AsyncClient:
    app = create_app(store, HubSettings(base_url=BASE, **settings), never)
    headers = {} if token is None else bearer(token)
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=BASE, headers=headers)


def reported(answer: httpx.Response) -> tuple[int, int, int, str]:
    """The limit, the remaining and used requests, and the resource from the headers."""
    names = ("Limit", "Remaining", "Used")
    numbers = [int(answer.headers[f"X-RateLimit-{name}"]) for name in names]
    return (*numbers, answer.headers["X-RateLimit-Resource"])  # type: ignore[return-value]


async def test_every_answer_has_the_limit_headers(
    client: httpx.AsyncClient, seed: Any, clock: MovableClock
) -> None:
    for used, path in enumerate((HOOKS, f"{HOOKS}/9", "/nothing", "/versions"), 1):
        answer = await client.get(path)
        assert reported(answer) == (5000, 5000 - used, used, "core")
        reset = int(answer.headers["X-RateLimit-Reset"])
        assert 0 < reset - clock.now() // SECOND <= 3600
    other = {"Authorization": f"token {seed.reader_token}"}
    assert reported(await client.get(HOOKS, headers=other)) == (5000, 4999, 1, "core")
    del client.headers["Authorization"]
    assert reported(await client.get("/versions")) == (60, 59, 1, "core")
    assert reported(await client.get(HOOKS)) == (60, 58, 2, "core")
    bad = {"Authorization": "token x"}
    assert reported(await client.get(HOOKS, headers=bad)) == (60, 57, 3, "core")


async def test_all_tokens_of_a_user_share_and_installations_do_not(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    await client.get("/versions")
    expected = {"personal": 2, "oauth": 3, "app_user": 4, "fine_grained": 5, "installation": 1}
    for kind, used in expected.items():
        value, _ = store.write_sync(
            lambda db, kind=kind: tokens.create(db, seed.octo["id"], kind=kind)
        )
        answer = await client.get("/versions", headers={"Authorization": f"token {value}"})
        assert reported(answer)[2] == used, kind


async def test_requests_beyond_the_limit(store: Store, seed: Any, clock: MovableClock) -> None:
    async with client_of(store, seed.token, rate_limits={"core": 2}) as client:
        for _ in range(2):
            assert (await client.get("/versions")).status_code == 200
        answer = await client.get("/versions")
        assert_error(answer, 403, f"API rate limit exceeded for user ID {seed.octo['id']}.")
        assert reported(answer) == (2, 0, 2, "core")
        clock.advance(int(answer.headers["X-RateLimit-Reset"]) - clock.now() // SECOND)
        assert reported(await client.get("/versions")) == (2, 1, 1, "core")
    await store.close()


async def test_an_address_beyond_the_limit_is_refused(store: Store, seed: Any) -> None:
    async with client_of(store, None, rate_limits_anonymous={"core": 1}) as client:
        await client.get("/versions")
        content = assert_error(await client.get(HOOKS), 403)
        assert content["message"].startswith("API rate limit exceeded for 127.0.0.1. (But here's")
    await store.close()


async def test_a_request_that_fails_pays_and_one_that_is_refused_does_not(
    client: httpx.AsyncClient,
) -> None:
    await client.post(HOOKS, content=b"{")
    await client.get("/nothing")
    assert reported(await client.get("/rate_limit"))[2] == 2


async def test_the_status_is_free(client: httpx.AsyncClient) -> None:
    await client.get("/versions")
    for _ in range(3):
        answer = await client.get("/rate_limit")
        content = answer.json()
        assert content["resources"]["core"]["used"] == content["rate"]["used"] == 1
        assert content["rate"] == content["resources"]["core"]
        assert answer.headers["Cache-Control"] == "no-cache"
        assert "ETag" not in answer.headers
        assert reported(answer) == (5000, 4999, 1, "core")
    assert content["resources"].keys() == RATE_LIMITS.keys()
    assert content["resources"]["search"]["limit"] == 30
    newest = await client.get("/rate_limit", headers={"X-Service-Api-Version": "2026-03-10"})
    assert newest.json().keys() == {"resources"}
    del client.headers["Authorization"]
    anonymous = (await client.get("/rate_limit")).json()["resources"]
    assert (anonymous["core"]["limit"], anonymous["graphql"]["limit"]) == (60, 0)
    assert anonymous["scim"]["limit"] == 15_000


async def test_without_limits(store: Store, seed: Any) -> None:
    async with client_of(store, seed.token, rate_limiting=False) as client:
        assert "X-RateLimit-Limit" not in (await client.get("/versions")).headers
        assert_error(await client.get("/rate_limit"), 404, "Not Found")
    await store.close()


async def test_points_a_minute(store: Store, seed: Any, clock: MovableClock) -> None:
    async with client_of(store, seed.token, points_per_minute=12) as client:
        for _ in range(2):
            assert (await client.post(f"{HOOKS}/9/pings")).status_code == 404
        for _ in range(2):
            assert (await client.get("/versions")).status_code == 200
        answer = await client.get("/versions")
        content = assert_error(answer, 403)
        assert "exceeded a secondary rate limit" in content["message"]
        wait = int(answer.headers["Retry-After"])
        assert 0 < wait <= 60
        assert content["message"].endswith(f"Please wait {wait} seconds before you try again.")
        # go-github and what waits for it (go-github-ratelimit) know the error by this anchor.
        assert content["documentation_url"].endswith("#secondary-rate-limits")
        # Refused requests were not charged.
        assert reported(answer) == (5000, 4996, 4, "core")
        clock.advance(wait)
        assert (await client.get("/versions")).status_code == 200
    await store.close()


async def test_fetching_costs_points_and_nothing_else(store: Store, seed: Any) -> None:
    limits = {"points_per_minute": 4, "rate_limits": {"core": 1}}
    async with client_of(store, seed.token, **limits) as client:
        for name in ("dequeue", "ack", "nack", "extend"):
            answer = await client.post(f"{HOOKS}/9/{name}")
            assert_error(answer, 404)
            assert reported(answer) == (1, 1, 0, "core")
        answer = await client.post(f"{HOOKS}/9/dequeue")
        assert "secondary rate limit" in assert_error(answer, 403)["message"]
        # Events and the status stay free.
        assert (await client.post("/octo/hello/events/push", json={})).status_code == 202
        assert reported(await client.get("/rate_limit")) == (1, 1, 0, "core")
    await store.close()


def test_created_content_is_limited_by_minute_and_hour(store: Store, clock: MovableClock) -> None:
    counted = RateLimits(store, HubSettings(content_per_minute=3, content_per_hour=5))

    def create(db: Connection) -> RateCharge:
        return counted.charge(db, USER, "core", points=5, created=True)

    def fill(times: int) -> None:
        for _ in range(times):
            store.read_sync(create)
        with pytest.raises(TooFast):
            store.read_sync(create)

    fill(3)
    clock.advance(60)
    fill(2)
    clock.advance(60)
    fill(0)
    clock.advance(3600)
    fill(3)


@pytest.mark.parametrize(
    ("seconds", "header", "said"),
    [
        (0, b"1", "1 second"),
        (1, b"1", "1 second"),
        (2, b"2", "2 seconds"),
        (60, b"60", "60 seconds"),
        (119, b"119", "119 seconds"),
        (120, b"120", "2 minutes"),
        (121, b"121", "3 minutes"),
        (3600, b"3600", "60 minutes"),
        (82_801, b"82801", "24 hours"),
    ],
)
def test_text_and_header_name_the_same_wait(seconds: int, header: bytes, said: str) -> None:
    error = TooFast(seconds, [])
    assert dict(error.headers)[b"retry-after"] == header
    assert str(error).endswith(f" limit. Please wait {said} before you try again.")


async def test_concurrent_requests_are_limited(store: Store) -> None:
    counted = RateLimits(store, HubSettings(most_concurrent=2))
    charge = lambda db: counted.charge(db, USER, "core")  # noqa: E731
    first, second = store.read_sync(charge), store.read_sync(charge)
    assert first.at_work
    assert second.at_work
    with pytest.raises(Exception, match="secondary rate limit") as caught:
        store.read_sync(charge)
    assert dict(caught.value.headers)[b"retry-after"] == b"1"
    counted.end(first)
    store.read_sync(charge)
    await counted.close()


async def test_requests_are_at_work_until_they_are_answered(
    client: httpx.AsyncClient, store: Store, seed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with client_of(store, seed.token, most_concurrent=1) as single:
        for _ in range(3):
            assert (await single.get("/versions")).status_code == 200
            assert_error(await single.get("/nothing"), 404)
        both = [single.post(f"{HOOKS}/9/pings"), single.post(HOOKS, json={})]
        statuses = [one.status_code for one in await asyncio.gather(*both)]
        assert sorted(statuses) in ([403, 404], [403, 422], [404, 422])


@pytest.fixture
async def hubs(url: str, tmp_path: Path, clock: MovableClock) -> AsyncIterator[list[Store]]:
    """The stores of two hubs with the same database."""
    stores = [open_store(url, data_dir=tmp_path, clock=clock) for _ in range(2)]
    yield stores
    for store in stores:
        await store.close()


def charged(counted: RateLimits, store: Store, times: int = 1) -> RateCharge:
    for _ in range(times):
        ticket = store.read_sync(counted.charge, USER, "core")
        counted.end(ticket)
    return ticket


async def test_counts_survive_a_restart(hubs: list[Store], clock: MovableClock) -> None:
    store, _ = hubs
    before = RateLimits(store, HubSettings())
    assert charged(before, store, 3).status.used == 3
    await before.close()
    after = RateLimits(store, HubSettings())
    assert charged(after, store).status.used == 4
    assert store.read_sync(after.peek, USER).status.used == 4
    await after.close()
    clock.advance(3600)
    assert charged(RateLimits(store, HubSettings()), store).status.used == 1


async def test_counts_of_a_fast_clock_do_not_last(hubs: list[Store], clock: MovableClock) -> None:
    """Otherwise a caller who used up such a window would have to wait until then."""
    year, store = 365 * 86_400, hubs[0]
    limits = HubSettings(rate_limits={"core": 2})
    counted = RateLimits(store, limits)
    clock.advance(year)
    charged(counted, store, 2)
    await counted.counters.save()
    clock.advance(-year)
    assert charged(RateLimits(store, limits), store).status.reset <= clock.now() // SECOND + 3600
    assert charged(counted, store).status.used == 1
    await counted.close()
    after = RateLimits(store, limits)
    assert charged(after, store).status.used == 2
    with pytest.raises(Exhausted):
        charged(after, store)
    assert store.write_sync(rate_limits.forget, clock.now() // SECOND) == 0


async def test_a_save_changes_no_count_of_another_caller(
    hubs: list[Store], clock: MovableClock
) -> None:
    """Two hubs that save at the same time would wait for each other."""
    now, (store, _) = clock.now() // SECOND, hubs
    far = now + 365 * 86_400
    ahead = [rate_limits.StoredCount(who, "core", far, far + 60, 5) for who in ("a", "b")]
    mine = rate_limits.StoredCount("a", "core", now, now + 60, 1)
    clock.advance(365 * 86_400)
    store.write_sync(rate_limits.add, ahead)
    clock.advance(-365 * 86_400)
    assert store.write_sync(rate_limits.add, [mine]) == [mine]
    # The other caller's own save or the next deletion ends the count that is ahead.
    assert store.write_sync(rate_limits.forget, now) == 1
    assert store.read_sync(rate_limits.spent_by, "a") == [mine._asdict()]


async def test_counts_hold_across_hubs(hubs: list[Store]) -> None:
    counted = [RateLimits(store, HubSettings(rate_limits={"core": 10})) for store in hubs]
    for number in (0, 1, 0, 1):
        charged(counted[number], hubs[number], 2)
        await counted[number].counters.save()
    # The first hub may not have read the second hub's latest count yet.
    assert charged(counted[0], hubs[0]).status.used in (7, 9)
    await counted[0].counters.save()
    assert hubs[0].read_sync(counted[0].peek, USER).status.used == 9
    found = {one.resource: one.used for one in hubs[1].read_sync(counted[1].statuses, USER)}
    assert found["core"] == 9
    charged(counted[1], hubs[1])
    with pytest.raises(Exception, match="exceeded for user ID 7"):
        charged(counted[1], hubs[1])


async def test_nothing_counts_twice_while_it_is_written(
    hubs: list[Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A count is right when the store has written it, but the hub has not got the result yet."""
    store, _ = hubs
    counted = RateLimits(store, HubSettings())
    charged(counted, store, 3)
    seen: list[int] = []
    note = store.write_relaxed

    async def slow(*given: Any) -> Any:
        charged(counted, store)
        seen.append(core(counted, store))
        found = await note(*given)
        seen.append(core(counted, store))
        charged(counted, store)
        seen.append(core(counted, store))
        return found

    with monkeypatch.context() as patch:
        patch.setattr(store, "write_relaxed", slow)
        await counted.counters.save()
    seen.append(core(counted, store))
    assert seen == [4, 4, 5, 5]
    await counted.close()
    assert core(RateLimits(store, HubSettings()), store) == 5


def core(counted: RateLimits, store: Store) -> int:
    """The used requests of the resource `core`, as in the response of GET /rate_limit."""
    found = {one.resource: one.used for one in store.read_sync(counted.statuses, USER)}
    return found["core"]


@pytest.mark.parametrize("before", [True, False])
async def test_a_count_read_before_a_write_loses_no_request(
    hubs: list[Store], monkeypatch: pytest.MonkeyPatch, before: bool
) -> None:
    """A thread reads the count before the write begins, or during it.

    It uses the count after the write has ended.
    """
    store, _ = hubs
    counted = RateLimits(store, HubSettings())
    charged(counted, store, 3)
    await counted.counters.save()
    charged(counted, store, 2)
    read, written = threading.Event(), threading.Event()
    of, note = rate_limits.spent_by, store.write_relaxed

    def waiting(*given: Any) -> Any:
        rows = of(*given)
        read.set()
        assert written.wait(60)
        return rows

    async def reading() -> asyncio.Task[int]:
        task = asyncio.create_task(asyncio.to_thread(core, counted, store))
        assert await asyncio.to_thread(read.wait, 60)
        return task

    monkeypatch.setattr(rate_limits, "spent_by", waiting)
    tasks = [await reading()] if before else []

    async def amid(*given: Any) -> Any:
        if not before:
            tasks.append(await reading())
        return await note(*given)

    with monkeypatch.context() as patch:
        patch.setattr(store, "write_relaxed", amid)
        await counted.counters.save()
    written.set()
    assert await tasks[0] == 5
    await counted.close()


async def test_one_writing_waits_for_the_other(
    hubs: list[Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a write is slow, each charge counts, and each charge is written once."""
    store, _ = hubs
    counted = RateLimits(store, HubSettings())
    charged(counted, store, 3)
    gate, at_it = asyncio.Event(), 0
    note = store.write_relaxed

    async def slow(*given: Any) -> Any:
        nonlocal at_it
        at_it += 1
        assert at_it == 1
        await gate.wait()
        at_it -= 1
        return await note(*given)

    monkeypatch.setattr(store, "write_relaxed", slow)
    first = asyncio.create_task(counted.counters.save())
    await asyncio.sleep(0)
    charged(counted, store, 2)
    second = asyncio.create_task(counted.counters.save())
    await asyncio.sleep(0)
    assert core(counted, store) == 5
    gate.set()
    await asyncio.gather(first, second)
    assert core(counted, store) == 5
    assert core(RateLimits(store, HubSettings()), store) == 5


async def test_counts_that_cannot_be_written_are_kept(
    hubs: list[Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    from store.errors import Unavailable

    store, _ = hubs
    counted = RateLimits(store, HubSettings())
    charged(counted, store, 2)

    async def broken(*_: object) -> None:
        raise Unavailable("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(store, "write_relaxed", broken)
        await counted.counters.save()
    assert charged(counted, store).status.used == 3
    await counted.close()
    assert [row["used"] for row in store.read_sync(rate_limits.spent_by, "user:7")] == [3, 3]


async def test_an_older_window_does_not_come_back(hubs: list[Store]) -> None:
    store, _ = hubs
    old = rate_limits.StoredCount("user:7", "core", 0, 3600, 5)
    new = rate_limits.StoredCount("user:7", "core", 3600, 7200, 1)
    assert store.write_sync(rate_limits.add, [old]) == [old]
    assert store.write_sync(rate_limits.add, [new]) == [new]
    assert store.write_sync(rate_limits.add, [old]) == [new]
    assert store.write_sync(rate_limits.forget, 7199) == 0
    assert store.write_sync(rate_limits.forget, 7200) == 1


@pytest.mark.parametrize(("before", "after"), [(60, 3600), (3600, 60), (3600, 86_400)])
async def test_a_limit_holds_after_its_window_has_another_length(
    hubs: list[Store], clock: MovableClock, before: int, after: int
) -> None:
    store, _ = hubs
    # All windows have begun, and the short one began last.
    clock.advance(30)
    former = RateLimits(store, HubSettings(rate_windows={"core": before}))
    charged(former, store, 3)
    await former.close()
    counted = RateLimits(store, HubSettings(rate_windows={"core": after}, rate_limits={"core": 2}))
    for used in (1, 2):
        assert charged(counted, store).status.used == used
        await counted.counters.save()
    with pytest.raises(Exhausted):
        charged(counted, store)
    await counted.close()


@pytest.mark.parametrize(("one", "other"), [(60, 3600), (3600, 60), (3600, 86_400)])
async def test_each_hub_holds_its_limit_while_another_has_another_length_of_window(
    hubs: list[Store], clock: MovableClock, one: int, other: int
) -> None:
    clock.advance(30)
    lengths = zip(hubs, (one, other), strict=True)
    both = [RateLimits(store, HubSettings(rate_windows={"core": each})) for store, each in lengths]
    for used in range(1, 6):
        for store, counted in zip(hubs, both, strict=True):
            assert charged(counted, store).status.used == used
            await counted.counters.save()
            core = next(s for s in store.read_sync(counted.statuses, USER) if s.resource == "core")
            assert core.used == used
    for counted in both:
        await counted.close()


async def test_counts_are_saved_at_intervals(
    client: httpx.AsyncClient, store: Store, seed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate_counters, "INTERVAL", 0.01)
    await client.get("/versions")
    async with asyncio.timeout(PATIENCE):
        while not (rows := store.read_sync(rate_limits.spent_by, f"user:{seed.octo['id']}")):  # noqa: ASYNC110 - the test waits for the store
            await asyncio.sleep(0.01)
    assert {row["resource"]: row["used"] for row in rows} == {"core/3600": 1, "points/60": 1}


async def test_a_wrong_token_is_saved_wherever_it_is_counted(
    store: Store, seed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hub that only takes events gets no request of the API with which counts are saved."""
    monkeypatch.setattr(rate_counters, "INTERVAL", 0)
    wrong, form = tokens.new_value("personal"), {"csrf": csrf.token_of("door"), "token": "x"}

    def stored() -> int:
        rows = store.read_sync(rate_limits.spent_by, "address:127.0.0.1")
        return next((row["used"] for row in rows if row["resource"].startswith("bad tokens/")), 0)

    async with client_of(store, wrong) as client:
        for used, (method, path) in enumerate(
            (("POST", "/octo/hello/events/push"), ("GET", "/metrics"), ("POST", "/ui/sign-in")), 1
        ):
            cookie = {"Cookie": f"{cookies.DOOR}=door"}
            answer = await client.request(method, path, data=form, headers=cookie)
            assert answer.status_code == 401
            await until(lambda used=used: stored() == used, path)
    # The counts can be read before the writer has reported their commit to the event loop.
    await store.close()


async def test_many_callers_do_not_fill_the_memory(store: Store) -> None:
    counters = RateCounters(store, 3600, max_subjects=10)
    counted = RateLimits(store, HubSettings(), counters)
    for number in range(20):
        store.read_sync(counted.charge, RateSubject("address", f"192.0.2.{number}"), "core")
    assert len(counters) == 20
    await counters.save()
    assert len(counters) == 0
    ticket = store.read_sync(counted.charge, RateSubject("address", "192.0.2.3"), "core")
    assert ticket.status.used == 2
    await store.close()


async def test_many_callers_of_free_requests_do_not_fill_the_memory(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate_counters, "INTERVAL", 0)
    counters = RateCounters(store, 3600, max_subjects=10)
    counted = RateLimits(store, HubSettings(), counters)
    for number in range(20):
        subject = RateSubject("address", f"192.0.2.{number}")
        counted.end(store.read_sync(counted.charge, subject, "", points=0))
    await until(lambda: len(counters) == 0)
    await counters.close()
    await store.close()


async def test_a_caller_is_kept_in_memory_until_all_windows_have_ended(
    store: Store, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate_counters, "FORGET_EVERY", 0)
    counted = RateLimits(store, HubSettings())
    for number in range(20):
        subject = RateSubject("address", f"192.0.2.{number}")
        store.read_sync(counted.charge, subject, "core")
        await counted.counters.save()
    assert len(counted.counters) == 20
    clock.advance(3600)
    for _ in range(2):
        assert charged(counted, store).status.used == 1
        await counted.counters.save()
        assert len(counted.counters) == 1
        clock.advance(3600)
    await counted.close()
    await store.close()


async def test_a_request_counts_although_its_caller_is_forgotten_meanwhile(
    store: Store, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate_counters, "FORGET_EVERY", 0)
    counted = RateLimits(store, HubSettings())
    charged(counted, store)
    await counted.counters.save()
    clock.advance(3600)
    counters = counted.counters
    found = store.read_sync(counters.of, USER.key)
    await counters.save()
    assert len(counters) == 0
    with counters.lock:
        counters.take(counters.running(found, USER.key, "core", 3600, clock.now() // SECOND), 1)
    assert charged(counted, store).status.used == 2
    await counted.close()
    assert charged(RateLimits(store, HubSettings()), store).status.used == 3
    await store.close()


async def test_events_and_health_are_not_limited(store: Store, seed: Any) -> None:
    async with client_of(store, seed.token, rate_limits={"core": 0}) as client:
        answer = await client.post("/octo/hello/events/push", json={})
        assert answer.status_code == 202
        assert "X-RateLimit-Limit" not in answer.headers
        assert (await client.get("https://forge.example/healthz")).status_code == 200
        assert (await client.get("/versions")).status_code == 403
        assert (await client.post("/hub", data={})).status_code == 403
    await store.close()


def scope(peer: str | None, *forwarded: str) -> dict[str, Any]:
    headers = [(b"x-forwarded-for", value.encode()) for value in forwarded]
    return {"client": None if peer is None else (peer, 1), "headers": headers}


@pytest.mark.parametrize(
    ("peer", "forwarded", "expected"),
    [
        ("203.0.113.9", [], "203.0.113.9"),
        ("203.0.113.9", ["198.51.100.1"], "203.0.113.9"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["192.0.2.1, 198.51.100.1, 10.0.0.2"], "198.51.100.1"),
        ("10.0.0.1", ["192.0.2.1", "198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["192.0.2.1, nonsense"], "10.0.0.1"),
        ("10.0.0.1", ["10.0.0.3"], "10.0.0.3"),
        ("10.0.0.1", ["192.0.2.1, 198.51.100.1:50123, 10.0.0.2:443"], "198.51.100.1"),
        ("10.0.0.1", ["[2001:db8:1:2::9]:50123"], "2001:db8:1:2::/64"),
        ("10.0.0.1", ["[2001:db8:1:2::9]"], "2001:db8:1:2::/64"),
        ("10.0.0.1", ["192.0.2.1, 198.51.100.1:a"], "10.0.0.1"),
        ("10.0.0.1", ["192.0.2.1, [198.51.100.1:1"], "10.0.0.1"),
        ("2001:db8:1:2:3:4:5:6", [], "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.1", [], "192.0.2.1"),
        (None, ["192.0.2.1"], "unknown"),
    ],
)
def test_client_addresses_behind_proxies(
    peer: str | None, forwarded: list[str], expected: str
) -> None:
    assert ClientAddresses(["10.0.0.0/8"]).address(scope(peer, *forwarded)) == expected


def test_only_the_nearest_hops_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client may send thousands of addresses, which the proxy passes on."""
    parsed: list[str] = []

    def parse(text: str) -> IPv4Address | IPv6Address:
        parsed.append(text)
        return ip_address(text)

    monkeypatch.setattr(client_address.ipaddress, "ip_address", parse)
    clients = ClientAddresses(["10.0.0.0/8"])
    for hops, expected in (
        ("192.0.2.1," * 6000 + "198.51.100.1", "198.51.100.1"),
        ("10.0.0.2," * 6000 + "10.0.0.3", "10.0.0.2"),
    ):
        parsed.clear()
        assert clients.address(scope("10.0.0.1", hops)) == expected
        assert len(parsed) < 6 * client_address.MOST_HOPS


@pytest.mark.parametrize("trusted", ["10.0.0.0/8", "::ffff:10.0.0.0/104"])
def test_a_proxy_is_trusted_also_on_a_socket_for_both_versions_of_ip(trusted: str) -> None:
    """The socket of `host = "::"` shows IPv4 addresses as IPv6 ones."""
    clients = ClientAddresses([trusted])
    hops = ("198.51.100.7, ::ffff:10.0.0.6",)
    assert clients.address(scope("::ffff:10.0.0.5", *hops)) == "198.51.100.7"
    assert clients.address(scope("::ffff:192.0.2.9", *hops)) == "192.0.2.9"


def test_no_proxy_is_trusted_by_default() -> None:
    assert ClientAddresses([]).address(scope("10.0.0.1", "192.0.2.1")) == "10.0.0.1"


@pytest.mark.parametrize(
    "wrong",
    [
        {"rate_limits": {"nothing": 1}},
        {"rate_limits": {"core": -1}},
        {"trusted_proxies": ["10.0.0.1/8"]},
        {"trusted_proxies": ["proxy.example"]},
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"nothing|negative|host bits|proxy\.example"):
        HubSettings(**wrong)


def test_a_window_lasts_at_least_a_second() -> None:
    with pytest.raises(ValueError, match="core must last at least 1 second"):
        HubSettings(rate_windows={"core": 0})


def test_unnamed_limits_keep_their_defaults() -> None:
    settings = HubSettings(rate_limits={"search": 5})
    assert (settings.rate_limits["search"], settings.rate_limits["core"]) == (5, 5000)
    assert RATE_LIMITS["search"] == 30


async def test_a_user_with_a_password_is_counted_as_that_user(store: Store) -> None:
    store.write_sync(accounts.create, "pass", password="open sesame")
    async with client_of(store, None) as client:
        answer = await client.get("/authorizations", auth=("pass", "open sesame"))
        assert reported(answer) == (5000, 4999, 1, "core")
        answer = await client.get("/authorizations", auth=("pass", "wrong"))
        assert reported(answer) == (60, 59, 1, "core")
    await store.close()
