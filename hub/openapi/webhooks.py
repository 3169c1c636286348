"""The OpenAPI document's webhooks: the payloads of events that the platform has no name for."""

import inspect
from typing import Any

Json = dict[str, Any]

HEADERS = (
    ("X-Service-Event", "The event's name."),
    ("X-Service-Delivery", "The delivery id: the same for every attempt and redelivery."),
    ("X-Hub-Republished", "`true` where it tells how something is, and not that it has changed."),
    ("X-Hub-Signature-256", "`sha256=` and the HMAC-SHA256 of the body, where there is a secret."),
)
FORM: Json = {"type": "string", "contentMediaType": "application/json"}
TOPIC = (
    "Sent to hooks that ask for it by its name, the last part of the topic "
    "`/{{owner}}/{{repo}}/events/{}`; it is not among what `*` stands for. Published once more, it "
    "has the member `republished`, which is true, as well."
)


def webhook(name: str, payload: Any, schema: Json) -> Json:
    """What a receiver gets of an event: `payload` is the type that was declared, `schema` its."""
    # Of a type without words of its own those of what it is made from would be taken.
    own = vars(payload).get("__doc__") and inspect.getdoc(payload)
    text = own or f"Something of the kind {name} has changed"
    first, _, rest = text.partition("\n")
    form = {"type": "object", "required": ["payload"], "properties": {"payload": FORM}}
    return {
        "post": {
            "tags": ["events"],
            "summary": first,
            "description": f"{rest.strip()}\n\n{TOPIC.format(name)}".strip(),
            "parameters": [
                {"name": header, "in": "header", "description": said, "schema": {"type": "string"}}
                for header, said in HEADERS
            ],
            "requestBody": {
                "required": True,
                "content": {
                    "application/json": {"schema": schema},
                    "application/x-www-form-urlencoded": {"schema": form},
                },
            },
            "responses": {"2XX": {"description": "It was taken; anything else is tried again"}},
        }
    }
