"""`POST /hub`: subscribing, subscribing again, unsubscribing, and refused requests."""

from typing import Any

import httpx
import pytest
from assertions import assert_error, bodies, waiting
from bearer import bearer

from store import Store
from store.accounts import tokens
from store.hooks import hooks
from store.repositories import repositories

ORIGIN = "https://forge.example"
HOOKS = "/repos/octo/hello/hooks"
CALLBACK = "https://receiver.example/in"
EVENTS = {"first": "fork", "second": "issues", "": "star"}


def form(**changes: str | None) -> dict[str, str]:
    """The fields of a valid request, with changes. None removes a field."""
    fields = {
        "mode": "subscribe",
        "topic": "https://anywhere.example/octo/hello/events/push",
        "callback": CALLBACK,
        **changes,
    }
    return {f"hub.{name}": value for name, value in fields.items() if value is not None}


async def subscribe(client: httpx.AsyncClient, **changes: str | None) -> None:
    answer = await client.post(f"{ORIGIN}/hub", data=form(**changes))
    assert (answer.status_code, answer.content) == (204, b""), answer.text


async def shown(client: httpx.AsyncClient) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await client.get(HOOKS)).json()
    return found


async def test_a_subscription_is_a_hook(client: httpx.AsyncClient, store: Store) -> None:
    await subscribe(client, secret="s3cret")
    (hook,) = await shown(client)
    assert hook["events"] == ["push"]
    assert hook["active"] is True
    assert hook["config"] == {
        "url": CALLBACK,
        "content_type": "form",
        "insecure_ssl": "0",
        "secret": "********",
    }
    assert [row["name"] for row in waiting(store, hook["id"])] == ["ping"]
    assert bodies(store, "ping")[0]["hook"] == hook


@pytest.mark.parametrize("path", [f"{ORIGIN}/hub", "/hub"])
async def test_multipart_forms_are_accepted(client: httpx.AsyncClient, path: str) -> None:
    parts = {name: (None, value) for name, value in form(secret="schlüssel").items()}
    answer = await client.post(path, files=parts)
    assert (answer.status_code, answer.content) == (204, b"")
    assert len(await shown(client)) == 1


@pytest.mark.parametrize(
    ("topic", "accept", "content_type"),
    [
        ("/octo/hello/events/push", "*/*", "form"),
        ("/octo/hello/events/push.json", "*/*", "json"),
        ("/octo/hello/events/push", "application/json", "json"),
        ("/octo/hello/events/push", "text/html, Application/JSON;q=0.9", "json"),
        ("/octo/hello/events/push", "application/vnd.service+json", "form"),
        ("/octo/hello/events/push", "application/json;q=0, */*", "form"),
        ("/octo/hello/events/push", "application/jsonp", "form"),
        (
            "/octo/hello/events/push",
            "application/json;q=0.5, application/x-www-form-urlencoded",
            "form",
        ),
        ("http://localhost:8765/api/v3/octo/hello/events/push", "", "form"),
        ("https://forge.example/OCTO/hell%6F/events/push?x=1#y", "*/*", "form"),
    ],
)
async def test_topics_to_subscribe_to(
    client: httpx.AsyncClient, topic: str, accept: str, content_type: str
) -> None:
    data = form(topic=topic)
    answer = await client.post(f"{ORIGIN}/hub", data=data, headers={"Accept": accept})
    assert answer.status_code == 204
    (hook,) = await shown(client)
    assert hook["config"]["content_type"] == content_type


async def test_a_hook_subscribes_to_every_event(client: httpx.AsyncClient) -> None:
    await subscribe(client, topic="/octo/hello/events/*")
    assert (await shown(client))[0]["events"] == ["*"]


