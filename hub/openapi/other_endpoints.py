"""The endpoints of the OpenAPI document that are no operations of the platform's API.

These are subscribing, events, usage and the files of reports.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from hub.openapi.components import TEXT, object_of, path_parameter
from hub.rest.resolve import PARAMETER

Json = dict[str, Any]

JSON, NDJSON = "application/json", "application/x-ndjson"
NUMBER: Json = {"type": "integer"}

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
RECEIPT = object_of(id=TEXT, event_id=NUMBER, deliveries=NUMBER)
RECEIPTS = object_of(
    accepted=NUMBER, duplicates=NUMBER, events={"type": "array", "items": {"type": "object"}}
)
USAGE = object_of(accepted=NUMBER, changed=NUMBER)
PAYLOAD: Json = {"type": "object", "additionalProperties": True}
FORM = object_of(payload=TEXT)
ERRORS = (400, 401, 403, 404, 408, 409, 413, 415, 422, 429, 500, 503)


class OtherEndpoint(NamedTuple):
    """The description of an endpoint in the document.

    `forms` maps the media types of the body to schemas. `successes` maps statuses to the media
    types of the answer and their schemas. `parameters` are added to the parameters of the path.
    """

    name: str
    forms: Mapping[str, Json]
    successes: Mapping[str, Mapping[str, Json]]
    parameters: tuple[Json, ...]
    security: tuple[Json, ...] = ({"token": []},)
    tag: str = "events"


def _query(name: str, description: str) -> Json:
    found = {"name": name, "in": "query", "required": True, "description": description}
    return {**found, "schema": TEXT}


def _header(name: str, description: str, **schema: str) -> Json:
    schema = {"type": "string", **schema}
    return {"name": name, "in": "header", "description": description, "schema": schema}


GUID = _header(
    "X-Service-Delivery",
    "The event's id. With it, posting the event again is safe.",
    pattern="^[!-~]{1,128}$",
)
EVENT = _header(
    "X-Service-Event",
    "The event's name. In a batch, each line has it.",
    pattern="^[a-z0-9_]{1,64}$",
)
SOURCE: Json = {
    "name": "source",
    "in": "query",
    "description": "The source whose secret signed the body. Without it, all sources are tried.",
    "schema": TEXT,
}

KEY = object_of(
    kty={"type": "string", "const": "OKP"},
    crv={"type": "string", "const": "Ed25519"},
    x=TEXT,
    kid=TEXT,
    alg={"type": "string", "const": "EdDSA"},
    use={"type": "string", "const": "sig"},
)
KEY_SET = object_of(keys={"type": "array", "items": KEY})

OTHER_ENDPOINTS = {
    "POST /hub": OtherEndpoint(
        "repos/hub",
        {"application/x-www-form-urlencoded": SUBSCRIPTION, "multipart/form-data": SUBSCRIPTION},
        {"204": {}},
        ({"$ref": "#/components/parameters/api-version"},),
        tag="repos",
    ),
    "POST /events": OtherEndpoint(
        "events/receive-webhook",
        {
            JSON: PAYLOAD,
            "application/x-www-form-urlencoded": FORM,
            NDJSON: TEXT,
        },
        {"202": {JSON: {"anyOf": [RECEIPT, RECEIPTS]}}},
        (EVENT, GUID, SOURCE),
        ({"signature": []}, {"token": []}),
    ),
    "POST /{owner}/{repo}/events/{event}": OtherEndpoint(
        "events/post-to-topic",
        {JSON: PAYLOAD},
        {"202": {JSON: RECEIPT}},
        (GUID,),
    ),
    "POST /usage": OtherEndpoint(
        "usage/report",
        {NDJSON: TEXT},
        {"202": {JSON: USAGE}},
        (SOURCE,),
        ({"signature": []}, {"token": []}),
        tag="usage",
    ),
    "GET /.well-known/webhook-keys/{key_set}": OtherEndpoint(
        "repos/get-webhook-key-set",
        {},
        {"200": {JSON: KEY_SET}},
        (),
        ({},),
        tag="repos",
    ),
    "GET /reports/{report_id}": OtherEndpoint(
        "usage/download-report",
        {},
        {
            "200": {NDJSON: TEXT},
            "206": {NDJSON: TEXT, "multipart/byteranges": TEXT},
            "416": {},
        },
        (
            _query("expires", "When the link expires, in seconds since 1970."),
            _query("signature", "Proof that this server made the link."),
        ),
        ({},),
        tag="usage",
    ),
}


def other_endpoint(line: str, text: str) -> Json:
    """Return the description of an endpoint of OTHER_ENDPOINTS.

    `line` is "METHOD /path". `text` is its summary, and its description on the following lines.
    """
    one = OTHER_ENDPOINTS[line]
    summary, _, description = text.partition("\n")
    found = [path_parameter(name) for name in PARAMETER.findall(line)]
    described: Json = {
        "operationId": one.name,
        "tags": [one.tag],
        "summary": summary,
        "description": description.strip(),
        "parameters": [*found, *one.parameters],
        "responses": {
            **{status: _success(forms) for status, forms in one.successes.items()},
            **{str(status): {"$ref": f"#/components/responses/{status}"} for status in ERRORS},
        },
        "security": list(one.security),
    }
    if one.forms:
        described["requestBody"] = {"required": True, "content": _content(one.forms)}
    return described


def _success(forms: Mapping[str, Json]) -> Json:
    if not forms:
        return {"description": "Done"}
    return {"description": "Accepted", "content": _content(forms)}


def _content(forms: Mapping[str, Json]) -> Json:
    return {form: {"schema": schema} for form, schema in forms.items()}
