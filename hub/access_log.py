"""The log of requests: who asked for what, and what came of it. Never a query, a header, a body."""

import logging

from hub.call import Call
from hub.context import House
from hub.routing import path_of

log = logging.getLogger("tocsin.access")

MOST_PATH = 300


def note(house: House, call: Call, status: int, seconds: float) -> None:
    """Write a line about a request that was answered."""
    path = path_of(call.scope)[:MOST_PATH]
    method = call.scope["method"]
    about = {
        "method": method,
        "path": path,
        "status": status,
        "seconds": round(seconds, 6),
        "address": house.clients.address(call.scope),
    }
    log.info("%s %s: %d in %.1f ms", method, path, status, seconds * 1000, extra={"about": about})
