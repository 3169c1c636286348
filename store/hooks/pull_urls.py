"""The URLs of pull hooks: `pull:` and a name. A pull hook's receiver fetches its deliveries.

The name is the receiver's. A target cannot have two hooks of one name for the same event, as with
other URLs.
"""

import re
import secrets
from typing import Any

from store.errors import Invalid
from store.hooks.hook_targets import HookKind

SCHEME = "pull:"
FETCHED = ("repository", "organization")
# Delivery options about requests to an endpoint.
OF_ENDPOINTS = ("tls", "oauth2", "handshake", "batch")
NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")


def is_pull(url: str) -> bool:
    return url.startswith(SCHEME)


def random_url(prefix: str) -> str:
    """Return a URL that no other hook has. Its name begins with `prefix`."""
    return f"{SCHEME}{prefix}-{secrets.token_hex(6)}"


def check(url: str) -> None:
    """Raise Invalid if this is the URL of a pull hook, and its name is not allowed."""
    if is_pull(url) and not NAME.fullmatch(url.removeprefix(SCHEME)):
        raise Invalid(
            f"{url[:120]!r} is no pull URL: write pull: and a name of up to 100 small letters,"
            " digits, dots, hyphens and underscores, such as pull:ci",
            field="url",
            code="custom",
            resource="Hook",
        )


def column(kind: HookKind, url: str, options: dict[str, Any]) -> int:
    """Return the value of the column `pull` for a hook. Raises Invalid for a wrong URL or option.

    Only hooks of repositories and organizations can be pull hooks, because the API has operations
    to fetch the deliveries of these alone. A pull hook has no endpoint, so it needs no access to
    one, and asks none for consent. Only a pull hook can expire when it is idle.
    """
    check(url)
    if is_pull(url):
        _check_pull(kind, options)
    if options.get("expire_idle") is not None and not is_pull(url):
        raise Invalid(
            "expire_idle is for pull hooks: their URL is pull: and a name",
            field="expire_idle",
            resource="Hook",
        )
    return int(is_pull(url))


def _check_pull(kind: HookKind, options: dict[str, Any]) -> None:
    if kind not in FETCHED:
        raise Invalid(
            "only hooks of repositories and organizations can be pull hooks",
            field="url",
            code="custom",
            resource="Hook",
        )
    for name in OF_ENDPOINTS:
        if options.get(name) not in (None, "none"):
            raise Invalid(
                f"{name} is for hooks with an endpoint, and a pull hook has none",
                field=name,
                resource="Hook",
            )
