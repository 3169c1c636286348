"""Long trials of what tocsin promises: `python -m tests.torture`."""

import sys

from tests.import_paths import IMPORT_PATHS

# The helpers of the tests have bare names.
sys.path.extend(IMPORT_PATHS)
