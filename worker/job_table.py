"""The table of jobs: each job and its trigger. The store keeps when each is due."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from email.message import EmailMessage
from functools import partial

from store import Connection, Row, Store
from store.artifacts import deployment_jobs
from store.delivery.replays import replay_runs
from store.errors import Unusable
from store.imports import import_rounds
from store.registry import expiring, republish_runs
from store.tracing import Tracer
from worker.delivery.metrics import WorkerMetrics
from worker.jobs import lapse
from worker.jobs.check_alerts import INTERVAL, check_alerts
from worker.jobs.expire import expire
from worker.jobs.index_texts import INTERVAL as INDEX_INTERVAL
from worker.jobs.index_texts import drop_index, index_texts, next_drop
from worker.jobs.prune import prune
from worker.jobs.record_deployments import record_deployments
from worker.jobs.replay import replay
from worker.jobs.reports import make as make_reports
from worker.jobs.republish import SnapshotPublisher, republish, request_scheduled
from worker.jobs.run_imports import run_imports
from worker.publishing import EventEmitter, MailComposer
from worker.scheduler.job_records import ScheduledJob
from worker.scheduler.triggers import CalendarTrigger, DataTrigger, IntervalTrigger, RequestTrigger
from worker.settings import WorkerSettings


def refuse_emit(db: Connection, event: str, rows: Sequence[Row]) -> None:
    """Raise Unusable. This is the default `EventEmitter`, so that no event is lost silently."""
    raise Unusable(f"no emitter is set for {event}")


def refuse_publish(db: Connection, resource: str, repo_id: int, rows: Sequence[Row]) -> None:
    """Raise Unusable. This is the default `SnapshotPublisher`, for the same reason."""
    raise Unusable(f"no publisher is set for {resource}")


def refuse_compose(db: Connection, mail: Row) -> EmailMessage | None:
    """Raise Unusable. This is the default `MailComposer`, for the same reason."""
    raise Unusable("no composer of mails is set")


@dataclass(frozen=True, slots=True)
class JobContext:
    """The dependencies of the jobs."""

    store: Store
    settings: WorkerSettings
    emit: EventEmitter = refuse_emit
    publish: SnapshotPublisher = refuse_publish
    compose: MailComposer = refuse_compose
    metrics: WorkerMetrics = field(default_factory=WorkerMetrics)
    tracer: Tracer | None = None
    began: int | None = None
    """When the worker began, in microseconds. None: now."""


def build_jobs(context: JobContext) -> list[ScheduledJob]:
    """Return every job, by these settings."""
    store, settings = context.store, context.settings
    began = store.clock.now() if context.began is None else context.began
    return [
        ScheduledJob(
            "expire", DataTrigger(expiring.next_due), partial(expire, store, context.emit)
        ),
        ScheduledJob(
            "lapse",
            DataTrigger(partial(lapse.next_due, began=began)),
            partial(lapse.lapse, store, settings, began, context.tracer),
        ),
        ScheduledJob(
            "deploy",
            RequestTrigger(deployment_jobs.next_due),
            partial(record_deployments, store, context.emit),
        ),
        ScheduledJob(
            "republish",
            RequestTrigger(republish_runs.RUNS.next_due),
            partial(republish, store, context.publish),
        ),
        ScheduledJob(
            "alerts",
            IntervalTrigger(INTERVAL),
            partial(check_alerts, store, settings, context.emit),
        ),
        *_mail(context),
        *_scheduled(store, settings),
        *_imports(context),
        ScheduledJob(
            "replay", RequestTrigger(replay_runs.RUNS.next_due), partial(replay, store, settings)
        ),
        ScheduledJob(
            "reports", CalendarTrigger(settings.reports_at), partial(make_reports, store, settings)
        ),
        _text_index(store, settings),
        ScheduledJob("prune", CalendarTrigger(settings.prune_at), partial(prune, store, settings)),
    ]


def _text_index(store: Store, settings: WorkerSettings) -> ScheduledJob:
    """Return the job that indexes texts, or that deletes the index if the setting is off."""
    if settings.text_index:
        trigger = IntervalTrigger(INDEX_INTERVAL)
        return ScheduledJob("text-index", trigger, partial(index_texts, store))
    return ScheduledJob("text-index", DataTrigger(next_drop), partial(drop_index, store))


def _imports(context: JobContext) -> list[ScheduledJob]:
    """Return the job that imports repositories, if the settings allow imports."""
    if not context.settings.imports:
        return []
    run = partial(run_imports, context.store, context.settings, context.emit)
    return [ScheduledJob("import", RequestTrigger(import_rounds.next_due), run)]


def _mail(context: JobContext) -> list[ScheduledJob]:
    """Return the job that sends mails, if the settings have a server.

    Raises Unusable if what it needs is not installed.
    """
    if context.settings.mail_host is None:
        return []
    try:
        # The extra may not be installed.
        from worker.jobs.send_mails import MailSender, next_due
    except ImportError as error:
        raise Unusable(
            f"the setting mail_host needs the extra mail ({error}): install tocsin[mail]"
        ) from None
    sender = MailSender(context.store, context.settings, context.compose, context.metrics)
    return [ScheduledJob("mail", DataTrigger(next_due), sender.run)]


def _scheduled(store: Store, settings: WorkerSettings) -> list[ScheduledJob]:
    """Return the job that starts republishing, if the settings have a schedule for it."""
    if settings.republish_at is None:
        return []
    run = partial(request_scheduled, store, settings.republish_topics, settings.republish_rate)
    return [ScheduledJob("republish-begin", CalendarTrigger(settings.republish_at), run)]
