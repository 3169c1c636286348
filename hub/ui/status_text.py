"""What is said of hooks and attempts: a kind (see the macro `status`), and words."""

from store import Row
from store.delivery.attempts import DEAD, DELIVERED


def took(attempt: Row) -> bool:
    """Whether the receiver took it."""
    code = attempt["status_code"]
    return attempt["error"] is None and code is not None and 200 <= code <= 299


def outcome(attempt: Row) -> tuple[str, str]:
    """How an attempt ended."""
    if took(attempt):
        return "good", str(attempt["status_code"])
    if attempt["error"] is not None:
        return "bad", str(attempt["error"])[:120]
    return "bad", str(attempt["status_code"])


def follows(attempt: Row) -> str:
    """What follows from an attempt: `retry`, `over`, `later` (there were others) or nothing."""
    if took(attempt) or attempt["state"] is None:
        return ""
    return {DELIVERED: "later", DEAD: "over"}.get(attempt["state"], "retry")


def health(hook: Row, now: int) -> tuple[str, str]:
    """How a hook does, in a word or two."""
    if hook["disabled_reason"] is not None:
        return "bad", "Disabled"
    if not hook["active"]:
        return "none", "Off"
    if hook["resting_until"] is not None and hook["resting_until"] > now:
        return "bad", "Resting"
    if hook["failing_since"] is not None:
        return "warn", "Failing"
    if not hook["recent"]:
        return "none", "Never tried"
    return "good", "Healthy"
