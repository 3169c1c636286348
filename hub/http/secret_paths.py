"""Paths that hold a secret, and their form in logs.

It goes by the path alone. So a secret is hidden too if no operation answers the request, for
example because the client sent it with another method, or wrote the path wrongly.
"""

import re

from starlette.types import Scope

from hub.http.routing import path_of

SECRET = re.compile(r"(/app-manifests/+)[^/]+", re.IGNORECASE)


def shown_path(scope: Scope) -> str:
    """Return the path of a request with its secret replaced by the parameter's name."""
    return SECRET.sub(r"\1{code}", path_of(scope))
