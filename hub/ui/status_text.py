"""The status of hooks and attempts: a kind (see the macro `status`) and a text."""

from store import Row
from store.delivery.websub.websub_topics import CONTENT_EVENT
from store.ordering.delivery_states import DEAD, DELIVERED

# A hook is degraded if one in this many of its latest attempts failed.
DEGRADED = 10
KINDS = {"waiting": "busy", "delivered": "good", "dead": "bad", "filtered": "none"}
"""The kinds of the states of deliveries."""
_UNHEALTHY = ("disabled", "open", "bad", "warn")


def succeeded(attempt: Row) -> bool:
    code = attempt["status_code"]
    return attempt["error"] is None and code is not None and 200 <= code <= 299


def outcome(attempt: Row) -> tuple[str, str]:
    """Return the status of an attempt."""
    if succeeded(attempt):
        return "good", str(attempt["status_code"])
    if attempt["error"] is not None:
        return "bad", str(attempt["error"])[:120]
    return "bad", str(attempt["status_code"])


def follows(attempt: Row) -> str:
    """Return what follows a failed attempt: `retry`, `over` (nothing) or `later` (a success).

    It is empty for an attempt that succeeded, and if the delivery's state is not known.
    """
    if succeeded(attempt) or attempt["state"] is None:
        return ""
    return {DELIVERED: "later", DEAD: "over"}.get(attempt["state"], "retry")


def health(hook: Row, now: int) -> tuple[str, str]:
    """Return the health of a hook: a kind with a color of its own, and the word for it."""
    if hook["disabled_reason"] is not None:
        return "disabled", "Disabled"
    if not hook["active"]:
        return "none", "Off"
    if hook["paused_at"] is not None:
        return "busy", "Paused"
    if hook["failing_since"] is not None:
        is_open = hook["resting_until"] is not None and hook["resting_until"] > now
        return ("open", "Circuit open") if is_open else ("bad", "Failing")
    if not hook["recent"]:
        return "none", "No attempts yet"
    failed = sum(not succeeded(one) for one in hook["recent"])
    return ("warn", "Degraded") if failed * DEGRADED >= len(hook["recent"]) else ("good", "Healthy")


def with_status(hook: Row, now: int) -> Row:
    """Return a hook with its `health`, and the `reason` why it is not healthy."""
    found = health(hook, now)
    return {**hook, "health": found, "reason": _reason(hook) if found[0] in _UNHEALTHY else ""}


def _reason(hook: Row) -> str:
    if hook["disabled_reason"] is not None:
        return str(hook["disabled_reason"])
    failed = next((one for one in hook["recent"] if not succeeded(one)), None)
    if failed is None:
        return ""
    return str(failed["error"] or f"status {failed['status_code']}")[:120]


def untried(row: Row) -> str:
    """Return why a waiting delivery is not tried: its hook is `off` or `paused`; or ""."""
    if row["hook_active"] == 0:
        return "off"
    return "paused" if row["paused_at"] is not None else ""


def posted_by(event: Row) -> str:
    """Return who posted an event that no source signed, or that the hub fetched it itself."""
    if event["name"] == CONTENT_EVENT:
        return "fetched from a WebSub topic"
    if event["token_id"] is None:
        return "posted by a command"
    if event["posted_by"] is None:
        return f"posted with the token {event['token_id']}, which was deleted since"
    return f"posted by {event['posted_by']} with the token {event['token_id']}"


def event_name(name: str, action: str | None) -> str:
    """Return the name of an event with its action: `issues.opened`."""
    return f"{name}.{action}" if action else name


def with_state(delivery: Row, now: int) -> Row:
    """Return a delivery with the kind of its state, and with why and until when it waits."""
    return {
        **delivery,
        "kind": KINDS[delivery["state"]],
        "untried": untried(delivery),
        "tried_at": tried_at(delivery, now),
    }


def next_try(row: Row) -> int | None:
    """Return the earliest time at which a waiting delivery is tried; None while it is `untried`."""
    return None if untried(row) else _earliest(row)


def tried_at(row: Row, now: int) -> int | None:
    """Return when a waiting delivery will be tried; None if it is due now."""
    at = _earliest(row)
    return at if at > now else None


def _earliest(row: Row) -> int:
    """Return when a waiting delivery is due, and not before the next trial of an open circuit.

    A receiver may have asked for a pause until `held_until`.
    """
    return max(int(row["due_at"]), row["resting_until"] or 0, row["held_until"] or 0)
