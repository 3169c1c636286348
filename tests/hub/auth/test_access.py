"""Access to operations: credentials, visibility, scopes, permissions and roles."""

import base64
from typing import Any

import httpx
import pytest
from assertions import BASE, assert_error
from bearer import bearer

from hub.api.hooks import hook_deliveries, hooks
from hub.http.error_headings import ERRORS_PAGE, operation_place
from store import Connection, Store
from store.accounts import accounts, tokens
from store.clock import MovableClock, parse
from store.repositories import repositories

HOOKS = "/repos/octo/hello/hooks"
ALL = (*hooks.ops.operations, *hook_deliveries.ops.operations)
OPERATIONS = tuple(one for one in ALL if one.group == "repos")
BODY = {"config": {"url": "https://receiver.example/in"}}


@pytest.fixture
async def anyone(client: httpx.AsyncClient) -> httpx.AsyncClient:
    """The client without a token."""
    del client.headers["Authorization"]
    return client


def token(store: Store, account_id: int, **what: Any) -> dict[str, str]:
    value, _ = store.write_sync(lambda db: tokens.create(db, account_id, **what))
    return {"Authorization": f"token {value}"}


async def everything(
    client: httpx.AsyncClient, repository: str = "octo/hello", **how: Any
) -> list[httpx.Response]:
    """The responses of every operation to a request for hook 1 and delivery 1."""
    answers = []
    for one in OPERATIONS:
        path = one.path.replace("{owner}/{repo}", repository)
        path = path.replace("{hook_id}", "1").replace("{delivery_id}", "1")
        answers.append(await client.request(one.method, path, **how))
    assert len(answers) == 12
    return answers


async def test_requests_without_a_token_are_refused(anyone: httpx.AsyncClient) -> None:
    for repository in ("octo/hello", "octo/vault", "octo/nothing"):
        for answer in await everything(anyone, repository):
            assert_error(answer, 401, "Requires authentication")
            assert answer.headers["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer ",
        "Bearer x",
        "Bearer tsp_" + "0" * 36,
        "Basic x",
        "Basic !!!",
        "Basic " + base64.b64encode(b"octo:password").decode(),
        "Basic " + base64.b64encode(b"\xff\xff").decode(),
        "Digest x",
        "token " + "x" * 10_000,
    ],
)
async def test_bad_credentials(anyone: httpx.AsyncClient, header: str) -> None:
    for answer in await everything(anyone, headers={"Authorization": header}):
        assert_error(answer, 401, "Bad credentials")


async def test_unknown_revoked_and_expired_tokens_are_refused(
    anyone: httpx.AsyncClient, store: Store, seed: Any, clock: MovableClock
) -> None:
    unknown = bearer(tokens.new_value("personal"))
    assert_error(await anyone.get(HOOKS, headers=unknown), 401, "Bad credentials")
    later = store.clock.now() + 60_000_000
    short = token(store, seed.octo["id"], scopes=["repo"], expires_at=later)
    assert (await anyone.get(HOOKS, headers=short)).status_code == 200
    clock.advance(61)
    assert_error(await anyone.get(HOOKS, headers=short), 401, "Bad credentials")


@pytest.mark.parametrize("form", ["Bearer {}", "bearer {}", "token {}", "Token  {}"])
async def test_a_token_can_be_sent_in_several_forms(
    anyone: httpx.AsyncClient, seed: Any, form: str
) -> None:
    header = {"Authorization": form.format(seed.token)}
    assert (await anyone.get(HOOKS, headers=header)).status_code == 200


@pytest.mark.parametrize("form", ["octo:{}", "x:{}", ":{}", "{}:", "{}:x-oauth-basic"])
async def test_a_token_can_be_sent_as_a_password(
    anyone: httpx.AsyncClient, seed: Any, form: str
) -> None:
    pair = base64.b64encode(form.format(seed.token).encode()).decode()
    answer = await anyone.get(HOOKS, headers={"Authorization": f"Basic {pair}"})
    assert answer.status_code == 200


async def test_a_hidden_repository_is_answered_like_a_missing_one(
    client: httpx.AsyncClient, seed: Any
) -> None:
    header = bearer(seed.reader_token)
    hidden = await everything(client, "octo/vault", headers=header)
    absent = await everything(client, "octo/nothing", headers=header)
    for one, other in zip(hidden, absent, strict=True):
        content = assert_error(one, 404, "Not Found")
        assert content == other.json()
        assert _without_id(one) == _without_id(other)


def _without_id(answer: httpx.Response) -> dict[str, str]:
    # These headers differ between any two requests.
    counted = ("x-service-request-id", "x-ratelimit-used", "x-ratelimit-remaining")
    return {k: v for k, v in answer.headers.items() if k not in counted}


async def test_readers_may_not_administer(client: httpx.AsyncClient, seed: Any) -> None:
    header = bearer(seed.reader_token)
    for answer in await everything(client, headers=header):
        assert_error(answer, 403, "Must have admin rights to Repository.")


async def test_names_are_compared_without_case(client: httpx.AsyncClient) -> None:
    assert (await client.get("/repos/OCTO/Hello/hooks")).status_code == 200


