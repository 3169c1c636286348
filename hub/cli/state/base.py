"""The base of all entries in a state document, and of their parts."""

import re
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from hub.cli.console import lookups
from hub.cli.state.changes import Outcome, StateChange, outcome_of
from store import Connection, Row, clock
from store.enterprises import enterprises
from store.errors import existing
from store.repositories import refs


def _utc(moment: datetime) -> datetime:
    # This raises ValueError for a time that could not be shown.
    clock.from_datetime(moment)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


Moment = Annotated[datetime, AfterValidator(_utc)]
"""A time. Without a time zone it is UTC."""
FullName = Annotated[str, Field(pattern=r"^[^/]+/[^/]+$")]
"""A repository's `owner/name`."""
Sha = Annotated[str, Field(pattern=f"^({refs.SHA.pattern})$")]
PlatformId = Annotated[int, Field(ge=0, lt=2**63)]
"""The id that a thing has on its platform."""


def characters(least: int, most: int) -> Any:
    """Return the bounds of a text, as an annotation. The text has no NUL."""
    return Field(min_length=least or None, max_length=most, pattern="^[^\0]*$")


class StateEntry(BaseModel):
    """An entry of a state document, or a part of one.

    A field that is not given keeps its value, or gets its default if the thing is created.
    """

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    def given(self, *names: str) -> dict[str, Any]:
        """Return the values of these fields, without the fields that the document does not have."""
        return {name: getattr(self, name) for name in names if name in self.model_fields_set}

    def given_or(self, name: str, otherwise: Any = None) -> Any:
        """Return the value of a field, or `otherwise` if the document does not have the field."""
        return self.given(name).get(name, otherwise)


class SectionEntry(StateEntry):
    """An entry of a section: a thing in the store, how to identify, find and write it.

    Each section has one subclass. Things that cannot be found and written override `apply`.
    """

    identified_by: ClassVar[tuple[str, ...]] = ()
    """The fields that identify the thing."""
    case_sensitive: ClassVar[tuple[str, ...]] = ()
    """The identifying fields whose case matters."""

    def find(self, db: Connection, parent: Row) -> Any:
        """Return the thing as it is in the store, or None.

        The entry counts as unchanged if this value is the same before and after `write`.
        """
        raise NotImplementedError

    def write(self, db: Connection, parent: Row, before: Any) -> bool | None:
        """Create or update the thing; `before` is from `find`.

        Return whether that changes anything that `find` does not return.
        """
        raise NotImplementedError

    def apply(self, db: Connection) -> StateChange:
        """Bring the thing to the state that the document describes."""
        parent = self.parent(db)
        before = self.find(db, parent)
        changed = bool(self.write(db, parent, before))
        return self.change(db, parent, outcome_of(before, self.find(db, parent), changed))

    def parent(self, db: Connection) -> Row:
        """Return the repository, organization or enterprise of the thing, or an empty row."""
        return {}

    @property
    def noun(self) -> str:
        """Return the kind of thing for messages and changes: the words of its class's name."""
        words = re.findall("[A-Z][a-z]+", type(self).__name__.removesuffix("Entry"))
        return " ".join(words).lower()

    def change(self, db: Connection, parent: Row, outcome: Outcome) -> StateChange:
        return StateChange(self.noun, self.name_in(db, parent), outcome)

    def name_in(self, db: Connection, parent: Row) -> str:
        """Return the thing's name in changes."""
        return self.identified()

    def identified(self, **instead: str) -> str:
        """Return the identifying values, joined by spaces. `instead` replaces values by field."""
        return " ".join(instead.get(name, str(getattr(self, name))) for name in self.identified_by)

    @property
    def identity(self) -> str | None:
        """Return the text that identifies the thing among things of its kind, or None."""
        folded = {*self.identified_by} - {*self.case_sensitive}
        lower = {name: str(getattr(self, name)).lower() for name in folded}
        return self.identified(**lower) if self.identified_by else None

    @property
    def known_by(self) -> tuple[str, str] | None:
        """Return the kind and the identifying text of the entry, or None if nothing identifies it.

        A document may have each of these pairs only once.
        """
        return None if self.identity is None else (self.noun, self.identity)


class RepositoryPart(SectionEntry):
    """An entry for a part of a repository."""

    repository: FullName

    def parent(self, db: Connection) -> Row:
        """Return the repository. Raises Missing if there is none."""
        return lookups.repository_named(db, self.repository)

    def name_in(self, db: Connection, parent: Row) -> str:
        return self.identified(repository=parent["full_name"])


class OrganizationPart(SectionEntry):
    """An entry for a part of an organization."""

    organization: str

    def parent(self, db: Connection) -> Row:
        """Return the organization. Raises Missing if there is none."""
        return lookups.organization(db, self.organization)

    def name_in(self, db: Connection, parent: Row) -> str:
        return self.identified(organization=parent["login"])


class EnterprisePart(SectionEntry):
    """An entry for a part of an enterprise."""

    enterprise: str

    def parent(self, db: Connection) -> Row:
        """Return the enterprise. Raises Missing if there is none."""
        return existing(
            enterprises.by_slug(db, self.enterprise), f"there is no enterprise {self.enterprise!r}"
        )

    def name_in(self, db: Connection, parent: Row) -> str:
        return self.identified(enterprise=parent["slug"])