async def test_a_former_name_leads_to_the_repository(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    await subscribe(client)
    store.write_sync(repositories.rename, seed.hello, "bonjour")
    await subscribe(client, topic="/octo/hello/events/issues")
    (hook,) = (await client.get("/repos/octo/bonjour/hooks")).json()
    assert hook["events"] == ["push", "issues"]


def secret_of(store: Store, hook: dict[str, Any]) -> str | None:
    return store.read_sync(lambda db: hooks.secret_of(db, hooks.by_id(db, hook["id"]) or {}))


async def test_subscribing_again_changes_the_hook_in_place(
    client: httpx.AsyncClient, store: Store
) -> None:
    await subscribe(client, secret="first")
    (first,) = await shown(client)
    await subscribe(client, topic="/octo/hello/events/issues")
    await subscribe(client, topic="/octo/hello/events/issues.json")
    (hook,) = await shown(client)
    assert hook["id"] == first["id"]
    assert hook["events"] == ["push", "issues"]
    assert hook["config"]["content_type"] == "json"
    assert secret_of(store, hook) == "first"
    await subscribe(client, secret="tab\tand\x01more")
    assert secret_of(store, hook) == "tab\tand\x01more"
    await subscribe(client, secret="")
    assert secret_of(store, hook) is None
    assert [row["name"] for row in waiting(store, hook["id"])] == ["ping"]


async def test_another_format_for_another_event_is_another_hook(
    client: httpx.AsyncClient, store: Store
) -> None:
    json_topic = "/octo/hello/events/issues.json"
    await subscribe(client, secret="first")
    await subscribe(client, topic=json_topic, secret="first")
    await subscribe(client, topic="/octo/hello/events/fork.json")
    hooked = [(one["config"]["content_type"], one["events"]) for one in await shown(client)]
    assert hooked == [("form", ["push"]), ("json", ["issues", "fork"])]
    await subscribe(client, mode="unsubscribe", topic="/octo/hello/events/issues")
    assert [one["events"] for one in await shown(client)] == [["push"], ["fork"]]


async def test_another_secret_for_another_event_is_another_hook(
    client: httpx.AsyncClient, store: Store
) -> None:
    await subscribe(client, secret="first")
    for secret in ("second", "first", ""):
        await subscribe(client, topic=f"/octo/hello/events/{EVENTS[secret]}", secret=secret)
    found = [(one["events"], secret_of(store, one)) for one in await shown(client)]
    assert found == [(["push", "fork"], "first"), (["issues"], "second"), (["star"], None)]


async def test_a_hook_with_every_event_changes_for_one_event(
    client: httpx.AsyncClient, store: Store
) -> None:
    await subscribe(client, topic="/octo/hello/events/*", secret="first")
    await subscribe(client, topic="/octo/hello/events/push.json", secret="second")
    (hook,) = await shown(client)
    assert (hook["config"]["content_type"], hook["events"]) == ("json", ["*", "push"])
    assert secret_of(store, hook) == "second"


async def test_another_callback_is_another_hook(client: httpx.AsyncClient) -> None:
    await subscribe(client)
    await subscribe(client, callback=CALLBACK + "?other")
    assert len(await shown(client)) == 2


async def test_subscribing_again_revives_a_disabled_hook(
    client: httpx.AsyncClient, store: Store
) -> None:
    await subscribe(client)
    (hook,) = await shown(client)
    store.write_sync(hooks.disable, hook["id"], "410")
    await subscribe(client)
    (hook,) = await shown(client)
    assert (hook["active"], hook["disabled_reason"]) == (True, None)


async def test_a_hook_of_the_rest_api_is_found_too(client: httpx.AsyncClient) -> None:
    await client.post(HOOKS, json={"config": {"url": CALLBACK}, "events": ["issues"]})
    await subscribe(client)
    (hook,) = await shown(client)
    assert hook["events"] == ["issues", "push"]


async def test_unsubscribing_takes_the_event_and_the_last_one_the_hook(
    client: httpx.AsyncClient, store: Store
) -> None:
    await subscribe(client, secret="kept")
    await subscribe(client, topic="/octo/hello/events/meta")
    (hook,) = await shown(client)
    await subscribe(client, mode="unsubscribe")
    (left,) = await shown(client)
    assert left["events"] == ["meta"]
    assert secret_of(store, left) == "kept"
    await subscribe(client, mode="unsubscribe")
    assert (await shown(client))[0]["events"] == ["meta"]
    await subscribe(client, mode="unsubscribe", topic="/octo/hello/events/meta")
    assert await shown(client) == []
    assert [row["name"] for row in waiting(store, hook["id"])] == ["ping", "meta"]
    await subscribe(client, mode="unsubscribe")


async def test_one_event_cannot_be_taken_from_every_event(client: httpx.AsyncClient) -> None:
    await subscribe(client, topic="/octo/hello/events/*")
    answer = await client.post(f"{ORIGIN}/hub", data=form(mode="unsubscribe"))
    assert_error(answer, 422, 'The hook receives every event: unsubscribe it from "*"')


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mode": None}, "hub.mode is missing"),
        ({"topic": None}, "hub.topic is missing"),
        ({"callback": None}, "hub.callback is missing"),
        ({"callback": ""}, "hub.callback is missing"),
        ({"mode": "publish"}, 'Invalid hub.mode: "publish": subscribe or unsubscribe'),
        ({"mode": "x", "topic": None}, 'Invalid hub.mode: "x": subscribe or unsubscribe'),
        (
            {"topic": "/octo/hello/events/non-existing-event"},
            'Invalid event: "non-existing-event"',
        ),
        ({"topic": "/octo/hello/events/%5C"}, 'Invalid event: "\\"'),
        (
            {"topic": "https://x.example/octo/nothing/events/push"},
            'No repository found for hub.topic: "https://x.example/octo/nothing/events/push"',
        ),
        ({"callback": "ftp://x.example/"}, "ftp://x.example/ is refused: the test says so"),
        (
            {"callback": "http://forbidden.example/"},
            "http://forbidden.example/ is refused: the test says so",
        ),
        ({"callback": "http://x/" + "y" * 2048}, "hub.callback is longer than 2048 characters"),
        ({"secret": "ü" * 513}, "hub.secret is longer than 1024 bytes"),
    ],
)
async def test_wrong_subscriptions_are_refused(
    client: httpx.AsyncClient, changes: dict[str, str | None], message: str
) -> None:
    answer = await client.post(f"{ORIGIN}/hub", data=form(**changes))
    content = assert_error(answer, 422, message)
    assert "errors" not in content
    assert await shown(client) == []


