"""The webhooks of the OpenAPI document.

These are the payloads of events for which the platform has no name.
"""

import inspect
from typing import Any

from hub.openapi.components import TEXT, Json, object_of

HEADERS = (
    ("X-Service-Event", "The event's name."),
    ("X-Service-Delivery", "The delivery id: the same for every attempt and redelivery."),
    ("X-Hub-Republished", "`true` if the event reports a present state, and no change."),
    ("X-Hub-Signature-256", "`sha256=` and the HMAC-SHA256 of the body, if the hook has a secret."),
)
FORM: Json = {"type": "string", "contentMediaType": "application/json"}
TOPIC = (
    "Sent to hooks that list the event by its name, the last part of the topic "
    "`/{{owner}}/{{repo}}/events/{}`; `*` does not include it. If it is published again, it "
    "also has the member `republished`, which is true."
)


def own_docstring(payload: Any) -> str:
    """Return the docstring of a type; empty if it has none, although its base class may."""
    return (vars(payload).get("__doc__") and inspect.getdoc(payload)) or ""


def webhook(name: str, payload: Any, schema: Json) -> Json:
    """Return the webhook of an event.

    `payload` is the declared type of its payload, and `schema` the schema of that type.
    """
    text = own_docstring(payload) or f"A change of {name}"
    first, _, rest = text.partition("\n")
    form = object_of(payload=FORM)
    return {
        "post": {
            "tags": ["events"],
            "summary": first,
            "description": f"{rest.strip()}\n\n{TOPIC.format(name)}".strip(),
            "parameters": [
                {"name": header, "in": "header", "description": said, "schema": TEXT}
                for header, said in HEADERS
            ],
            "requestBody": {
                "required": True,
                "content": {
                    "application/json": {"schema": schema},
                    "application/x-www-form-urlencoded": {"schema": form},
                },
            },
            "responses": {
                "2XX": {"description": "Received. Other statuses, except 410, lead to a retry."}
            },
        }
    }
