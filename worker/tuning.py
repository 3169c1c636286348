"""The worker's intervals, bounds and pauses that no operator has to set.

The values that an operator may set are in `settings`. Times are in seconds, unless stated
otherwise.
"""

from dataclasses import dataclass

from store.clock import SECOND


@dataclass(frozen=True, slots=True)
class Tuning:
    """How often a worker polls, how much it holds in memory, and how long it pauses."""

    lease: int = 30 * SECOND
    """The microseconds that a lease lasts without renewal."""
    poll_interval: float = 5.0
    """The interval between two polls of the store.

    A poll finds the work that no wake-up has reported.
    """
    outage_grace: float = 10.0
    """The time after an outage of the store in which no lease of others is ended.

    All leases may have expired during the outage, and their owners may still renew them.
    """
    stop_grace: float = 10.0
    """The time for requests in flight when the worker stops."""
    final_flush: float = 1.0
    """The minimum time for recording outcomes after `stop_grace`."""
    max_attempt: float = 120.0
    """The longest duration of an attempt, whatever the settings and options are."""
    max_buffered: int = 20_000
    """The number of deliveries that wait in memory. All others wait in the store."""
    max_queue: int = 1024
    """The number of deliveries of one hook that wait in memory."""
    claim_batch: int = 128
    """The number of deliveries of one hook that a claim reads."""
    claim_total: int = 2048
    """The number of deliveries of all hooks that a claim reads. All other writers wait for it, and
    at the start the first request waits for it.
    """
    store_retry_delay: float = 0.5
    """The pause after a failed call of the store, before it is repeated."""
    quantum: float = 0.02
    """The time for which a hook keeps its permit while others wait for the same machine.

    A fast machine answers several requests in that time. On a slow one the hooks alternate.
    """
    first_cooldown: float = 5.0
    """The first cooldown of an endpoint that has failed too often. It doubles with every failed
    probe.
    """
    max_cooldown: float = 300.0
    record_pauses: tuple[float, ...] = (0.1, 0.5, 1.0, 2.0, 5.0)
    """The pauses between tries to record outcomes."""
    max_unrecorded: int = 2000
    """The number of outcomes that wait to be recorded. After a crash these deliveries are sent
    again.
    """
    senders_start_at: int = 500
    """The number of requests in a second from which on the sender processes are started."""
    senders_idle: float = 300.0
    """The time without load after which the sender processes are ended."""
    senders_grace: float = 5.0
    """The time after a request's deadline at which its sender process counts as stuck."""
    projection_batch: float = 0.003
    """The duration of a transaction that projects events. Every other writer waits for it."""
    overdue_head_start: float = 2.0
    """The time that an overdue job may run before the next overdue job starts beside it."""


DEFAULTS = Tuning()
