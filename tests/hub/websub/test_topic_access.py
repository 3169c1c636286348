"""Who may read topics, and what topics leave out for every reader."""

import base64
import random
import tracemalloc
from collections.abc import AsyncIterator
from typing import Any

import httpx
import orjson
import pytest
from bearer import bearer
from hub_client import open_client
from transactions import transaction

from hub.settings import HubSettings
from hub.websub.topic_access import needed_for
from store import Connection, Store
from store.accounts import apps, grants, tokens
from store.apps import installation_tokens, installations
from store.delivery import events, outbox
from store.delivery.incoming import IncomingEvent
from store.delivery.websub import websub_feeds
from store.delivery.websub.websub_topics import PUBLIC_EVENTS
from store.hooks import hooks
from store.hooks.event_names import HUB_EVENTS, PLATFORM_EVENTS
from store.repositories import repositories

ISSUE = b'{"action":"opened","issue":{"number":1,"title":"Hidden issue"}}'
PUSH = b'{"ref":"refs/heads/main"}'
DRAFT = b'{"action":"created","release":{"draft":true,"name":"Draft 1.0"}}'
FIELD = b'{"action":"field_added","issue_field":{"visibility":"organization_members_only"}}'


@pytest.fixture
async def hub(anyio_backend: str, store: Store) -> AsyncIterator[httpx.AsyncClient]:
    async with open_client(store, HubSettings(websub=True)) as client:
        client.event_hooks = {}
        yield client


def accept(db: Connection, repo: Any, name: str, body: bytes, action: str | None = None) -> None:
    repo_id = repo["id"]
    arrival = IncomingEvent(repo_id, f"{name} {action}", repo_id, name, body, action)
    events.accept(db, [arrival])


def fine_grained(db: Connection, seed: Any, **permissions: str) -> str:
    owner = seed.octo["id"]
    return tokens.create(db, owner, kind="fine_grained", permissions=permissions, target_id=owner)[
        0
    ]


def installed(db: Connection, seed: Any, **permissions: str) -> str:
    app = apps.create(
        db, seed.octo["id"], "Mill", url="https://m.example/", kind="integration",
        permissions=permissions,
    )[1]  # fmt: skip
    return installation_tokens.create(db, installations.create(db, app, seed.octo))[0]


def where_installed(db: Connection, seed: Any, **permissions: str) -> str:
    """A user's token that has more permissions than the installation."""
    app = apps.create(
        db, seed.octo["id"], "Mill", url="https://m.example/", kind="integration",
        permissions={"issues": "read", **permissions},
    )[1]  # fmt: skip
    installations.create(db, app, seed.octo, accepted=permissions)
    return grants.issue(db, app, seed.octo["id"])[0]


@pytest.mark.parametrize("make", [fine_grained, installed, where_installed])
async def test_a_token_needs_the_permission_of_each_event(
    hub: httpx.AsyncClient, store: Store, seed: Any, make: Any
) -> None:
    def prepare(db: Connection) -> str:
        accept(db, seed.vault, "issues", ISSUE, "opened")
        accept(db, seed.vault, "push", PUSH)
        return str(make(db, seed, contents="read"))

    headers = bearer(store.write_sync(prepare))
    refused = await hub.get("/octo/vault/events/issues", headers=headers)
    assert (refused.status_code, b"Hidden" in refused.content) == (403, False)
    assert (await hub.get("/octo/vault/events/push", headers=headers)).content == PUSH
    feed = (await hub.get("/octo/vault/events.json", headers=headers)).json()
    assert [item["title"] for item in feed["items"]] == ["push: refs/heads/main"]
    whole = (await hub.get("/octo/vault/events.json", headers=bearer(seed.token))).json()
    assert len(whole["items"]) == 2


