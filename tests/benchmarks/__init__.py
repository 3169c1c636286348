"""Figures of speed and size: `python -m tests.benchmarks [NAME ...]`. Nothing is asserted."""

import sys

from tests.import_paths import IMPORT_PATHS

# The helpers of the tests have bare names.
sys.path.extend(IMPORT_PATHS)
