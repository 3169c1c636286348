"""Everything that is stored. It does not depend on the hub or the worker."""

from store.database.connection import Connection, Row
from store.database.opening import open_store
from store.database.store import Store

__all__ = ["Connection", "Row", "Store", "open_store"]
