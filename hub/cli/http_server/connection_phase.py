"""How far a connection is: numbers, in the order in which they come, but that it is kept for more
requests. An enumeration costs each request some microseconds.
"""

from typing import Final

NEW: Final = 0
"""Nothing has come."""
IDLE: Final = 1
"""The last request is answered, and nothing has come since."""
HEAD: Final = 2
"""Something of a head has come."""
REQUEST: Final = 3
"""A request is at work."""
REST: Final = 4
"""A request was answered before all of its body had come."""
ENDING: Final = 5
"""It is closed, or refused: what still comes is not looked at."""
