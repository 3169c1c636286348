"""The delays before the attempts of a delivery: a setting, and an option of each hook."""

from typing import Annotated

from pydantic import AfterValidator, Field


def _at_once(delays: list[float]) -> list[float]:
    if delays[0] != 0:
        raise ValueError("the first attempt is made at once: the first delay is 0")
    return delays


LONGEST = 7 * 86_400
"""The longest delay before an attempt, in seconds, without jitter."""
Delay = Annotated[float, Field(ge=0, le=LONGEST)]
Retries = Annotated[list[Delay], Field(min_length=1, max_length=30), AfterValidator(_at_once)]
"""The delays in seconds before each attempt."""
