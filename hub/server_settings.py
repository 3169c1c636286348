"""The settings of the HTTP server: limits on sizes, times and connections."""

from pydantic import Field

from store.settings import SettingsPart

# In seconds, and longer than proxies and clients keep idle connections: Caddy does for 120. If the
# hub closed one first, a request that is just being sent would be lost.
KEEP_ALIVE = 125.0


class ServerSettings(SettingsPart):
    """Limits that the server enforces before a request reaches the application."""

    max_header_bytes: int = Field(
        64 * 1024,
        ge=4096,
        description="maximum size of a request's head (request line and headers) in bytes; a "
        "larger one is rejected with 431 or, if the URL is too long, 414",
    )
    max_headers: int = Field(
        100, ge=16, description="maximum number of headers in a request; more are rejected with 431"
    )
    header_timeout: float = Field(
        20.0,
        gt=0,
        description="seconds in which a request's head must arrive or a TLS handshake finish; a "
        "slower request is rejected with 408",
    )
    keep_alive_timeout: float = Field(
        KEEP_ALIVE,
        gt=0,
        description="seconds that an idle connection is kept open for the next request; a proxy "
        "must close its idle connections earlier",
    )
    max_connections: int | None = Field(
        None,
        ge=1,
        description="maximum number of client connections. At the limit, the hub closes an idle "
        "one. If none is idle, it answers the new one with 503 or, with TLS, closes it. Unset: "
        "the limit of open files minus `max_in_flight` and 512, but at least a quarter of that "
        "limit, and 4,096 at most",
    )
    max_connections_per_address: int | None = Field(
        None,
        ge=1,
        description="maximum number of client connections from one address (IPv6: a /64), except "
        "`trusted_proxies`. Unset: a quarter of `max_connections`, and no limit for loopback "
        "addresses",
    )
