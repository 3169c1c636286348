"""Writes: the writer's queue, its groups, and retries after conflicts."""
