"""What of the OpenAPI document is no operation of the platform's API: subscribing, and events."""

from typing import Any

from hub.openapi_parts import path_parameter
from hub.resolve import PARAMETER

Json = dict[str, Any]

SUBSCRIPTION: Json = {
    "type": "object",
    "required": ["hub.mode", "hub.topic", "hub.callback"],
    "properties": {
        "hub.mode": {"type": "string", "enum": ["subscribe", "unsubscribe"]},
        "hub.topic": {"type": "string"},
        "hub.callback": {"type": "string", "format": "uri"},
        "hub.secret": {"type": "string", "maxLength": 1024},
    },
}
RECEIPT: Json = {
    "type": "object",
    "required": ["id", "event_id", "deliveries"],
    "properties": {
        "id": {"type": "string"},
        "event_id": {"type": "integer"},
        "deliveries": {"type": "integer"},
    },
}
RECEIPTS: Json = {
    "type": "object",
    "required": ["accepted", "duplicates", "events"],
    "properties": {
        "accepted": {"type": "integer"},
        "duplicates": {"type": "integer"},
        "events": {"type": "array", "items": {"type": "object"}},
    },
}
PAYLOAD: Json = {"type": "object", "additionalProperties": True}
FORM = {"type": "object", "required": ["payload"], "properties": {"payload": {"type": "string"}}}
VERSIONED = ({"$ref": "#/components/parameters/api-version"},)
ERRORS = (400, 401, 403, 404, 408, 409, 413, 415, 422, 429, 500, 503)

# Line of the reference to operationId, forms of the body, statuses and bodies of success.
DOORS: dict[str, tuple[str, Json, dict[str, Json | None]]] = {
    "POST /hub": (
        "repos/hub",
        {"application/x-www-form-urlencoded": SUBSCRIPTION, "multipart/form-data": SUBSCRIPTION},
        {"204": None},
    ),
    "POST /events": (
        "events/receive-webhook",
        {
            "application/json": PAYLOAD,
            "application/x-www-form-urlencoded": FORM,
            "application/x-ndjson": {"type": "string"},
        },
        {"202": {"anyOf": [RECEIPT, RECEIPTS]}},
    ),
    "POST /{owner}/{repo}/events/{event}": (
        "events/post-to-topic",
        {"application/json": PAYLOAD},
        {"202": RECEIPT},
    ),
}


def door(line: str, text: str) -> Json:
    """The document's words for one of DOORS; `text` is its summary and description."""
    name, forms, successes = DOORS[line]
    summary, _, description = text.partition("\n")
    parameters = [path_parameter(one) for one in PARAMETER.findall(line)]
    content = {form: {"schema": schema} for form, schema in forms.items()}
    return {
        "operationId": name,
        "tags": ["events" if "events" in line else "repos"],
        "summary": summary,
        "description": description.strip(),
        "parameters": [*parameters, *(VERSIONED if line == "POST /hub" else ())],
        "requestBody": {"required": True, "content": content},
        "responses": {
            **{status: _success(schema) for status, schema in successes.items()},
            **{str(status): {"$ref": f"#/components/responses/{status}"} for status in ERRORS},
        },
        "security": [{"token": []}] if line != "POST /events" else [{}, {"token": []}],
    }


def _success(schema: Json | None) -> Json:
    if schema is None:
        return {"description": "Done"}
    return {"description": "Taken", "content": {"application/json": {"schema": schema}}}
