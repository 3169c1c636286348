"""The state that all connections of a server share."""

import ssl

from uvicorn.server import ServerState

from hub.cli.http_server.connection_limiter import ConnectionLimiter


class State(ServerState):
    """uvicorn's server state with the connection limiter and, for HTTPS, the TLS context."""

    def __init__(self, limiter: ConnectionLimiter, tls: ssl.SSLContext | None) -> None:
        super().__init__()
        self.limiter = limiter
        self.tls = tls
        self.ending = False
        """Whether the server is ending. Connections then close after their next response."""
