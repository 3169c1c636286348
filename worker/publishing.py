"""How the worker publishes what it changed: the composing command gives it the hub's way."""

from collections.abc import Callable, Sequence

from store import Connection, Row

EventEmitter = Callable[[Connection, str, Sequence[Row]], None]
"""`tell(db, "name.action", rows)` writes an event of each row in the transaction that changed it.
The composing command gives it: what is told, and how, is the hub's."""
