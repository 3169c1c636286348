"""The settings of the HTTP server: how much, how slowly and on how many connections clients ask."""

from pydantic import BaseModel, Field


class ServerSettings(BaseModel):
    """What the server takes before the application is asked."""

    max_header_bytes: int = Field(
        64 * 1024,
        ge=4096,
        description="size of a request's head in bytes: request line and headers; more is refused "
        "with 431 or, where it is the URL, 414",
    )
    max_headers: int = Field(
        100, ge=16, description="how many headers a request may have; more is refused with 431"
    )
    header_timeout: float = Field(
        20.0,
        gt=0,
        description="seconds in which a request's head has to be there, and a TLS handshake over",
    )
    keep_alive_timeout: float = Field(
        5.0, gt=0, description="seconds for which a connection is kept for the next request"
    )
    max_connections: int | None = Field(
        None,
        ge=1,
        description="connections of clients at once; more are refused with 503, unless one that "
        "waits for a request can be closed; unset: what the limit of open files leaves beside "
        "`max_in_flight`, 4,096 at most",
    )
    max_connections_per_address: int | None = Field(
        None,
        ge=1,
        description="the same from one address (IPv6: a /64), but those of `trusted_proxies`; "
        "unset: a quarter of all, and for this machine's own addresses no bound",
    )
