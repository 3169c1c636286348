"""What commands end with, for scripts: `CODES` is the manual's table."""

from store.errors import (
    Absent,
    Busy,
    Conflict,
    Gone,
    InUse,
    Invalid,
    Missing,
    StoreError,
    Unavailable,
    Unprepared,
)

DONE, FAILED, USAGE, FIRST, MISSING, CONFLICT, LATER = range(7)

CODES = {
    DONE: "done; all is well",
    FAILED: "it could not be done, the message says why; what was examined is not well "
    "(`tocsin doctor`: warnings)",
    USAGE: "the command line, or a value in it, is wrong; `tocsin doctor`: something is bad",
    FIRST: "something else has to be done first, or by another program, which is named",
    MISSING: "what was named is not there",
    CONFLICT: "it is there already, is in use by another process, or contradicts what is there",
    LATER: "the database cannot be written or reached at the moment, or the disk is full:"
    " the same again later",
}
KINDS: tuple[tuple[type[StoreError], int], ...] = (
    (Missing, MISSING),
    (Gone, MISSING),
    (Absent, MISSING),
    (Conflict, CONFLICT),
    (InUse, CONFLICT),
    (Invalid, USAGE),
    (Unprepared, FIRST),
    (Busy, LATER),
    (Unavailable, LATER),
)


def code_of(error: StoreError) -> int:
    """The code that a command ends with for this error."""
    return next((code for kind, code in KINDS if isinstance(error, kind)), FAILED)
