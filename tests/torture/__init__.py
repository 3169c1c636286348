"""Long trials of what tocsin promises: `python -m tests.torture`."""
