"""Events that a platform posts as webhooks, signed with a source's secret."""

import hashlib
import hmac
import threading
from typing import Any

import httpx
import orjson
import pytest
from assertions import assert_error, signature
from incoming_events import hook_for, kept, refused
from statement_log import statements

from hub.http import body as request_body
from hub.http.forms import Form, read_urlencoded
from hub.ingest import ingest
from store import Connection, Row, Store
from store.accounts import accounts
from store.clock import MovableClock
from store.delivery import sources
from store.projection import projection_cursor, projection_table
from store.repositories import repositories

EVENTS = "https://forge.example/events"
PAYLOAD = {"repository": {"full_name": "Octo/Hello"}, "action": "opened"}


@pytest.fixture
async def forge(client: httpx.AsyncClient, store: Store) -> httpx.AsyncClient:
    """The client, as a platform with the source `forge`, whose secret is `s3cret`."""
    store.write_sync(lambda db: sources.create(db, "forge", "s3cret"))
    return client


async def post(
    client: httpx.AsyncClient,
    payload: dict[str, Any] | bytes = PAYLOAD,
    *,
    secret: str = "s3cret",
    query: str = "",
    **headers: str,
) -> httpx.Response:
    body = payload if isinstance(payload, bytes) else orjson.dumps(payload)
    lines = {
        "Authorization": "",
        "Content-Type": "application/json",
        "X-GitHub-Event": "issues",
        "X-GitHub-Delivery": "d-1",
        "X-Hub-Signature-256": signature(secret, body),
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    return await client.post(EVENTS + query, content=body, headers=lines)


async def test_a_signed_event_is_accepted(forge: httpx.AsyncClient, store: Store) -> None:
    hook = await hook_for(forge, "issues")
    answer = await post(forge)
    assert answer.status_code == 202
    (row,) = [row for row in kept(store) if row["name"] == "issues"]
    assert answer.json() == {"id": "d-1", "event_id": row["id"], "deliveries": 1}
    assert (row["scope"], row["source_id"], row["repo_id"], row["action"]) == (-1, 1, 1, "opened")
    assert hook
    assert (await post(forge)).json() == answer.json()
    assert_error(await post(forge, {"other": 1}), 409)


async def test_a_repetition_is_known_after_its_repository_became_known(
    forge: httpx.AsyncClient, store: Store
) -> None:
    """The platform posts the first event of a new repository again, after it became state."""
    payload = {"repository": {"full_name": "octo/new", "id": 77}, "action": "created"}
    answer = await post(forge, payload)
    store.write_sync(projection_table.project, kept(store)[0], payload)
    assert store.read_sync(repositories.find, "octo", "new") is not None
    again = await post(forge, payload)
    assert (again.status_code, again.json()) == (202, answer.json())
    assert (len(kept(store)), refused(store)) == (1, [])


@pytest.mark.parametrize("prefix", ["X-Service-", "X-GitHub-", "X-Gitea-", "X-Gogs-", "X-Forgejo-"])
async def test_the_forges_headers(forge: httpx.AsyncClient, store: Store, prefix: str) -> None:
    body = orjson.dumps(PAYLOAD)
    lines = {
        f"{prefix}Event": "push",
        f"{prefix}Delivery": "guid-1",
        "X-Hub-Signature-256": signature("s3cret", body),
    }
    answer = await forge.post(EVENTS, content=body, headers=lines)
    assert answer.json()["id"] == "guid-1"
    assert kept(store)[0]["name"] == "push"


async def test_a_forge_s_own_name_comes_first(forge: httpx.AsyncClient, store: Store) -> None:
    assert (await post(forge, X_Gitea_Event="own_name", X_GitHub_Event="push")).is_success
    assert kept(store)[0]["name"] == "own_name"


async def renamed(forge: httpx.AsyncClient, store: Store) -> None:
    """Let the platform rename octo/hello, whose id is known. The renaming is no state yet."""
    hello = {"repository": {"full_name": "octo/hello", "id": 77}}
    await post(forge, hello, X_GitHub_Delivery="known")
    (event,) = [row for row in kept(store) if row["guid"] == "known"]
    store.write_sync(projection_table.project, event, hello)
    store.write_sync(projection_cursor.claim, 1)
    store.write_sync(projection_cursor.move, 0, event["id"])
    renaming = {
        "action": "renamed",
        "changes": {"repository": {"name": {"from": "hello"}}},
        "repository": {"full_name": "octo/bonjour", "id": 77},
    }
    new = {"X_GitHub_Event": "repository", "X_GitHub_Delivery": "renamed"}
    assert (await post(forge, renaming, **new)).status_code == 202


async def test_a_new_repository_with_the_name_of_a_renamed_one_does_not_reach_its_hooks(
    forge: httpx.AsyncClient, store: Store
) -> None:
    """The events come while no worker makes them state."""
    await hook_for(forge, "issues")
    new = {"repository": {"full_name": "octo/hello", "id": 78}}
    anew = await post(forge, new, X_GitHub_Delivery="anew")
    assert anew.json()["deliveries"] == 1, "the platform may have made octo/hello anew"
    await renamed(forge, store)
    assert (await post(forge, new)).json()["deliveries"] == 0
    late = {"repository": {"full_name": "octo/hello", "id": 77}}
    line = {"event": "issues", "repository": "octo/hello"}
    body = b"\n".join(orjson.dumps({**line, "payload": one}) for one in (new, late))
    del forge.headers["Authorization"]
    kind = {"Content-Type": "application/x-ndjson"}
    signed = {"X-Hub-Signature-256": signature("s3cret", body)}
    answer = await forge.post(EVENTS, content=body, headers=kind | signed)
    assert [one["deliveries"] for one in answer.json()["events"]] == [0, 1]


@pytest.mark.parametrize("header", ["X-Gitea-Signature", "X-Forgejo-Signature", "X-Gogs-Signature"])
async def test_a_signature_without_a_prefix_is_accepted(
    forge: httpx.AsyncClient, header: str
) -> None:
    body = orjson.dumps(PAYLOAD)
    digest = hmac.new(b"s3cret", body, hashlib.sha256).hexdigest()
    lines = {header: digest, "X-Gitea-Event": "push"}
    assert (await forge.post(EVENTS, content=body, headers=lines)).status_code == 202


async def test_a_signed_form_is_accepted(forge: httpx.AsyncClient, store: Store) -> None:
    body = b"payload=%7B%22repository%22%3A+%7B%22full_name%22%3A%22octo%2Fhello%22%7D%7D"
    answer = await post(forge, body, Content_Type="application/x-www-form-urlencoded")
    assert answer.status_code == 202
    (row,) = kept(store)
    assert (row["repo_id"], row["size"]) == (1, 42)
    for body, message in ((b"other=1", "The form has no field payload"), (b"a=%ff", None)):
        answer = await post(forge, body, Content_Type="application/x-www-form-urlencoded")
        assert_error(answer, 400, message)
    assert [row["sender"] for row in refused(store)] == ["source forge"] * 2


async def test_a_large_form_does_not_hold_the_event_loop(
    forge: httpx.AsyncClient, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[threading.Thread] = []

    def read(body: bytes) -> Form:
        threads.append(threading.current_thread())
        return read_urlencoded(body)

    monkeypatch.setattr(ingest, "read_urlencoded", read)
    monkeypatch.setattr(request_body, "LARGE", 50)
    for body in (b"payload={}", b"payload={}" + b"+" * 100):
        answer = await post(
            forge,
            body,
            Content_Type="application/x-www-form-urlencoded",
            X_GitHub_Delivery=f"{len(body)}",
        )
        assert answer.status_code == 202
    assert [one is threading.main_thread() for one in threads] == [True, False]


@pytest.mark.parametrize(
    ("headers", "secret", "message"),
    [
        ({}, "wrong", "The signature does not match"),
        ({"X_Hub_Signature_256": "sha256=" + "0" * 64}, "", "The signature does not match"),
        ({"X_Hub_Signature_256": "0" * 64}, "", "x-hub-signature-256 is not a SHA-256 signature"),
        ({"X_Hub_Signature_256": "sha1=" + "0" * 40}, "", None),
        ({"X_Hub_Signature_256": "sha256="}, "", None),
        ({"X_Hub_Signature_256": ""}, "", None),
    ],
)
async def test_a_wrong_signature_is_refused(
    forge: httpx.AsyncClient,
    store: Store,
    headers: dict[str, str],
    secret: str,
    message: str | None,
) -> None:
    assert_error(await post(forge, secret=secret, **headers), 401, message)
    assert kept(store) == []
    assert refused(store) == []


async def test_an_event_needs_a_signature_and_a_source(client: httpx.AsyncClient) -> None:
    content = assert_error(await client.post(EVENTS, json={}), 401)
    assert content["message"].startswith("Requires authentication")
    assert_error(await post(client), 401)


async def test_the_source_that_signed_is_found(forge: httpx.AsyncClient, store: Store) -> None:
    store.write_sync(lambda db: sources.create(db, "other", "another"))
    assert (await post(forge, secret="another")).is_success
    assert kept(store)[0]["source_id"] == 2
    assert (await post(forge, {"n": 1})).is_success, "each source has its own ids"
    assert (await post(forge, secret="another", query="?source=other")).is_success
    assert_error(await post(forge, secret="another", query="?source=forge"), 401)
    assert_error(await post(forge, query="?source=nobody"), 401)


async def test_a_changed_secret_counts_at_once(forge: httpx.AsyncClient, store: Store) -> None:
    assert (await post(forge)).is_success
    store.write_sync(lambda db: sources.set_secret(db, 1, "new"))
    assert_error(await post(forge), 401)
    assert (await post(forge, secret="new")).is_success


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"repository": None},
        {"repository": {"full_name": 5}},
        {"repository": {"full_name": "octo"}},
        {"repository": {"full_name": "some/body"}},
        {"repository": {"full_name": "octo/hello/more"}},
    ],
)
async def test_an_event_of_an_unknown_repository_is_kept(
    forge: httpx.AsyncClient, store: Store, payload: dict[str, Any]
) -> None:
    answer = await post(forge, payload)
    assert (answer.status_code, answer.json()["deliveries"]) == (202, 0)
    assert kept(store)[0]["repo_id"] == 0


