"""Media types: what a client's Accept header asks for, in the platform's notation."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Media:
    """The form wanted: `version` and `param` of `application/vnd.service.v3.raw+json`."""

    format: str = "json"
    param: str | None = None
    version: str = "v3"


PLAIN = Media()