async def test_a_token_that_reads_hooks_needs_an_alerts_permission_too(
    hub: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    def prepare(db: Connection) -> list[str]:
        accept(db, seed.vault, "secret_scanning_alert", b"{}", "created")
        alerts = fine_grained(db, seed, secret_scanning_alerts="read")
        reads = fine_grained(db, seed, webhooks="read")
        both = fine_grained(db, seed, webhooks="read", secret_scanning_alerts="read")
        return [alerts, reads, both, tokens.create(db, seed.octo["id"], scopes=["repo"])[0]]

    path = "/octo/vault/events/secret_scanning_alert"
    statuses = [
        (await hub.get(path, headers=bearer(one))).status_code for one in store.write_sync(prepare)
    ]
    assert statuses == [403, 403, 200, 200]


async def test_drafts_and_fields_of_members_are_for_no_reader(
    hub: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    with transaction(store) as db:
        repositories.grant(db, seed.vault["id"], seed.reader["id"], "read")
        accept(db, seed.vault, "release", DRAFT, "created")
        accept(db, seed.vault, "issues", FIELD, "field_added")
    for token in (seed.token, seed.reader_token):
        for event in ("release", "issues"):
            answer = await hub.get(f"/octo/vault/events/{event}", headers=bearer(token))
            assert (answer.status_code, answer.content) == (204, b"")
        feed = await hub.get("/octo/vault/events.json", headers=bearer(token))
        assert feed.json()["items"] == []


ATTIC = {"full_name": "octo/attic", "private": True}
OTHERS = [
    ("sub_issues", "sub_issue_added", {"sub_issue": {"title": "Plan"}, "sub_issue_repo": ATTIC}),
    ("sub_issues", "parent_issue_added", {"parent_issue_repo": {"full_name": "octo/attic"}}),
    ("issue_dependencies", "blocked_by_added", {"blocking_issue_repo": ATTIC}),
    ("issue_dependencies", "blocking_added", {"blocked_issue_repo": {"id": 7}}),
    ("issues", "transferred", {"changes": {"new_repository": ATTIC}}),
    ("issues", "opened", {"changes": {"old_repository": ATTIC}}),
]


@pytest.mark.parametrize(("name", "action", "members"), OTHERS)
async def test_a_topic_names_no_other_repository_that_may_be_private(
    hub: httpx.AsyncClient, store: Store, seed: Any, name: str, action: str, members: dict[str, Any]
) -> None:
    payload = {"repository": {"full_name": "octo/hello"}, **members}
    store.write_sync(accept, seed.hello, name, orjson.dumps(payload), action)
    answer = await hub.get(f"/octo/hello/events/{name}")
    assert (answer.status_code, answer.content) == (204, b"")


@pytest.mark.parametrize(
    "other", [{"full_name": "octo/hello"}, {"full_name": "octo/attic", "private": False}]
)
async def test_a_topic_names_its_own_repository_and_public_ones(
    hub: httpx.AsyncClient, store: Store, seed: Any, other: dict[str, Any]
) -> None:
    payload = {"repository": {"full_name": "octo/hello"}, "sub_issue_repo": other}
    body = orjson.dumps(payload)
    store.write_sync(accept, seed.hello, "sub_issues", body, "sub_issue_added")
    assert (await hub.get("/octo/hello/events/sub_issues")).content == body


OWN = {"full_name": "octo/hello"}


@pytest.mark.parametrize(
    ("name", "members"),
    [
        ("push", {"repository": OWN | {"private": True}}),
        ("fork", {"repository": OWN, "forkee": ATTIC}),
        ("pull_request", {"repository": OWN, "pull_request": {"head": {"repo": ATTIC}}}),
    ],
)
async def test_a_public_topic_names_no_private_repository(
    hub: httpx.AsyncClient, store: Store, seed: Any, name: str, members: dict[str, Any]
) -> None:
    """A private payload can come before the state makes its repository private."""
    private = orjson.dumps(members)
    public = private.replace(b"true", b"false")

    def prepare(db: Connection) -> None:
        for repo in (seed.hello, seed.vault):
            accept(db, repo, name, public, "one")
            accept(db, repo, name, private, "two")

    store.write_sync(prepare)
    assert (await hub.get(f"/octo/hello/events/{name}")).content == public
    items = (await hub.get("/octo/hello/events.json")).json()["items"]
    assert [item["content_text"] for item in items] == [f"{name} one"]
    headers = bearer(seed.token)
    assert (await hub.get(f"/octo/vault/events/{name}", headers=headers)).content == private
    whole = (await hub.get("/octo/vault/events.json", headers=headers)).json()
    assert len(whole["items"]) == 2


async def test_members_that_users_choose_hide_no_event(
    hub: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    body = orjson.dumps({"repository": OWN, "deployment": {"payload": {"private": True}}})
    store.write_sync(lambda db: accept(db, seed.hello, "deployment", body, "one"))
    assert (await hub.get("/octo/hello/events/deployment")).content == body


ASKED = {"slug": "core", "privacy": "secret"}


@pytest.mark.parametrize(
    ("name", "payload"),
    [
        ("fork", rb'{"forkee": {"priv\u0061te": true}}'),
        ("fork", rb'{"forkee": {"\u0070rivate" : true}}'),
        ("team_add", rb'{"team": {"priv\u0061cy": "secr\u0065t"}}'),
        ("issues", rb'{"\u0069ssue_field": {"visibility": "members"}}'),
        ("issues", rb'{"ch\u0061nges": {"new_repository": {"full_name": "octo/attic"}}}'),
    ],
)
async def test_escaped_letters_do_not_make_an_event_public(
    hub: httpx.AsyncClient, store: Store, seed: Any, name: str, payload: bytes
) -> None:
    store.write_sync(accept, seed.hello, name, payload, "one")
    answer = await hub.get(f"/octo/hello/events/{name}", headers=bearer(seed.token))
    assert (answer.status_code, answer.content) == (204, b"")


async def test_escaped_letters_beside_deep_lists_are_read(
    hub: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    """Payloads may be nested deeper than orjson writes."""
    deep = b"[" * 500 + b"]" * 500
    private = rb'{"forkee": {"priv\u0061te": true}, "deep": ' + deep + b"}"
    public = private.replace(b"true", b"false")
    for name, body in (("one", public), ("two", private)):
        store.write_sync(accept, seed.hello, "fork", body, name)
    assert (await hub.get("/octo/hello/events/fork")).content == public
    items = (await hub.get("/octo/hello/events.json")).json()["items"]
    assert [item["content_text"] for item in items] == ["fork one"]


async def test_an_event_with_escaped_letters_stays_as_it_was_sent(
    hub: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    body = rb'{"text": "\u0041 \u003cb\u003e"}'
    store.write_sync(accept, seed.hello, "fork", body, "one")
    assert (await hub.get("/octo/hello/events/fork")).content == body


@pytest.mark.parametrize(
    ("name", "members"),
    [
        ("pull_request", {"requested_team": ASKED}),
        ("pull_request_review", {"pull_request": {"requested_teams": [{}, ASKED]}}),
        ("team_add", {"team": ASKED}),
        ("deployment_review", {"reviewers": [{"type": "Team", "reviewer": ASKED}]}),
        ("deployment_protection_rule", {"pull_requests": [{"requested_teams": [ASKED]}]}),
    ],
)
async def test_a_topic_names_no_secret_team(
    hub: httpx.AsyncClient, store: Store, seed: Any, name: str, members: dict[str, Any]
) -> None:
    public = orjson.dumps(members).replace(b"secret", b"closed")
    store.write_sync(accept, seed.hello, name, public, "public")
    store.write_sync(accept, seed.hello, name, orjson.dumps(members), "secret")
    answer = await hub.get(f"/octo/hello/events/{name}", headers=bearer(seed.token))
    assert answer.content == public


@pytest.mark.parametrize("many", [1, 3])
async def test_drafts_take_no_place_of_a_feed_s_entries(
    hub: httpx.AsyncClient, store: Store, seed: Any, many: int
) -> None:
    def prepare(db: Connection) -> None:
        for number in range(websub_feeds.MANY + 2):
            accept(db, seed.hello, "push", PUSH, str(number))
        for number in range(many * websub_feeds.MANY):
            accept(db, seed.hello, "release", DRAFT, str(number))

    store.write_sync(prepare)
    items = (await hub.get("/octo/hello/events.json")).json()["items"]
    wanted = [f"push {number}" for number in range(websub_feeds.MANY + 1, 1, -1)]
    assert [item["title"].partition(":")[0] for item in items] == wanted


def test_a_topic_reads_one_body(store: Store, seed: Any) -> None:
    """Anybody may read the topics of a public repository, and its events may be large."""
    body = orjson.dumps({"ref": base64.b64encode(random.randbytes(300_000)).decode()})
    for number in range(20):
        store.write_sync(accept, seed.hello, "push", body, str(number))
    tracemalloc.start()
    try:
        row = store.read_sync(websub_feeds.latest, seed.hello["id"], "push")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert row is not None
    assert row["body"] == body
    assert peak < 10 * len(body)


async def test_an_example_changes_no_topic(hub: httpx.AsyncClient, store: Store, seed: Any) -> None:
    with transaction(store) as db:
        hook = hooks.create(
            db, seed.hello["id"], url="https://r.example/", events=["push"], content_type="json"
        )
        accept(db, seed.hello, "push", PUSH)
        for _ in range(websub_feeds.MANY + 1):
            outbox.send_example(db, "push", None, seed.hello["id"], b'{"ref":"x"}', hook["id"])
    assert (await hub.get("/octo/hello/events/push")).content == PUSH
    items = (await hub.get("/octo/hello/events.json")).json()["items"]
    assert [item["title"] for item in items] == ["push: refs/heads/main"]


def test_each_topic_needs_a_permission() -> None:
    for key in PLATFORM_EVENTS | HUB_EVENTS:
        needed = needed_for(key)
        assert all(one.permissions for one in needed)
        assert needed[0].anyone == (key in PUBLIC_EVENTS)
