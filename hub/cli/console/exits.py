"""The exit codes of all commands, for scripts. The manual's table is made from `CODES`."""

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
    DONE: "success; `tocsin doctor`: nothing is wrong",
    FAILED: "the command failed, or a setting is wrong; the message says why;"
    " `tocsin doctor`: warnings",
    USAGE: "the command line, or a value or document given to it, is wrong;"
    " `tocsin doctor`: something is bad",
    FIRST: "something else has to be done first, or another program does it; the message names it",
    MISSING: "the named thing does not exist",
    CONFLICT: "it already exists, another process uses it, or it contradicts the stored data",
    LATER: "the database cannot be written or reached at the moment, or the disk is full;"
    " run the same command again later",
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
    return next((code for kind, code in KINDS if isinstance(error, kind)), FAILED)
