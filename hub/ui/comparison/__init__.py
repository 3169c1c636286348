"""The comparison of an attempt with the one before it."""
