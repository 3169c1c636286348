"""Every declared operation: which requests it accepts and refuses, as its declaration says.

The declarations are the parameters of the tests, so a new operation needs no new test. The rows
that its path can name are in `operations_world`.
"""

import itertools
import re
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from assertions import BASE, assert_error
from contract_checks import own
from engines import open_copy
from hub_client import open_client
from jsonschema_rs import Draft202012Validator
from operations_world import (
    SECRET,
    Headers,
    World,
    basic,
    bearer,
    first,
    let_in,
    make,
    parameters,
    path,
    private,
    rows,
)

from hub.auth.access import PERMISSIONLESS, Public
from hub.auth.app_access import AsInstallation
from hub.auth.app_jwt import UNREADABLE
from hub.auth.enterprise_access import NO_MANAGER, OnEnterprise
from hub.auth.enterprise_access import NOT_AN_OWNER as NO_ENTERPRISE_OWNER
from hub.auth.organization_access import NOT_A_MEMBER, NOT_AN_OWNER, OnOrg
from hub.auth.repository_access import REFUSALS, OnRepo
from hub.auth.token_rights import ALL, CLASSIC
from hub.http.conditional import date
from hub.http.error_headings import ERRORS_PAGE, operation_place
from hub.http.media import PARAMS
from hub.openapi import examples
from hub.operations import OPERATIONS
from hub.rate_limit_settings import RATE_LIMITS
from hub.rest.operation import Operation
from hub.rest.versions import VERSIONS
from hub.settings import HubSettings
from store import open_store
from store.accounts import accounts, tokens
from store.accounts.permissions import LEVELS
from store.audit import audit_search
from store.clock import MovableClock, parse
from store.database.sqlite.connections import SqliteSession
from store.repositories import repositories

