"""Promises that must not break, tried for long; `python -m tests.torture`."""
