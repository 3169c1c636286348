"""Deliveries of webhooks (group 21): requests, responses and redelivery.

A delivery in the API is one attempt. Retries and redeliveries are deliveries with the same guid.
"""

from typing import Annotated, Any, Literal, NotRequired

import orjson
from annotated_types import MaxLen
from typing_extensions import TypedDict

from hub.api.hooks.hook_access import OF_ORGANIZATION, READ, TO_ORGANIZATION, WRITE
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.paging import CursorPaging
from hub.rest.serializers import EmptyObject, outcome_of
from hub.rest.validation import Moment, Text
from store import Row
from store.accounts import organizations
from store.clock import SECOND, iso
from store.delivery import attempts, deliveries
from store.hooks import hooks

ops = OperationGroup("repos", hook_id=hooks.get, delivery_id=attempts.get)
org_ops = ops.mount(
    "orgs",
    org=organizations.by_login,
    hook_id=hooks.get_of_organization,
    delivery_id=attempts.get,
)


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


class DeliveryRequest(TypedDict):
    headers: dict[str, str]
    payload: Any
    """The event's payload (a JSON object), or null."""


class DeliveryResponse(TypedDict):
    headers: dict[str, str] | None
    payload: str | None


class WebhookDelivery(WebhookDeliveryItem):
    """A delivery in detail.

    `address` is the IP address of the connection; `timings` are in seconds.
    """

    url: str
    request: DeliveryRequest
    response: DeliveryResponse
    address: NotRequired[str | None]
    timings: NotRequired[dict[str, float]]


@ops("GET /repos/{owner}/{repo}/hooks/{hook_id}/deliveries", READ)
@org_ops("GET /orgs/{org}/hooks/{hook_id}/deliveries", OF_ORGANIZATION)
def list_webhook_deliveries(
    ctx: Context, hook: Row, page: CursorPaging, query: DeliveryQuery
) -> list[WebhookDeliveryItem]:
    """List deliveries for a webhook

    Newest first. Beside `status`, the query may filter by `event`, `since` (a time) and `guid`.
    """
    rows = attempts.page(
        ctx.db, hook["id"], limit=page.wanted, before=page.before, after=page.after, **query
    )
    return [item(row) for row in page.cut(rows)]


@ops("GET /repos/{owner}/{repo}/hooks/{hook_id}/deliveries/{delivery_id}", READ)
@org_ops("GET /orgs/{org}/hooks/{hook_id}/deliveries/{delivery_id}", OF_ORGANIZATION)
def get_webhook_delivery(ctx: Context, delivery: Row) -> WebhookDelivery:
    """Get a delivery for a webhook

    The payload is null once the event's payload has been deleted.
    """
    body = delivery["event_body"]
    return {
        **item(delivery),
        "url": delivery["url"],
        "request": {
            "headers": delivery["request_headers"],
            "payload": None if body is None else orjson.Fragment(body),
        },
        "response": {
            "headers": delivery["response_headers"],
            "payload": delivery["response_body"],
        },
        "address": delivery["address"],
        "timings": {stage: took / SECOND for stage, took in delivery["timings"].items()},
    }


@ops(
    "POST /repos/{owner}/{repo}/hooks/{hook_id}/deliveries/{delivery_id}/attempts",
    WRITE,
    status=202,
    errors=(422,),
)
@org_ops(
    "POST /orgs/{org}/hooks/{hook_id}/deliveries/{delivery_id}/attempts",
    TO_ORGANIZATION,
    status=202,
    errors=(422,),
)
def redeliver_webhook_delivery(ctx: Context, hook: Row, delivery: Row) -> EmptyObject:
    """Redeliver a delivery for a webhook

    422 if the delivery's payload has been deleted.
    """
    deliveries.redeliver(ctx.db, delivery["event_id"], hook["id"], delivery["repo_id"])
    return {}


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
