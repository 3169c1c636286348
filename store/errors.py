"""The store's errors. The hub maps each kind to an HTTP status in one table.

StoreError
  Missing      the object does not exist
  Gone         the object existed and does not exist any more
  Conflict     the request contradicts the stored state
  Invalid      a value is not allowed
  Busy         too many writes are queued
  Unavailable  the database cannot be written or reached at this moment
    Full         there is no room to write
    Contended    two transactions conflicted, and this one was rolled back
      Locked       another transaction holds a lock
  Damaged      the database file is damaged
  Unusable     the configuration or the database cannot be used
    Absent       a file or a database does not exist
    NotUtf8      a stored text is not UTF-8
    InUse        another process uses it
    Unprepared   something else has to be done first: a right, a program, a driver
      Outdated     an older program has written the database, and a start has to upgrade it
"""

import errno
import os
from typing import TypeVar

T = TypeVar("T")


class StoreError(Exception):
    """The base of all errors that the store raises on purpose."""


class Missing(StoreError):
    """The object does not exist."""


def existing(found: T | None, noun: str) -> T:
    """Return what was found. Raises Missing if that is None. `noun` names it in the message."""
    if found is None:
        raise Missing(noun)
    return found


class Gone(StoreError):
    """The object existed and does not exist any more."""


class Conflict(StoreError):
    """The request contradicts the stored state."""


class Invalid(StoreError):
    """A value is not allowed. `field`, `code` and `resource` are for the API's error response."""

    def __init__(
        self,
        message: str,
        *,
        field: str | None = None,
        code: str = "invalid",
        resource: str | None = None,
    ) -> None:
        super().__init__(message)
        self.field = field
        self.code = code
        self.resource = resource


class Busy(StoreError):
    """Too many writes are queued. The caller can retry in a moment."""


class Unavailable(StoreError):
    """The database cannot be written or reached at this moment: disk full, locked, gone."""


class Full(Unavailable):
    """There is no room to write: the disk, a tablespace or a quota is full."""


class Contended(Unavailable):
    """Two transactions conflicted, and this one was rolled back. It can be retried at once."""


class Locked(Contended):
    """Another transaction holds a lock, and may wait for this one.

    It is enough to roll back to the latest savepoint.
    """


class Damaged(StoreError):
    """The database file is damaged."""


class Unusable(StoreError):
    """The configuration or the database cannot be used. The message states the remedy."""


class Absent(Unusable):
    """A file or a database does not exist."""


class NotUtf8(Unusable):
    """A stored text is not UTF-8. Something other than tocsin has written it."""


class InUse(Unusable):
    """Another process uses it."""


class Unprepared(Unusable):
    """Something else has to be done first. The message states what."""


class Outdated(Unprepared):
    """An older program has written the database. The start of a hub upgrades it."""


_KINDS: dict[int, type[StoreError]] = {
    errno.ENOENT: Absent,
    errno.ENOTDIR: Absent,
    errno.EACCES: Unprepared,
    errno.EPERM: Unprepared,
    errno.EADDRINUSE: InUse,
    errno.ENOSPC: Unavailable,
    errno.EDQUOT: Unavailable,
}
_RIGHTS = "run the command as root (sudo), or as the user that tocsin runs as"


def from_os_error(said: str, error: OSError) -> StoreError:
    """Translate an error of the operating system, with the remedy if there is one."""
    reason = error.strerror or str(error)
    if error.errno in (errno.EACCES, errno.EPERM) and os.geteuid() != 0:
        reason = f"{reason}: {_RIGHTS}"
    elif error.errno == errno.EADDRINUSE:
        reason = f"{reason}: stop what uses it, or choose another one"
    return _KINDS.get(error.errno or 0, Unusable)(f"{said}: {reason}")
