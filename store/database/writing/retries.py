"""Retries of transactions with which others conflicted."""

import time
from collections.abc import Callable
from typing import TypeVar

from store.database.backoff import backoff_delay
from store.errors import Contended

MOST_TRIES = 5
T = TypeVar("T")


def retried(call: Callable[[], T]) -> T:
    """Return the result of `call`. While it raises Contended, call it again, up to MOST_TRIES.

    The pauses between have jitter, so that two processes do not meet again.
    """
    for tries in range(1, MOST_TRIES):
        try:
            return call()
        except Contended:
            time.sleep(backoff_delay(tries, first=0.02))
    return call()
