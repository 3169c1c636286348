"""Seats of an organization's assistant subscription: assignment, cancellation, and expiry."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from assertions import assert_error, bodies
from bearer import bearer
from hub_client import open_client
from required import required
from transactions import transaction
from waiting import PATIENCE

from hub.auth import authentications
from hub.auth.authentications import Authentications
from hub.settings import HubSettings
from store import Connection, Store
from store.accounts import accounts, teams, tokens
from store.assistant import (
    assistant_seats,
    assistant_subscriptions,
    membership_seats,
    seat_activity,
)
from store.assistant.assistant_subscriptions import cycle
from store.clock import DAY, SECOND, MovableClock, iso, parse
from store.errors import Conflict

AT = "/orgs/acme/assistant/billing"
USERS, TEAMS = f"{AT}/selected_users", f"{AT}/selected_teams"


def _acme(db: Connection) -> str:
    """Create the organization acme with a subscription. Return a token of its owner olga.

    ann, ben and cat are members. ann and ben are in the team Ops, ben and cat in Web Folks.
    """
    org = accounts.create(db, "acme", kind="Organization")
    people = {}
    for login in ("olga", "ann", "ben", "cat", "stranger"):
        people[login] = accounts.create(db, login)["id"]
        if login != "stranger":
            accounts.join(db, org["id"], people[login], "admin" if login == "olga" else "member")
    for name, members in (("Ops", ("ann", "ben")), ("Web Folks", ("ben", "cat"))):
        team = teams.create(db, org["id"], name)
        teams.join(db, team["id"], [people[login] for login in members])
    assistant_subscriptions.put(db, org["id"])
    return tokens.create(db, people["olga"], scopes=["manage_billing:assistant"])[0]


def organization_id(db: Connection) -> int:
    found = required(accounts.by_login(db, "acme"))
    return int(found["id"])


@pytest.fixture
async def client(store: Store, settings: HubSettings) -> AsyncIterator[httpx.AsyncClient]:
    async with open_client(store, settings, headers=bearer(store.write_sync(_acme))) as opened:
        yield opened


async def give(client: httpx.AsyncClient, *users: str) -> int:
    answer = await client.post(USERS, json={"selected_usernames": users})
    assert answer.status_code == 201
    return int(answer.json()["seats_created"])


async def give_teams(client: httpx.AsyncClient, *names: str) -> int:
    answer = await client.post(TEAMS, json={"selected_teams": names})
    assert answer.status_code == 201
    return int(answer.json()["seats_created"])


async def cancel(client: httpx.AsyncClient, *users: str) -> int:
    answer = await client.request("DELETE", USERS, json={"selected_usernames": users})
    assert answer.status_code == 200
    return int(answer.json()["seats_cancelled"])


async def cancel_teams(client: httpx.AsyncClient, *names: str) -> int:
    answer = await client.request("DELETE", TEAMS, json={"selected_teams": names})
    assert answer.status_code == 200
    return int(answer.json()["seats_cancelled"])


async def seats(client: httpx.AsyncClient) -> dict[str, Any]:
    """The date on which each user's seat ends, by login. None if the seat is not cancelled."""
    found = (await client.get(f"{AT}/seats")).json()
    shown = {
        each["assignee"]["login"]: each["pending_cancellation_date"] for each in found["seats"]
    }
    assert found["total_seats"] == len(shown)
    return shown


def actions(store: Store) -> list[str]:
    return [each["action"] for each in bodies(store, "assistant_seat")]


