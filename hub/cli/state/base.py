"""The base of all entries in a state document."""

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from store.clock import SECOND


def _utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


Moment = Annotated[datetime, AfterValidator(_utc)]
"""A time. Without a time zone it is UTC."""


def microseconds(moment: datetime) -> int:
    """Return a time in microseconds since the epoch, as the store keeps times."""
    return round(moment.timestamp() * SECOND)


FullName = Annotated[str, Field(pattern=r"^[^/]+/[^/]+$")]
"""A repository's `owner/name`."""


class StateEntry(BaseModel):
    """An entry of a state document.

    A field that is not given keeps its value, or gets its default if the thing is created.
    """

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    @property
    def known_by(self) -> tuple[str, str] | None:
        """Return the kind and the identifying name of the entry, or None if nothing identifies it.

        A document may have each of these pairs only once.
        """
        return None

    def given(self, *names: str) -> dict[str, Any]:
        """Return the values of these fields, as far as the document has them."""
        return {name: getattr(self, name) for name in names if name in self.model_fields_set}
