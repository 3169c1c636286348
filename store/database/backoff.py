"""Exponential backoff with jitter."""

import random


def backoff_delay(tries: int, *, first: float = 0.1, longest: float = 5.0) -> float:
    """Return the seconds to wait after `tries` failures in a row.

    The delay doubles from `first` to `longest`. Jitter shortens it by up to half, so that callers
    that failed together retry at different times.
    """
    whole = min(first * 2.0 ** min(max(tries, 1) - 1, 20), longest)
    return whole * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, keeps no secret
