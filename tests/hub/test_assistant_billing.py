"""Group 9: who of an organization has a seat at the assistant, and until when."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from asking import asking
from asserting import assert_error, bodies

from hub.settings import HubSettings
from store import (
    Connection,
    Store,
    accounts,
    assistant_seats,
    assistant_subscriptions,
    teams,
    tokens,
)
from store.assistant_subscriptions import cycle
from store.clock import DAY, MovableClock, iso, parse

AT = "/orgs/acme/assistant/billing"
USERS, TEAMS = f"{AT}/selected_users", f"{AT}/selected_teams"


def _acme(db: Connection) -> str:
    """olga owns acme; ann, ben and cat are members, ann and ben in Ops, ben and cat in Web."""
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
    found = accounts.by_login(db, "acme")
    assert found is not None
    return int(found["id"])


@pytest.fixture
async def client(store: Store, settings: HubSettings) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"Authorization": f"Bearer {store.do(_acme)}"}
    async with asking(store, settings, headers=headers) as opened:
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
    """Login to the date that the seat ends."""
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
    assert await give(client, "ann") == 0, "who has one keeps it"
    _, ends = cycle(clock.now())
    assert await cancel(client, "ann") == 1
    assert await cancel(client, "ann") == 0
    assert await seats(client) == {"ann": iso(ends)[:10], "ben": None}
    assert await give(client, "ann", "cat") == 2, "one is new and one refreshed"
    assert await seats(client) == {"ann": None, "ben": None, "cat": None}
    await cancel(client, "ann", "cat")
    clock.advance((ends - clock.now()) / 1_000_000)
    assert await seats(client) == {"ben": None}, "also where the worker is late"
    assert_error(await client.get("/orgs/acme/members/ann/assistant"), 404)
    assert await give(client, "ann") == 1
    told = bodies(store, "assistant_seat")
    assert [each["action"] for each in told] == (
        ["created"] * 2 + ["cancellation_pending"] + ["created", "refreshed"]
        + ["cancellation_pending"] * 2 + ["created"]
    )  # fmt: skip
    assert told[2]["seat"]["pending_cancellation_date"] == iso(ends)[:10]


async def test_the_seats_of_teams(client: httpx.AsyncClient) -> None:
    assert await give_teams(client, "Ops", "web-folks") == 3
    ben = (await client.get("/orgs/acme/members/BEN/assistant")).json()
    assert ben["assigning_team"]["name"] == "Ops"
    assert ben["assigning_team"]["type"] == "organization"
    assert await cancel(client, "ann") == 0, "ann keeps hers through the team"
    await give(client, "ann")
    assert await cancel_teams(client, "ops") == 0, "ben has his through the other, ann her own"
    assert await cancel_teams(client, "Web Folks") == 2
    pending = await seats(client)
    assert pending["ann"] is None
    assert None not in (pending["ben"], pending["cat"])


async def test_the_summary_is_counted(
    client: httpx.AsyncClient, store: Store, clock: MovableClock
) -> None:
    await give(client, "ann", "ben")
    begins, ends = cycle(clock.now())
    clock.advance((ends - clock.now()) / 1_000_000)
    await give(client, "cat")
    await cancel(client, "ben")

    def use(db: Connection) -> None:
        ann = accounts.by_login(db, "ann")
        assert ann is not None
        of = organization_id(db), ann["id"]
        assistant_seats.used(db, [(*of, db.now, "vim/9")])
        assistant_seats.used(db, [(*of, db.now - DAY, "older")])

    store.do(use)
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


async def test_pages_of_fifty(client: httpx.AsyncClient, store: Store) -> None:
    def many(db: Connection) -> None:
        found = [accounts.create(db, f"u{number}")["id"] for number in range(51)]
        assistant_seats.give_users(db, organization_id(db), found)

    store.do(many)
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
async def test_what_has_to_be_before_seats_are_given(
    client: httpx.AsyncClient, store: Store, settings_of_acme: dict[str, Any]
) -> None:
    store.do(lambda db: assistant_subscriptions.put(db, organization_id(db), **settings_of_acme))
    assert_error(await client.post(TEAMS, json={"selected_teams": ["Ops"]}), 422)
    assert_error(await client.post(USERS, json={"selected_usernames": ["ann"]}), 422)
    assert actions(store) == []


async def test_who_gives_seats_selects(client: httpx.AsyncClient, store: Store) -> None:
    store.do(
        lambda db: assistant_subscriptions.put(db, organization_id(db), seat_management="disabled")
    )
    await give(client, "ann")
    assert (await client.get(AT)).json()["seat_management_setting"] == "assign_selected"


async def test_an_organization_that_cannot_pay(client: httpx.AsyncClient, store: Store) -> None:
    store.do(lambda db: assistant_subscriptions.put(db, organization_id(db), payable=0))
    assert_error(await client.get(AT), 422)
    assert_error(await client.get("/orgs/acme/members/ann/assistant"), 422)
    assert_error(await client.request("DELETE", TEAMS, json={"selected_teams": ["Ops"]}), 422)


async def test_an_organization_without_a_subscription(
    client: httpx.AsyncClient, store: Store
) -> None:
    def leave(db: Connection) -> None:
        db.execute("DELETE FROM assistant_subscription")

    store.do(leave)
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
async def test_all_or_none(
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
