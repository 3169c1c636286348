"""An OAuth 2.0 server on loopback. Authlib issues the tokens, and this module speaks HTTP."""

import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from authlib.oauth2.rfc6749 import AuthorizationServer, ClientMixin, OAuth2Request
from authlib.oauth2.rfc6749.grants import ClientCredentialsGrant
from authlib.oauth2.rfc6749.requests import BasicOAuth2Payload
from authlib.oauth2.rfc6750 import BearerTokenGenerator
from authlib.oauth2.rfc7523 import JWTBearerClientAssertion
from joserfc import jwt
from joserfc.jwk import import_key
from receivers import Call, Receiver, serving

CLIENT_ID, CLIENT_SECRET = "tocsin", "hunter2 +hunter2"
METHODS = ["client_secret_basic", "client_secret_post", "client_assertion_jwt"]


@dataclass
class Client(ClientMixin):  # type: ignore[misc]  # Authlib has no types
    """The only client that the server knows. It authenticates by `method`."""

    method: str = "client_secret_basic"
    public_key: str = ""

    def get_client_id(self) -> str:
        return CLIENT_ID

    def get_allowed_scope(self, scope: str | None) -> str:
        return scope or ""

    def check_client_secret(self, client_secret: str) -> bool:
        return client_secret == CLIENT_SECRET

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return method == self.method

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type == "client_credentials"


class FormRequest(OAuth2Request):  # type: ignore[misc]  # Authlib has no types
    def __init__(self, headers: dict[str, str], form: dict[str, str]) -> None:
        # Authlib accepts only https. In production, a proxy would terminate TLS before it.
        super().__init__("POST", "https://tokens.example/token", headers=headers)
        self.payload = BasicOAuth2Payload(form)

    @property
    def form(self) -> dict[str, str]:
        found: dict[str, str] = self.payload.data
        return found


class Grant(ClientCredentialsGrant):  # type: ignore[misc]  # Authlib has no types
    TOKEN_ENDPOINT_AUTH_METHODS = METHODS


@dataclass
class TokenServer:
    """The server. `issued` has the tokens that it issued, and `forms` the forms of all requests."""

    client: Client
    lifetime: int = 3600
    issued: list[str] = field(default_factory=list)
    forms: list[dict[str, str]] = field(default_factory=list)
    url: str = ""
    failing: bool = False

    def __post_init__(self) -> None:
        self.server = _Server(self)

    async def answer(self, call: Call) -> None:
        """Answer one request for a token."""
        body = await call.request()
        lines = call.receiver.heads[-1].decode().split("\r\n")[1:-2]
        headers = dict(line.split(": ", 1) for line in lines)
        form = dict(parse_qsl(body.decode(), strict_parsing=True))
        self.forms.append(form)
        if self.failing:
            status, content = 503, {}
        else:
            request = FormRequest(headers, form)
            status, content = self.server.create_token_response(request)
        said = json.dumps(content).encode()
        await call.say(b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n" % (status, len(said)), said)


class _Server(AuthorizationServer):  # type: ignore[misc]  # Authlib has no types
    def __init__(self, owner: TokenServer) -> None:
        super().__init__()
        self._owner, numbers = owner, itertools.count(1)
        self.register_grant(Grant)
        self.register_client_auth_method(METHODS[2], _Assertion(owner))
        self.register_token_generator(
            "default",
            BearerTokenGenerator(
                lambda *_, **__: f"token-number-{next(numbers)}",
                expires_generator=lambda *_: owner.lifetime,
            ),
        )

    def query_client(self, client_id: str) -> Client | None:
        return self._owner.client if client_id == CLIENT_ID else None

    def save_token(self, token: dict[str, Any], request: Any) -> None:
        self._owner.issued.append(token["access_token"])

    def create_oauth2_request(self, request: FormRequest) -> FormRequest:
        return request

    def handle_response(self, status: int, body: Any, headers: Any) -> tuple[int, Any]:
        return status, body

    def send_signal(self, name: str, *args: Any, **kwargs: Any) -> None:
        pass


class _Assertion(JWTBearerClientAssertion):  # type: ignore[misc]  # Authlib has no types
    def __init__(self, owner: TokenServer) -> None:
        super().__init__()
        self._owner = owner
        self._seen: set[str] = set()

    def get_audiences(self) -> list[str]:
        return [self._owner.url]

    def validate_jti(self, claims: Any, jti: str) -> bool:
        fresh = jti not in self._seen
        self._seen.add(jti)
        return fresh

    def process_assertion_claims(self, assertion: str, resolve_key: Any) -> Any:
        # Authlib's default algorithms do not include EdDSA.
        token = jwt.decode(assertion, resolve_key, algorithms=["RS256", "ES256", "EdDSA"])
        self.verify_claims(token.claims)
        return token.claims

    def resolve_client_public_key(self, client: Client) -> Any:
        kind: Any = client.public_key[:3].strip()
        return import_key(client.public_key[3:], kind)


@asynccontextmanager
async def issuing(client: Client | None = None, lifetime: int = 3600) -> AsyncIterator[TokenServer]:
    """Run a token server on loopback, at its `url`. Tokens are valid for `lifetime` seconds."""
    server = TokenServer(client or Client(), lifetime)

    async def handler(call: Call) -> None:
        while True:
            await server.answer(call)

    async with serving(handler) as receiver:
        server.url = f"http://127.0.0.1:{receiver.port}/token"
        yield server


def bearers(receiver: Receiver) -> list[str]:
    """The access tokens in the requests to a receiver, in order."""
    found = []
    for head in receiver.heads:
        lines = [line for line in head.decode().split("\r\n") if line.startswith("Authorization:")]
        found += [line.removeprefix("Authorization: Bearer ") for line in lines]
    return found
