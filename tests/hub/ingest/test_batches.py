"""Batches of events as lines of JSON: the hub accepts all events of a batch, or none."""

from typing import Any

import httpx
import orjson
import pytest
from assertions import assert_error, signature
from incoming_events import hook_for, kept, refused

from hub.settings import HubSettings
from store import Store
from store.accounts import accounts, tokens
from store.delivery import events, sources
from store.projection import projection_table
from store.repositories import repositories

EVENTS = "https://forge.example/events"
KIND = {"Content-Type": "application/x-ndjson"}


def line(guid: str | None, n: int = 1, **changes: Any) -> dict[str, Any]:
    content = {"event": "push", "repository": "octo/hello", "payload": {"n": n}, **changes}
    return content if guid is None else {"id": guid, **content}


def lines(*found: dict[str, Any] | bytes) -> bytes:
    return b"\n".join(one if isinstance(one, bytes) else orjson.dumps(one) for one in found)


async def post(client: httpx.AsyncClient, body: bytes, **headers: str) -> httpx.Response:
    return await client.post(EVENTS, content=body, headers={**KIND, **headers})


async def test_a_batch_is_kept(client: httpx.AsyncClient, store: Store) -> None:
    await hook_for(client, "push")
    body = lines(line("a"), line("b", repository="octo/vault"), line("c", event="issues"))
    answer = await post(client, body + b"\r\n")
    assert answer.status_code == 202
    reported = answer.json()
    assert (reported["accepted"], reported["duplicates"]) == (3, 0)
    assert [(one["id"], one["deliveries"]) for one in reported["events"]] == [
        ("a", 1), ("b", 0), ("c", 0)
    ]  # fmt: skip
    rows = {row["guid"]: row for row in kept(store)}
    assert rows["b"]["repository"] == "octo/vault"
    assert [one["event_id"] for one in reported["events"]] == [rows[guid]["id"] for guid in "abc"]


@pytest.mark.parametrize("payload", ["18446744073709551616", "-9223372036854775809", "9" * 300])
async def test_a_long_number_of_a_line_stays_as_it_is(
    client: httpx.AsyncClient, store: Store, payload: str
) -> None:
    text = '{"id":"a","event":"push","repository":"octo/hello","payload":{"n": %s,"é":[1.5]}}'
    answer = await post(client, (text % payload).encode())
    assert answer.status_code == 202
    event_id = answer.json()["events"][0]["event_id"]
    row = store.read_sync(events.get, event_id)
    assert row is not None
    assert row["body"] == f'{{"n":{payload},"é":[1.5]}}'.encode()


async def test_repeated_lines_are_duplicates(client: httpx.AsyncClient) -> None:
    first = (await post(client, lines(line("a"), line("b"), line("a")))).json()
    assert (first["accepted"], first["duplicates"]) == (2, 1)
    again = (await post(client, lines(line("b"), line("c"), line(None)))).json()
    assert (again["accepted"], again["duplicates"]) == (2, 1)
    assert again["events"][0] == first["events"][1]


async def test_a_contradiction_undoes_them_all(client: httpx.AsyncClient, store: Store) -> None:
    answer = await post(client, lines(line("a", 1), line("b"), line("a", 2)))
    assert_error(answer, 409, "delivery id 'a' was used for another event")
    assert kept(store) == []
    assert refused(store)[0]["event"] == "batch"


@pytest.mark.parametrize(
    ("bad", "status", "message"),
    [
        (b"{", 400, "Problems parsing JSON"),
        (b"", 400, "Problems parsing JSON"),
        (b"[]", 400, "Body should be a JSON object"),
        (line("", 1), 400, "a delivery id must be 1 to 128 visible ASCII characters"),
        (line("x", id=5), 422, "id is not a string"),
        (line("x", event="nothing"), 422, 'Invalid event: "nothing"'),
        (line("x", event=None), 422, "event is not a string"),
        (line("x", payload=[]), 422, "payload is not an object"),
        (line("x", repository=7), 422, "repository is not a string"),
        (line("x", repository="octo/nothing"), 422, 'No repository found: "octo/nothing"'),
        (line("x", repository=""), 422, 'No repository found: ""'),
        (
            b'{"event":"push","repository":"octo/hello","payload":{"a":'
            + b"[" * 500 + b"]" * 500 + b"}}",
            422,
            "payload is nested too deeply",
        ),
    ],
)  # fmt: skip
async def test_one_bad_line_and_nothing_is_kept(
    client: httpx.AsyncClient, store: Store, bad: Any, status: int, message: str
) -> None:
    answer = await post(client, lines(line("a"), bad, line("b")))
    reported = "1 line cannot be accepted, so nothing was stored"
    content = assert_error(answer, status, reported, code="custom")
    (detail,) = content["errors"]
    assert detail["message"] == f"line 2: {message}"
    assert detail["index"] == 2
    assert kept(store) == []
    assert refused(store)[0]["reason"] == reported


async def test_every_bad_line_is_named(client: httpx.AsyncClient) -> None:
    answer = await post(client, lines(b"{", line("a"), line("b", event="x"), b"5"))
    content = assert_error(answer, 400, "3 lines cannot be accepted, so nothing was stored")
    assert [detail["index"] for detail in content["errors"]] == [1, 3, 4]


async def test_only_whitespace_of_json_may_surround_the_lines(client: httpx.AsyncClient) -> None:
    assert (await post(client, b"\r\n \t" + lines(line("a")) + b"\n\n")).status_code == 202
    content = assert_error(await post(client, lines(line("b"), b"\x0b")), 400)
    assert [detail["index"] for detail in content["errors"]] == [2]


