"""How often a test tries what happens by chance: made-up requests, kills, events under load.

The usual number finds what breaks a promise as such. With `TOCSIN_TEST_THOROUGH=1` a run tries far
more, and finds what happens seldom. That is for a run at night.
"""

import os

# Read at the import, because tests take the project's variables away.
THOROUGH = os.environ.get("TOCSIN_TEST_THOROUGH", "0") not in ("", "0")


def often(usual: int, thorough: int) -> int:
    """Return the number of a usual run, or of a thorough one."""
    return thorough if THOROUGH else usual
