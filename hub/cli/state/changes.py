"""The changes that a state document made."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from pydantic import SecretStr

from store.errors import Invalid, StoreError

Outcome = Literal["created", "updated", "unchanged"]


@dataclass(frozen=True, slots=True)
class StateChange:
    """The outcome for one entry. `value` is a token or a client secret that was generated here."""

    kind: str
    name: str
    outcome: Outcome
    value: str | None = None


@contextmanager
def described_place(place: str) -> Iterator[None]:
    """Put the place in the document before the message of a StoreError, and raise it as Invalid."""
    try:
        yield
    except StoreError as error:
        raise Invalid(f"{place}: {error}") from None


def outcome_of(before: object, after: object) -> Outcome:
    """Return "created" if `before` is None, or else whether the thing changed."""
    if before is None:
        return "created"
    return "unchanged" if before == after else "updated"


def combined(outcome: Outcome, changed: bool) -> Outcome:
    """Return the outcome, as "updated" if it was "unchanged" but something else changed."""
    return "updated" if changed and outcome == "unchanged" else outcome


def secret(value: SecretStr | None) -> str | None:
    """Return the text of a secret, or None if there is none."""
    return None if value is None else value.get_secret_value()
