"""What can go wrong in the store. The hub has one table from these kinds to HTTP statuses.

StoreError
  Missing      what was named is not there
  Gone         it was there, and is there no more
  Conflict     it contradicts what is there
  Invalid      a value the store does not take
  Busy         too much is waiting to be written
  Unavailable  the database cannot be written or reached at this moment
    Contended    two transactions were in each other's way, and this one was undone
  Unusable     the configuration or the database cannot be worked with
"""


class StoreError(Exception):
    """Base of all errors the store raises on purpose."""


class Missing(StoreError):
    """What was named is not there."""


class Gone(StoreError):
    """It was there, and is there no more."""


class Conflict(StoreError):
    """It contradicts what is there."""


class Invalid(StoreError):
    """A value the store does not take; `field`, `code` and `resource` are the API's error words."""

    def __init__(
        self,
        message: str,
        *,
        field: str | None = None,
        code: str = "invalid",
        resource: str | None = None,
    ) -> None:
        super().__init__(message)
        self.field = field
        self.code = code
        self.resource = resource


class Busy(StoreError):
    """Too much is waiting to be written; try again in a moment."""


class Unavailable(StoreError):
    """The database cannot be written or reached at this moment: disk full, locked, gone."""


class Contended(Unavailable):
    """Two transactions were in each other's way, and this one was undone: again, at once."""


class Unusable(StoreError):
    """The configuration or the database cannot be worked with; the message says the remedy."""
