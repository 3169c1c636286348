"""The Accept header (RFC 9110, 12.5.1): the choice among the media types on offer."""

import re
from collections.abc import Mapping
from typing import NamedTuple, TypeVar

Offer = TypeVar("Offer")

QUOTED = r'"(?:\\.|[^"\\])*"?'
ELEMENT = re.compile(rf'(?:[^,"]|{QUOTED})+')
PARAMETER = re.compile(rf'(?:[^;"]|{QUOTED})+')
# The quantifiers are possessive, so that the time is linear.
WEIGHT = re.compile(r"q\s*+=\s*+([0-9]++\.?+[0-9]*+|\.[0-9]++)", re.ASCII)
ANYTHING = "*/*"


class Quality(NamedTuple):
    """The weight of a media type (0: not acceptable), and its place in the header."""

    weight: float
    place: int


class Accept:
    """The parsed value of an Accept header. Without media ranges, everything is accepted."""

    def __init__(self, value: str) -> None:
        self.ranges: dict[str, Quality] = {}
        """Media ranges in lower case, without their parameters."""
        for place, element in enumerate(ELEMENT.findall(value.lower())):
            name, *parameters = (piece.strip() for piece in PARAMETER.findall(element) or [""])
            weight = _weight(parameters)
            if name and weight is not None:
                known = self.ranges.get(name)
                if known is None or known.weight < weight:
                    self.ranges[name] = Quality(weight, place)

    def explicit(self, *names: str) -> Quality | None:
        """Return the best quality that the header gives to one of these names; None without one."""
        found = [self.ranges[name] for name in names if name in self.ranges]
        return max(found, key=_rank) if found else None

    def quality(self, *names: str) -> Quality:
        """Return the quality of a media type, by the most specific range that matches.

        The first name is the media type; the others are its aliases.
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
        """Return the offer of the highest quality, or None if no offer is accepted.

        `offers` maps each offer to its names. Among equals, the first in the header wins, then the
        first on offer.
        """
        rated = [(self.quality(*names), offer) for offer, names in offers.items()]
        wanted = [(quality, offer) for quality, offer in rated if quality.weight > 0]
        return max(wanted, key=lambda one: _rank(one[0]))[1] if wanted else None


def _rank(quality: Quality) -> tuple[float, int]:
    return quality.weight, -quality.place


def _weight(parameters: list[str]) -> float | None:
    """Return the weight among a range's parameters, at most 1; None if it is not a number."""
    for parameter in parameters:
        if parameter.partition("=")[0].strip() == "q":
            found = WEIGHT.fullmatch(parameter)
            return min(float(found[1]), 1.0) if found is not None else None
    return 1.0
