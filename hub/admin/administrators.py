"""Authentication of administrators: they are on this machine, or have a token.

A site administrator's token needs scopes, like any other. The scopes of an enterprise also cover
the installation.
"""

import hashlib
import hmac

from starlette.types import Scope

from hub.admin_settings import AdminSettings, token_of
from hub.auth import credentials
from hub.auth.token_rights import check_scopes, covers
from hub.http.client_address import is_forwarded, is_loopback
from hub.http.errors import Blocked, Unauthenticated
from hub.rest.authenticate import has_too_many
from hub.rest.context import Services
from hub.rest.request import Request
from store import Connection

LOOK, RUN = ("read:enterprise",), ("admin:enterprise",)
"""The scopes of a site administrator's token to see the installation, and to operate it."""


class AdminAuth:
    """Authenticates administrators. `apart` means on a listener for administrators only.

    Raises Unusable if the token file cannot be read, or holds no usable token.
    """

    def __init__(self, services: Services, *, apart: bool) -> None:
        self._services = services
        self._settings = services.settings
        self._digest = _token_digest(services.settings)
        # Behind a proxy for the API, all requests seem to come from this machine.
        self._proxied = not apart and is_proxied(services)

    async def check(self, request: Request) -> None:
        """Check that the caller is an administrator.

        Raises Unauthenticated, Blocked or Forbidden if not.

        A wrong token is rejected even if no token is needed.
        """
        request.credentials = "admin"
        access = self._settings.admin_access
        given = credentials.credential_of(request.headers)
        if access == "anybody":
            return
        if given is not None:
            await self._check_token(request, given)
        elif access == "token" or self._proxied or not is_local(request.scope):
            raise _unauthenticated()

    async def check_user(self, request: Request) -> None:
        """Check that the caller is an administrator or has any valid token."""
        request.credentials = "admin"
        given = credentials.credential_of(request.headers)
        if given is None or self.is_configured_token(given):
            await self.check(request)
        else:
            await self._services.store.read(self._authenticate, request)

    async def _check_token(self, request: Request, given: str) -> None:
        if self.is_configured_token(given):
            return
        caller = await self._services.store.read(self._authenticate, request)
        if not administers(caller):
            raise _unauthenticated()
        check_scopes(caller, LOOK)

    @property
    def mark(self) -> str | None:
        """Return a value that changes with the configured token but grants no access.

        It is None if no token is configured.
        """
        return None if self._digest is None else hashlib.sha256(b"mark" + self._digest).hexdigest()

    def is_configured_token(self, given: str) -> bool:
        """Return whether a text that a client sent is the configured token."""
        digest = hashlib.sha256(given.encode()).digest()
        return self._digest is not None and hmac.compare_digest(digest, self._digest)

    def _authenticate(self, db: Connection, request: Request) -> credentials.Caller:
        try:
            return credentials.authenticate(
                db, credentials.require(credentials.token_of(request.headers))
            )
        except Unauthenticated:
            if has_too_many(db, self._services, request):
                raise Blocked from None
            raise


def administers(caller: credentials.Caller) -> bool:
    """Return whether the caller has a site administrator's personal token.

    Fine-grained tokens and tokens of apps are limited to their own purpose.
    """
    return caller.site_admin and caller.kind == "personal"


def may_look(caller: credentials.Caller) -> bool:
    """Return whether the caller's token gives access to view the installation."""
    return administers(caller) and covers(caller, LOOK)


def is_proxied(services: Services) -> bool:
    """Return whether the API is configured to be behind a proxy."""
    settings = services.settings
    named = settings.base_url is not None and not _is_this_machine(services.urls.host)
    return named or bool(settings.trusted_proxies)


def is_local(scope: Scope) -> bool:
    """Return whether a request comes directly from a process on this machine."""
    headers = dict(scope["headers"])
    if is_forwarded(headers):
        return False
    # HTTP/1.0 indicates a proxy that adds no header. Another Host indicates a browser that was led
    # here by a foreign name.
    if scope.get("http_version") == "1.0" or not _names_this_machine(headers):
        return False
    client, server = scope.get("client"), scope.get("server")
    if client is None:
        # Only connections through a Unix socket have no address on either side.
        return server is None or server[1] is None
    return is_loopback(client[0])


def _names_this_machine(headers: dict[bytes, bytes]) -> bool:
    host = headers.get(b"host", b"").decode("latin-1")
    name = host.partition("]")[0].lstrip("[") if host.startswith("[") else host.partition(":")[0]
    return _is_this_machine(name)


def _is_this_machine(name: str) -> bool:
    return name.lower() == "localhost" or is_loopback(name)


def _unauthenticated() -> Unauthenticated:
    return Unauthenticated(
        "Requires authentication as an administrator (settings admin_access, admin_token)",
        headers=credentials.BEARER_OR_BASIC,
    )


def _token_digest(settings: AdminSettings) -> bytes | None:
    token = token_of(settings)
    return None if token is None else hashlib.sha256(token.encode()).digest()
