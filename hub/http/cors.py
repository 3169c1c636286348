"""CORS headers, by which scripts of any origin may call the API and read its response headers."""

from collections.abc import Iterable

from starlette.types import Scope

from hub.http.response import Header, Response

EXPOSED = (
    "ETag, Link, Location, Retry-After, X-Service-OTP, X-Service-SSO, X-RateLimit-Limit,"
    " X-RateLimit-Remaining, X-RateLimit-Used, X-RateLimit-Resource, X-RateLimit-Reset,"
    " X-OAuth-Scopes, X-Accepted-OAuth-Scopes, X-Accepted-Service-Permissions, X-Poll-Interval,"
    " X-Service-Media-Type, X-Service-Api-Version-Selected, X-Service-Request-Id, Deprecation,"
    " Sunset, Service-Authentication-Token-Expiration"
)
ALLOWED_HEADERS = (
    "Authorization, Content-Type, If-Match, If-Modified-Since, If-None-Match,"
    " If-Unmodified-Since, Accept-Encoding, X-Service-OTP, X-Requested-With, User-Agent,"
    " X-Service-Api-Version, X-GitHub-OTP, X-GitHub-Api-Version"
)
ASKS = b"access-control-request-method"
ORIGIN: Header = (b"access-control-allow-origin", b"*")
HEADERS: tuple[Header, ...] = (ORIGIN, (b"access-control-expose-headers", EXPOSED.encode()))


def is_preflight(scope: Scope) -> bool:
    """Return whether a browser asks on behalf of a script, before it sends the script's request."""
    return scope["method"] == "OPTIONS" and any(name == ASKS for name, _ in scope["headers"])


def preflight(methods: Iterable[str]) -> Response:
    return Response(
        204,
        headers=[
            *HEADERS,
            (b"access-control-allow-methods", ", ".join(methods).encode()),
            (b"access-control-allow-headers", ALLOWED_HEADERS.encode()),
            (b"access-control-max-age", b"86400"),
        ],
    )
