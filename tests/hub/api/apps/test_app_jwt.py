"""Authentication of an app with a JSON Web Token."""

import base64
import json
from collections.abc import Callable
from typing import Any

import jwt
import pytest
from app_tokens import app_key, signed_token
from assertions import assert_error

from hub.auth.app_jwt import EXPIRED, NOT_YET, TOO_FAR, UNKNOWN_APP, UNREADABLE
from store import Row, Store
from store.apps import app_keys
from store.clock import SECOND, MovableClock

from .conftest import Installed


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", "token"])
async def test_every_form_of_the_header_is_accepted(installed: Installed, scheme: str) -> None:
    headers = {"Authorization": f"{scheme} {installed.jwt()}"}
    answer = await installed.hub.get("/app", headers=headers)
    assert answer.status_code == 200
    assert answer.json()["slug"] == "mill"


async def test_an_issuer_is_a_number_a_text_or_a_client_id(installed: Installed) -> None:
    for issuer in (installed.app["id"], str(installed.app["id"]), installed.app["client_id"]):
        answer = await installed.ask("GET", "/app", installed.jwt(issuer))
        assert answer.status_code == 200, issuer


async def test_times_that_clients_send_are_accepted(installed: Installed) -> None:
    now = installed.store.clock.now() // SECOND
    for iat, exp in ((-30, 570), (-60, 300), (0, 480), (-60, 600), (-86_400, 600.0)):
        token = installed.jwt(iat=now + iat, exp=now + exp)
        assert (await installed.ask("GET", "/app", token)).status_code == 200, (iat, exp)


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        ({"exp": 601}, TOO_FAR),
        ({"exp": 0}, EXPIRED),
        ({"exp": -1}, EXPIRED),
        ({"exp": ...}, EXPIRED),
        ({"exp": None}, EXPIRED),
        ({"exp": "soon"}, EXPIRED),
        ({"exp": True}, EXPIRED),
        ({"iat": 1}, NOT_YET),
        ({"iat": ...}, NOT_YET),
        ({"iat": "now"}, NOT_YET),
        ({"iat": -1.5}, NOT_YET),
    ],
)
async def test_expired_and_future_tokens_are_rejected(
    installed: Installed, claims: dict[str, Any], message: str
) -> None:
    now = installed.store.clock.now() // SECOND
    given = {
        name: now + value if type(value) in (int, float) else value
        for name, value in claims.items()
    }
    answer = await installed.ask("GET", "/app", installed.jwt(**given))
    assert_error(answer, 401, message)


@pytest.mark.parametrize("added", ["*", " ", "=", "+"])
async def test_a_token_has_no_other_characters(installed: Installed, added: str) -> None:
    head, _, signature = installed.jwt().rpartition(".")
    token = f"{head}.{signature[:9]}{added}{signature[9:]}"
    assert_error(await installed.ask("GET", "/app", token), 401)


@pytest.mark.parametrize(
    ("method", "path"), [("PUT", "/app"), ("GET", "/app/hook"), ("GET", "/nope")]
)
async def test_a_path_that_is_not_served_is_missing_for_an_app(
    installed: Installed, method: str, path: str
) -> None:
    assert_error(await installed.ask(method, path, installed.jwt()), 404)
    assert_error(await installed.ask(method, path, installed.jwt(exp=-9)), 401, EXPIRED)


async def test_a_token_expires(installed: Installed, clock: MovableClock) -> None:
    token = installed.jwt()
    clock.advance(299)
    assert (await installed.ask("GET", "/app", token)).status_code == 200
    clock.advance(1)
    assert_error(await installed.ask("GET", "/app", token), 401, EXPIRED)


async def test_a_token_of_an_unknown_app_is_refused(
    installed: Installed, another: Callable[..., Row]
) -> None:
    oauth = another("Lab", kind="oauth", permissions={})
    for issuer in (987_654_321, "nobody-at-all", oauth["id"], oauth["client_id"], -1, 1.5, [], {}):
        answer = await installed.ask("GET", "/app", installed.jwt(issuer or "x"))
        assert_error(answer, 401, UNKNOWN_APP)


