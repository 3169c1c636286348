"""The standard streams as a command can use them: open, and able to show every character."""

import errno
import os
import sys

# Raised by a write to a stream that leads to a file or a device.
UNWRITABLE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}


def prepare() -> None:
    """Open streams that the caller closed, and escape what the output's encoding does not have."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 - it stays open
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")


def is_unwritable(error: OSError) -> bool:
    """Return whether the error is that standard output cannot be written any more.

    Then also throw away what is left to write: the interpreter would fail at it once more.
    """
    if error.filename is not None or error.errno not in UNWRITABLE:
        return False
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)
    return True


def undecoded(text: str) -> bool:
    """Return whether a text has bytes that are not UTF-8, as Python passes them on."""
    return any("\udc80" <= character <= "\udcff" for character in text)
