"""Who is an administrator: somebody at this machine, or with a token for it.

A site administrator's token is measured by its scopes, as everybody's is: an installation is worth
what an enterprise is.
"""

import hashlib
import hmac
import ipaddress
from pathlib import Path

from starlette.types import Scope

from hub.admin_settings import LEAST_TOKEN, AdminSettings
from hub.auth import credentials
from hub.auth.access import check_scopes, covers
from hub.auth.quotas import RateSubject
from hub.http.errors import Blocked, Unauthenticated
from hub.rest.context import Services
from hub.rest.request import Request
from store import Connection
from store.errors import Unusable

LOOK, RUN = ("read:enterprise",), ("admin:enterprise",)
"""Scopes of a site administrator's token to look at the installation, and to run what is in it."""

# What proxies add. Whoever has one of these does not come by himself.
FORWARDED = {b"forwarded", b"via", b"x-real-ip", b"x-client-ip", b"true-client-ip"}
FORWARDED_PREFIXES = (b"x-forwarded-", b"cf-", b"x-original-")


class AdminAuth:
    """Tells administrators from others. `apart`: on a listener that is for them alone.

    Unusable for a file with a token that cannot be read, or holds none.
    """

    def __init__(self, house: Services, *, apart: bool) -> None:
        self._house = house
        self._settings = house.settings
        self._digest = _token_digest(house.settings)
        # A proxy in front of the API makes everybody come from this machine.
        self._proxied = not apart and is_proxied(house)

    async def check(self, call: Request) -> None:
        """Unauthenticated, Blocked, for anybody else; a token that is wrong is refused also from
        where none is needed.
        """
        call.credentials = "admin"
        access = self._settings.admin_access
        given = credentials.credential_of(call.headers)
        if access == "anybody":
            return
        if given is not None:
            await self._check_token(call, given)
        elif access == "token" or self._proxied or not is_local(call.scope):
            raise _unauthenticated()

    async def check_user(self, call: Request) -> None:
        """The same for whoever has any token that is good."""
        given = credentials.credential_of(call.headers)
        if given is None or self.is_valid_cookie(given):
            await self.check(call)
        else:
            await self._house.store.read(self._authenticate, call)

    async def _check_token(self, call: Request, given: str) -> None:
        if self.is_valid_cookie(given):
            return
        caller = await self._house.store.read(self._authenticate, call)
        if not administers(caller):
            raise _unauthenticated()
        check_scopes(caller, LOOK)

    @property
    def mark(self) -> str | None:
        """What tells the token that is set from another one, and lets nobody in."""
        return None if self._digest is None else hashlib.sha256(b"mark" + self._digest).hexdigest()

    def is_valid_cookie(self, given: str) -> bool:
        """Whether it is the token that is set."""
        digest = hashlib.sha256(given.encode()).digest()
        return self._digest is not None and hmac.compare_digest(digest, self._digest)

    def _authenticate(self, db: Connection, call: Request) -> credentials.Caller:
        try:
            return credentials.authenticate(
                db, credentials.require(credentials.token_of(call.headers))
            )
        except Unauthenticated:
            limits = self._house.limits
            subject = RateSubject("address", self._house.clients.address(call.scope))
            if limits is not None and limits.record_bad_token(db, subject):
                raise Blocked from None
            raise


def administers(caller: credentials.Caller) -> bool:
    """Whether it is a site administrator's token, of the kind that can be for the installation:
    fine-grained ones and those of apps are for what they were made for.
    """
    return caller.site_admin and caller.kind == "personal"


def operates(caller: credentials.Caller) -> bool:
    """Whether a token shows the installation."""
    return administers(caller) and covers(caller, LOOK)


def is_proxied(house: Services) -> bool:
    """Whether the API is meant to be reached through a proxy."""
    settings = house.settings
    named = settings.base_url is not None and not _is_this_machine(house.urls.host)
    return named or bool(settings.trusted_proxies)


def is_local(scope: Scope) -> bool:
    """Whether a request comes from a process of this machine, and directly."""
    headers = dict(scope["headers"])
    if FORWARDED & headers.keys() or any(name.startswith(FORWARDED_PREFIXES) for name in headers):
        return False
    # Proxies that add nothing speak 1.0; and a browser that was led here by a name says it.
    if scope.get("http_version") == "1.0" or not _names_this_machine(headers):
        return False
    client, server = scope.get("client"), scope.get("server")
    if client is None:
        # Only who comes through a socket of the file system has no address on either side.
        return server is None or server[1] is None
    return _is_loopback(client[0])


def _names_this_machine(headers: dict[bytes, bytes]) -> bool:
    host = headers.get(b"host", b"").decode("latin-1")
    name = host.partition("]")[0].lstrip("[") if host.startswith("[") else host.partition(":")[0]
    return _is_this_machine(name)


def _is_this_machine(name: str) -> bool:
    return name.lower() == "localhost" or _is_loopback(name)


def _is_loopback(address: str) -> bool:
    try:
        number = ipaddress.ip_address(address)
    except ValueError:
        return False
    mapped = getattr(number, "ipv4_mapped", None)
    return number.is_loopback or (mapped is not None and mapped.is_loopback)


def _unauthenticated() -> Unauthenticated:
    return Unauthenticated(
        "Requires authentication: this is for administrators (settings admin_access, admin_token)",
        headers=credentials.BEARER_OR_BASIC,
    )


def _token_digest(settings: AdminSettings) -> bytes | None:
    token = _token(settings)
    return None if token is None else hashlib.sha256(token.encode()).digest()


def _token(settings: AdminSettings) -> str | None:
    if settings.admin_token_file is not None:
        return _read(settings.admin_token_file)
    return None if settings.admin_token is None else settings.admin_token.get_secret_value()


def _read(path: Path) -> str:
    try:
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise Unusable(f"admin_token_file: cannot read {path}: {why}") from None
    if len(token) < LEAST_TOKEN:
        raise Unusable(f"admin_token_file: {path} holds less than {LEAST_TOKEN} characters")
    return token
