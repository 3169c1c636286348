"""Outages: times in which no worker ran, as the ends of its jobs show."""

from store import Connection
from store.clock import MINUTE
from store.hook_state import hook_pauses
from store.jobs import jobs

# In microseconds. While a worker runs, a job ends more often.
OUTAGE = 5 * MINUTE


def discount_outage(db: Connection) -> None:
    """Do not count an outage that ends now as time in which hooks failed.

    Several workers may start now, or one again and again.
    """
    db.alone("outage")
    ended = jobs.last_end(db)
    if ended is not None and db.now - ended > OUTAGE:
        hook_pauses.discount_outage(db, ended)
        jobs.record_discount(db)
