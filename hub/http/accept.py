"""The Accept header (RFC 9110, 12.5.1): which of the media types on offer a client prefers."""

import re
from collections.abc import Mapping
from typing import NamedTuple, TypeVar

Offer = TypeVar("Offer")

QUOTED = r'"(?:\\.|[^"\\])*"?'
ELEMENT = re.compile(rf'(?:[^,"]|{QUOTED})+')
PARAMETER = re.compile(rf'(?:[^;"]|{QUOTED})+')
WEIGHT = re.compile(r"q\s*=\s*([0-9]+\.?[0-9]*|\.[0-9]+)", re.ASCII)
ANYTHING = "*/*"


class Quality(NamedTuple):
    """How much something is wanted: 0 for not at all, and where the header says so."""

    weight: float
    place: int


class Accept:
    """A header's value. Without media ranges in it, everything is accepted."""

    def __init__(self, value: str) -> None:
        self.ranges: dict[str, Quality] = {}
        """Media ranges without their parameters, in lower case."""
        for place, element in enumerate(ELEMENT.findall(value.lower())):
            name, *parameters = (piece.strip() for piece in PARAMETER.findall(element) or [""])
            weight = _weight(parameters)
            if name and weight is not None:
                known = self.ranges.get(name)
                if known is None or known.weight < weight:
                    self.ranges[name] = Quality(weight, place)

    def explicit(self, *names: str) -> Quality | None:
        """The quality of what has these names, where the header has one of them."""
        found = [self.ranges[name] for name in names if name in self.ranges]
        return max(found, key=_rank) if found else None

    def quality(self, *names: str) -> Quality:
        """The quality of what has these names, by the most specific of the ranges that match. The
        first name is its media type; the others are taken for it where they are given.
        """
        if not self.ranges:
            return Quality(1, 0)
        kind = f"{names[0].partition('/')[0]}/*"
        for ranges in (names, (kind,), (ANYTHING,)):
            found = self.explicit(*ranges)
            if found is not None:
                return found
        return Quality(0, 0)

    def choose(self, offers: Mapping[Offer, tuple[str, ...]]) -> Offer | None:
        """The offer, by its names, of the highest quality: of several the one that the header has
        first, then the one offered first. None where none is accepted.
        """
        rated = [(self.quality(*names), offer) for offer, names in offers.items()]
        wanted = [(quality, offer) for quality, offer in rated if quality.weight > 0]
        return max(wanted, key=lambda one: _rank(one[0]))[1] if wanted else None


def _rank(quality: Quality) -> tuple[float, int]:
    return quality.weight, -quality.place


def _weight(parameters: list[str]) -> float | None:
    """The weight among a range's parameters, at most 1; None for one that is no number."""
    for parameter in parameters:
        if parameter.partition("=")[0].strip() == "q":
            found = WEIGHT.fullmatch(parameter)
            return min(float(found[1]), 1.0) if found is not None else None
    return 1.0