UNLIMITED = dict.fromkeys(RATE_LIMITS, 1_000_000)
# These headers differ between any two requests.
COUNTED = {"x-service-request-id", "x-ratelimit-used", "x-ratelimit-remaining"}
KNOWN_AS = {
    "personal": "personal access token",
    "fine_grained": "personal access token",
    "oauth": "OAuth app",
    "app_user": "integration",
    "installation": "integration",
}
BASIC_ONLY = {
    "password": "This API can only be accessed with username and password Basic Auth",
    "app": "This API can only be accessed with client id and client secret Basic Auth",
}
STRANGE = ("%00", "a%2Fb", "%C3%BC%FF", "-1", "0x1", "1.5", "9" * 19, "x" * 2000, "%20", "%2E%2E")
each = pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.id)
in_repository = pytest.mark.parametrize(
    "operation",
    [one for one in OPERATIONS if isinstance(one.access, OnRepo)],
    ids=lambda one: one.id,
)
in_organization = pytest.mark.parametrize(
    "operation",
    [one for one in OPERATIONS if isinstance(one.access, OnOrg)],
    ids=lambda one: one.id,
)
in_enterprise = pytest.mark.parametrize(
    "operation",
    [one for one in OPERATIONS if isinstance(one.access, OnEnterprise)],
    ids=lambda one: one.id,
)
with_token = pytest.mark.parametrize(
    "operation",
    [one for one in OPERATIONS if one.access.credentials in ("token", "any")],
    ids=lambda one: one.id,
)
with_credentials = pytest.mark.parametrize(
    "operation",
    [one for one in OPERATIONS if one.access.credentials != "none"],
    ids=lambda one: one.id,
)
changing = pytest.mark.parametrize(
    "operation",
    [one for one in OPERATIONS if one.writes and one.access.credentials in ("token", "any")],
    ids=lambda one: one.id,
)
with_body = pytest.mark.parametrize(
    "operation", [one for one in OPERATIONS if one.body is not None], ids=lambda one: one.id
)
reading = pytest.mark.parametrize(
    "operation", [one for one in OPERATIONS if not one.writes], ids=lambda one: one.id
)


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def settings() -> HubSettings:
    """The usual settings, but with limits that the many requests do not exceed."""
    return HubSettings(
        base_url=BASE,
        max_body_bytes=16 * 1024,
        rate_limits=UNLIMITED,
        rate_limits_anonymous=UNLIMITED,
        points_per_minute=1_000_000,
        content_per_minute=1_000_000,
        content_per_hour=1_000_000,
        failed_tokens=1_000_000,
        failed_logins=1_000_000,
        failed_logins_address=1_000_000,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("every-operation")


@pytest.fixture(scope="module")
def world(folder: Path) -> Iterator[World]:
    """One world for all tests, because a refused request changes nothing in it.

    Its store is SQLite. The code under test runs before and after the SQL statements, and the tests
    of each group run the statements on both engines.
    """
    clock = MovableClock(parse("2026-11-21T07:33:00Z"))
    store = open_store("sqlite", data_dir=folder, clock=clock)
    made = make(store)
    # A change in the last minute has no Last-Modified.
    clock.advance(61)
    yield made
    made.close()
    store.shut()


@pytest.fixture(scope="module")
async def anyone(
    anyio_backend: str, world: World, settings: HubSettings
) -> AsyncIterator[httpx.AsyncClient]:
    """A client without credentials."""
    async with open_client(world.store, settings) as client:
        yield client


@pytest.fixture
async def copied(
    tmp_path: Path, settings: HubSettings, untouched: tuple[Path, World]
) -> AsyncIterator[tuple[httpx.AsyncClient, World]]:
    """A client of a copy of the world, and the copy, which the test may change."""
    async with open_copied(untouched, tmp_path, settings) as opened:
        yield opened


@pytest.fixture
async def open_to_change(
    anyone: httpx.AsyncClient,
    world: World,
    operation: Operation,
    tmp_path: Path,
    settings: HubSettings,
    untouched: tuple[Path, World],
) -> AsyncIterator[tuple[httpx.AsyncClient, World]]:
    """A client and its world, which is a copy if a broken body does not stop the operation."""
    if operation.writes and operation.body is None:
        async with open_copied(untouched, tmp_path, settings) as opened:
            yield opened
    else:
        yield anyone, world


@asynccontextmanager
async def open_copied(
    untouched: tuple[Path, World], folder: Path, settings: HubSettings
) -> AsyncIterator[tuple[httpx.AsyncClient, World]]:
    source, made = untouched
    store = open_copy(source, folder)
    async with open_client(store, settings) as client:
        yield client, made.moved(store)


class Asked:
    """Calls an operation, and asserts that a refused request changes nothing."""

    def __init__(self, client: httpx.AsyncClient, world: World, operation: Operation) -> None:
        self._client = client
        self._world = world
        self._operation = operation

    async def __call__(self, at: str, headers: Headers, **how: Any) -> httpx.Response:
        return await self._client.request(self._operation.method, at, headers=headers, **how)

    async def refused(
        self, at: str, headers: Headers, status: int, message: str | None = None, **how: Any
    ) -> httpx.Response:
        with self._world.unchanged():
            answer = await self(at, headers, **how)
        content = assert_error(answer, status, message)
        places = [operation_place(self._operation.id), f"{ERRORS_PAGE}#authentication"]
        place = content["documentation_url"].removeprefix(f"{BASE}/docs")
        assert place == places[status == 401]
        return answer

    async def passes(self, at: str, headers: Headers) -> None:
        """Assert that the credentials suffice: a broken body gets 400, a read succeeds.

        A write without a body is not sent, because it would change the world of all tests.
        """
        if self._operation.writes and self._operation.body is None:
            return
        answer = await self(at, headers, content=b"{")
        wanted = {400} if self._operation.body is not None else successes(self._operation)
        assert answer.status_code in wanted, f"{headers}: {answer.text}"


@pytest.fixture
def ask(anyone: httpx.AsyncClient, world: World, operation: Operation) -> Asked:
    return Asked(anyone, world, operation)


def successes(operation: Operation) -> set[int]:
    return {operation.status, *operation.also}


def same(one: httpx.Response, other: httpx.Response) -> None:
    """Assert that the responses are equal, byte for byte, except for the headers in COUNTED."""
    assert (one.status_code, one.content) == (other.status_code, other.content)
    assert reported(one) == reported(other)


def reported(answer: httpx.Response) -> list[tuple[str, str]]:
    return [line for line in answer.headers.multi_items() if line[0] not in COUNTED]


# Credentials, scopes, permissions and roles


@each
def test_something_stands_for_every_parameter(operation: Operation) -> None:
    parameters(operation)


@each
async def test_anonymous_requests_are_refused_or_public(
    ask: Asked, world: World, operation: Operation
) -> None:
    at = path(operation, world)
    if operation.access.anyone:
        await ask.passes(at, {})
        return
    answer = await ask.refused(at, {}, 401, "Requires authentication")
    basic_only = operation.access.credentials in ("password", "app")
    assert answer.headers["WWW-Authenticate"].startswith("Basic" if basic_only else "Bearer")


@with_credentials
async def test_every_operation_rejects_a_bad_token(
    ask: Asked, world: World, operation: Operation
) -> None:
    at = path(operation, world)
    by_token = operation.access.credentials in ("token", "any")
    for value in ("x", "tsp_" + "0" * 36, tokens.new_value("personal")):
        if operation.access.credentials == "jwt":
            await ask.refused(at, bearer(value), 401, UNREADABLE)
        elif by_token:
            await ask.refused(at, bearer(value), 401, "Bad credentials")
        else:
            await ask.refused(at, bearer(value), 403, BASIC_ONLY[operation.access.credentials])
    for header in ("Basic x", "Basic", "Basic !!!", basic("octo", "wrong")["Authorization"]):
        message = None if operation.access.credentials == "jwt" else "Bad credentials"
        await ask.refused(at, {"Authorization": header}, 401, message)


@with_credentials
async def test_the_wrong_kind_of_credentials(
    ask: Asked, world: World, operation: Operation
) -> None:
    at = path(operation, world)
    credentials = operation.access.credentials
    wrong = UNREADABLE if credentials == "jwt" else "Bad credentials"
    if credentials != "password":
        await ask.refused(at, basic("octo", "open sesame"), 401, wrong)
    if credentials != "app":
        await ask.refused(at, basic("lab-client", SECRET), 401, wrong)
    if credentials in ("token", "any"):
        await ask.refused(at, world.signed(), 403, "Resource not accessible by integration")
    if credentials in ("password", "app"):
        for kind in ALL:
            await ask.refused(at, world.token(kind=kind), 403, BASIC_ONLY[credentials])


@with_token
async def test_the_wrong_kind_of_token_is_refused(
    ask: Asked, world: World, operation: Operation
) -> None:
    # Any token may read a public repository, so this request is for a private one.
    at = (private if operation.access.anyone else path)(operation, world)
    for kind in sorted(set(ALL) - set(operation.access.kinds)):
        held = dict(operation.access.permissions)
        headers = world.token(kind=kind, permissions={} if kind in CLASSIC else held)
        answer = await ask.refused(at, headers, 403, f"Resource not accessible by {KNOWN_AS[kind]}")
        # No scope and no permission makes this kind of token sufficient.
        assert "X-Accepted-OAuth-Scopes" not in answer.headers
        assert "X-Accepted-Service-Permissions" not in answer.headers
        assert ("X-OAuth-Scopes" in answer.headers) == (kind in CLASSIC)


@with_token
async def test_answers_name_the_accepted_scopes_and_permissions(
    ask: Asked, world: World, operation: Operation
) -> None:
    access = operation.access
    at = path(operation, world)
    for kind in () if operation.writes else access.kinds:
        answer = await ask(at, world.token(kind=kind))
        reported = {name for name in answer.headers if name.startswith("x-accepted-")}
        if kind in CLASSIC:
            assert reported == {"x-accepted-oauth-scopes"}
            assert answer.headers["X-Accepted-OAuth-Scopes"] == ", ".join(access.accepted)
        else:
            held = "; ".join(f"{name}={level}" for name, level in access.permissions)
            assert reported == {"x-accepted-service-permissions"}
            assert answer.headers["X-Accepted-Service-Permissions"] == (held or PERMISSIONLESS)


@with_token
async def test_a_missing_scope_is_refused(ask: Asked, world: World, operation: Operation) -> None:
    access = operation.access
    for kind in sorted(set(CLASSIC) & set(access.kinds)):
        for scopes in ([], ["gist", "notifications"]):
            headers = world.token(kind=kind, scopes=scopes)
            if not access.takes_scopes:
                await ask.passes(path(operation, world), headers)
                continue
            answer = await without_scope(ask, world, operation, headers)
            assert answer.headers["X-OAuth-Scopes"] == ", ".join(scopes)
            assert answer.headers["X-Accepted-OAuth-Scopes"] == ", ".join(access.accepted)


@changing
async def test_a_token_without_scopes_changes_nothing(
    ask: Asked, world: World, operation: Operation
) -> None:
    access = operation.access
    wanted = ", ".join(access.accepted)
    # All other scopes together do not suffice.
    others = sorted(tokens.SCOPES - opening(access.accepted))
    for kind in CLASSIC:
        for scopes in ([], ["gist"], others):
            headers = world.token(kind=kind, scopes=scopes)
            answer = await without_scope(ask, world, operation, headers)
            accepted = answer.headers.get("X-Accepted-OAuth-Scopes")
            if kind not in access.kinds:
                assert accepted is None, "no scope suffices"
                continue
            assert wanted, "some scope suffices"
            assert accepted == wanted


async def without_scope(
    ask: Asked, world: World, operation: Operation, headers: dict[str, str]
) -> httpx.Response:
    """Check the answer for a token without the scope, and return it."""
    at, access = path(operation, world), operation.access
    if isinstance(access, OnOrg) and access.hidden:
        answer = await ask.refused(at, headers, 404)
        same(answer, await ask.refused(path(operation, world, org="nobody"), headers, 404))
        return answer
    answer = await ask.refused(at, headers, 403)
    if "X-Accepted-OAuth-Scopes" in answer.headers:
        message = "This needs a token with one of these scopes: "
        assert answer.json()["message"].startswith(message)
    return answer


def opening(accepted: Iterable[str]) -> set[str]:
    """The scopes that suffice: the accepted ones, and those that include one of them."""
    return {one for one in tokens.SCOPES if any(tokens.implies([one], each) for each in accepted)}


@with_token
async def test_a_missing_permission_is_refused(
    ask: Asked, world: World, operation: Operation
) -> None:
    access = operation.access
    for kind in sorted(set(access.kinds) - set(CLASSIC)):
        for held in lower(dict(access.permissions)):
            headers = world.token(kind=kind, permissions=held)
            if isinstance(access, AsInstallation):
                headers = world.installed()
            if access.anyone or not access.permissions:
                await ask.passes(path(operation, world), headers)
            if not access.permissions:
                continue
            at = (private if access.anyone else path)(operation, world)
            answer = await ask.refused(at, headers, 403)
            assert answer.json()["message"].startswith("Resource not accessible by ")
            wanted = "; ".join(f"{name}={level}" for name, level in access.permissions)
            assert answer.headers["X-Accepted-Service-Permissions"] == wanted


def lower(permissions: dict[str, str]) -> list[dict[str, str]]:
    """Sets of permissions that do not suffice."""
    less = {
        name: LEVELS[LEVELS.index(level) - 1]
        for name, level in permissions.items()
        if level != LEVELS[0]
    }
    return [{}, {"packages": "admin"}, less]


@in_repository
async def test_a_missing_role_is_refused(ask: Asked, world: World, operation: Operation) -> None:
    needed = operation.access.role or "read"
    at = private(operation, world)
    kind = operation.access.kinds[0]
    for role in repositories.ROLES:
        account = world.store.write_sync(helper, world.vault.repo["id"], role)
        what = {"scopes": ["repo"]} if kind in CLASSIC else enough(operation, kind)
        headers = world.token(account, kind=kind, **what)
        if repositories.at_least(role, needed):
            if operation.body is not None:
                await ask.passes(at, headers)
        else:
            usual = REFUSALS.get(needed, f"Must have {needed} rights to Repository.")
            message = getattr(operation.access, "refusal", None) or usual
            await ask.refused(at, headers, 403, message)


def helper(db: Any, repo_id: int, role: str) -> Any:
    """Return an account with this role in the repository. The account's login is the role."""
    account = accounts.by_login(db, role) or accounts.create(db, role)
    repositories.grant(db, repo_id, account["id"], role)
    return account


@in_organization
async def test_a_missing_membership_is_refused(
    ask: Asked, world: World, operation: Operation
) -> None:
    access = operation.access
    assert isinstance(access, OnOrg)
    at = path(operation, world)
    absent = path(operation, world, org="nobody")
    member, elsewhere = world.store.write_sync(pusher), world.umbra.account["id"]
    for kind in access.kinds:
        what = enough(operation, kind)
        stranger = world.token(world.reader.account, kind=kind, **what)
        if access.known:
            await ask.refused(at, stranger, 403, NOT_A_MEMBER)
            await ask.refused(absent, stranger, 404)
        for outsider in (
            *([] if access.known else [stranger]),
            *([] if kind in CLASSIC else [world.token(kind=kind, target_id=elsewhere, **what)]),
            *([world.where_installed(world.quarry, **what)] if kind == "app_user" else []),
        ):
            same(await ask.refused(at, outsider, 404), await ask.refused(absent, outsider, 404))
        headers = world.token(member, kind=kind, **what)
        if access.hidden:
            same(await ask.refused(at, headers, 404), await ask.refused(absent, headers, 404))
        elif access.owner:
            await ask.refused(at, headers, 403, NOT_AN_OWNER)
        else:
            await ask.passes(at, headers)


@pytest.mark.parametrize(
    "operation",
    [one for one in OPERATIONS if isinstance(one.access, OnRepo) and not one.access.anyone],
    ids=lambda one: one.id,
)
async def test_a_token_of_an_app_that_is_not_installed_is_refused_in_a_public_repository(
    ask: Asked, world: World, operation: Operation
) -> None:
    for kind in {"app_user"}.intersection(operation.access.kinds):
        headers = world.where_installed(world.quarry, **enough(operation, kind))
        message = f"Resource not accessible by {KNOWN_AS[kind]}"
        await ask.refused(path(operation, world), headers, 403, message)


@with_token
async def test_a_token_that_needs_the_installed_app_is_accepted_where_it_is_installed(
    ask: Asked, world: World, operation: Operation
) -> None:
    for kind in {"app_user"}.intersection(operation.access.kinds):
        # The path names the installation of mill, if it names one.
        app = world.mill if "installation_id" in parameters(operation) else world.anvil
        headers = world.where_installed(app, **enough(operation, kind))
        if isinstance(operation.access, OnEnterprise):
            # No app can be installed on an enterprise.
            await ask.refused(path(operation, world), headers, 404)
        else:
            await ask.passes(path(operation, world), headers)


@in_enterprise
async def test_a_missing_role_in_an_enterprise_is_refused(
    ask: Asked, world: World, operation: Operation
) -> None:
    access = operation.access
    assert isinstance(access, OnEnterprise)
    at = path(operation, world)
    absent = path(operation, world, enterprise="nothing")
    for kind in access.kinds:
        what = enough(operation, kind)
        outsider = world.token(world.store.write_sync(somebody, "stranger"), kind=kind, **what)
        same(await ask.refused(at, outsider, 404), await ask.refused(absent, outsider, 404))
        member = world.token(world.store.write_sync(somebody, "plain", "acme"), kind=kind, **what)
        if access.enterprise_role == "member" or (access.permitted and kind == "fine_grained"):
            await ask.passes(at, member)
        else:
            message = NO_ENTERPRISE_OWNER if access.enterprise_role == "owner" else NO_MANAGER
            await ask.refused(at, member, 403, message)


def enough(operation: Operation, kind: str) -> dict[str, Any]:
    """The scopes or permissions that a token of this kind needs."""
    if kind in CLASSIC:
        return {"scopes": list(operation.access.accepted)}
    return {"permissions": dict(operation.access.permissions)}


def somebody(db: Any, login: str, organization: str | None = None) -> Any:
    """Return the account with this login, as a member of the organization if one is given."""
    account = accounts.by_login(db, login) or accounts.create(db, login)
    if organization is not None:
        found = accounts.by_login(db, organization)
        assert found is not None
        accounts.join(db, found["id"], account["id"], "member")
    return account


def pusher(db: Any) -> Any:
    """Return a member of acme who may push to acme/tools, and has no other rights in acme."""
    account = somebody(db, "pusher", "acme")
    tools = repositories.find(db, "acme", "tools")
    assert tools is not None
    repositories.grant(db, tools["id"], account["id"], "write")
    return account


@each
async def test_every_operation_accepts_its_declared_tokens(
    open_to_change: tuple[httpx.AsyncClient, World], operation: Operation
) -> None:
    client, world = open_to_change
    for number, (name, headers) in enumerate(let_in(operation, world).items()):
        if number and operation.writes and operation.body is None:
            # The first request has made the change, so a second one would fail.
            break
        at = path(operation, world)
        answer = await client.request(operation.method, at, headers=headers, content=b"{")
        wanted = {400} if operation.body is not None else successes(operation)
        assert answer.status_code in wanted, f"{name}: {answer.text}"
        if "scopes" in name:
            scopes = operation.access.accepted
            assert answer.headers["X-Accepted-OAuth-Scopes"] == ", ".join(scopes)
    done = operation.audited and operation.body is None
    logged = [row["action"] for row in world.store.read_sync(audit_search.page, limit=10)]
    assert logged == ([operation.id] if done else []), "each change is in the audit log"


# Rows, and repositories that are private or renamed


@each
async def test_every_operation_answers_404_for_unknown_rows(
    ask: Asked, world: World, operation: Operation
) -> None:
    headers = first(operation, world)
    for name in rows(operation):
        stands = parameters(operation)[name]
        at = path(operation, world, **{name: stands.absent})
        absent = await ask.refused(at, headers, 404, "Not Found")
        # A public operation shows the rows of other owners, too.
        if stands.other is not None and not isinstance(operation.access, Public):
            at = path(operation, world, **{name: str(stands.other(world))})
            if isinstance(operation.access, OnOrg) and operation.access.known:
                await ask.refused(at, headers, 403, NOT_A_MEMBER)
            else:
                same(absent, await ask.refused(at, headers, 404))


@each
async def test_strange_names_and_ids_are_not_found(
    ask: Asked, world: World, operation: Operation
) -> None:
    headers = first(operation, world)
    names = [*rows(operation), *({"owner", "repo"} & parameters(operation).keys())]
    for name in names:
        for value in STRANGE:
            at = path(operation, world, **{name: value})
            answer = await ask(at, headers)
            assert answer.status_code == 404, f"{value}: {answer.text}"


@in_repository
async def test_every_operation_hides_private_repositories(
    ask: Asked, world: World, operation: Operation
) -> None:
    there, absent = (private(operation, world, **how) for how in ({}, {"repo": "nothing"}))
    before = [at.replace("/octo/vault", "/octo/crypt") for at in (there, absent)]
    for headers in outsiders(operation, world):
        status = 404 if headers or operation.access.anyone else 401
        one, other = [await ask.refused(at, headers, status) for at in (there, absent)]
        same(one, other)
        for at in before:
            same(one, await ask.refused(at, headers, status))


def outsiders(operation: Operation, world: World) -> Iterator[Headers]:
    """The headers of clients that may not see octo/vault."""
    access = operation.access
    yield {}
    for kind in access.kinds:
        permissions = dict(access.permissions)
        what = {"scopes": ["repo"]} if kind in CLASSIC else {"permissions": permissions}
        yield world.token(world.reader.account, kind=kind, **what)
        if kind in CLASSIC:
            yield world.token(kind=kind, scopes=["gist"])
        else:
            yield world.token(kind=kind, target_id=world.reader.account["id"], **what)
            yield world.token(kind=kind, repositories=[world.hello.repo["id"]], **what)
        if kind == "app_user":
            yield world.where_installed(world.quarry, **what)


@in_repository
async def test_every_operation_redirects_from_a_former_name(
    ask: Asked, world: World, operation: Operation
) -> None:
    at = path(operation, world, repo="before")
    answer = await ask(f"{at}?x=%20y", first(operation, world), content=b"{")
    assert answer.status_code == (307 if operation.writes else 301)
    rest = path(operation, world).removeprefix("/repos/octo/hello")
    number = world.hello.repo["id"]
    url = f"{BASE}/repositories/{number}{rest}?x=%20y"
    assert answer.headers["Location"] == answer.json()["url"] == url
    assert answer.json().keys() == {"message", "url", "documentation_url"}
    if not operation.writes:
        same_there = await ask(url, first(operation, world))
        assert same_there.status_code in successes(operation)


# Bodies, versions, media types and headers


@with_body
async def test_an_unreadable_body_is_refused(
    ask: Asked, world: World, operation: Operation
) -> None:
    at, headers = path(operation, world), first(operation, world)
    for junk in (b"{", b"\xff", b'{"a": NaN}', b"[" * 5000, b"{}{}", b"a=b", b"'", b"\x0b"):
        await ask.refused(at, headers, 400, "Problems parsing JSON", content=junk)
    most = operation.bodies * 16 * 1024
    answer = await ask.refused(at, headers, 413, content=b" " * (most + 1))
    assert f"{most} bytes" in answer.json()["message"]
    short = {**headers, "Content-Length": "x"}
    await ask.refused(at, short, 400, content=b"{}")


@with_body
async def test_a_body_that_is_no_object_is_refused(
    ask: Asked, world: World, operation: Operation
) -> None:
    at, headers = path(operation, world), first(operation, world)
    # Clients remove all labels with an empty list.
    lists = () if operation.id in ("issues/add-labels", "issues/set-labels") else (b"[]",)
    for junk in (*lists, b"1", b"true", b"null", b"[{}]", b'[[""]]'):
        if operation.only_object:
            await ask.refused(at, headers, 400, "Body should be a JSON object", content=junk)
        else:
            await ask.refused(at, headers, 422, content=junk)


@with_body
async def test_a_member_of_the_wrong_type_is_refused(
    ask: Asked, world: World, operation: Operation
) -> None:
    at, headers = path(operation, world), first(operation, world)
    for name, value in wrong_members(operation):
        answer = await ask.refused(at, headers, 422, json={name: value})
        message = answer.json()["message"]
        assert message.startswith("Invalid request.\n\n")
        assert f"For '{name}" in message or f"/{name}" in message, message


def wrong_members(operation: Operation) -> list[tuple[str, Any]]:
    """Each member of the body, with a value that its schema refuses."""
    assert operation.body is not None
    schema = operation.body.json_schema()
    found = []
    for shape in objects_of(schema):
        for name, member in shape.get("properties", {}).items():
            validator = Draft202012Validator({**member, "$defs": schema.get("$defs", {})})
            tries = ("\n", [{}], {"x": [None]}, 1.5, True, None)
            wrong = next((one for one in tries if not validator.is_valid(one)), ...)
            assert wrong is not ..., f"{operation.id}: {name} accepts any value"
            found.append((name, wrong))
    return found


def objects_of(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The schemas of the objects that a body may be."""
    defs = schema.get("$defs", {})
    for shape in (schema, *schema.get("anyOf", ())):
        named = shape.get("$ref", "").rpartition("/")[2]
        yield defs[named] if named else shape


@pytest.fixture
def strict_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let SQLite refuse a text with a NUL, as PostgreSQL does."""
    run = SqliteSession.run

    def checked(db: SqliteSession, sql: str, given: Any) -> Any:
        rows = re.findall(r"json_each\(:(\w+)\)", sql)
        for name, value in given.items() if isinstance(given, dict) else enumerate(given):
            if isinstance(value, str):
                assert "\0" not in value, sql
                assert name not in rows or "\\u0000" not in value, sql
        return run(db, sql, given)

    monkeypatch.setattr(SqliteSession, "run", checked)


@with_body
async def test_a_nul_in_a_body_is_no_server_error(
    copied: tuple[httpx.AsyncClient, World], operation: Operation, strict_texts: None
) -> None:
    client, world = copied
    at, headers = path(operation, world), first(operation, world)
    for body in bodies_with_nul(operation):
        answer = await client.request(operation.method, at, headers=headers, json=body)
        assert answer.status_code < 500, body


def bodies_with_nul(operation: Operation) -> Iterator[dict[str, Any]]:
    """Bodies with the required members and one more. One of its texts has a NUL in each body."""
    content = own().content
    asked = content["paths"][operation.path][operation.method.lower()]["requestBody"]["content"]
    schema = asked["application/json"]["schema"]
    if "$ref" in schema:
        schema = content["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    for shape in schema.get("anyOf", [schema]):
        members = examples.value(content, shape)
        if isinstance(members, dict):
            needed = {name: members[name] for name in shape.get("required", ())}
            for name, value in members.items():
                yield from ({**needed, name: one} for one in with_nul(value))


def with_nul(value: Any) -> Iterator[Any]:
    """The value with a NUL in one of its texts or names, for each of them."""
    if isinstance(value, str):
        yield "a\0b"
    elif isinstance(value, list):
        for at, one in enumerate(value):
            yield from ([*value[:at], two, *value[at + 1 :]] for two in with_nul(one))
    elif isinstance(value, dict):
        yield {"a\0b": "x"}
        for name, one in value.items():
            yield from ({**value, name: two} for two in with_nul(one))


@each
async def test_a_nul_in_a_url_is_no_server_error(
    ask: Asked, world: World, operation: Operation, strict_texts: None
) -> None:
    headers = first(operation, world)
    described = own().content["paths"][operation.path][operation.method.lower()]
    asked = [one["name"] for one in described.get("parameters", ()) if one.get("in") == "query"]
    places = [path(operation, world, **{name: "a%00b"}) for name in parameters(operation)]
    if not operation.writes:
        places += [f"{path(operation, world)}?{name}=a%00b" for name in asked]
    for at in places:
        answer = await ask(at, headers)
        assert answer.status_code < 500, at


@with_body
async def test_a_missing_body_is_refused(ask: Asked, world: World, operation: Operation) -> None:
    assert operation.body is not None
    wanted = operation.body.json_schema().get("required", ())
    for content in (b"", b" \n", b"{}") if wanted else ():
        at, headers = path(operation, world), first(operation, world)
        answer = await ask.refused(at, headers, 422, content=content)
        for name in wanted:
            assert f'"{name}" wasn\'t supplied.' in answer.json()["message"]


@each
async def test_an_unknown_version_is_refused(
    ask: Asked, world: World, operation: Operation
) -> None:
    at = path(operation, world)
    for version, headers in itertools.product(
        ("2020-01-01", "v3", ""), ({}, first(operation, world))
    ):
        asked = {**headers, "X-Service-Api-Version": version}
        answer = await ask.refused(at, asked, 400)
        assert '"2026-03-10" (most recent), "2022-11-28"' in answer.json()["message"]
        assert "X-Service-Api-Version-Selected" not in answer.headers


@each
async def test_the_versions_that_have_it(ask: Asked, world: World, operation: Operation) -> None:
    headers = first(operation, world)
    for version in VERSIONS:
        asked = {**headers, "X-Service-Api-Version": version}
        if version not in operation.versions:
            await ask.refused(path(operation, world), asked, 404, "Not Found")
        elif not operation.writes:
            answer = await ask(path(operation, world), asked)
            assert answer.status_code in successes(operation)
            assert answer.headers["X-Service-Api-Version-Selected"] == version


@each
async def test_every_operation_refuses_other_media_types(
    ask: Asked, world: World, operation: Operation
) -> None:
    at, headers = path(operation, world), first(operation, world)
    text = () if operation.answer is str else ("image/*;q=0.5, text/plain",)
    for accept in ("application/xml", "text/html", "x", *text):
        await ask.refused(at, {**headers, "Accept": accept}, 415)
    for param in sorted(PARAMS - set(operation.media)):
        accept = f"application/vnd.service.{param}+json"
        await ask.refused(at, {**headers, "Accept": accept}, 406)
    for param in () if operation.writes else operation.media:
        accept = f"application/vnd.service.{param}+json"
        answer = await ask(at, {**headers, "Accept": accept})
        assert answer.status_code in successes(operation)
        expected = f"service.v3; param={param}; format=json"
        assert answer.headers["X-Service-Media-Type"] == expected


@each
async def test_every_answer_has_the_common_headers(
    ask: Asked, world: World, operation: Operation
) -> None:
    at = path(operation, world)
    answers = [await ask(at, {}), await ask(at, bearer("x"))]
    if not operation.writes:
        answers.append(await ask(at, first(operation, world)))
    for answer in answers:
        names = set(answer.headers)
        assert {"x-ratelimit-limit", "x-ratelimit-reset", "x-service-media-type"} <= names
        assert {"vary", "x-service-request-id", "access-control-allow-origin"} <= names
        going = operation.deprecated
        assert ("deprecation" in names) == (going is not None)
        if going is not None:
            assert answer.headers["Deprecation"].encode() == date(parse(going.since))
            assert ("sunset" in names) == (going.sunset is not None)
            assert 'rel="deprecation"' in answer.headers["Link"]


# Repeated reads: HEAD and conditional requests


@reading
async def test_every_get_answers_head(
    anyone: httpx.AsyncClient, ask: Asked, world: World, operation: Operation
) -> None:
    at = path(operation, world)
    for headers in (first(operation, world), {}, bearer("x")):
        whole = await ask(at, headers)
        head = await anyone.head(at, headers=headers)
        assert head.status_code == whole.status_code
        assert head.content == b""
        assert reported(head) == reported(whole)
        length = None if whole.status_code == 204 else str(len(whole.content))
        assert head.headers.get("Content-Length") == length


@reading
async def test_unchanged_answers_are_not_sent_again(
    anyone: httpx.AsyncClient, ask: Asked, world: World, operation: Operation
) -> None:
    at, headers = path(operation, world), first(operation, world)
    whole = await ask(at, headers)
    assert whole.status_code in successes(operation)
    if whole.status_code in (204, 302):
        # A response without content has no ETag.
        return
    assert ("ETag" in whole.headers) == operation.conditional
    if not operation.conditional:
        assert whole.headers["Cache-Control"] == "no-cache"
        return
    tag = whole.headers["ETag"]
    assert tag.startswith('W/"')
    for asked in (tag, tag.removeprefix("W/"), f'"x", {tag}', "*"):
        for method in ("GET", "HEAD"):
            conditional = {**headers, "If-None-Match": asked}
            answer = await anyone.request(method, at, headers=conditional)
            assert (answer.status_code, answer.content) == (304, b"")
            assert answer.headers["ETag"] == tag.removeprefix("W/")
            assert "Content-Type" not in answer.headers
    changed = await ask(at, {**headers, "If-None-Match": 'W/"x"'})
    same(whole, changed)
    if "Last-Modified" in whole.headers:
        since = {**headers, "If-Modified-Since": whole.headers["Last-Modified"]}
        assert (await ask(at, since)).status_code == 304


# The declarations themselves


@each
def test_the_document_lists_the_refusals(operation: Operation) -> None:
    described = own().content["paths"][operation.path]
    statuses = set(described[operation.method.lower()]["responses"])
    expected = {"400", "406", "415"}
    expected |= {"401", "403"} if operation.access.kinds or not operation.access.anyone else set()
    expected |= {"404"} if rows(operation) or isinstance(operation.access, OnRepo) else set()
    expected |= {"413", "422"} if operation.body is not None else set()
    expected |= {"304"} if operation.conditional else set()
    assert expected <= statuses


def test_an_unknown_parameter_is_reported(world: World) -> None:
    strange = replace(OPERATIONS[0], path="/somewhere/{strange_id}")
    with pytest.raises(AssertionError, match=r"nothing stands for \{strange_id\}"):
        path(strange, world)


def test_a_change_is_noticed(world: World) -> None:
    with world.unchanged():
        world.state()
    with pytest.raises(AssertionError), world.unchanged():
        world.store.write_sync(somebody, "noticed")
