"""The jobs in one table: which job, when. The store keeps what is due of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from store import Connection, Row, Store, deployment_jobs, expiring, replaying
from store.errors import Unusable
from worker.deploy import deploy
from worker.expire import Tell, expire
from worker.prune import prune
from worker.replay import replay
from worker.settings import WorkerSettings
from worker.timetable import Job
from worker.when import Calendar, Moment


def nobody_told(db: Connection, event: str, rows: Sequence[Row]) -> None:
    """Stands for a Tell where there is none: then nothing may happen that is to be told."""
    raise Unusable(f"nobody here can tell of {event}")


@dataclass(frozen=True, slots=True)
class Works:
    """What jobs are done with."""

    store: Store
    settings: WorkerSettings
    tell: Tell = nobody_told


def table(works: Works) -> list[Job]:
    """Every job, as these settings have it."""
    store, settings = works.store, works.settings
    return [
        Job("expire", Moment(expiring.next_due), partial(expire, store, works.tell)),
        Job("deploy", Moment(deployment_jobs.next_due), partial(deploy, store, works.tell)),
        Job("replay", Moment(replaying.next_due), partial(replay, store, settings)),
        Job("prune", Calendar(settings.prune_at), partial(prune, store, settings)),
    ]