async def test_a_seat_from_its_giving_to_its_end(
    client: httpx.AsyncClient, store: Store, clock: MovableClock
) -> None:
    assert await give(client, "ann", "Ben", "ANN") == 2
    assert await give(client, "ann") == 0, "ann already has a seat"
    _, ends = cycle(clock.now())
    assert await cancel(client, "ann") == 1
    assert await cancel(client, "ann") == 0
    assert await seats(client) == {"ann": iso(ends)[:10], "ben": None}
    assert await give(client, "ann", "cat") == 2, "cat's seat is new, and ann's is refreshed"
    assert await seats(client) == {"ann": None, "ben": None, "cat": None}
    await cancel(client, "ann", "cat")
    clock.advance((ends - clock.now()) / 1_000_000)
    assert await seats(client) == {"ben": None}, "the seats end even before the worker runs"
    assert_error(await client.get("/orgs/acme/members/ann/assistant"), 404)
    assert await give(client, "ann") == 1
    reported = bodies(store, "assistant_seat")
    assert [each["action"] for each in reported] == (
        ["created"] * 2 + ["cancellation_pending"] + ["created", "refreshed"]
        + ["cancellation_pending"] * 2 + ["cancelled", "created"]
    )  # fmt: skip
    assert reported[2]["seat"]["pending_cancellation_date"] == iso(ends)[:10]


async def test_the_seats_of_teams(client: httpx.AsyncClient) -> None:
    assert await give_teams(client, "Ops", "web-folks") == 3
    ben = (await client.get("/orgs/acme/members/BEN/assistant")).json()
    assert ben["assigning_team"]["name"] == "Ops"
    assert ben["assigning_team"]["type"] == "organization"
    assert await cancel(client, "ann") == 0, "ann keeps her seat because her team Ops has one"
    await give(client, "ann")
    assert await cancel_teams(client, "ops") == 0, "ben keeps his through Web Folks, ann her own"
    assert await cancel_teams(client, "Web Folks") == 2
    pending = await seats(client)
    assert pending["ann"] is None
    assert None not in (pending["ben"], pending["cat"])


async def test_a_seat_names_a_team_with_the_subscription(
    client: httpx.AsyncClient, clock: MovableClock
) -> None:
    async def shown() -> Any:
        return (await client.get("/orgs/acme/members/ben/assistant")).json()

    await give_teams(client, "Ops", "Web Folks")
    clock.advance(60)
    await cancel_teams(client, "Ops")
    found = await shown()
    assert (found["assigning_team"]["slug"], found["updated_at"]) == ("web-folks", iso(clock.now()))
    await cancel_teams(client, "Web Folks")
    assert (await shown())["assigning_team"] is None
    assert await give(client, "ben") == 1
    assert (await shown())["assigning_team"] is None
    await give_teams(client, "Ops")
    await cancel(client, "ben")
    found = await shown()
    assert (found["assigning_team"]["slug"], found["pending_cancellation_date"]) == ("ops", None)


async def test_a_personal_seat_names_no_team(client: httpx.AsyncClient, store: Store) -> None:
    await give(client, "ann")
    await give_teams(client, "Ops")
    with transaction(store) as db:
        (ops,) = teams.named(db, organization_id(db), ["Ops"])
        cat = required(accounts.by_login(db, "cat"))
        teams.join(db, ops["id"], [cat["id"]])
    for login in ("ann", "cat"):
        await give(client, login)
        shown = (await client.get(f"/orgs/acme/members/{login}/assistant")).json()
        assert shown["assigning_team"] is None


async def test_a_team_refreshes_a_cancelled_seat(client: httpx.AsyncClient, store: Store) -> None:
    await give(client, "ann")
    await cancel(client, "ann")
    assert await give_teams(client, "Ops") == 2, "ben's seat is new, and ann's is refreshed"
    assert await seats(client) == {"ann": None, "ben": None}
    shown = (await client.get("/orgs/acme/members/ann/assistant")).json()
    assert shown["assigning_team"]["slug"] == "ops"
    assert sorted(actions(store)[2:]) == ["created", "refreshed"]