async def test_several_keys_and_their_end(installed: Installed) -> None:
    first, second = installed.jwt(), installed.jwt(key=1)
    assert_error(await installed.ask("GET", "/app", second), 401, UNREADABLE)
    app_id = installed.app["id"]
    installed.store.write_sync(app_keys.add, app_id, app_key(1)[1])
    for token in (first, second):
        assert (await installed.ask("GET", "/app", token)).status_code == 200
    (old, _) = installed.store.read_sync(app_keys.of_app, app_id)
    assert installed.store.write_sync(app_keys.revoke, app_id, old["id"])
    assert_error(await installed.ask("GET", "/app", first), 401, UNREADABLE)
    assert (await installed.ask("GET", "/app", second)).status_code == 200


async def test_a_made_key_signs(installed: Installed) -> None:
    private, _ = installed.store.write_sync(app_keys.create, installed.app["id"])
    assert private.startswith("-----BEGIN RSA PRIVATE KEY-----")
    now = installed.store.clock.now() // SECOND
    claims = {"iss": str(installed.app["id"]), "iat": now, "exp": now + 60}
    token = jwt.encode(claims, private, algorithm="RS256")
    assert (await installed.ask("GET", "/app", token)).status_code == 200


def part(content: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")


async def test_other_algorithms(installed: Installed) -> None:
    now = installed.store.clock.now() // SECOND
    claims = {"iss": installed.app["id"], "iat": now, "exp": now + 60}
    unsigned = f"{part({'alg': 'none', 'typ': 'JWT'})}.{part(claims)}."
    private, public = app_key(0)
    text = {**claims, "iss": str(claims["iss"])}
    longer = jwt.encode(text, private, algorithm="RS512")
    # An attacker could sign with HS256 and use the public key as the secret.
    head = f"{part({'alg': 'HS256', 'typ': 'JWT'})}.{part(claims)}"
    mac = jwt.get_algorithm_by_name("HS256").sign(head.encode(), public.encode())
    symmetric = f"{head}.{base64.urlsafe_b64encode(mac).decode().rstrip('=')}"
    for token in (unsigned, longer, symmetric):
        assert_error(await installed.ask("GET", "/app", token), 401, UNREADABLE)


async def test_malformed_tokens_are_rejected(installed: Installed) -> None:
    good = installed.jwt()
    head, body, signature = good.split(".")
    deep = base64.urlsafe_b64encode(b"[" * 6000).decode()
    for value in (
        "x",
        "..",
        "a.b.c",
        f"{head}.{body}",
        f"{head}.{body}.",
        f"{head}.{part({'iss': installed.app['id']})}.{signature}",
        f"{head}.{part([1])}.{signature}",
        f"{head}.{deep}.{signature}",
        f"{deep}.{body}.{signature}",
        installed.token(),
    ):
        assert_error(await installed.ask("GET", "/app", value), 401, UNREADABLE)


async def test_an_app_itself_has_no_rights_elsewhere(installed: Installed) -> None:
    for path in ("/repos/acme/kit", "/repos/acme/tools", "/user", "/meta", "/rate_limit"):
        answer = await installed.itself("GET", path)
        assert_error(answer, 403, "Resource not accessible by integration")
    wrong = await installed.ask("GET", "/repos/acme/tools", installed.jwt(key=5))
    assert_error(wrong, 401, UNREADABLE)


async def test_each_app_has_its_own_rate_limit(installed: Installed, store: Store) -> None:
    before = (await installed.itself("GET", "/app")).headers["X-RateLimit-Used"]
    after = (await installed.itself("GET", "/app")).headers["X-RateLimit-Used"]
    assert int(after) == int(before) + 1
    used = await installed.ask("GET", "/installation/repositories", installed.token())
    assert used.headers["X-RateLimit-Used"] == "1"


def test_the_helper_signs_the_claims_of_an_app() -> None:
    claims = jwt.decode(signed_token(7, 1_000), options={"verify_signature": False})
    assert claims == {"iss": 7, "iat": 940, "exp": 1_300}
