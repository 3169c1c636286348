"""What of the OpenAPI document is no operation of the platform's API: subscribing, and events."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from hub.openapi_parts import path_parameter
from hub.resolve import PARAMETER

Json = dict[str, Any]

SUBSCRIPTION: Json = {
    "type": "object",
    "required": ["hub.mode", "hub.topic", "hub.callback"],
    "properties": {
        "hub.mode": {"type": "string", "enum": ["subscribe", "unsubscribe"]},
        "hub.topic": {"type": "string", "minLength": 1, "maxLength": 2048},
        "hub.callback": {"type": "string", "format": "uri", "minLength": 1, "maxLength": 2048},
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
ERRORS = (400, 401, 403, 404, 408, 409, 413, 415, 422, 429, 500, 503)


class Door(NamedTuple):
    """What the document says of a line of the reference: `forms` of the body and `successes`, each
    with a schema, and the parameters beside those of the path.
    """

    name: str
    forms: Mapping[str, Json]
    successes: Mapping[str, Json | None]
    parameters: tuple[Json, ...]
    security: tuple[Json, ...] = ({"token": []},)


def _header(name: str, description: str, **schema: str) -> Json:
    schema = {"type": "string", **schema}
    return {"name": name, "in": "header", "description": description, "schema": schema}


GUID = _header(
    "X-Service-Delivery",
    "The event's id, which makes it safe to post it again.",
    pattern="^[!-~]{1,128}$",
)
EVENT = _header(
    "X-Service-Event", "The event's name; a batch says it itself.", pattern="^[a-z0-9_]{1,64}$"
)
SOURCE: Json = {
    "name": "source",
    "in": "query",
    "description": "The source whose secret it is signed with; without it, all of them are tried.",
    "schema": {"type": "string"},
}

DOORS = {
    "POST /hub": Door(
        "repos/hub",
        {"application/x-www-form-urlencoded": SUBSCRIPTION, "multipart/form-data": SUBSCRIPTION},
        {"204": None},
        ({"$ref": "#/components/parameters/api-version"},),
    ),
    "POST /events": Door(
        "events/receive-webhook",
        {
            "application/json": PAYLOAD,
            "application/x-www-form-urlencoded": FORM,
            "application/x-ndjson": {"type": "string"},
        },
        {"202": {"anyOf": [RECEIPT, RECEIPTS]}},
        (EVENT, GUID, SOURCE),
        ({"signature": []}, {"token": []}),
    ),
    "POST /{owner}/{repo}/events/{event}": Door(
        "events/post-to-topic",
        {"application/json": PAYLOAD},
        {"202": RECEIPT},
        (GUID,),
    ),
}


def door(line: str, text: str) -> Json:
    """The document's words for one of DOORS; `text` is its summary and description."""
    one = DOORS[line]
    summary, _, description = text.partition("\n")
    content = {form: {"schema": schema} for form, schema in one.forms.items()}
    found = [path_parameter(name) for name in PARAMETER.findall(line)]
    return {
        "operationId": one.name,
        "tags": ["events" if "events" in line else "repos"],
        "summary": summary,
        "description": description.strip(),
        "parameters": [*found, *one.parameters],
        "requestBody": {"required": True, "content": content},
        "responses": {
            **{status: _success(schema) for status, schema in one.successes.items()},
            **{str(status): {"$ref": f"#/components/responses/{status}"} for status in ERRORS},
        },
        "security": list(one.security),
    }


def _success(schema: Json | None) -> Json:
    if schema is None:
        return {"description": "Done"}
    return {"description": "Taken", "content": {"application/json": {"schema": schema}}}
