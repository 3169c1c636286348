"""Values as JSON, for programs."""

from collections.abc import Mapping
from typing import Any

import orjson

from hub.cli.console.times import Time
from store import clock


def dumps(value: Any, *, indent: bool = True) -> str:
    """Return a value as JSON, with times in ISO 8601. A path that is not UTF-8 is escaped."""
    options = orjson.OPT_PASSTHROUGH_SUBCLASS | (orjson.OPT_INDENT_2 if indent else 0)
    try:
        return orjson.dumps(value, default=_default, option=options).decode()
    except orjson.JSONEncodeError:
        return orjson.dumps(_escaped(value), default=_default, option=options).decode()


def _escaped(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _escaped(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_escaped(each) for each in value]
    return value.encode(errors="backslashreplace").decode() if isinstance(value, str) else value


def _default(value: Any) -> Any:
    if isinstance(value, Time):
        return clock.iso_micro(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return str(value)
