"""What became of the parts of a state document."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from pydantic import SecretStr

from store.errors import Invalid, StoreError

Outcome = Literal["created", "updated", "unchanged"]


@dataclass(frozen=True, slots=True)
class StateChange:
    """What became of one part. `value` is a token's or a secret that was made up here."""

    kind: str
    name: str
    outcome: Outcome
    value: str | None = None


@contextmanager
def described_place(place: str) -> Iterator[None]:
    """Put the place in the document before what is said to be wrong."""
    try:
        yield
    except StoreError as error:
        raise Invalid(f"{place}: {error}") from None


def outcome_of(before: object, after: object) -> Outcome:
    """Whether a thing was changed; where it was not there before (None), it was made."""
    if before is None:
        return "created"
    return "unchanged" if before == after else "updated"


def combined(outcome: Outcome, changed: bool) -> Outcome:
    """The outcome where something more may have changed."""
    return "updated" if changed and outcome == "unchanged" else outcome


def secret(value: SecretStr | None) -> str | None:
    """The text of a secret, if there is one."""
    return None if value is None else value.get_secret_value()
