"""Ids for events whose sender gives none: UUIDs of version 7, which begin with the time.

Those that are made one after the other stand beside each other in the index, so that a group of
events changes a page or two of it; random ones change a page each, which costs more than the rest
of storing them.
"""

import random
import time

_RANDOM = random.getrandbits


def new() -> str:
    """One that nobody has: milliseconds since the epoch, and 74 bits by chance."""
    # Of the process's own generator, seeded by the system's: unique is what it has to be, nothing
    # is kept safe by nobody guessing it.
    value = (time.time_ns() // 1_000_000 & 0xFFFF_FFFF_FFFF) << 80 | 0x7 << 76
    value |= _RANDOM(12) << 64 | 0b10 << 62 | _RANDOM(62)
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
