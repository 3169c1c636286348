"""Everything that is remembered. It knows neither the hub nor the worker."""

from store.connection import Connection, Row
from store.opening import open_store
from store.store import Store

__all__ = ["Connection", "Row", "Store", "open_store"]
