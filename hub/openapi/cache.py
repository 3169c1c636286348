"""The cached OpenAPI document, in the vocabulary of this installation.

It is made when it is first requested, because making it takes longer than the rest of the start-up.
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
    """The document, which is made once and kept.

    `others` maps "METHOD /path" of each endpoint that is no operation to its text. Two caches are
    equal if their documents are, so that a cache can be the key of what is made of its document.
    """

    def __init__(self, urls: Urls, vocabulary: Vocabulary, others: Mapping[str, str]) -> None:
        self._others, self._root, self._vocabulary = tuple(others.items()), urls.root, vocabulary
        self._key = self._others, self._root, tuple(vocabulary.mapped.items())
        self._made: Mapping[str, Any] | None = None
        self._lock = threading.Lock()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpenAPICache) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __call__(self) -> Mapping[str, Any]:
        """Return the document.

        Do not call this on the event loop's thread before `ready` has ended.
        """
        with self._lock:
            if self._made is None:
                content = _written(self._others, self._root)
                words = self._vocabulary
                self._made = words.document(content) if words else content
            return self._made

    @property
    def is_ready(self) -> bool:
        """Whether the document has been made."""
        return self._made is not None

    async def ready(self) -> None:
        """Make the document on a thread, so that the next request for it waits for nothing."""
        if not self.is_ready:
            await asyncio.to_thread(self)


@lru_cache(maxsize=1)
def _written(others: tuple[tuple[str, str], ...], root: str) -> Mapping[str, Any]:
    """Return the document before the vocabulary is applied.

    The API and the separate listener for administrators share it.
    """
    return document(OPERATIONS, dict(others), root, EVENTS)
