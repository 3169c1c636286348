"""How the worker emits events of what it changed."""

from collections.abc import Callable, Sequence

from store import Connection, Row

EventEmitter = Callable[[Connection, str, Sequence[Row]], None]
"""`emit(db, "name.action", rows)` writes an event of each row in the transaction that changed it.
The hub gives it, for it knows how events are serialized."""
