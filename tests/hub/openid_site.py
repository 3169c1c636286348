"""An OpenID Connect provider on this machine, whose answers a test chooses."""

import asyncio
import json
import time
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import uvicorn
from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey
from ports import free_port
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from waiting import until

CLIENT, SECRET = "tocsin", "a secret of the client"
SUBJECT = "248289761001"


@cache
def rsa_key(name: str) -> RSAKey:
    """Return the provider's key of this name, which is made when it is first used."""
    return RSAKey.generate_key(2048, parameters={"kid": name, "alg": "RS256", "use": "sig"})


@dataclass
class OpenIDSite:
    """The provider's endpoints. They redeem each code once, for the claims that the test sets."""

    issuer: str
    clock: Callable[[], float] = time.time
    key: str = "first"
    published: list[str] = field(default_factory=lambda: ["first"])
    odd: list[Any] = field(default_factory=list)
    """Further entries of the key set, which may be invalid keys."""
    claims: dict[str, Any] = field(default_factory=dict)
    """Claims that add to the valid ones or replace them. None removes a claim."""
    info: dict[str, Any] | None = None
    """The claims at the userinfo endpoint; None if there is no such endpoint."""
    signs_info: bool = False
    """Whether the userinfo endpoint answers with a signed token."""
    algorithm: str = "RS256"
    named: str | None = None
    """The id of each key; None: the name by which the test knows it."""
    access: str = "an-access-token"
    described: dict[str, Any] = field(default_factory=dict)
    """Members that add to the valid metadata or replace them."""
    head: str | None = None
    """The JSON that replaces the head of ID tokens, which makes their signature wrong."""
    padding: int = 0
    open: asyncio.Event = field(default_factory=asyncio.Event)
    """Requests for the metadata wait until this is set."""
    issuing: asyncio.Event = field(default_factory=asyncio.Event)
    """Requests for an ID token wait until this is set."""
    asked: list[str] = field(default_factory=list)
    _codes: dict[str, dict[str, str]] = field(default_factory=dict)

    def sign_in(self, place: str) -> tuple[str, dict[str, str]]:
        """Consent to the authorization request `place`. Return the redirect URL, and its query."""
        asked = {name: one for name, (one,) in parse_qs(urlsplit(place).query).items()}
        assert asked["code_challenge_method"] == "S256"
        assert "openid" in asked["scope"].split()
        code = f"code-{len(self._codes)}"
        self._codes[code] = asked
        query = {"code": code, "state": asked["state"]}
        return f"{asked['redirect_uri']}?{urlencode(query)}", query

    async def describe(self, request: Request) -> Response:
        self.asked.append("description")
        await self.open.wait()
        found = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "end_session_endpoint": f"{self.issuer}/end",
            "padding": "x" * self.padding,
        }
        if self.info is not None:
            found["userinfo_endpoint"] = f"{self.issuer}/userinfo"
        return JSONResponse(found | self.described)

    async def keys(self, request: Request) -> Response:
        self.asked.append("keys")
        published = [rsa_key(name).as_dict(private=False) for name in self.published]
        named = {} if self.named is None else {"kid": self.named}
        return JSONResponse({"keys": [*self.odd, *({**key, **named} for key in published)]})

    async def token(self, request: Request) -> Response:
        self.asked.append("token")
        await self.issuing.wait()
        form = dict(parse_qsl((await request.body()).decode()))
        asked = self._codes.pop(form["code"], None)
        if asked is None or asked["redirect_uri"] != form["redirect_uri"]:
            return JSONResponse({"error": "invalid_grant"}, 400)
        if request.headers.get("authorization") is None and form.get("client_id") != CLIENT:
            return JSONResponse({"error": "invalid_client"}, 401)
        found = {"id_token": self._signed(asked["nonce"]), "token_type": "Bearer"}
        return JSONResponse(found | {"access_token": self.access})

    async def userinfo(self, request: Request) -> Response:
        self.asked.append("userinfo")
        if request.headers.get("authorization") != f"Bearer {self.access}":
            return JSONResponse({"error": "invalid_token"}, 401)
        found = {"sub": SUBJECT} | (self.info or {})
        if self.signs_info:
            token = jwt.encode({"alg": "RS256", "kid": self.key}, found, rsa_key(self.key))
            return Response(token, media_type="application/jwt")
        return JSONResponse(found)

    def _signed(self, nonce: str) -> str:
        now = int(self.clock())
        right = {
            "iss": self.issuer, "aud": CLIENT, "sub": SUBJECT, "nonce": nonce,
            "iat": now, "exp": now + 300,
        }  # fmt: skip
        claims = {name: one for name, one in (right | self.claims).items() if one is not None}
        if self.algorithm == "none":
            return ".".join((_encoded({"alg": "none"}), _encoded(claims), ""))
        if self.algorithm == "HS256":
            key = OctKey.import_key(SECRET)
            return jwt.encode({"alg": "HS256", "kid": self.key}, claims, key)
        header = {"alg": self.algorithm, "kid": self.named or self.key}
        token = jwt.encode(header, claims, rsa_key(self.key))
        if self.head is None:
            return token
        head = urlsafe_b64encode(self.head.encode()).rstrip(b"=").decode()
        return f"{head}.{token.partition('.')[2]}"


def _encoded(part: dict[str, Any]) -> str:
    return urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()


@asynccontextmanager
async def openid_site(certificate: Path | None = None) -> AsyncIterator[OpenIDSite]:
    """Run a provider on a free port for the length of the block.

    With a certificate, whose key is beside it, the provider has HTTPS.
    """
    port = free_port()
    scheme = "http" if certificate is None else "https"
    key = None if certificate is None else certificate.with_suffix(".key")
    site = OpenIDSite(f"{scheme}://127.0.0.1:{port}")
    app = Starlette(
        routes=[
            Route("/.well-known/openid-configuration", site.describe),
            Route("/keys", site.keys),
            Route("/token", site.token, methods=["POST"]),
            Route("/userinfo", site.userinfo),
        ]
    )
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            port=port,
            log_level="error",
            lifespan="off",
            ssl_certfile=certificate,
            ssl_keyfile=key,
        )
    )
    task = asyncio.create_task(server.serve())
    try:
        site.open.set()
        site.issuing.set()
        await until(lambda: server.started, "the provider")
        yield site
    finally:
        site.open.set()
        site.issuing.set()
        server.should_exit = True
        await task
