"""Validation of a hook's form by the API's own types, with each error beside its field."""

import json
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from hub.api.hooks.hook_requests import HookChange, NewHook
from hub.http.errors import Forbidden
from hub.ui.hook_form import access
from hub.ui.hook_form.options import OPTIONS
from store.errors import Conflict, Invalid, Missing

TOO_DEEP = "The filter has too many levels."
# The form's field for a field that the API or the store names in an error.
FIELDS = {"config": "url", "secret": "own_secret"}


class Mistakes(Invalid):
    """Several fields of a form are wrong. `found` has a message for each."""

    def __init__(self, found: dict[str, str]) -> None:
        super().__init__("; ".join(found.values()))
        self.found = found


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def new_hook(body: dict[str, Any]) -> NewHook:
    """Return the request as the API reads it. Raises Mistakes."""
    checked: NewHook = _checked(NewHook, body)
    return checked


def hook_change(body: dict[str, Any]) -> HookChange:
    """Return the request as the API reads it. Raises Mistakes."""
    checked: HookChange = _checked(HookChange, body)
    return checked


def _checked(kind: Any, body: dict[str, Any]) -> Any:
    if not body["config"]["url"]:
        raise Mistakes({"url": "Enter the URL that receives the deliveries."})
    try:
        # orjson refuses numbers that need more than 64 bits.
        return _adapter(kind).validate_json(json.dumps(body), strict=True)
    except RecursionError:
        raise Mistakes({"filter": TOO_DEEP}) from None
    except ValidationError as error:
        raise Mistakes(_messages(error)) from None


def _messages(error: ValidationError) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in error.errors(include_url=False, include_context=False, include_input=False):
        path = [str(part) for part in one["loc"]]
        if not path:  # only the filter has levels, and no other field breaks the form of JSON
            return {"filter": TOO_DEEP}
        message = one["msg"].removeprefix("Value error, ")
        name = _field_at(path, message)
        member = f"{path[-1]}: " if name == "batch" != path[-1] else ""
        found.setdefault(FIELDS.get(name, name), f"{member}{message}.")
    return found


def _field_at(path: list[str], message: str) -> str:
    """Return the form's field for a member of the request."""
    if path[1:2] and path[1] in access.OPTIONS:
        return access.field_of(path[1], path[2] if len(path) > 2 else "", message)
    if path[0] == "config" and len(path) > 1:
        return path[1]
    known = {one.name for one in OPTIONS}
    return next((part for part in path if part in known), path[0])


def messages_of(error: Invalid | Missing | Forbidden | Conflict) -> dict[str, str]:
    """Return the message for each wrong field of the form."""
    if isinstance(error, Mistakes):
        return error.found
    field = getattr(error, "field", None) or "url"
    text = str(error)
    if field in access.OPTIONS:
        return {access.field_of(field, "", text): f"{text}."}
    return {FIELDS.get(field, field): f"{text[:1].upper()}{text[1:].removesuffix('.')}."}
