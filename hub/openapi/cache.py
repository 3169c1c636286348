"""The API's description, the OpenAPI document in the words that are spoken here: made once, when it
is first asked for, for that costs more than all the rest of starting.
"""

import asyncio
import threading
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from hub.openapi.document import document
from hub.operations import EVENTS, OPERATIONS
from hub.rest.urls import Urls
from hub.rest.vocabulary import Vocabulary


class OpenAPICache:
    """The document; `others` are the texts of what is no operation."""

    def __init__(self, urls: Urls, vocabulary: Vocabulary, others: Mapping[str, str]) -> None:
        self._urls, self._vocabulary, self._others = urls, vocabulary, others
        self._made: Mapping[str, Any] | None = None
        self._lock = threading.Lock()

    def __call__(self) -> Mapping[str, Any]:
        """The document. Not on the loop's thread, unless it was made before."""
        with self._lock:
            if self._made is None:
                content = _written(tuple(self._others.items()), self._urls.root)
                words = self._vocabulary
                self._made = words.document(content) if words else content
            return self._made

    async def ready(self) -> None:
        """Have it made, so that asking for it costs nothing."""
        if self._made is None:
            await asyncio.to_thread(self)


@lru_cache(maxsize=1)
def _written(others: tuple[tuple[str, str], ...], root: str) -> Mapping[str, Any]:
    """One for all who show it: the API, and administrators where they have a listener apart."""
    return document(OPERATIONS, dict(others), root, EVENTS)