async def test_a_team_gives_a_seat_anew_that_has_ended(
    client: httpx.AsyncClient, store: Store, clock: MovableClock
) -> None:
    await give(client, "ann")
    await cancel(client, "ann")
    clock.advance(31 * DAY // SECOND)
    assert await give_teams(client, "Ops") == 2
    assert actions(store)[2:] == ["cancelled", "created", "created"]
    assert bodies(store, "assistant_seat")[2]["seat"]["assignee"]["login"] == "ann"


async def test_a_seat_of_a_former_team_member_ends_with_the_team(
    client: httpx.AsyncClient, store: Store
) -> None:
    await give_teams(client, "Ops")
    store.write_sync(lambda db: db.execute("DELETE FROM team_member"))
    assert await cancel_teams(client, "Ops") == 2


async def test_giving_a_seat_again_changes_nothing(
    client: httpx.AsyncClient, store: Store, clock: MovableClock
) -> None:
    await give_teams(client, "Ops")
    await give(client, "ann")
    before = (await client.get(f"{AT}/seats")).json()
    clock.advance(60)
    assert (await give_teams(client, "Ops"), await give(client, "ann")) == (0, 0)
    assert (await client.get(f"{AT}/seats")).json() == before
    assert actions(store) == ["created", "created"]


async def test_the_summary_is_counted(
    client: httpx.AsyncClient, store: Store, clock: MovableClock
) -> None:
    await give(client, "ann", "ben")
    begins, ends = cycle(clock.now())
    clock.advance((ends - clock.now()) / 1_000_000)
    await give(client, "cat")
    await cancel(client, "ben")

    def use(db: Connection) -> None:
        ann = required(accounts.by_login(db, "ann"))
        of = organization_id(db), ann["id"]
        seat_activity.used(db, [(*of, db.now, "vim/9")])
        seat_activity.used(db, [(*of, db.now - DAY, "older")])

    store.write_sync(use)
    found = (await client.get(AT)).json()
    assert found["seat_breakdown"] == {
        "total": 3,
        "added_this_cycle": 1,
        "pending_cancellation": 1,
        "pending_invitation": 0,
        "active_this_cycle": 1,
        "inactive_this_cycle": 2,
    }
    assert found["plan_type"] == "business"
    assert found["seat_management_setting"] == "assign_selected"
    ann = (await client.get("/orgs/acme/members/ann/assistant")).json()
    assert ann["last_activity_editor"] == "vim/9"
    assert ann["last_activity_at"] == iso(clock.now())
    assert begins < ends


async def test_a_seat_shows_the_last_authentication_of_its_holder(
    client: httpx.AsyncClient,
    store: Store,
    clock: MovableClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(authentications, "DELAY", 0.01)

    def token(db: Connection) -> str:
        ann = required(accounts.by_login(db, "ann"))
        return tokens.create(db, ann["id"], scopes=["repo"])[0]

    async def shown() -> Any:
        return (await client.get("/orgs/acme/members/ann/assistant")).json()[
            "last_authenticated_at"
        ]

    await give(client, "ann", "ben")
    assert await shown() is None
    assert (
        await client.get("/rate_limit", headers=bearer(store.write_sync(token)))
    ).status_code == 200
    async with asyncio.timeout(PATIENCE):
        while await shown() is None:  # noqa: ASYNC110 - it is asked over HTTP
            await asyncio.sleep(0.01)
    assert await shown() == iso(clock.now())
    ben = (await client.get("/orgs/acme/members/ben/assistant")).json()
    assert ben["last_authenticated_at"] is None


async def test_authenticating_often_writes_once_an_hour(
    anyio_backend: str, store: Store, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[list[tuple[int, int]]] = []
    monkeypatch.setattr(seat_activity, "authenticated", lambda db, rows: written.append(rows))
    seen = Authentications(store)
    begun = clock.now()
    for _ in range(100):
        seen.note(1)
        seen.note(2)
    await seen.save()
    clock.advance(3599)
    seen.note(1)
    await seen.close()
    assert written == [[(1, begun), (2, begun)]]
    clock.advance(1)
    seen.note(1)
    clock.advance(-7200)
    seen.note(1)
    await seen.close()
    assert written[1:] == [[(1, begun - 3600 * SECOND)]]


async def test_activity_that_could_not_be_saved_is_dropped(
    anyio_backend: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[int] = []

    def failing(db: Connection, rows: list[tuple[int, int]]) -> None:
        written.append(len(rows))
        raise Conflict("not now")

    monkeypatch.setattr(seat_activity, "authenticated", failing)
    seen = Authentications(store)
    for _ in range(2):
        seen.note(1)
        await seen.save()
    await seen.close()
    assert written == [1, 1]


async def test_the_noted_times_are_dropped_if_users_are_too_many(
    anyio_backend: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[int] = []
    monkeypatch.setattr(authentications, "MOST", 3)
    monkeypatch.setattr(
        seat_activity, "authenticated", lambda db, rows: written.extend(key for key, _ in rows)
    )
    seen = Authentications(store)
    for account_id in (1, 2, 3, 4, 1):
        seen.note(account_id)
        await seen.save()
    await seen.close()
    assert written == [1, 2, 3, 4, 1]


async def test_pages_of_fifty(client: httpx.AsyncClient, store: Store) -> None:
    with transaction(store) as db:
        found = [accounts.create(db, f"u{number}")["id"] for number in range(51)]
        assistant_seats.give_users(db, organization_id(db), found)
    answer = await client.get(f"{AT}/seats")
    assert len(answer.json()["seats"]) == 50
    assert answer.json()["total_seats"] == 51
    assert "next" in answer.links
    assert (await client.get(AT)).json()["seat_breakdown"]["pending_invitation"] == 51


@pytest.mark.parametrize(
    "settings_of_acme",
    [
        {"payable": 0},
        {"public_code": "unconfigured"},
        {"seat_management": "assign_all"},
        {"seat_management": "unconfigured"},
    ],
)
async def test_seats_need_a_subscription_that_is_set_up(
    client: httpx.AsyncClient, store: Store, settings_of_acme: dict[str, Any]
) -> None:
    store.write_sync(
        lambda db: assistant_subscriptions.put(db, organization_id(db), **settings_of_acme)
    )
    assert_error(await client.post(TEAMS, json={"selected_teams": ["Ops"]}), 422)
    assert_error(await client.post(USERS, json={"selected_usernames": ["ann"]}), 422)
    assert actions(store) == []


def manage(db: Connection, how: str) -> None:
    """Set how acme assigns seats, as a state document does."""
    org = organization_id(db)
    before = assistant_subscriptions.of(db, org)
    after = assistant_subscriptions.put(db, org, seat_management=how)
    assistant_seats.manage(db, org, before, after)


async def test_all_members_have_a_seat(client: httpx.AsyncClient, store: Store) -> None:
    await give(client, "ann", "ben")
    await cancel(client, "ben")
    store.write_sync(manage, "assign_all")
    everybody = dict.fromkeys(("ann", "ben", "cat", "olga"))
    assert await seats(client) == everybody
    found = (await client.get(AT)).json()
    assert found["seat_management_setting"] == "assign_all"
    assert found["seat_breakdown"] == {
        "total": 4,
        "added_this_cycle": 4,
        "pending_cancellation": 0,
        "pending_invitation": 0,
        "active_this_cycle": 0,
        "inactive_this_cycle": 4,
    }
    cat = (await client.get("/orgs/acme/members/cat/assistant")).json()
    assert cat["assigning_team"] is None
    for at, body in (
        (USERS, {"selected_usernames": ["cat"]}),
        (TEAMS, {"selected_teams": ["Ops"]}),
    ):
        for method in ("POST", "DELETE"):
            assert_error(await client.request(method, at, json=body), 422)
    assert await seats(client) == everybody


async def test_a_new_member_has_a_seat_where_all_have_one(
    client: httpx.AsyncClient, store: Store
) -> None:
    def come(db: Connection, login: str) -> None:
        account = accounts.by_login(db, login) or accounts.create(db, login)
        membership_seats.join(db, organization_id(db), account["id"], "member")

    store.write_sync(come, "early")
    assert await seats(client) == {}
    store.write_sync(manage, "assign_all")
    store.write_sync(come, "stranger")
    store.write_sync(come, "stranger")
    assert sorted(await seats(client)) == ["ann", "ben", "cat", "early", "olga", "stranger"]
    assert (await client.get(AT)).json()["seat_breakdown"]["total"] == 6


@pytest.mark.parametrize("after", ["assign_selected", "disabled", "unconfigured"])
async def test_seats_that_only_all_had_end_with_the_cycle(
    client: httpx.AsyncClient, store: Store, clock: MovableClock, after: str
) -> None:
    await give(client, "ann")
    await give_teams(client, "Web Folks")
    store.write_sync(manage, "assign_all")
    _, ends = cycle(clock.now())
    store.write_sync(manage, after)
    kept = dict.fromkeys(("ann", "ben", "cat"))
    assert await seats(client) == kept | {"olga": iso(ends)[:10]}
    assert (await client.get(AT)).json()["seat_breakdown"]["pending_cancellation"] == 1
    store.write_sync(manage, after)
    assert await seats(client) == kept | {"olga": iso(ends)[:10]}
    store.write_sync(manage, "assign_all")
    assert await seats(client) == kept | {"olga": None}
    store.write_sync(manage, after)
    clock.advance((ends - clock.now()) / 1_000_000)
    assert await seats(client) == kept


async def test_a_user_gets_a_new_seat_after_the_old_one_ended(
    client: httpx.AsyncClient, store: Store, clock: MovableClock
) -> None:
    await give(client, "ann")
    await cancel(client, "ann")
    _, ends = cycle(clock.now())
    clock.advance((ends - clock.now()) / 1_000_000)
    store.write_sync(manage, "assign_all")
    assert (await seats(client))["ann"] is None
    assert (await client.get(AT)).json()["seat_breakdown"]["added_this_cycle"] == 4


async def test_giving_seats_selects_the_setting_for_selected_users(
    client: httpx.AsyncClient, store: Store
) -> None:
    store.write_sync(
        lambda db: assistant_subscriptions.put(db, organization_id(db), seat_management="disabled")
    )
    await give(client, "ann")
    assert (await client.get(AT)).json()["seat_management_setting"] == "assign_selected"


async def test_an_organization_without_billing_is_refused(
    client: httpx.AsyncClient, store: Store
) -> None:
    store.write_sync(lambda db: assistant_subscriptions.put(db, organization_id(db), payable=0))
    assert_error(await client.get(AT), 422)
    assert_error(await client.get("/orgs/acme/members/ann/assistant"), 422)
    assert_error(await client.request("DELETE", TEAMS, json={"selected_teams": ["Ops"]}), 422)


async def test_an_organization_without_a_subscription_has_no_seats(
    client: httpx.AsyncClient, store: Store
) -> None:
    with transaction(store) as db:
        db.execute("DELETE FROM assistant_subscription")
    assert_error(await client.get(AT), 404)
    assert_error(await client.get(f"{AT}/seats"), 404)
    assert_error(await client.post(USERS, json={"selected_usernames": ["ann"]}), 422)


@pytest.mark.parametrize(
    ("at", "body"),
    [
        (TEAMS, {"selected_teams": ["Ops", "Nobody"]}),
        (TEAMS, {"selected_teams": []}),
        (TEAMS, {"selected_teams": "Ops"}),
        (USERS, {"selected_usernames": ["ann", "stranger"]}),
        (USERS, {"selected_usernames": ["ann", "acme"]}),
        (USERS, {"selected_usernames": []}),
        (USERS, {}),
    ],
)
@pytest.mark.parametrize("method", ["POST", "DELETE"])
async def test_one_invalid_name_rejects_all_seats(
    client: httpx.AsyncClient, store: Store, method: str, at: str, body: Any
) -> None:
    assert_error(await client.request(method, at, json=body), 422)
    assert await seats(client) == {}


@pytest.mark.parametrize(
    ("now", "begins", "ends"),
    [
        ("2026-11-21T07:33:00Z", "2026-11-01", "2026-12-01"),
        ("2026-12-31T23:59:59Z", "2026-12-01", "2027-01-01"),
        ("2027-01-01T00:00:00Z", "2027-01-01", "2027-02-01"),
    ],
)
def test_a_cycle_is_a_month(now: str, begins: str, ends: str) -> None:
    assert [iso(moment)[:10] for moment in cycle(parse(now))] == [begins, ends]
