"""The interface through which the worker emits events about its changes."""

from collections.abc import Callable, Sequence

from store import Connection, Row

EventEmitter = Callable[[Connection, str, Sequence[Row]], None]
"""`emit(db, "name.action", rows)` writes an event of each row, in the transaction that changed it.

The hub provides it, because the hub knows how events are serialized.
"""
