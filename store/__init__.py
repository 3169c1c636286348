"""Everything that is remembered. It knows neither the hub nor the worker."""

from store.database.connection import Connection, Row
from store.database.opening import open_store
from store.database.store import Store

__all__ = ["Connection", "Row", "Store", "open_store"]