@pytest.mark.parametrize("kind", ["personal", "oauth"])
@pytest.mark.parametrize(
    ("scopes", "reads", "writes"),
    [
        (["repo"], True, True),
        (["admin:repo_hook"], True, True),
        (["write:repo_hook"], True, True),
        (["read:repo_hook"], True, False),
        (["public_repo", "admin:org", "user"], False, False),
        ([], False, False),
    ],
)
async def test_access_by_scopes(
    anyone: httpx.AsyncClient,
    store: Store,
    seed: Any,
    kind: str,
    scopes: list[str],
    reads: bool,
    writes: bool,
) -> None:
    header = token(store, seed.octo["id"], kind=kind, scopes=scopes)
    read = await anyone.get(HOOKS, headers=header)
    assert read.headers["X-OAuth-Scopes"] == ", ".join(sorted(scopes))
    assert read.headers["X-Accepted-OAuth-Scopes"] == "read:repo_hook, repo"
    write = await anyone.post(HOOKS, headers=header, json=BODY)
    assert write.headers["X-Accepted-OAuth-Scopes"] == "write:repo_hook, repo"
    for answer, may in ((read, reads), (write, writes)):
        if may:
            assert answer.is_success
        else:
            content = assert_error(answer, 403)
            assert "scopes: " in content["message"]
    hidden = await anyone.get("/repos/octo/vault/hooks", headers=header)
    assert hidden.status_code == (200 if reads else 404)


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        (HOOKS, {"Accept": "text/html"}, 415),
        (HOOKS, {"X-Service-Api-Version": "1999-01-01"}, 400),
        ("/nothing/at/all", {}, 404),
        ("/repos/octo/hello/contents", {}, 404),
    ],
)
async def test_early_refusals_name_the_scopes_of_the_token(
    anyone: httpx.AsyncClient, store: Store, seed: Any, path: str, headers: Any, status: int
) -> None:
    known = token(store, seed.octo["id"], scopes=["repo"])
    answer = await anyone.get(path, headers=known | headers)
    assert (answer.status_code, answer.headers.get("X-OAuth-Scopes")) == (status, "repo")
    assert len(answer.headers.get_list("X-OAuth-Scopes")) == 1
    assert "X-OAuth-Scopes" not in (await anyone.get(path, headers=headers)).headers


@pytest.mark.parametrize("kind", ["personal", "fine_grained"])
async def test_answers_name_the_expiry_of_the_token(
    anyone: httpx.AsyncClient, store: Store, seed: Any, kind: str
) -> None:
    name, ends = "Service-Authentication-Token-Expiration", parse("2026-12-24T10:00:00.5Z")
    limited = token(store, seed.octo["id"], kind=kind, expires_at=ends)
    for path in (HOOKS, "/nothing"):
        answer = await anyone.get(path, headers=limited)
        assert answer.headers[name] == "2026-12-24 10:00:00 UTC"
        endless = token(store, seed.octo["id"], kind=kind)
        assert name not in (await anyone.get(path, headers=endless)).headers


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("fine_grained", "Resource not accessible by personal access token"),
        ("app_user", "Resource not accessible by integration"),
        ("installation", "Resource not accessible by integration"),
    ],
)
@pytest.mark.parametrize(
    ("permissions", "reads", "writes"),
    [
        ({"webhooks": "write"}, True, True),
        ({"webhooks": "admin"}, True, True),
        ({"webhooks": "read"}, True, False),
        ({"contents": "write"}, False, False),
    ],
)
async def test_tokens_need_one_of_the_permissions(
    anyone: httpx.AsyncClient,
    store: Store,
    seed: Any,
    kind: str,
    reason: str,
    permissions: dict[str, str],
    reads: bool,
    writes: bool,
) -> None:
    header = token(store, seed.octo["id"], kind=kind, permissions=permissions)
    read = await anyone.get(HOOKS, headers=header)
    assert "X-OAuth-Scopes" not in read.headers
    write = await anyone.post(HOOKS, headers=header, json=BODY)
    for answer, may in ((read, reads), (write, writes)):
        if may:
            assert answer.is_success
        else:
            assert_error(answer, 403, reason)


async def test_access_by_roles(anyone: httpx.AsyncClient, store: Store, seed: Any) -> None:
    def organize(db: Connection) -> dict[str, int]:
        people = {name: accounts.create(db, name)["id"] for name in ("boss", "helper", "keeper")}
        guild = accounts.create(db, "guild", kind="Organization")
        hall = repositories.create(db, guild["id"], "hall", private=True)
        accounts.join(db, guild["id"], people["boss"], "admin")
        accounts.join(db, guild["id"], people["helper"], "member")
        repositories.grant(db, hall["id"], people["keeper"], "maintain")
        people["root"] = accounts.create(db, "root", site_admin=True)["id"]
        return people

    expected = {"boss": 200, "helper": 403, "keeper": 403, "root": 200}
    for name, account_id in store.write_sync(organize).items():
        header = token(store, account_id, scopes=["repo"])
        answer = await anyone.get("/repos/guild/hall/hooks", headers=header)
        assert answer.status_code == expected[name], name


async def test_missing_rights_are_reported_before_other_errors(
    client: httpx.AsyncClient, seed: Any
) -> None:
    header = bearer(seed.reader_token)
    assert_error(await client.post(HOOKS, content=b"{", headers=header), 403)
    assert_error(await client.get(f"{HOOKS}/999", headers=header), 403)
    assert_error(await client.get(f"{HOOKS}/999"), 404, "Not Found")


async def test_errors_lead_into_the_manual(anyone: httpx.AsyncClient) -> None:
    for one, answer in zip(OPERATIONS, await everything(anyone), strict=True):
        url = answer.json()["documentation_url"]
        general = answer.status_code == 401
        place = f"{ERRORS_PAGE}#authentication" if general else operation_place(one.id)
        assert url == f"{BASE}/docs{place}"
        page, _, anchor = place.partition("#")
        assert f'id="{anchor}"' in (await anyone.get(f"/docs{page}")).text