@pytest.mark.parametrize(
    "topic",
    ["x", "/octo/hello", "/hello/events/push", "/octo/hello/events/", "http://[/a", "/" * 99],
)
async def test_wrong_topics_are_refused(client: httpx.AsyncClient, topic: str) -> None:
    answer = await client.post(f"{ORIGIN}/hub", data=form(topic=topic))
    content = assert_error(answer, 422)
    assert content["message"].startswith("Invalid hub.topic: ")


async def test_a_subscription_that_collides_with_a_hook_is_refused(
    client: httpx.AsyncClient,
) -> None:
    for content_type, events in (("form", ["push", "issues"]), ("json", ["issues"])):
        config = {"url": CALLBACK, "content_type": content_type}
        await client.post(HOOKS, json={"config": config, "events": events})
    data = form(topic="/octo/hello/events/push.json")
    answer = await client.post(f"{ORIGIN}/hub", data=data)
    assert_error(answer, 422, "Hook already exists on this repository")


async def test_subscriptions_need_an_administrator_s_token(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    async def status(header: str, repository: str) -> httpx.Response:
        data = form(topic=f"/octo/{repository}/events/push")
        return await client.post("/hub", data=data, headers={"Authorization": header})

    weak, _ = store.write_sync(
        lambda db: tokens.create(db, seed.octo["id"], scopes=["read:repo_hook"])
    )
    assert_error(await status("token x", "hello"), 401, "Bad credentials")
    assert_error(await status("", "hello"), 401, "Bad credentials")
    reader = f"token {seed.reader_token}"
    assert_error(await status(reader, "hello"), 403, "Must have admin rights to Repository.")
    answer = await status(f"token {weak}", "hello")
    assert_error(answer, 403)
    assert answer.headers["X-Accepted-OAuth-Scopes"] == "write:repo_hook, repo"
    fine, _ = store.write_sync(lambda db: tokens.create(db, seed.octo["id"], kind="fine_grained"))
    answer = await status(f"token {fine}", "hello")
    assert_error(answer, 403, "Resource not accessible by personal access token")
    assert answer.headers["X-Accepted-Service-Permissions"] == "webhooks=write"
    del client.headers["Authorization"]
    assert_error(await client.post("/hub", data=form()), 401, "Requires authentication")


@pytest.mark.parametrize("mode", ["subscribe", "unsubscribe"])
async def test_a_hidden_repository_is_answered_like_a_missing_one(
    client: httpx.AsyncClient, store: Store, seed: Any, mode: str
) -> None:
    await subscribe(client, topic="/octo/vault/events/push")
    public, _ = store.write_sync(
        lambda db: tokens.create(db, seed.octo["id"], scopes=["public_repo"])
    )
    only = {"target_id": seed.octo["id"], "repositories": [seed.hello["id"]]}
    elsewhere, _ = store.write_sync(
        lambda db: tokens.create(
            db, seed.octo["id"], kind="fine_grained", permissions={"webhooks": "write"}, **only
        )
    )
    for value in (seed.reader_token, public, elsewhere):
        reported = []
        for name in ("vault", "nothing"):
            data = form(mode=mode, topic=f"/octo/{name}/events/push", secret="new")
            answer = await client.post("/hub", data=data, headers=bearer(value))
            message = f'No repository found for hub.topic: "/octo/{name}/events/push"'
            content = assert_error(answer, 422, message)
            content["message"] = content["message"].replace(name, "?")
            counted = ("content-length", "x-service-request-id")
            kept = {
                key: value
                for key, value in answer.headers.items()
                if key not in counted and not key.startswith("x-ratelimit-")
            }
            reported.append((content, kept))
        assert reported[0] == reported[1]
    (hook,) = (await client.get("/repos/octo/vault/hooks")).json()
    assert hook["events"] == ["push"]
    assert "secret" not in hook["config"]


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"hub.mode=%ff", "application/x-www-form-urlencoded"),
        (b"&".join([b"a=1"] * 65), "application/x-www-form-urlencoded"),
        (b"nonsense", "multipart/form-data; boundary=x"),
        (b"--x\r\n", "multipart/form-data"),
        (
            b'--x\r\nContent-Disposition: form-data; name="a"; filename="b"\r\n\r\nc\r\n--x--\r\n',
            "multipart/form-data; boundary=x",
        ),
        (
            b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nc\r\n' * 65 + b"--x--\r\n",
            "multipart/form-data; boundary=x",
        ),
    ],
)
async def test_broken_forms_are_refused(
    client: httpx.AsyncClient, content: bytes, kind: str
) -> None:
    answer = await client.post("/hub", content=content, headers={"Content-Type": kind})
    assert_error(answer, 400, "Problems parsing the form")


