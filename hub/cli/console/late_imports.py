"""Imports while a program runs, and the garbage collector during them."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any


@contextmanager
def collector_off() -> Iterator[None]:
    """Keep the garbage collector off during the block.

    Imports leave hardly any garbage, and looking for it took a tenth of their time.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def command_named(place: str) -> Any:
    """Import and return the object at `module:attribute` below `hub.cli`."""
    module, _, attribute = place.partition(":")
    with collector_off():
        return getattr(import_module(f"hub.cli.{module}"), attribute)
