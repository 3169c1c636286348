"""The phases of a connection, as numbers in the order in which they occur.

After a response, a kept connection returns to IDLE. The phases are plain numbers because an
enumeration would cost each request some microseconds.
"""

from typing import Final

NEW: Final = 0
"""No bytes were received."""
IDLE: Final = 1
"""The last request is answered, and no bytes were received since."""
HEAD: Final = 2
"""A part of a request's head was received."""
REQUEST: Final = 3
"""The application is processing a request."""
REST: Final = 4
"""A request was answered before all of its body was received."""
ENDING: Final = 5
"""The connection is being closed, or its request was rejected. Further bytes are ignored."""
