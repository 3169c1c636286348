"""The mapping of words: requests may use both spellings, responses use the mapped one."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import orjson
import pytest
from assertions import BASE, assert_error
from bearer import bearer
from valid_documents import assert_valid

from hub.app import create_app
from hub.http.response import JSON, Response, json_response
from hub.rest.context import Context
from hub.rest.urls import Urls
from hub.rest.vocabulary import Vocabulary
from hub.settings import HubSettings
from store import Connection, Store
from store.accounts import accounts, tokens
from store.clock import parse
from store.delivery import events

WORDS = {"service": "github", "assistant": "copilot", "devenv": "codespace"}
HOOKS = "/repos/octo/hello/hooks"
FULL = Vocabulary(WORDS, BASE)
NONE = Vocabulary({}, BASE)


@pytest.fixture
async def mapped(store: Store, seed: Any) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a hub with all words mapped."""

    async def judge(url: str) -> None: ...

    app = create_app(store, HubSettings(base_url=BASE, vocabulary=WORDS), judge)
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url=BASE, headers=bearer(seed.token)
    ) as opened:
        yield opened
    await store.close()


def spoken(content: Any, words: Vocabulary = FULL, **headers: str) -> Any:
    """The content of a response after the mapping of its words."""
    answer = json_response(200, content)
    words.translate_response(answer)
    return orjson.loads(answer.body)


async def test_headers_are_mapped(mapped: httpx.AsyncClient) -> None:
    for prefix in ("X-Service", "X-GitHub"):
        header = {f"{prefix}-Api-Version": "2026-03-10"}
        answer = await mapped.get(HOOKS, headers=header)
        assert answer.headers["X-GitHub-Api-Version-Selected"] == "2026-03-10"
    assert answer.headers["X-GitHub-Media-Type"] == "github.v3; format=json"
    assert answer.headers["X-GitHub-Request-Id"]
    assert not [name for name in answer.headers if name.startswith("x-service")]
    everything = " ".join(answer.headers.values()).lower()
    assert "service" not in everything
    preflight = await mapped.options(HOOKS)
    for value in (
        answer.headers["Vary"],
        answer.headers["Access-Control-Expose-Headers"],
        preflight.headers["Access-Control-Allow-Headers"],
    ):
        names = value.split(", ")
        assert "X-GitHub-OTP" in names
        assert len(set(names)) == len(names)
    assert "X-Accepted-GitHub-Permissions" in answer.headers["Access-Control-Expose-Headers"]


async def test_json_of_every_form_is_sent_as_json(
    mapped: httpx.AsyncClient, client: httpx.AsyncClient
) -> None:
    at, headers = "/repos/octo/hello/stargazers", {"Accept": "application/vnd.github.star+json"}
    answer = await mapped.get(at, headers=headers)
    assert answer.headers["Content-Type"] == "application/json; charset=utf-8"
    assert answer.headers["X-GitHub-Media-Type"] == "github.v3; param=star; format=json"
    answer = await client.get(at, headers=headers)
    assert answer.headers["Content-Type"] == "application/vnd.service.star+json; charset=utf-8"


@pytest.mark.parametrize("sent", ["X-GitHub-Api-Version", "x-github-api-version"])
async def test_the_platform_s_own_spelling(
    mapped: httpx.AsyncClient, client: httpx.AsyncClient, sent: str
) -> None:
    for one in (mapped, client):
        refused = await one.get(HOOKS, headers={sent: "v3"})
        assert 'in the "X-GitHub-Api-Version" request header' in refused.json()["message"]
    texts = [str(value) for value in refused.headers.values()]
    texts += [(await mapped.get(path)).text for path in ("/openapi.json", "/reference")]
    texts += [str((await mapped.options(HOOKS)).headers), str((await mapped.get(HOOKS)).headers)]
    assert not [text for text in texts if "-Github" in text]


async def test_an_error_has_its_request_id_under_the_mapped_name(mapped: httpx.AsyncClient) -> None:
    answer = await mapped.get("/nothing")
    assert answer.headers["X-GitHub-Request-Id"]
    assert answer.json()["message"] == "Not Found"


