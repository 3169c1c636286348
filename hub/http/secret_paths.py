"""Paths that hold a secret, and their form in logs.

It goes by the path alone. So a secret is hidden too if no operation answers the request, for
example because the client sent it with another method.
"""

import re

from starlette.types import Scope

from hub.http.routing import path_of

SECRET = re.compile(r"(?<=/app-manifests/)[^/]+")


def shown_path(scope: Scope) -> str:
    """Return the path of a request with its secret replaced by the parameter's name."""
    return SECRET.sub("{code}", path_of(scope))
