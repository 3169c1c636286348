"""Lists of deliveries, whichever target their hook has."""

from typing import Annotated, Literal

from annotated_types import MaxLen
from typing_extensions import TypedDict

from hub.rest.context import Context
from hub.rest.paging import CursorPaging
from hub.rest.serializers import outcome_of
from hub.rest.validation import Moment, Text
from store import Row
from store.clock import SECOND, iso
from store.delivery import attempts


class DeliveryQuery(TypedDict, total=False):
    status: Literal["success", "failure"]
    event: Annotated[Text, MaxLen(100)]
    since: Moment
    guid: Annotated[Text, MaxLen(128)]


class WebhookDeliveryItem(TypedDict):
    id: int
    guid: str
    delivered_at: str
    redelivery: bool
    duration: float
    status: str
    status_code: int
    event: str
    action: str | None
    installation_id: int | None
    repository_id: int | None
    throttled_at: None


def page_of(
    ctx: Context, hook: Row, page: CursorPaging, query: DeliveryQuery
) -> list[WebhookDeliveryItem]:
    rows = attempts.page(
        ctx.db, hook["id"], limit=page.wanted, before=page.before, after=page.after, **query
    )
    return [item(row) for row in page.cut(rows)]


def item(attempt: Row) -> WebhookDeliveryItem:
    """Serialize an attempt in its short form."""
    return {
        "id": attempt["id"],
        "guid": attempt["guid"],
        "delivered_at": iso(attempt["started_at"]),
        "redelivery": bool(attempt["redelivery"]),
        "duration": round(attempt["duration"] / SECOND, 3),
        "status": outcome_of(attempt),
        "status_code": attempt["status_code"] or 0,
        "event": attempt["event"],
        "action": attempt["action"],
        "installation_id": attempt["installation_id"],
        "repository_id": attempt["repo_id"] or None,
        "throttled_at": None,
    }
