"""Everything that is remembered. It knows neither the hub nor the worker."""

from store.connection import Connection, Row
from store.store import Store, open_store

__all__ = ["Connection", "Row", "Store", "open_store"]
