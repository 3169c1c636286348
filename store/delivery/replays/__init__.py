"""Replays: which events are delivered once more, to which hooks, and the runs that do it."""
