"""Everything that is stored. It does not depend on the hub or the worker.

The names below are imported when they are first used: the store's errors load nothing else.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from store.database.connection import Connection, Row
    from store.database.opening import open_store
    from store.database.store import Store

__all__ = ["Connection", "Row", "Store", "open_store"]

_HOMES = {
    "Connection": "store.database.connection",
    "Row": "store.database.connection",
    "Store": "store.database.store",
    "open_store": "store.database.opening",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return found
