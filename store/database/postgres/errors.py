"""What the driver of PostgreSQL raises, in the store's words, and without what nobody may read."""

import contextlib
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import psycopg
from psycopg import errors

from store.errors import Contended, Unavailable, Unusable

Raw = psycopg.Connection[tuple[Any, ...]]

CONTENDED = (errors.DeadlockDetected, errors.SerializationFailure)
PASSING = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    errors.ReadOnlySqlTransaction,
    errors.IdleInTransactionSessionTimeout,
)
QUOTED = re.compile(r"([\"'])(.*?)\1")


@contextlib.contextmanager
def translate_errors() -> Iterator[None]:
    """Contended, Unavailable and Unusable in place of the driver's errors that mean them."""
    try:
        yield
    except CONTENDED as error:
        raise Contended(f"another transaction was in the way: {redact_error(error)}") from error
    except PASSING as error:
        raise Unavailable(
            f"the database cannot be used right now: {redact_error(error)}"
        ) from error
    except errors.InsufficientPrivilege as error:
        raise Unusable(f"the database's user lacks a right: {redact_error(error)}") from error


def redact_error(error: object, url: str = "") -> str:
    """What an error says, on one line; nothing of what stands in `url` where a password may."""
    text = " ".join(str(error).split())
    if url:
        text = text.replace(url, "...")
    hidden = _hidden(url)

    def masked(found: re.Match[str]) -> str:
        piece = found[2]
        suspect = "@" in piece or (piece and piece in hidden)
        return f"{found[1]}...{found[1]}" if suspect else found[0]

    return QUOTED.sub(masked, text)


def _hidden(url: str) -> str:
    """The parts of a URL that are a password, or are taken for one."""
    login, _, place = url.partition("://")[2].rpartition("@")
    raw = [login.partition(":")[2], *place.split("password=")[1:]]
    return " ".join([*raw, *map(unquote, raw)])
