"""Bodies with one JSON object per line, accepted or rejected as a whole."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from hub.http.body import JSON_WHITESPACE
from hub.http.errors import HubError, Malformed, Rejected, TooLarge

T = TypeVar("T")


def read(body: bytes, most: int, resource: str, one: Callable[[int, bytes], T]) -> list[T]:
    """Parse each line with `one(number, line)`, numbered from 1, and return the results.

    Raises Malformed or Rejected with all bad lines, and TooLarge for more than `most` lines.
    """
    body = body.strip(JSON_WHITESPACE)
    if body.count(b"\n") >= most:
        raise TooLarge(f"A batch holds at most {most} lines.")
    found, bad = [], []
    for number, text in enumerate(body.split(b"\n"), 1):
        try:
            found.append(one(number, text))
        except HubError as error:
            # These keep the parsed line in memory.
            error.__traceback__ = error.__context__ = None
            bad.append((number, error))
    reject(resource, bad)
    return found


def reject(resource: str, bad: Iterable[tuple[int, HubError]]) -> None:
    """Raise Malformed or Rejected for these numbered lines; do nothing if there are none."""
    errors = [
        {
            "resource": resource,
            "field": "line",
            "code": "custom",
            "index": number,
            "message": f"line {number}: {error}",
            "kind": type(error),
        }
        for number, error in bad
    ]
    if not errors:
        return
    kinds = {error.pop("kind") for error in errors}
    lines = "line" if len(errors) == 1 else "lines"
    message = f"{len(errors)} {lines} cannot be accepted, so nothing was stored"
    raise (Malformed if Malformed in kinds else Rejected)(message, errors)