async def test_a_nul_in_a_subscription_is_refused(client: httpx.AsyncClient) -> None:
    for changes in ({"callback": f"{CALLBACK}/\0"}, {"secret": "a\0b"}):
        answer = await client.post(f"{ORIGIN}/hub", data=form(**changes))
        assert_error(answer, 400, "A form must not hold a NUL")


async def test_a_body_that_is_no_form_is_refused(client: httpx.AsyncClient) -> None:
    assert_error(await client.post("/hub", json=form()), 422, "hub.mode is missing")
    assert_error(await client.post("/hub"), 422, "hub.mode is missing")
    answer = await client.post("/hub", data={"x": "y" * 17_000})
    assert_error(answer, 413)


async def test_the_event_selects_one_of_two_hooks_with_the_same_callback(
    client: httpx.AsyncClient, store: Store
) -> None:
    for content_type, event in (("json", "issues"), ("form", "push")):
        config = {"url": CALLBACK, "content_type": content_type}
        made = await client.post(HOOKS, json={"config": config, "events": [event]})
        assert made.status_code == 201
    await subscribe(client)
    await subscribe(client, mode="unsubscribe")
    (left,) = await shown(client)
    assert left["events"] == ["issues"]


async def test_the_format_selects_one_of_two_hooks_with_the_same_event(
    client: httpx.AsyncClient,
) -> None:
    for content_type in ("form", "json"):
        config = {"url": CALLBACK, "content_type": content_type}
        await client.post(HOOKS, json={"config": config, "events": ["push"]})
    topic = "/octo/hello/events/push.json"
    await subscribe(client, topic=topic)
    await subscribe(client, topic=topic, mode="unsubscribe")
    (left,) = await shown(client)
    assert left["config"]["content_type"] == "form"


async def test_an_event_has_20_hooks_at_most(client: httpx.AsyncClient) -> None:
    for number in range(20):
        await subscribe(client, callback=f"{CALLBACK}/{number}")
    full = 'The "push" event cannot have more than 20 hooks'
    more = form(callback=f"{CALLBACK}/more")
    assert_error(await client.post(f"{ORIGIN}/hub", data=more), 422, full)
    # A subscription to another event succeeds, and so does a repeated subscription.
    topic = "https://anywhere.example/octo/hello/events/issues"
    await subscribe(client, callback=f"{CALLBACK}/more", topic=topic)
    assert_error(await client.post(f"{ORIGIN}/hub", data=more), 422, full)
    await subscribe(client, callback=f"{CALLBACK}/3")
    await subscribe(client, callback=f"{CALLBACK}/3", mode="unsubscribe")
    await subscribe(client, callback=f"{CALLBACK}/more")
    assert len(await shown(client)) == 20
