"""Ids for events whose sender gives none: UUIDs of version 7, which begin with the time.

Consecutive ids are adjacent in the index, so a group of events changes only a page or two of it.
Random ids would change a page each, which costs more than everything else about storing them.
"""

import random
import time

_RANDOM = random.getrandbits


def new() -> str:
    """Return a new id: milliseconds since the epoch, and 74 random bits."""
    # The process's own generator is enough, because ids must be unique and need not be secret.
    value = (time.time_ns() // 1_000_000 & 0xFFFF_FFFF_FFFF) << 80 | 0x7 << 76
    value |= _RANDOM(12) << 64 | 0b10 << 62 | _RANDOM(62)
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
