"""How long to wait before trying again: longer each time, and not at the same moment as others."""

import random


def backoff_delay(tries: int, *, first: float = 0.1, longest: float = 5.0) -> float:
    """Seconds to wait after `tries` failures in a row: doubling from `first` to `longest`, each
    shortened by chance to no less than half, so that who failed together comes back apart.
    """
    whole = min(first * 2.0 ** min(max(tries, 1) - 1, 20), longest)
    return whole * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, keeps no secret
