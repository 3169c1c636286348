"""The worker's pace: intervals, bounds and pauses that no operator has to set.

What an operator may set is in `settings`. Times are seconds, if nothing else is said.
"""

from dataclasses import dataclass

from store.clock import SECOND


@dataclass(frozen=True, slots=True)
class Tuning:
    """How often a worker polls, how much it holds in memory, and how long it pauses."""

    lease: int = 30 * SECOND
    """Microseconds that a lease lasts without renewal."""
    poll_interval: float = 5.0
    """Between two polls of the store: the net beneath the wake-ups."""
    outage_grace: float = 10.0
    """After an outage of the store all leases have expired. For so long their owners may renew."""
    stop_grace: float = 10.0
    """For requests in flight when the worker stops."""
    final_flush: float = 1.0
    """For recording outcomes after that, at least."""
    max_attempt: float = 120.0
    """An attempt never takes longer, whatever the settings and options say."""
    max_buffered: int = 20_000
    """Deliveries that wait in memory. All others wait in the store."""
    max_queue: int = 1024
    """Deliveries of one hook that wait in memory."""
    claim_batch: int = 128
    """Deliveries of one hook that a claim reads."""
    retry_delay: float = 0.5
    """Before the worker asks the store again for what it could not do."""
    quantum: float = 0.01
    """For which a hook keeps its permit while others wait for the same machine. A fast machine
    answers several requests in that time. On a slow one the hooks alternate.
    """
    first_cooldown: float = 5.0
    """The pause of an endpoint that has failed too often. It doubles with every failed probe."""
    max_cooldown: float = 300.0
    record_pauses: tuple[float, ...] = (0.1, 0.5, 1.0, 2.0, 5.0)
    """Between tries to record outcomes."""
    max_unrecorded: int = 2000
    """Outcomes that are not recorded yet. After a crash these deliveries are sent again."""
    projection_batch: float = 0.003
    """A transaction that projects events. Every other writer waits for it."""
    overdue_head_start: float = 2.0
    """For an overdue job, before the next one starts beside it."""


DEFAULTS = Tuning()
