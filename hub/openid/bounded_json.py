"""JSON from the provider, with a limit on its levels.

Python's own functions fail with an error of the machine for JSON with some thousand levels, and
some of them already for a value with a thousand.
"""

from typing import Any

import orjson

# An address has three levels, and a certificate chain two.
MOST_LEVELS = 32


def parse(text: bytes | bytearray) -> Any:
    """Return the value. Raises ValueError if the text is no JSON, or has too many levels."""
    value = orjson.loads(text)
    level = [value]
    for _ in range(MOST_LEVELS + 1):
        level = [inner for one in level for inner in _members(one)]
        if not level:
            return value
    raise ValueError(f"the JSON has more than {MOST_LEVELS} levels")


def _members(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [*value.values()]
    return value if isinstance(value, list) else []
