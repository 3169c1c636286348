"""The driver's errors, translated into the store's errors, without secrets."""

import contextlib
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import psycopg
from psycopg import errors

from store.errors import Contended, Damaged, Full, Invalid, Locked, Unavailable, Unusable

Raw = psycopg.Connection[tuple[Any, ...]]

CONTENDED: dict[type[psycopg.Error], type[Contended]] = {
    errors.DeadlockDetected: Locked,
    errors.SerializationFailure: Contended,
}
PASSING = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    errors.ReadOnlySqlTransaction,
)
DAMAGE = (errors.DataCorrupted, errors.IndexCorrupted)
# A transaction was idle or open for longer than the server allows. The driver's first versions have
# no class for the second one.
TIMEOUTS = ("25P03", "25P04")
# The functions that refuse to number a transaction if the server has used up its numbers. They give
# the code of a value that is too large.
NUMBERING = ("GetNewTransactionId", "GetNewMultiXactId")
# Python's number before the words of an error of the operating system.
ERROR_NUMBER = re.compile(r"\[Errno -?\d+\] ")
QUOTED = re.compile(r"([\"'])(.*?)\1")


@contextlib.contextmanager
def translate_errors() -> Iterator[None]:
    """Raise the store's errors in place of the driver's."""
    try:
        yield
    except tuple(CONTENDED) as error:
        raise CONTENDED[type(error)](
            f"the transaction conflicted with another one: {redact_error(error)}"
        ) from error
    except errors.ProgramLimitExceeded as error:
        if error.diag.source_function in NUMBERING:
            raise _unavailable(error) from error
        # The driver counts it as an operational error, but it is the same at each try.
        raise Invalid(f"PostgreSQL cannot store a value: {redact_error(error)}") from error
    except PASSING as error:
        raise _unavailable(error) from error
    except DAMAGE as error:
        raise Damaged(
            f"the database is damaged ({redact_error(error)}): stop tocsin, and restore a backup"
            " with pg_restore"
        ) from error
    except psycopg.InternalError as error:
        if error.sqlstate not in TIMEOUTS:
            raise
        raise _unavailable(error) from error
    except errors.InsufficientPrivilege as error:
        raise Unusable(f"the database's user lacks a right: {redact_error(error)}") from error


def _unavailable(error: psycopg.Error) -> Unavailable:
    kind = Full if isinstance(error, errors.DiskFull) else Unavailable
    return kind(f"the database cannot be used right now: {redact_error(error)}")


def redact_error(error: object, url: str = "") -> str:
    """Return an error's text on one line, without the parts of `url` that may be a password."""
    text = ERROR_NUMBER.sub("", " ".join(str(error).split()))
    if url:
        text = text.replace(url, "...")
    suspects = _password_parts(url)

    def masked(found: re.Match[str]) -> str:
        piece = found[2]
        suspect = "@" in piece or (piece and piece in suspects)
        return f"{found[1]}...{found[1]}" if suspect else found[0]

    return QUOTED.sub(masked, text)


def _password_parts(url: str) -> str:
    """Return the parts of a URL that are, or may be, a password."""
    login, _, place = url.partition("://")[2].rpartition("@")
    raw = [login.partition(":")[2], *place.split("password=")[1:]]
    return " ".join([*raw, *map(unquote, raw)])
