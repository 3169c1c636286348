"""What is being worked on: said where work begins, read by whoever writes a line of the log."""

from collections.abc import Mapping
from contextvars import ContextVar

LOG_CONTEXT: ContextVar[Mapping[str, object]] = ContextVar("about")
"""Names and values, such as the request's id; each task has its own."""
