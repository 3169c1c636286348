"""Deliveries of webhooks (group 21): requests, responses and redelivery.

A delivery in the API is one attempt. Retries and redeliveries are deliveries with the same guid.
"""

from typing import Any, NotRequired

import orjson
from typing_extensions import TypedDict

from hub.api.hooks.delivery_items import DeliveryQuery, WebhookDeliveryItem, item, page_of
from hub.api.hooks.hook_access import ITSELF, READ_HOOK, WRITE_HOOK, HookOperations
from hub.rest.context import Context
from hub.rest.paging import CursorPaging
from hub.rest.serializers import EmptyObject
from store import Row
from store.clock import SECOND
from store.delivery import attempts, deliveries

hook_ops = HookOperations(delivery_id=attempts.get)
ops = hook_ops.group
app_ops = ops.mount("apps", delivery_id=attempts.get_of_app)


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


@hook_ops("GET /deliveries", READ_HOOK)
def list_webhook_deliveries(
    ctx: Context, hook: Row, page: CursorPaging, query: DeliveryQuery
) -> list[WebhookDeliveryItem]:
    """List deliveries for a webhook

    Newest first. Beside `status`, the query may filter by `event`, `since` (a time) and `guid`.
    """
    return page_of(ctx, hook, page, query)


@hook_ops("GET /deliveries/{delivery_id}", READ_HOOK)
@app_ops("GET /app/hook/deliveries/{delivery_id}", ITSELF)
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


@hook_ops("POST /deliveries/{delivery_id}/attempts", WRITE_HOOK, status=202, errors=(422,))
@app_ops("POST /app/hook/deliveries/{delivery_id}/attempts", ITSELF, status=202, errors=(422,))
def redeliver_webhook_delivery(ctx: Context, delivery: Row) -> EmptyObject:
    """Redeliver a delivery for a webhook

    422 if the delivery's payload has been deleted.
    """
    deliveries.redeliver(ctx.db, delivery["event_id"], delivery["hook_id"], delivery["repo_id"])
    return {}
