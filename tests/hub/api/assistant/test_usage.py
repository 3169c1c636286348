"""Reports of assistant usage: permissions, limits, and all-or-nothing batches."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import orjson
import pytest
from assertions import assert_error, signature
from bearer import bearer
from hub_client import open_client
from statement_log import statements
from transactions import transaction
from usage_world import Using, using

from hub.settings import HubSettings
from store import Row, Store
from store.accounts import tokens
from store.assistant import usage_names
from store.clock import MovableClock
from store.delivery import rejections, sources
from store.enterprises import enterprises
from store.errors import Busy

AT = "https://forge.example/usage"
KIND = {"Content-Type": "application/x-ndjson"}
DAY = "2026-11-20"


def line(**changes: Any) -> dict[str, Any]:
    return {"enterprise": "globe", "organization": "acme", "user": "ann", "day": DAY, **changes}


def lines(*found: dict[str, Any] | bytes) -> bytes:
    return b"\n".join(one if isinstance(one, bytes) else orjson.dumps(one) for one in found)


@pytest.fixture
def world(store: Store) -> Using:
    found = store.write_sync(using)
    store.write_sync(enterprises.join, found.enterprise["id"], found.ann["id"], "billing_manager")
    return found


def token(store: Store, user: Row, **given: Any) -> str:
    given = given or {"scopes": ["manage_billing:assistant"]}
    return store.write_sync(lambda db: tokens.create(db, user["id"], **given))[0]


@pytest.fixture
async def client(
    store: Store, world: Using, settings: HubSettings
) -> AsyncIterator[httpx.AsyncClient]:
    async with open_client(store, settings, headers=bearer(token(store, world.ann))) as opened:
        yield opened


async def post(client: httpx.AsyncClient, body: bytes, **headers: str) -> httpx.Response:
    return await client.post(AT, content=body, headers={**KIND, **headers})


def kept(store: Store) -> list[Row]:
    return store.read_sync(lambda db: db.all("SELECT * FROM usage ORDER BY id"))


async def test_all_of_a_line_of_usage_is_kept(
    client: httpx.AsyncClient, store: Store, world: Using
) -> None:
    whole = line(
        enterprise="Globe", organization="ACME", user="Ann", repository="Acme/Tools", team="OPS",
        editor="vim", language="c", model="m-1", suggestions=4, acceptances=3, lines=2, chats=1,
    )  # fmt: skip
    answer = await post(client, lines(whole, line(user="ben", editor=None, lines=0)) + b"\r\n")
    assert (answer.status_code, answer.json()) == (202, {"accepted": 2, "changed": 2})
    first, second = kept(store)
    names = store.read_sync(usage_names.list_all, world.enterprise["id"])
    assert [names[first[f"{kind}_id"]] for kind in usage_names.KINDS] == ["vim", "c", "m-1"]
    assert (first["repo_id"], first["team_id"]) == (world.tools["id"], world.ops["id"])
    assert [first[name] for name in ("suggestions", "acceptances", "lines", "chats")] == [
        4,
        3,
        2,
        1,
    ]
    assert (first["active"], first["engaged"]) == (1, 1)
    assert (second["user_id"], second["repo_id"], second["active"]) == (world.ben["id"], 0, 0)


async def test_again_changes_nothing(client: httpx.AsyncClient, store: Store) -> None:
    body = lines(line(lines=1), line(lines=2), line(day="2026-11-19"))
    assert (await post(client, body)).json() == {"accepted": 3, "changed": 2}
    assert (await post(client, body)).json() == {"accepted": 3, "changed": 0}
    assert (await post(client, lines(line(lines=3)))).json() == {"accepted": 1, "changed": 1}
    assert [row["lines"] for row in kept(store)] == [0, 3]


async def test_users_count_as_active_and_as_engaged(
    client: httpx.AsyncClient, store: Store
) -> None:
    for given, active, engaged in (
        ({}, 0, 0),
        ({"suggestions": 1}, 1, 0),
        ({"acceptances": 1}, 1, 1),
        ({"chats": 1}, 1, 1),
        ({"active": True}, 1, 0),
        ({"lines": 1, "active": False, "engaged": True}, 0, 1),
    ):
        assert (await post(client, lines(line(**given)))).status_code == 202
        (row,) = kept(store)
        assert (row["active"], row["engaged"]) == (active, engaged), given


# An invalid line of a batch, the status, and the start of the message.
BAD: list[tuple[Any, int, str]] = [
    (b"{", 400, "Problems parsing JSON"),
    (b"[]", 400, "Body should be a JSON object"),
    (b"{}", 422, '"enterprise" wasn\'t supplied.'),
    (line(day="2026-02-30"), 422, "For 'day'"),
    (line(day=20_000), 422, "For 'day'"),
    (line(lines=-1), 422, "For 'lines'"),
    (line(lines=1_000_000_001), 422, "For 'lines'"),
    (line(lines="1"), 422, "For 'lines'"),
    (line(chats=True), 422, "For 'chats'"),
    (line(active=1), 422, "For 'active'"),
    (line(editor="x" * 101), 422, "For 'editor'"),
    (line(model="a\0b"), 422, "For 'model'"),
    (line(tokens=5), 422, '"tokens" is not a permitted key.'),
    (line(chats=[[]] * 4_000), 422, "For 'chats': Input should be no object or array."),
    (line(user={"login": "ann"}), 422, "For 'user': Input should be no object or array."),
    (line(tokens=[[]] * 6_000), 422, "it is longer than 16384 bytes"),
    (line(enterprise="moon"), 422, 'No enterprise found: "moon"'),
    (line(enterprise="a\0b"), 422, "For 'enterprise'"),
    (line(organization="other"), 422, 'No organization of the enterprise found: "other"'),
    (line(user="acme"), 422, 'No user found: "acme"'),
    (line(user="a\0b"), 422, "For 'user'"),
    (line(repository="acme/none"), 422, 'No repository found: "acme/none"'),
    (line(repository="ann/tools"), 422, "the repository must belong to the organization"),
    (line(team="night"), 422, 'No team of the organization found: "night"'),
    (line(day="2026-11-22"), 422, "usage is accepted for days from 2025-11-21 to 2026-11-21"),
    (line(day="2025-11-20"), 422, "usage is accepted for days from"),
]  # fmt: skip


async def test_one_bad_line_and_nothing_is_kept(client: httpx.AsyncClient, store: Store) -> None:
    reported = "1 line cannot be accepted, so nothing was stored"
    for bad, status, message in BAD:
        answer = await post(client, lines(line(), bad, line(user="ben")))
        content = assert_error(answer, status, reported, code="custom")
        (detail,) = content["errors"]
        assert detail["message"].startswith(f"line 2: {message}")
        assert (detail["index"], detail["resource"]) == (2, "Usage")
    assert kept(store) == []
    refused = store.read_sync(rejections.page, limit=100)
    assert [(row["event"], row["reason"]) for row in refused] == [("usage", reported)] * len(BAD)


async def test_days_before_the_first_day_are_refused(
    client: httpx.AsyncClient, store: Store, clock: MovableClock
) -> None:
    clock.advance(-300 * 86_400)
    answer = await post(client, lines(line(day="2025-10-10"), line(day="2025-10-09")))
    content = assert_error(answer, 422, "1 line cannot be accepted, so nothing was stored")
    assert "for days from 2025-10-10 to 2026-01-25" in content["errors"][0]["message"]


async def test_bounds_of_a_usage_batch(client: httpx.AsyncClient, settings: HubSettings) -> None:
    assert_error(await client.post(AT, json=line()), 415)
    assert_error(await post(client, b""), 400)
    assert_error(await post(client, b"x" * (settings.max_event_bytes + 1)), 413)
    assert_error(await post(client, b"{}\n" * 10_001), 413, "A batch holds at most 10000 lines.")


async def test_a_full_queue_is_answered_with_503(
    client: httpx.AsyncClient, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*given: object) -> None:
        raise Busy("too much is waiting to be written")

    monkeypatch.setattr(store, "write", full)
    answer = await post(client, lines(line()))
    assert_error(answer, 503, "too much is waiting to be written")
    assert answer.headers["Retry-After"] == "1"


@pytest.mark.parametrize(
    ("role", "given", "reported"),
    [
        (None, {"scopes": ["manage_billing:assistant"]}, "No organization"),
        ("member", {"scopes": ["admin:enterprise"]}, "Must be an owner or a billing manager"),
        ("owner", {"scopes": ["repo"]}, "This needs a token with one of these scopes"),
        (
            "owner",
            {"kind": "fine_grained", "permissions": {"enterprise_assistant_metrics": "read"}},
            "Resource not accessible",
        ),
        (
            "owner",
            {"kind": "fine_grained", "permissions": {"enterprise_assistant_metrics": "write"}},
            None,
        ),
        ("owner", {"scopes": ["admin:enterprise"]}, None),
    ],
)
async def test_usage_is_reported_by_owners_with_a_fitting_token(
    client: httpx.AsyncClient,
    store: Store,
    world: Using,
    role: str | None,
    given: Any,
    reported: str | None,
) -> None:
    if role is None:
        # If the user is outside of the enterprise, the response hides that it exists.
        stranger = store.write_sync(using, "moon").ann
        header = f"Bearer {token(store, stranger, **given)}"
        answer = await post(client, lines(line()), Authorization=header)
        content = assert_error(answer, 422)
        assert content["errors"][0]["message"] == 'line 1: No enterprise found: "globe"'
        return
    store.write_sync(enterprises.join, world.enterprise["id"], world.ben["id"], role)
    header = f"Bearer {token(store, world.ben, **given)}"
    answer = await post(client, lines(line()), Authorization=header)
    if reported is None:
        assert answer.status_code == 202
    else:
        assert reported in assert_error(answer, 422)["errors"][0]["message"]


async def test_usage_needs_a_token(client: httpx.AsyncClient) -> None:
    del client.headers["Authorization"]
    assert_error(await post(client, lines(line())), 401)
    assert_error(await post(client, lines(line()), Authorization="token x"), 401)


async def test_a_disabled_policy_refuses_usage(
    client: httpx.AsyncClient, store: Store, world: Using
) -> None:
    for policy, status in (("disabled", 422), ("unconfigured", 202), ("enabled", 202)):
        store.write_sync(enterprises.enable_usage_metrics, world.enterprise, policy)
        answer = await post(client, lines(line()))
        assert answer.status_code == status, policy
    assert len(kept(store)) == 1


async def test_a_source_reports_usage(
    client: httpx.AsyncClient, store: Store, world: Using
) -> None:
    del client.headers["Authorization"]
    body = lines(line())

    with transaction(store) as db:
        sources.create(db, "ide", "s3cret")
        sources.create(db, "own", "other", owner_id=world.ben["id"])
        sources.create(db, "acmes", "third", owner_id=world.acme["id"])
    for secret, status in (("s3cret", 202), ("third", 202), ("other", 422), ("wrong", 401)):
        signed = {"X-Hub-Signature-256": signature(secret, body)}
        answer = await post(client, body, **signed)
        assert answer.status_code == status, secret
        if status == 422:
            reported = answer.json()["errors"][0]["message"]
            assert reported == "line 1: source own may not send data for acme"


async def test_a_source_of_one_owner_learns_nothing_of_others(
    client: httpx.AsyncClient, store: Store, world: Using
) -> None:
    with transaction(store) as db:
        sources.create(db, "acmes", "third", owner_id=world.acme["id"])
        moon = enterprises.create(db, "moon")
        enterprises.enable_usage_metrics(db, moon, "disabled")
    del client.headers["Authorization"]
    for found, message in (
        (
            (line(organization=name) for name in ("umbra", "nobody")),
            "source acmes may not send data",
        ),
        ((line(enterprise=name) for name in ("moon", "nothing")), "No enterprise found"),
    ):
        for one in found:
            body = lines(one)
            signed = {"X-Hub-Signature-256": signature("third", body)}
            answer = await post(client, body, **signed)
            assert answer.status_code == 422
            (error,) = answer.json()["errors"]
            assert error["message"].startswith(f"line 1: {message}")


async def test_as_few_statements_for_many(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    await post(client, lines(line()))
    ran = statements(monkeypatch)
    await post(client, lines(line(editor="e")))
    few = len(ran)
    ran.clear()
    many = (line(editor=f"e{number}", day="2026-11-19") for number in range(60))
    assert (await post(client, lines(*many))).status_code == 202
    # The store splits many rows among several INSERT statements.
    assert len(ran) <= few + 10
