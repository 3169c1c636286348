"""Permissions of tokens with permissions: the name of each, and its level."""

from collections.abc import Mapping

from store.errors import Invalid

LEVELS = ("read", "write", "admin")
METADATA = {"metadata": "read"}
"""The permission that every installation has."""


def checked(permissions: Mapping[str, str]) -> dict[str, str]:
    """Return the permissions, name to level. Raises Invalid for an unknown level."""
    for name, level in permissions.items():
        if level not in LEVELS:
            raise Invalid(f"{level!r} is not a level of {name}: use one of {', '.join(LEVELS)}")
    return dict(permissions)


def includes(held: Mapping[str, str], name: str, level: str) -> bool:
    return name in held and LEVELS.index(held[name]) >= LEVELS.index(level)


def exceeding(held: Mapping[str, str], wanted: Mapping[str, str]) -> list[str]:
    """Return the names of the wanted permissions that the held ones do not include."""
    return [name for name, level in checked(wanted).items() if not includes(held, name, level)]


def common(one: Mapping[str, str], other: Mapping[str, str]) -> dict[str, str]:
    """Return the permissions that both have, each with the lower level."""
    return {
        name: min(level, other[name], key=LEVELS.index)
        for name, level in one.items()
        if name in other
    }