async def test_the_document_has_the_mapped_words(mapped: httpx.AsyncClient) -> None:
    answer = await mapped.get("/openapi.json")
    assert_valid(answer.text)
    content = answer.json()
    assert content["components"]["parameters"]["api-version"]["name"] == "X-GitHub-Api-Version"
    license_ = content["paths"]["/repos/{owner}/{repo}/license"]["get"]["responses"]["200"]
    assert "application/vnd.github.raw+json" in license_["content"]
    assert "vnd.service" not in answer.text
    assert "X-Service" not in answer.text


def test_a_document_s_names_and_not_its_sentences() -> None:
    document = {
        "paths": {"/orgs/{org}/assistant/billing": {"get": {"description": "A service of ours."}}},
        "properties": {"performed_via_service_app": {}, "service": {}},
        "headers": [{"name": "X-Accepted-Service-Permissions", "required": True}],
    }
    assert FULL.document(document) == {
        "paths": {"/orgs/{org}/copilot/billing": {"get": {"description": "A service of ours."}}},
        "properties": {"performed_via_github_app": {}, "service": {}},
        "headers": [{"name": "X-Accepted-GitHub-Permissions", "required": True}],
    }


async def test_permissions_have_the_names_of_the_vocabulary(
    mapped: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    value, _ = store.write_sync(lambda db: tokens.create(db, seed.octo["id"], kind="fine_grained"))
    answer = await mapped.get(HOOKS, headers={"Authorization": f"token {value}"})
    assert answer.headers["X-Accepted-GitHub-Permissions"] == "webhooks=read"


async def test_the_expiry_of_a_token_has_the_name_of_the_vocabulary(
    mapped: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    ends = parse("2026-12-24T10:00:00Z")
    value, _ = store.write_sync(lambda db: tokens.create(db, seed.octo["id"], expires_at=ends))
    answer = await mapped.get(HOOKS, headers={"Authorization": f"token {value}"})
    name = "GitHub-Authentication-Token-Expiration"
    assert answer.headers[name] == "2026-12-24 10:00:00 UTC"
    assert name in answer.headers["Access-Control-Expose-Headers"].split(", ")


async def test_scopes_are_mapped(mapped: httpx.AsyncClient, store: Store, seed: Any) -> None:
    store.write_sync(accounts.set_password, seed.octo["id"], accounts.hash_password("open sesame"))
    for given in ("codespace", "devenv"):
        body = {"scopes": [given, "manage_billing:copilot"], "note": f"devenv {given}"}
        answer = await mapped.post("/authorizations", json=body, auth=("octo", "open sesame"))
        made = answer.json()
        assert made["scopes"] == ["codespace", "manage_billing:copilot"]
        assert made["note"] == f"devenv {given}"
    header = {"Authorization": f"token {made['token']}"}
    answer = await mapped.get("/versions", headers=header)
    assert answer.headers["X-OAuth-Scopes"] == "codespace, manage_billing:copilot"
    kept = {row["note"]: row["scopes"] for row in store.read_sync(tokens.list_all)}
    assert kept["devenv devenv"] == ["devenv", "manage_billing:assistant"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/orgs/{org}/assistant/billing", "/orgs/{org}/copilot/billing"),
        ("/orgs/{org}/members/{username}/assistant", "/orgs/{org}/members/{username}/copilot"),
        ("/enterprises/{e}/assistant/metrics", "/enterprises/{e}/copilot/metrics"),
        ("/repos/{owner}/{repo}/devenvs/secrets", "/repos/{owner}/{repo}/codespaces/secrets"),
        ("/repositories/7/devenvs/machines", "/repositories/7/codespaces/machines"),
        ("/user/devenvs/{devenv_name}/machines", "/user/codespaces/{devenv_name}/machines"),
        ("/repos/assistant/devenvs/hooks", None),
        ("/repos/devenv/service/hooks", None),
        ("/orgs/assistant/teams", None),
        ("/user/emails", None),
    ],
)
def test_paths_are_mapped(path: str, expected: str | None) -> None:
    assert FULL.paths(path) == ((path,) if expected is None else (path, expected))
    assert NONE.paths(path) == (path,)
    other = path if expected is None else expected
    text = f"see {BASE}{path}, and https://elsewhere.example{path}"
    content = {"url": f"{BASE}{path}", "html": [text]}
    assert spoken(content) == {
        "url": f"{BASE}{other}",
        "html": [f"see {BASE}{other}, and https://elsewhere.example{path}"],
    }


def test_members_of_payloads_are_mapped() -> None:
    content = {
        "performed_via_service_app": {"name": "performed_via_service_app"},
        "service": "service",
        "text": 'a "performed_via_service_app": b',
    }
    assert spoken(content) == {
        "performed_via_github_app": {"name": "performed_via_service_app"},
        "service": "service",
        "text": 'a "performed_via_service_app": b',
    }


def test_a_body_that_is_no_json_is_unchanged() -> None:
    body = b"\xff" + f'"performed_via_service_app": {BASE}/user/devenvs'.encode()
    answer = Response(200, body, [(b"content-type", b"application/vnd.service.raw+json")])
    FULL.translate_response(answer)
    assert answer.body == body
    assert answer.headers == [(b"content-type", b"application/vnd.github.raw+json")]


def test_only_some_words() -> None:
    words = Vocabulary({"assistant": "copilot"}, BASE)
    content = {"performed_via_service_app": None, "scopes": ["devenv", "manage_billing:assistant"]}
    changed = {"performed_via_service_app": None, "scopes": ["devenv", "manage_billing:copilot"]}
    assert spoken(content, words) == changed
    answer = Response(200, b"[]", [JSON, (b"x-service-request-id", b"1")])
    words.translate_response(answer)
    assert answer.headers[1][0] == b"x-service-request-id"


def test_without_a_vocabulary_there_is_nothing_to_do() -> None:
    assert not NONE
    assert not Vocabulary({"service": "service"}, BASE)
    raw = b'{"scopes": ["codespace"]}'
    assert NONE.translate_request(raw) is raw


@pytest.mark.parametrize("parts", [b'"scopes":[', b'"scopes":', b'"scopes": ', b'"scopes"', b"["])
def test_a_long_body_takes_no_time_that_grows_with_its_square(parts: bytes) -> None:
    """With such a time, this would take hours."""
    for begin in (b"", b'"scopes"', b'"scopes":', b'"scopes":['):
        raw = b"scopes" + begin + parts * 500_000
        assert FULL.translate_request(raw) == raw


def test_events_are_mapped(store: Store, seed: Any) -> None:
    def emit(db: Connection) -> bytes:
        ctx = Context(db, Urls(BASE), None, ("issues.opened",), words=FULL)
        issue = {"performed_via_service_app": None, "urls": [f"{BASE}/user/devenvs/x"]}
        receipt = ctx.emit("issues.opened", seed.hello, issue=issue)
        body: bytes = (events.get(db, receipt.event_id) or {})["body"]
        return body

    issue = orjson.loads(store.write_sync(emit))["issue"]
    assert issue == {"performed_via_github_app": None, "urls": [f"{BASE}/user/codespaces/x"]}


async def test_the_known_and_the_mapped_words_are_accepted(store: Store, seed: Any) -> None:
    async def judge(url: str) -> None: ...

    settings = HubSettings(base_url=BASE, vocabulary={"service": "forge"})
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(create_app(store, settings, judge)), base_url=BASE
    ) as client:
        for prefix in ("X-Forge", "X-Service", "X-GitHub"):
            header = {f"{prefix}-Api-Version": "v9"}
            content = assert_error_of(await client.get("/versions", headers=header))
            assert f"{prefix}-Api-Version".lower() in content["message"].lower()
    await store.close()


def assert_error_of(answer: httpx.Response) -> dict[str, Any]:
    assert answer.headers["X-Forge-Request-Id"]
    content: dict[str, Any] = answer.json()
    assert answer.status_code == 400
    return content


@pytest.mark.parametrize("wrong", [{"server": "x"}, {"service": "X"}, {"service": "a b"}])
def test_wrong_words_are_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"not a word|letters"):
        HubSettings(vocabulary=wrong)


async def test_neutral_answers_stay_neutral(client: httpx.AsyncClient) -> None:
    answer = await client.get(HOOKS, headers={"X-GitHub-Api-Version": "2026-03-10"})
    assert answer.headers["X-Service-Api-Version-Selected"] == "2026-03-10"
    assert not [name for name in answer.headers if "github" in name]
    assert_error(await client.get("/nothing"), 404)
