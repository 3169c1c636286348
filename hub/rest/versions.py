"""Versions of the API: which there are, which one is asked for, and what each has.

A member of an answer that not every version has says so where it is declared:
`rate: Annotated[NotRequired[Rate], Until("2026-03-10")]`.
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
"""Clients that name no version are those written before there was a second one."""


@dataclass(frozen=True, slots=True)
class SinceVersion:
    """The version that brought a member."""

    version: str

    def has(self, version: str) -> bool:
        return version >= self.version


@dataclass(frozen=True, slots=True)
class UntilVersion:
    """The version that is without a member."""

    version: str

    def has(self, version: str) -> bool:
        return version < self.version


def requested_version(given: str | None, header: str) -> str:
    """The version that a request asks for in `header`. Malformed for one that there is not."""
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
"""Members that are left out (None), or that have some that are, in them or in each of them."""


@cache
def cuts(annotation: Any) -> Mapping[str, Cut]:
    """Version to what is left out of an answer declared so; only versions with anything."""
    found = {version: _cut(annotation, version) for version in VERSIONS}
    return {version: cut for version, cut in found.items() if cut}


def _cut(annotation: Any, version: str, within: tuple[Any, ...] = ()) -> Cut:
    if is_typeddict(annotation):
        # What holds itself has said all there is to say the first time.
        return {} if annotation in within else _members(annotation, version, within)
    found: dict[str, Cut | None] = {}
    # Lists and alternatives: what is in them is reached through the same members.
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
    """Each member's name, type and marks; many answers hold the same kinds."""
    hints = get_type_hints(kind, include_extras=True)
    return [(name, *_opened(hint)) for name, hint in hints.items()]


def _opened(hint: Any) -> tuple[Any, list[SinceVersion | UntilVersion]]:
    """A member's type without what is around it, and the marks on it."""
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
    """The answer without what its version has not."""
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
