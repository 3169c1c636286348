"""What all connections of a server share."""

import ssl

from uvicorn.server import ServerState

from hub.cli.http_server.connection_limiter import ConnectionLimiter


class State(ServerState):
    """uvicorn's, with the limiter, and with what HTTPS is served with, if it is."""

    def __init__(self, limiter: ConnectionLimiter, tls: ssl.SSLContext | None) -> None:
        super().__init__()
        self.limiter = limiter
        self.tls = tls
        self.ending = False
        """Whether the server is about to end, and connections with their next answer."""
