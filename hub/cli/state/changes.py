"""The changes that a state document made."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from pydantic import SecretStr

from store.errors import Invalid, StoreError, Unavailable

Outcome = Literal["created", "updated", "unchanged"]


@dataclass(frozen=True, slots=True)
class StateChange:
    """The outcome for one entry. `value` is a token or a client secret that was generated here."""

    kind: str
    name: str
    outcome: Outcome
    value: str | None = field(default=None, repr=False)


@contextmanager
def described_place(place: str) -> Iterator[None]:
    """Put the place in the document before the message of a StoreError, and raise it as Invalid."""
    try:
        yield
    except Unavailable:
        # The document is not wrong, and a second try may pass.
        raise
    except StoreError as error:
        raise Invalid(f"{place}: {error}") from None


def outcome_of(before: object, after: object, changed: bool = False) -> Outcome:
    """Return the outcome for a thing from its values before and after, None if it does not exist.

    `changed` is whether anything changed that is not part of these values.
    """
    if before is None and after is not None:
        return "created"
    return "updated" if changed or before != after else "unchanged"


def secret(value: SecretStr | None) -> str | None:
    """Return the text of a secret, or None if there is none."""
    return None if value is None else value.get_secret_value()