async def test_a_ping_is_kept_and_not_delivered(forge: httpx.AsyncClient, store: Store) -> None:
    await hook_for(forge, "*")
    answer = await post(forge, X_GitHub_Event="ping")
    assert (answer.status_code, answer.json()["deliveries"]) == (202, 0)
    assert kept(store)[0]["source_id"] == 1


async def test_names_of_a_forge_s_own(forge: httpx.AsyncClient, store: Store) -> None:
    await hook_for(forge, "*")
    answer = await post(forge, X_GitHub_Event="pull_request_sync")
    assert answer.json()["deliveries"] == 0
    for name in ("Push", "a b", "", "x" * 65, "a-b"):
        answer = await post(forge, X_GitHub_Event=name)
        assert_error(answer, 422, f'Invalid event: "{name}"')
    body = orjson.dumps(PAYLOAD)
    lines = {"X-Hub-Signature-256": signature("s3cret", body)}
    content = assert_error(await forge.post(EVENTS, content=body, headers=lines), 400)
    assert content["message"].startswith("The event's name is missing")
    assert len(refused(store)) == 6


@pytest.mark.parametrize("body", [b"{", b"[]"])
async def test_a_signed_body_that_is_no_json_is_refused(
    forge: httpx.AsyncClient, store: Store, body: bytes
) -> None:
    assert_error(await post(forge, body), 400)
    (row,) = refused(store)
    assert (row["sender"], row["event"], row["guid"]) == ("source forge", "issues", "d-1")


