"""The status of hooks and attempts: a kind (see the macro `status`) and a text."""

from store import Row
from store.delivery.attempts import DEAD, DELIVERED


def took(attempt: Row) -> bool:
    """Return whether the attempt succeeded."""
    code = attempt["status_code"]
    return attempt["error"] is None and code is not None and 200 <= code <= 299


def outcome(attempt: Row) -> tuple[str, str]:
    """Return the status of an attempt."""
    if took(attempt):
        return "good", str(attempt["status_code"])
    if attempt["error"] is not None:
        return "bad", str(attempt["error"])[:120]
    return "bad", str(attempt["status_code"])


def follows(attempt: Row) -> str:
    """Return what follows an attempt: `retry`, `over`, `later` (other attempts) or nothing."""
    if took(attempt) or attempt["state"] is None:
        return ""
    return {DELIVERED: "later", DEAD: "over"}.get(attempt["state"], "retry")


def health(hook: Row, now: int) -> tuple[str, str]:
    """Return the health of a hook."""
    if hook["disabled_reason"] is not None:
        return "bad", "Disabled"
    if not hook["active"]:
        return "none", "Off"
    if hook["paused_at"] is not None:
        return "warn", "Paused"
    if hook["resting_until"] is not None and hook["resting_until"] > now:
        return "bad", "Circuit open"
    if hook["failing_since"] is not None:
        return "warn", "Failing"
    if not hook["recent"]:
        return "none", "No attempts yet"
    return "good", "Healthy"
