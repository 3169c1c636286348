"""JSON that stays in memory, in as many bytes as it has.

The bytes that `orjson.dumps` returns keep the whole buffer in which they were written. That is
eight times as much for a payload of 8 kB, and for one of 600 bytes even more.
"""

from typing import Any

import orjson


def dumps(value: Any) -> bytes:
    """Return a value as JSON. Raises orjson.JSONEncodeError if it is nested too deeply."""
    return bytes(memoryview(orjson.dumps(value)))
