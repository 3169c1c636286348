"""Versions of the API: the known ones, the requested one, and the members of each.

A response member that not every version has is marked where it is declared, as in
`rate: Annotated[NotRequired[Rate], UntilVersion("2026-03-10")]`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import UnionType
from typing import Any, NotRequired, Required, Union, get_args, get_origin

from typing_extensions import get_type_hints, is_typeddict

from hub.http.errors import Malformed

NEWEST = "2026-03-10"
OLDEST = "2022-11-28"
VERSIONS = (NEWEST, OLDEST)
DEFAULT = OLDEST
"""Clients that send no version were written before the second version existed."""


@dataclass(frozen=True, slots=True)
class SinceVersion:
    """The first version that has a member."""

    version: str

    def has(self, version: str) -> bool:
        return version >= self.version


@dataclass(frozen=True, slots=True)
class UntilVersion:
    """The first version that no longer has a member."""

    version: str

    def has(self, version: str) -> bool:
        return version < self.version


def requested_version(given: str | None, header: str) -> str:
    """Return the version requested in `header`, or the default.

    Raises Malformed for an unknown one.
    """
    if given is None:
        return DEFAULT
    if given not in VERSIONS:
        supported = ", ".join(
            f'"{version}"' + (" (most recent)" if version == NEWEST else "") for version in VERSIONS
        )
        raise Malformed(
            f'The version you specified in the "{header}" request header, "{given[:100]}", is not a'
            f" supported version. The following versions are currently supported: {supported}."
        )
    return given


Cut = Mapping[str, "Cut | None"]
"""Members to leave out (None), or to cut further, in an object or in each object of a list."""


@cache
def cuts(annotation: Any) -> Mapping[str, Cut]:
    """Return, by version, what to leave out of a response with this annotation.

    Versions without differences are not in it.
    """
    found = {version: _cut(annotation, version) for version in VERSIONS}
    return {version: cut for version, cut in found.items() if cut}


def _cut(annotation: Any, version: str, within: tuple[Any, ...] = ()) -> Cut:
    if is_typeddict(annotation):
        # A recursive type was already handled at its first occurrence.
        return {} if annotation in within else _members(annotation, version, within)
    found: dict[str, Cut | None] = {}
    # A cut applies to each item of a list, and to a value of any type of a union.
    if get_origin(annotation) in (list, Union, UnionType):
        for part in get_args(annotation):
            found |= _cut(part, version, within)
    return found


def _members(kind: Any, version: str, within: tuple[Any, ...]) -> Cut:
    found: dict[str, Cut | None] = {}
    for name, bare, marks in _declared(kind):
        if not all(mark.has(version) for mark in marks):
            found[name] = None
        elif inner := _cut(bare, version, (*within, kind)):
            found[name] = inner
    return found


@cache
def _declared(kind: Any) -> list[tuple[str, Any, list[SinceVersion | UntilVersion]]]:
    """Return each member's name, type and version marks. Cached, as many responses share types."""
    hints = get_type_hints(kind, include_extras=True)
    return [(name, *_opened(hint)) for name, hint in hints.items()]


def _opened(hint: Any) -> tuple[Any, list[SinceVersion | UntilVersion]]:
    """Return a member's type without its annotations, and the version marks among them."""
    marks: list[SinceVersion | UntilVersion] = []
    while hasattr(hint, "__metadata__") or get_origin(hint) in (Required, NotRequired):
        marks += [
            one
            for one in getattr(hint, "__metadata__", ())
            if isinstance(one, SinceVersion | UntilVersion)
        ]
        hint = get_args(hint)[0]
    return hint, marks


def trim(content: Any, cut: Cut) -> Any:
    """Return the content without the members that its version lacks."""
    if isinstance(content, list):
        return [trim(item, cut) for item in content]
    if not isinstance(content, dict):
        return content
    kept = {}
    for name, value in content.items():
        inner = cut.get(name, {})
        if inner is not None:
            kept[name] = trim(value, inner) if inner else value
    return kept
