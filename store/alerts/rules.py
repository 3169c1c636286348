"""The rules by which alerts about hooks open and close, as SQL conditions on a hook `h`."""

from dataclasses import dataclass

from store.clock import DAY, MINUTE

FAILING, RECOVERED = "hook.failing", "hook.recovered"
WILL_DISABLE, DISABLED = "hook.will_disable", "hook.disabled"
CONFIG_ERROR = "hook.config_error"
EXHAUSTED = "delivery.exhausted"
KEY_BLOCKED = "ordering.key_blocked"
CERTIFICATE = "certificate.expiring"
BACKLOG_HIGH, BACKLOG_NORMAL = "backlog.high", "backlog.normal"
EVENTS = (
    FAILING, RECOVERED, WILL_DISABLE, DISABLED, CONFIG_ERROR, EXHAUSTED, KEY_BLOCKED, CERTIFICATE,
    BACKLOG_HIGH, BACKLOG_NORMAL,
)  # fmt: skip
"""All operational events."""

# A hook that fails for this long is reported, even if its circuit has not opened.
FAILS_LONG = 30 * MINUTE
# A hook has recovered when it has delivered for this long.
SETTLED = 2 * MINUTE
AHEAD = DAY
"""How long before a hook is disabled an alert warns of it, in microseconds."""
# The stages of errors that the hook's own configuration causes.
CONFIGURED = ("guard", "secret")

_FAILS = "h.active = 1 AND h.failing_since IS NOT NULL AND h.deleted_at IS NULL"
# The worker pauses a hook that cannot be used as it is configured.
_UNUSABLE = "h.active = 1 AND h.pause_reason IS NOT NULL AND h.deleted_at IS NULL"
# An index has the hooks of each kind. With the two conditions alone, SQLite would read all hooks.
_PAUSED_OR_FAILING = (
    "h.id IN (SELECT y.id FROM hook y WHERE y.paused_at IS NOT NULL UNION ALL"
    " SELECT z.id FROM hook z WHERE z.failing_since IS NOT NULL AND z.deleted_at IS NULL)"
)
_WRONG = " OR ".join(f"a.error LIKE '{stage}:%'" for stage in CONFIGURED)


@dataclass(frozen=True, slots=True)
class HookRule:
    """A rule about hooks. It opens an alert under one condition and keeps it under a wider one."""

    kind: str
    opens: str
    stays: str
    since: str
    """The column that has the beginning of the condition."""
    settles: int = 0
    """How long the condition must be over before the alert closes, in microseconds."""


HOOK_RULES = (
    HookRule(
        FAILING,
        f"{_FAILS} AND h.paused_at IS NULL"
        f" AND (h.resting_until IS NOT NULL OR h.failing_since <= :now - {FAILS_LONG}"
        # The clock was fast when it failed.
        f" OR h.failing_since > :now + {FAILS_LONG})",
        _FAILS,
        "h.failing_since",
        SETTLED,
    ),
    HookRule(
        DISABLED,
        "h.disabled_reason IS NOT NULL AND h.deleted_at IS NULL",
        "h.disabled_reason IS NOT NULL AND h.deleted_at IS NULL",
        "h.failing_since",
    ),
    HookRule(
        CONFIG_ERROR,
        f"{_PAUSED_OR_FAILING} AND ({_UNUSABLE} OR {_FAILS} AND EXISTS (SELECT 1"
        " FROM attempt a WHERE a.id ="
        f" (SELECT max(x.id) FROM attempt x WHERE x.hook_id = h.id) AND ({_WRONG})))",
        f"({_UNUSABLE} OR {_FAILS})",
        "coalesce(h.failing_since, h.paused_at)",
    ),
)
