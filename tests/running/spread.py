"""An order of tests in which those that wait stand between those that compute."""

from collections.abc import Sequence

import pytest
from forked_run import block_of

# The part of a run in which those that wait begin. After it, only those that compute are left, and
# keep all processors busy until the end.
PART = 0.8


def spread(items: Sequence[pytest.Item], waiting: str) -> list[pytest.Item]:
    """Return the tests with the blocks of those that wait evenly among the blocks of the others.

    `waiting` is the beginning of the ids of tests that wait. Each block stays together.
    """
    computing: list[pytest.Item] = []
    idle: list[pytest.Item] = []
    for item in items:
        (idle if item.nodeid.startswith(waiting) else computing).append(item)
    places = _places(idle, PART) | _places(computing, 1.0)
    return sorted(items, key=lambda item: places[block_of(item)])


def _places(items: Sequence[pytest.Item], part: float) -> dict[str, float]:
    """Return where each block begins, as a share of the run."""
    found: dict[str, float] = {}
    for number, item in enumerate(items):
        found.setdefault(block_of(item), part * number / len(items))
    return found
