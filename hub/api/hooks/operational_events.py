"""Operational events: what goes wrong with hooks and the queue, and when it is over."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

from typing_extensions import TypedDict

from hub.rest.event_payloads import EventData
from hub.rest.group import OperationGroup
from hub.rest.serializers import time
from hub.rest.urls import Urls
from store import Connection, Row
from store.hooks.hook_targets import name_of
from store.monitoring.name_search import host_of


class Alert(TypedDict):
    """The alert that the event reports. `closed_at` is set if it reports something that is over"""

    id: int
    opened_at: str
    closed_at: str | None


class AlertHook(TypedDict):
    """A hook without its URL, which may contain a secret. `target` is what its events are about"""

    id: int
    host: str
    target: str
    html_url: str


class AlertAttempt(TypedDict):
    """The latest attempt. `error` is null if there was an answer"""

    id: int
    status_code: int | None
    error: str | None
    started_at: str


class HookHealthEvent(TypedDict):
    """A hook fails, has recovered, will be disabled or was, or is configured wrongly

    `since` is the time since which it fails; for `recovered`, the time of the alert that ends.
    `disable_at` is set for `will_disable`, and `reason` for `disabled`.
    """

    action: Literal["failing", "recovered", "will_disable", "disabled", "config_error"]
    alert: Alert
    hook: AlertHook
    since: str | None
    disable_at: str | None
    reason: str | None
    last_attempt: AlertAttempt | None


class DeliveryEvent(TypedDict):
    """Deliveries of a hook have no attempt left

    The event counts all that ended so within five minutes.
    """

    action: Literal["exhausted"]
    alert: Alert
    hook: AlertHook
    count: int
    first_delivery_id: int
    last_delivery_id: int
    since: str
    until: str


class OrderingEvent(TypedDict):
    """A key of an ordered hook is blocked until somebody unblocks it"""

    action: Literal["key_blocked"]
    alert: Alert
    hook: AlertHook
    key: str
    delivery_id: int
    since: str


class CertificateEvent(TypedDict):
    """A certificate that a hook uses ends soon, or has ended"""

    action: Literal["expiring"]
    alert: Alert
    hook: AlertHook
    ends_at: str


class BacklogEvent(TypedDict):
    """Many deliveries are due, or no longer

    `due` counts the due deliveries. `late` counts the ones that have been due for ten minutes.
    """

    action: Literal["high", "normal"]
    alert: Alert
    due: int
    late: int
    limit: int


ops = OperationGroup("alerts")
ops.declare_events(
    hook=HookHealthEvent,
    delivery=DeliveryEvent,
    ordering=OrderingEvent,
    certificate=CertificateEvent,
    backlog=BacklogEvent,
)


def _alert(row: Row) -> Alert:
    opened = time(row["opened_at"])
    assert opened is not None
    return {"id": row["id"], "opened_at": opened, "closed_at": time(row["closed_at"])}


def _hook(urls: Urls, row: Row) -> AlertHook:
    return {
        "id": row["hook_id"],
        "host": host_of(row["url"] or ""),
        "target": name_of(row),
        "html_url": urls.path(f"/ui/hooks/{row['hook_id']}"),
    }


def _of_hook(urls: Urls, row: Row) -> dict[str, Any]:
    data = row["data"]
    attempt = data.get("attempt")
    return {
        "since": time(data.get("since")),
        "disable_at": time(data.get("disable_at")),
        "reason": data.get("reason"),
        "last_attempt": attempt and {**attempt, "started_at": time(attempt["started_at"])},
    }


def _of_delivery(urls: Urls, row: Row) -> dict[str, Any]:
    data = row["data"]
    counted = {name: data[name] for name in ("count", "first_delivery_id", "last_delivery_id")}
    return {**counted, "since": time(data["since"]), "until": time(data["last_at"])}


def _of_ordering(urls: Urls, row: Row) -> dict[str, Any]:
    data = row["data"]
    since = time(data["since"])
    return {"key": row["subject"], "delivery_id": data["delivery_id"], "since": since}


def _of_certificate(urls: Urls, row: Row) -> dict[str, Any]:
    return {"ends_at": time(row["data"]["ends_at"])}


def _about_hook(
    write: Callable[[Urls, Row], dict[str, Any]],
) -> Callable[[Urls, Connection, Sequence[Row]], list[EventData]]:
    """Return the serializer of events about hooks with these further members."""

    def serialize(urls: Urls, db: Connection, rows: Sequence[Row]) -> list[EventData]:
        return [
            (None, {"alert": _alert(row), "hook": _hook(urls, row), **write(urls, row)})
            for row in rows
        ]

    return serialize


def _backlog(urls: Urls, db: Connection, rows: Sequence[Row]) -> list[EventData]:
    return [(None, {"alert": _alert(row), **row["data"]}) for row in rows]


ops.declare_serializers(
    hook=_about_hook(_of_hook),
    delivery=_about_hook(_of_delivery),
    ordering=_about_hook(_of_ordering),
    certificate=_about_hook(_of_certificate),
    backlog=_backlog,
)
