"""The components that operations of the OpenAPI document share.

They are errors, parameters, headers and credentials.
"""

from typing import Any

from hub.rest.operation import Operation
from hub.rest.resolve import SLASHED, is_number
from hub.rest.versions import DEFAULT, VERSIONS

Json = dict[str, Any]
SCHEMAS = "#/components/schemas/"
TEXT: Json = {"type": "string"}


def object_of(**members: Json) -> Json:
    """Return the schema of an object that has all of these members."""
    return {"type": "object", "required": [*members], "properties": members}


DETAIL: Json = {
    "title": "ErrorDetail",
    "type": "object",
    "required": ["code"],
    "properties": {
        "resource": {"type": ["string", "null"]},
        "field": {"type": ["string", "null"]},
        "code": {
            "type": "string",
            "enum": [
                "missing",
                "missing_field",
                "invalid",
                "already_exists",
                "unprocessable",
                "custom",
            ],
        },
        "message": {"type": "string"},
        "index": {"type": "integer"},
        "value": {},
    },
}
ERRORS: Json = {
    "ErrorDetail": DETAIL,
    "Error": {
        "title": "Error",
        "type": "object",
        "required": ["message", "documentation_url", "status"],
        "properties": {
            "message": {"type": "string"},
            "documentation_url": {"type": "string"},
            "status": {"type": "string"},
            "code": {"type": "string"},
            "errors": {"type": "array", "items": {"$ref": f"{SCHEMAS}ErrorDetail"}},
        },
    },
    "Moved": {"title": "Moved", **object_of(message=TEXT, url=TEXT, documentation_url=TEXT)},
}
MEANINGS = {
    301: "The repository was renamed; Location has its new address",
    307: "The repository was renamed; send the request to the address in Location",
    304: "Nothing has changed since the client's copy",
    400: "The request cannot be read",
    401: "The credentials are missing or not known",
    403: "The caller may not do this, or has sent too many requests",
    404: "The resource does not exist, or the caller may not see it",
    405: "The resource does not have this method",
    406: "The resource does not have the media type in Accept",
    408: "The body did not arrive in time",
    409: "The request contradicts the present state",
    410: "The resource is gone",
    413: "The body is too large",
    415: "The media type of the body is not supported",
    422: "A value in the request is not valid",
    429: "The caller has sent too many requests",
    500: "The server failed",
    503: "The service is not available; Retry-After has the seconds to wait",
}


def _response(status: int) -> Json:
    found: Json = {"description": MEANINGS[status]}
    if status != 304:
        name = "Moved" if status in (301, 307) else "Error"
        schema = {"$ref": SCHEMAS + name}
        found["content"] = {"application/json": {"schema": schema}}
    return found


RESPONSES: Json = {str(status): _response(status) for status in MEANINGS}
PARAMETERS: Json = {
    "api-version": {
        "name": "X-Service-Api-Version",
        "in": "header",
        "description": "Which version of the API the request is written for.",
        "schema": {"type": "string", "enum": list(VERSIONS), "default": DEFAULT},
    }
}
SCHEMES: Json = {
    "token": {"type": "http", "scheme": "bearer"},
    "signature": {
        "type": "apiKey",
        "in": "header",
        "name": "X-Hub-Signature-256",
        "description": "`sha256=` and the HMAC-SHA256 of the body, in hexadecimal digits, made "
        "with a source's secret.",
    },
    "password": {
        "type": "http",
        "scheme": "basic",
        "description": "Username and password; with two-factor authentication also "
        "a one-time password in X-Service-OTP.",
    },
    "app": {
        "type": "http",
        "scheme": "basic",
        "description": "An application's client_id and client_secret.",
    },
    "appJwt": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "JWT",
        "description": "A JSON Web Token that an app has signed with its key (RS256).",
    },
}


def path_parameter(name: str) -> Json:
    schema: Json = {"type": "integer", "format": "int64"} if is_number(name) else {"type": "string"}
    found: Json = {"name": name, "in": "path", "required": True, "schema": schema}
    if name in SLASHED:
        found["x-multi-segment"] = True
    return found


def headers_of(operation: Operation, status: int) -> Json:
    """Return the headers that an answer with this status adds to the common ones."""
    names = {"ETag"} if operation.conditional else set()
    names |= {"Link"} if operation.pages is not None else set()
    names |= {"Location"} if status == 201 else set()
    names |= {"Deprecation", "Sunset", "Link"} if operation.deprecated is not None else set()
    return {name: {"schema": {"type": "string"}} for name in sorted(names)}


def media_types(operation: Operation, schema: Json) -> Json:
    """Return the media types of an answer: JSON and the operation's others."""
    # A plain text is sent as it is.
    usual = "text/plain" if operation.answer is str else "application/json"
    found: Json = {usual: {"schema": schema}}
    family = f"-{operation.family}" if operation.family else ""
    # Without a family, the other media types are not JSON: the answer is a file or a page.
    form = schema if operation.family is not None else {"type": "string"}
    for param in operation.media:
        found[f"application/vnd.service{family}.{param}+json"] = {"schema": form}
    return found
