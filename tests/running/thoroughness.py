"""The number of repetitions of tests that depend on chance: generated requests, kills, and events
under load.

The usual number finds errors that occur often. With `TOCSIN_TEST_THOROUGH=1`, tests repeat far
more often, and also find rare errors. A run at night has the time for that.
"""

import os

# It is read at the import, because tests remove the project's variables.
THOROUGH = os.environ.get("TOCSIN_TEST_THOROUGH", "0") not in ("", "0")


def often(usual: int, thorough: int) -> int:
    """Return the number of a usual run, or of a thorough one."""
    return thorough if THOROUGH else usual
