"""The list of all settings, as the manual describes them: type, bounds, default and variable."""

import types
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import orjson
from pydantic import SecretStr
from pydantic.fields import FieldInfo

from hub.cli.service.configuration import PREFIX, Settings
from hub.settings import HubSettings
from store.settings import StoreSettings
from worker.settings import WorkerSettings


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting as the manual describes it."""

    name: str
    environment: str
    kind: str
    default: str
    description: str


def all_settings() -> list[Setting]:
    """Return all settings: first the store's, then the hub's, the worker's, and the log's."""
    fields = Settings.model_fields
    order = [
        name
        for part in (StoreSettings, HubSettings, WorkerSettings, Settings)
        for name in part.model_fields
    ]
    return [_setting(name, fields[name]) for name in dict.fromkeys(order)]


def _setting(name: str, field: FieldInfo) -> Setting:
    default = default_of(field)
    return Setting(
        name,
        f"{PREFIX}{name.upper()}",
        _kind(field.annotation) + _bounds(field.metadata),
        "" if default is None else as_toml(default),
        field.description or "",
    )


def default_of(field: FieldInfo) -> Any:
    """Return the default of a setting, or None if it has none."""
    return field.get_default(call_default_factory=True, validated_data={})


def _kind(annotation: Any) -> str:
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return " or ".join(_kind(part) for part in parts if part is not type(None))
    if origin is list:
        return f"list of {_plural(_kind(parts[0]))}"
    if origin is dict:
        return f"table of {_plural(_kind(parts[1]))}"
    if origin is Literal:
        return " or ".join(f"`{part}`" for part in parts)
    if origin is not None and hasattr(annotation, "__metadata__"):
        return _kind(parts[0]) + _bounds(annotation.__metadata__)
    names = {bool: "yes or no", int: "integer", float: "number", Path: "path"}
    names |= dict.fromkeys((str, SecretStr), "text")
    return names.get(annotation, getattr(annotation, "__name__", str(annotation)))


def _plural(kind: str) -> str:
    noun, space, bounds = kind.partition(" ")
    return f"{noun}s{space}{bounds}"


def _bounds(metadata: Iterable[Any]) -> str:
    """Return the bounds of a number, such as ` from 1 to 64`. It is empty if there are none."""
    parts = [part for one in metadata for part in getattr(one, "metadata", (one,))]
    names = ("ge", "gt", "le")
    found = {name: getattr(part, name) for part in parts for name in names if hasattr(part, name)}
    match found:
        case {"ge": least, "le": most}:
            return f" from {least} to {most}"
        case {"gt": below, "le": most}:
            return f" above {below}, {most} at most"
        case {"ge": least}:
            return f" of {least} or more"
        case {"gt": below}:
            return f" above {below}"
    return ""


def as_toml(value: Any) -> str:
    """Return a value as the settings file would have it."""
    if isinstance(value, dict):
        members = ", ".join(f"{name} = {as_toml(part)}" for name, part in value.items())
        return f"{{{members}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(as_toml(part) for part in value)}]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"{value:g}" if abs(value) < 1_000_000 else str(int(value))
    return orjson.dumps(str(value)).decode()
