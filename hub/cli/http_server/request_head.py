"""The checks of a request's head before the application sees it."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from hub.http.errors import LongHead, Malformed
from hub.http.response import Header

HOST = re.compile(rb"[\w.~!$&'()*+,;=%:\[\]-]*", re.ASCII)
# The HTTP versions that need no Host header.
OLD = ("0.9", "1.0")
ONCE = (b"host", b"authorization", b"transfer-encoding")


def check(headers: Sequence[Header], most: int, version: Callable[[], str]) -> None:
    """Check the headers of a request. Their names are in lower case.

    Raises LongHead if there are more than `most`. Raises Malformed if the Host header is missing or
    malformed, if one of ONCE is repeated, or if a body has another transfer coding than chunked.
    """
    if len(headers) > most:
        raise LongHead(f"There are more headers than the limit of {most}.")
    values = dict(headers)
    if len(values) < len(headers):
        _check_repeated([name for name, _ in headers])
    host = values.get(b"host")
    if host is None:
        if version() not in OLD:
            raise Malformed("There is no Host header.")
    elif not _is_host(host):
        raise Malformed("The Host header does not name a host.")
    coding = values.get(b"transfer-encoding")
    if coding is not None and coding.strip().lower() != b"chunked":
        # The parser decodes chunked, which is the last coding, and leaves the others.
        raise Malformed("Transfer-Encoding names another coding than chunked.")


def _check_repeated(names: Sequence[bytes]) -> None:
    for name in ONCE:
        if names.count(name) > 1:
            raise Malformed(f"There is more than one {name.decode().title()} header.")


@lru_cache(maxsize=256)
def _is_host(value: bytes) -> bool:
    return HOST.fullmatch(value) is not None
