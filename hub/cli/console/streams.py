"""The standard streams as a command can use them: open, and able to show every character."""

import errno
import os
import sys

# The numbers of errors of a write to a stream that leads to a file or a device.
UNWRITABLE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}


def prepare() -> None:
    """Lead closed streams to the null device, and escape characters that stdout cannot encode."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 - it stays open
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")


def is_unwritable(error: OSError) -> bool:
    """Return whether the error says that standard output cannot be written any more.

    If it does, discard the rest of the output: the interpreter would fail to write it at its exit.
    """
    if error.filename is not None or error.errno not in UNWRITABLE:
        return False
    discard_output()
    return True


def discard_output() -> None:
    """Discard the rest of standard output, also what is buffered."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)


def undecoded(text: str) -> bool:
    """Return whether a text has bytes that are not UTF-8, as Python passes them on."""
    return any("\udc80" <= character <= "\udcff" for character in text)
