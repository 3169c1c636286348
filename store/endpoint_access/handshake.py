"""The states of a handshake: a receiver's consent to deliveries, which a hook may ask for."""

from collections.abc import Mapping
from typing import Any

PENDING, GRANTED, FAILED = "pending", "granted", "failed"
CLOUDEVENTS = "cloudevents"
"""The option for the handshake of CloudEvents' specification of webhooks."""


def is_wanted(options: dict[str, Any]) -> bool:
    """Return whether delivery options ask for a handshake."""
    return options.get("handshake") == CLOUDEVENTS


def columns_after(
    hook: Mapping[str, Any] | None, options: dict[str, Any], url: str
) -> dict[str, Any]:
    """Return the columns for changed options or another URL. `hook` is None if it is new.

    A consent holds for one URL.
    """
    if not is_wanted(options):
        return {"handshake": None, "handshake_rate": None}
    if hook is not None and hook["handshake"] == GRANTED and url == hook["url"]:
        return {name: hook[name] for name in ("handshake", "handshake_rate")}
    return {"handshake": PENDING, "handshake_rate": None}
