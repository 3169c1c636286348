"""The jobs in one table: which job, when. The store keeps what is due of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from store import (
    Connection,
    Row,
    Store,
    deployment_jobs,
    expiring,
    import_rounds,
    replaying,
    republishing,
)
from store.errors import Unusable
from worker.deploy import deploy
from worker.expire import Tell, expire
from worker.importing import do_imports
from worker.prune import prune
from worker.replay import replay
from worker.reports import make as make_reports
from worker.republish import Show, begin, republish
from worker.settings import WorkerSettings
from worker.timetable import Job
from worker.when import Asked, Calendar, Moment


def nobody_told(db: Connection, event: str, rows: Sequence[Row]) -> None:
    """Stands for a Tell where there is none: then nothing may happen that is to be told."""
    raise Unusable(f"nobody here can tell of {event}")


def nobody_shown(db: Connection, resource: str, repo_id: int, rows: Sequence[Row]) -> None:
    """The same for a Show."""
    raise Unusable(f"nobody here can say how a {resource} is")


@dataclass(frozen=True, slots=True)
class Works:
    """What jobs are done with."""

    store: Store
    settings: WorkerSettings
    tell: Tell = nobody_told
    show: Show = nobody_shown


def table(works: Works) -> list[Job]:
    """Every job, as these settings have it."""
    store, settings = works.store, works.settings
    return [
        Job("expire", Moment(expiring.next_due), partial(expire, store, works.tell)),
        Job("deploy", Asked(deployment_jobs.next_due), partial(deploy, store, works.tell)),
        Job("republish", Asked(republishing.RUNS.next_due), partial(republish, store, works.show)),
        *_scheduled(store, settings),
        *_imports(works),
        Job("replay", Asked(replaying.RUNS.next_due), partial(replay, store, settings)),
        Job("reports", Calendar(settings.reports_at), partial(make_reports, store, settings)),
        Job("prune", Calendar(settings.prune_at), partial(prune, store, settings)),
    ]


def _imports(works: Works) -> list[Job]:
    """Those of repositories from elsewhere, where the settings want that."""
    if not works.settings.imports:
        return []
    run = partial(do_imports, works.store, works.settings, works.tell)
    return [Job("import", Moment(import_rounds.next_due), run)]


def _scheduled(store: Store, settings: WorkerSettings) -> list[Job]:
    """What begins to publish, where the settings want that."""
    if settings.republish_at is None:
        return []
    run = partial(begin, store, settings.republish_topics, settings.republish_rate)
    return [Job("republish-begin", Calendar(settings.republish_at), run)]
