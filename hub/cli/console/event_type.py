"""The type of arguments and options that name an event."""

from collections.abc import Set as AbstractSet
from typing import Any

import click

from hub.cli.console.similar_names import similar_names
from store.errors import Invalid
from store.hooks.event_names import HUB_EVENTS, PLATFORM_EVENTS, WILDCARD

EVERY = PLATFORM_EVENTS | HUB_EVENTS | {WILDCARD}


class EventType(click.ParamType[str]):
    """The name of one of the `known` events.

    The error for another name has similar names, or the command that lists all.
    """

    name = "text"

    def __init__(self, known: AbstractSet[str] = EVERY) -> None:
        self._known = known

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        name = str(value)
        if name in self._known:
            return name
        close = similar_names(name, self._known, most=2)
        remedy = f"did you mean {close}?" if close else "`tocsin help events` lists the names"
        raise Invalid(f'Invalid event: "{name[:100]}": {remedy}')