async def test_empty_and_too_large_batches_are_refused(
    client: httpx.AsyncClient, store: Store, settings: HubSettings
) -> None:
    assert_error(await post(client, b""), 400)
    assert_error(await post(client, b"x" * (settings.max_event_bytes + 1)), 413)
    many = b"\n" * 20_000 + b"{"
    assert_error(await post(client, b"{}\n" + many), 413, "A batch holds at most 10000 lines.")
    assert len(refused(store)) == 3


async def test_each_repository_asks_for_its_own_permission(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    header = f"token {seed.reader_token}"
    body = lines(line("a"), line("b", repository="octo/vault"))
    content = assert_error(await post(client, body, Authorization=header), 422)
    assert [detail["message"] for detail in content["errors"]] == [
        "line 1: Must have push access to Repository.",
        'line 2: No repository found: "octo/vault"',
    ]
    root = store.write_sync(lambda db: accounts.create(db, "root", site_admin=True))
    token, _ = store.write_sync(lambda db: tokens.create(db, root["id"], scopes=["repo"]))
    assert (await post(client, body, Authorization=f"token {token}")).status_code == 202
    assert_error(await post(client, body, Authorization="token x"), 401, "Bad credentials")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"scopes": ["read:user"]},
            "This needs a token with one of these scopes: repo, public_repo.",
        ),
        (
            {"kind": "fine_grained", "permissions": {"contents": "read"}},
            "Resource not accessible by personal access token",
        ),
    ],
)
async def test_a_token_without_the_right_is_refused_before_the_lines_are_read(
    client: httpx.AsyncClient, store: Store, seed: Any, given: Any, message: str
) -> None:
    token, _ = store.write_sync(lambda db: tokens.create(db, seed.octo["id"], **given))
    assert_error(await post(client, b"{", Authorization=f"token {token}"), 403, message)
    (row,) = refused(store)
    assert (row["event"], row["sender"], row["reason"]) == ("batch", "octo", message)


async def test_a_signed_batch_is_accepted(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    await hook_for(client, "*")
    del client.headers["Authorization"]
    body = lines(
        line("a"),
        line("b", event="own_name", repository="some/body"),
        line("c", event="ping"),
        {"event": "push", "payload": {"repository": {"full_name": "octo/hello"}}},
        {"event": "org_wide", "payload": {}},
    )
    signed = {"X-Hub-Signature-256": signature("s3cret", body)}
    assert_error(await post(client, body), 401)
    assert_error(await post(client, body, **signed), 401)
    store.write_sync(lambda db: sources.create(db, "forge", "s3cret"))
    answer = await post(client, body, **signed)
    assert answer.status_code == 202
    assert [one["deliveries"] for one in answer.json()["events"]] == [1, 0, 0, 1, 0]
    rows = {row["guid"]: row for row in kept(store)}
    assert (rows["a"]["scope"], rows["a"]["source_id"]) == (-1, 1)
    assert rows["b"]["repo_id"] == rows["c"]["repo_id"] == 0
    assert_error(await post(client, body + b"\n", **signed), 401, "The signature does not match")


async def test_a_source_of_one_owner_cannot_post_for_others(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    own = seed.reader["id"]
    store.write_sync(lambda db: sources.create(db, "own", "s3cret", owner_id=own))
    del client.headers["Authorization"]
    body = lines(line("a"))
    signed = {"X-Hub-Signature-256": signature("s3cret", body)}
    content = assert_error(await post(client, body, **signed), 422)
    assert "source own may not send data for octo/hello" in content["errors"][0]["message"]
    assert refused(store)[0]["sender"] == "source own"


async def test_a_source_of_one_owner_learns_nothing_of_others(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    own = seed.reader["id"]
    store.write_sync(lambda db: sources.create(db, "own", "s3cret", owner_id=own))
    del client.headers["Authorization"]
    names = ("octo/hello", "Octo/Vault", "octo/nothing", "nobody/hello")
    body = lines(line("z", repository="reader/x"), *(line(None, repository=one) for one in names))
    signed = {"X-Hub-Signature-256": signature("s3cret", body)}
    content = assert_error(await post(client, body, **signed), 422)
    assert [error["message"] for error in content["errors"]] == [
        f"line {number}: source own may not send data for {name.lower()}"
        for number, name in enumerate(names, 2)
    ]


async def test_a_former_name_leads_to_the_repository(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    await hook_for(client, "push")
    store.write_sync(repositories.rename, seed.hello, "bonjour")
    answer = await post(client, lines(line("a"), line("b", repository="octo/Bonjour")))
    assert [one["deliveries"] for one in answer.json()["events"]] == [1, 1]


async def test_signed_lines_around_a_renaming_find_the_repository(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    await hook_for(client, "push")
    source = store.write_sync(sources.create, "forge", "s3cret")
    event = {"id": 1, "name": "push", "action": None, "repo_id": 0, "source_id": source["id"]}
    event["received_at"] = store.clock.now()
    described = {"repository": {"id": 77, "full_name": "octo/hello"}}
    store.write_sync(projection_table.project, event, described)
    store.write_sync(repositories.rename, seed.hello, "bonjour")
    reported = ["octo/hello", 77], ["octo/hello", 78], ["octo/salut", 77], ["octo/salut", 77]
    payloads = [{"repository": {"full_name": name, "id": number}} for name, number in reported]
    events = [{"event": "push", "payload": payload} for payload in payloads]
    # The payload's id belongs to another repository than the line's.
    events.append({"event": "push", "payload": payloads[2], "repository": "octo/unknown"})
    body = lines(*events)
    del client.headers["Authorization"]
    answer = await post(client, body, **{"X-Hub-Signature-256": signature("s3cret", body)})
    assert [one["deliveries"] for one in answer.json()["events"]] == [1, 0, 1, 1, 0]
