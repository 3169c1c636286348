"""The context of log lines, set where work begins."""

from collections.abc import Mapping
from contextvars import ContextVar

LOG_CONTEXT: ContextVar[Mapping[str, object]] = ContextVar("about")
"""Names and values, such as the request's id. Each task has its own."""
