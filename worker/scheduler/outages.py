"""Outages: times in which no worker ran, as the ends of its jobs show."""

from store import Connection
from store.clock import MINUTE
from store.delivery import leases
from store.hook_state import hook_pauses
from store.jobs import jobs

# In microseconds. While a worker runs, a job ends more often.
OUTAGE = 5 * MINUTE


def discount_outage(db: Connection, lease_id: int | None = None) -> None:
    """Do not count an outage that ends now as time in which hooks failed.

    `lease_id` is the lease of this worker. If several workers start now, one of them does this.
    """
    ended = jobs.last_end(db)
    if ended is None or db.now - ended <= OUTAGE:
        return
    if leases.claim_outage(db, lease_id, ended):
        hook_pauses.discount_outage(db, ended)