async def test_a_source_of_one_owner_posts_for_its_owner_only(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    def restricted(db: Connection) -> Row:
        other = accounts.create(db, "other")
        repositories.create(db, other["id"], "thing")
        return sources.create(db, "own", "s3cret", owner_id=other["id"])

    store.write_sync(restricted)
    answer = await post(client, {"repository": {"full_name": "other/thing"}})
    assert answer.status_code == 202
    answer = await post(client, X_GitHub_Delivery="d-2")
    assert_error(answer, 403, "Source own may not send data for octo/hello")
    assert refused(store)[0]["sender"] == "source own"


async def test_a_source_of_one_owner_learns_nothing_of_others(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    store.write_sync(lambda db: sources.create(db, "own", "s3cret", owner_id=seed.reader["id"]))
    # A public repository, a private one, an unknown one, an unknown owner, and invalid names.
    for name in ("octo/hello", "Octo/Vault", "octo/nothing", "nobody/Hello", "octo/a\0", "\0/a"):
        for event in ("issues", "ping"):
            body = {"repository": {"full_name": name}}
            answer = await post(client, body, X_GitHub_Event=event, X_GitHub_Delivery="d-2")
            assert_error(answer, 403, f"Source own may not send data for {name.lower()}")
    assert kept(store) == []
    for guid, name in (("a", "reader/nothing"), ("b", "READER/a"), ("c", "nothing")):
        answer = await post(client, {"repository": {"full_name": name}}, X_GitHub_Delivery=guid)
        assert answer.status_code == 202


async def test_a_compressed_event_is_seen_although_its_sender_is_unknown(
    forge: httpx.AsyncClient, store: Store
) -> None:
    assert_error(await post(forge, **{"Content-Encoding": "gzip"}), 415)
    (row,) = refused(store)
    assert (row["sender"], row["event"]) == (None, "issues")


async def test_too_large_is_seen_although_its_sender_is_unknown(
    forge: httpx.AsyncClient, store: Store, clock: MovableClock
) -> None:
    large = b"x" * (64 * 1024 + 1)
    for _ in range(3):
        assert_error(await post(forge, large), 413)
    (row,) = refused(store)
    assert (row["sender"], row["event"], row["size"]) == (None, "issues", len(large))
    clock.advance(1)
    assert_error(await post(forge, large), 413)
    assert len(refused(store)) == 2
    # After a fast clock is set back, too.
    clock.advance(-86_400)
    assert_error(await post(forge, large), 413)
    assert len(refused(store)) == 3


REPORTED = {"id": 77, "full_name": "octo/hello", "created_at": "2026-01-01T00:00:00Z"}
"""The repository octo/hello, as the platform described it before it renamed it."""
RENAMED = REPORTED | {"full_name": "Octo/Bonjour", "created_at": 1_767_225_600}
CHANGES = {"repository": {"name": {"from": "Hello"}}}


@pytest.fixture
def described(forge: httpx.AsyncClient, store: Store) -> None:
    """The state has octo/hello with the platform's id."""
    event = {"id": 1, "name": "push", "action": None, "repo_id": 0, "source_id": 1}
    event["received_at"] = store.clock.now()
    store.write_sync(projection_table.project, event, {"repository": REPORTED})


@pytest.mark.usefixtures("described")
@pytest.mark.parametrize(
    "payload",
    [
        {"action": "renamed", "changes": CHANGES, "repository": RENAMED},
        {"action": "renamed", "changes": CHANGES, "repository": RENAMED | {"created_at": 5}},
        {"repository": RENAMED},
        {"repository": {"id": 77, "full_name": "octo/bonjour"}},
    ],
)
async def test_a_new_name_reaches_the_hooks_before_it_is_state(
    forge: httpx.AsyncClient, store: Store, payload: dict[str, Any]
) -> None:
    await hook_for(forge, "issues")
    assert (await post(forge, payload)).json()["deliveries"] == 1
    assert kept(store)[0]["repo_id"] == 1


@pytest.mark.usefixtures("described")
@pytest.mark.parametrize(
    "repository",
    [
        {"full_name": "octo/bonjour"},
        RENAMED | {"id": 78},
        RENAMED | {"id": "77"},
        # Another platform uses the same id.
        RENAMED | {"created_at": "2026-01-02T00:00:00Z"},
        RENAMED | {"full_name": "reader/bonjour"},
    ],
)
async def test_another_repository_does_not_reach_the_hooks(
    forge: httpx.AsyncClient, store: Store, repository: dict[str, Any]
) -> None:
    await hook_for(forge, "issues")
    payload = {"repository": repository, "changes": {"repository": {"name": {"from": "vault"}}}}
    assert (await post(forge, payload)).json()["deliveries"] == 0
    assert kept(store)[0]["repo_id"] == 0


@pytest.mark.usefixtures("described")
@pytest.mark.parametrize(("known", "deliveries"), [({}, 1), ({"id": 77}, 1), ({"id": 78}, 0)])
async def test_a_former_name_reaches_the_hooks_of_its_repository_only(
    forge: httpx.AsyncClient, store: Store, seed: Any, known: dict[str, int], deliveries: int
) -> None:
    await hook_for(forge, "issues")
    store.write_sync(repositories.rename, seed.hello, "bonjour")
    answer = await post(forge, {"repository": {"full_name": "octo/HELLO", **known}})
    assert answer.json()["deliveries"] == deliveries
    assert kept(store)[0]["repo_id"] == deliveries


@pytest.mark.usefixtures("described")
async def test_a_present_name_comes_before_id_and_former_name(
    forge: httpx.AsyncClient, store: Store, seed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write_sync(repositories.rename, seed.hello, "bonjour")
    other = store.write_sync(repositories.create, seed.octo["id"], "hello")
    asked = statements(monkeypatch)
    assert (await post(forge, {"repository": REPORTED})).is_success
    assert not [sql for sql in asked if "repository_name" in sql]
    assert kept(store)[0]["repo_id"] == other["id"]


@pytest.mark.usefixtures("described")
@pytest.mark.parametrize(
    ("repository", "found"),
    [
        ({"created_at": "2026-01-02T00:00:00Z"}, "vault"),
        # It was made anew, or belongs to another platform.
        ({"created_at": "2026-01-03T00:00:00Z"}, "hello"),
        ({}, "hello"),
        ({"id": 79, "created_at": "2026-01-02T00:00:00Z"}, "hello"),
    ],
)
async def test_a_name_that_another_repository_has_taken_reaches_its_hooks(
    forge: httpx.AsyncClient, store: Store, seed: Any, repository: Row, found: str
) -> None:
    """The platform renames hello, and gives its name to vault, before that is state."""
    described = {"id": 78, "full_name": "octo/vault", "created_at": "2026-01-02T00:00:00Z"}
    event = {"id": 1, "name": "push", "action": None, "repo_id": 0, "source_id": 1}
    event["received_at"] = store.clock.now()
    store.write_sync(projection_table.project, event, {"repository": described})
    given = {"id": 78, "full_name": "octo/hello"} | repository
    assert (await post(forge, {"repository": given})).is_success
    body = orjson.dumps({"event": "push", "payload": {"repository": given}})
    signed = {"X-Hub-Signature-256": signature("s3cret", body)}
    signed["Content-Type"] = "application/x-ndjson"
    del forge.headers["Authorization"]
    assert (await forge.post(EVENTS, content=body, headers=signed)).is_success
    wanted = {"vault": seed.vault, "hello": seed.hello}[found]["id"]
    assert [row["repo_id"] for row in kept(store)] == [wanted, wanted]


@pytest.mark.usefixtures("described")
async def test_the_action_proves_that_a_name_has_another_repository(
    forge: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    event = {"id": 1, "name": "push", "action": None, "repo_id": 0, "source_id": 1}
    event["received_at"] = store.clock.now()
    described = {"repository": {"id": 78, "full_name": "octo/vault"}}
    store.write_sync(projection_table.project, event, described)
    changes = {"repository": {"name": {"from": "Vault"}}}
    renamed = {"action": "renamed", "repository": {"id": 78, "full_name": "octo/hello"}}
    assert (await post(forge, renamed | {"changes": changes})).is_success
    assert kept(store)[0]["repo_id"] == seed.vault["id"]
