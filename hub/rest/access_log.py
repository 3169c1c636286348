"""The access log. It never holds a query string, a header, a body, or a secret in a path."""

import logging

from hub.http.secret_paths import shown_path
from hub.rest.context import Services
from hub.rest.request import Request

log = logging.getLogger("tocsin.access")

MAX_PATH = 300


def record(services: Services, request: Request, status: int, seconds: float) -> None:
    """Log one answered request. `seconds` is the time until the response was ready."""
    path = shown_path(request.scope)[:MAX_PATH]
    method = request.scope["method"]
    about = {
        "method": method,
        "path": path,
        "status": status,
        "seconds": round(seconds, 6),
        "address": services.clients.address(request.scope),
    }
    log.info("%s %s: %d in %.1f ms", method, path, status, seconds * 1000, extra={"about": about})
