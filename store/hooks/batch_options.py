"""Batches: a hook may ask that several deliveries go in one request."""

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from store.errors import Invalid
from store.formats.batches import BATCHED
from store.formats.formats import PLATFORM


class BatchOptions(BaseModel):
    """The limits of a batch."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    max_events: int = Field(100, ge=1, le=100, description="deliveries in one request at most")
    max_bytes: int = Field(
        1_000_000,
        ge=1_000,
        le=10_000_000,
        description="bytes of a body at most; a larger event goes alone",
    )
    max_wait: float = Field(
        1,
        ge=0,
        le=60,
        description="how long a delivery waits for others; 0 sends with what waits already",
    )


def _completed(options: BatchOptions) -> BatchOptions:
    """Return the options with their defaults as if they were given, so that these are stored."""
    return BatchOptions.model_construct(**options.model_dump())


Batch = Annotated[BatchOptions, AfterValidator(_completed)]
"""The option `batch`. A member that is left out has its default."""


def check(options: dict[str, Any]) -> None:
    """Raise Invalid if a hook's format cannot be sent in batches."""
    format_ = options.get("format") or PLATFORM
    if options.get("batch") is not None and format_ not in BATCHED:
        raise Invalid(
            f"batch does not work with the format {format_}: use {', '.join(BATCHED)}",
            field="batch",
            resource="Hook",
        )


def parse(text: str) -> dict[str, float | str] | str:
    """Return the members in a text such as `max_events=50, max_wait=2`.

    `on` stands for the defaults. A text that is no list of members is returned as it is.
    """
    if text.strip() == "on":
        return {}
    parts = [part.partition("=") for part in text.replace(",", " ").split()]
    if not all(name and value for name, _, value in parts):
        return text
    return {name: _number(value) for name, _, value in parts}


def _number(text: str) -> float | str:
    """Return the number, or the text if it is none. Its check then names it."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def text(batch: dict[str, Any]) -> str:
    """Return the members as a text that `parse` reads."""
    return ", ".join(
        f"{name}={value:.15g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in batch.items()
    )
