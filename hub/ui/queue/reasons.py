"""The reason why deliveries wait for a hook, as a sentence."""

from hub.ui.formatting import moment, pluralize
from store import Row
from store.hooks.hook_ordering import is_stopped


def reason(hook: Row, now: int, *, is_due: bool, is_pulled: bool) -> str:
    """Return why deliveries wait. `is_due` says that the time of the first one has come."""
    if is_pulled:
        return "The receiver fetches them, and has not fetched these yet."
    found = _of_state(hook) or _of_rest(hook, now)
    if found:
        return found
    if not is_due:
        return "Their last attempts failed. Each waits for the time of its next attempt."
    return f"They are due. {_limits(hook['options'])}"


def _of_state(hook: Row) -> str:
    if is_stopped(hook):
        return "The hook is off, and its deliveries are ordered. They wait until it is on again."
    if not hook["active"]:
        return (
            "The hook is off. Each fails when its next attempt is due, unless the hook is on again"
            " by then."
        )
    if hook["paused_at"] is not None:
        return f"The hook is paused since {moment(hook['paused_at'])}. They wait for its end."
    return ""


def _of_rest(hook: Row, now: int) -> str:
    if hook["held_until"] and hook["held_until"] > now:
        until = moment(hook["held_until"])
        return f"The receiver asked for no request before {until}, with Retry-After."
    if hook["resting_until"] and hook["resting_until"] > now:
        return (
            "The circuit breaker is open after failures. One delivery is tried at"
            f" {moment(hook['resting_until'])}. If it succeeds, the others follow."
        )
    return ""


def _limits(options: Row) -> str:
    """Return the hook's own limits, which may be why it takes less than comes in."""
    limits = []
    if options.get("concurrency"):
        limits.append(f"{pluralize(options['concurrency'], 'request')} at a time")
    if options.get("rate"):
        limits.append(f"{pluralize(options['rate'], 'request')} a second")
    if limits:
        return f"The hook's options allow {' and '.join(limits)}."
    return (
        "The receiver answers more slowly than events come, or the worker does not run. The"
        " overview shows both."
    )
