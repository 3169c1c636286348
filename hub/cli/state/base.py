"""What the parts of a document for `tocsin load` have in common."""

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from store.clock import SECOND


def _utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


Moment = Annotated[datetime, AfterValidator(_utc)]
"""A time; one that does not say where is UTC."""


def microseconds(moment: datetime) -> int:
    """As the store has times."""
    return round(moment.timestamp() * SECOND)


FullName = Annotated[str, Field(pattern=r"^[^/]+/[^/]+$")]
"""`owner/name`."""


class StateEntry(BaseModel):
    """What is not given is left as it is, or gets its default where the thing is made."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    @property
    def known_by(self) -> tuple[str, str] | None:
        """What it is, and the name by which it is known again: a document has each once. None for
        what is not known again.
        """
        return None

    def given(self, *names: str) -> dict[str, Any]:
        """Those of these fields that the document has."""
        return {name: getattr(self, name) for name in names if name in self.model_fields_set}
