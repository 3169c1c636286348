"""Subscriptions of organizations to the coding assistant, and their options."""

from datetime import UTC, datetime
from typing import Any

from store.clock import SECOND
from store.database import upsert
from store.database.connection import Connection, Row
from store.errors import Invalid, existing

COLUMNS = (
    "organization_id, plan, payable, seat_management, public_code, ide_chat, platform_chat, cli"
)

ALL = "assign_all"
"""The seat management with which every member has a seat."""


def of(db: Connection, organization_id: int) -> Row | None:
    """Return an organization's subscription, or None."""
    return db.find(f"SELECT {COLUMNS} FROM assistant_subscription", organization_id=organization_id)


def alone(db: Connection, organization_id: int) -> None:
    """Lock an organization's subscription and members until the transaction ends."""
    db.alone(f"members and seats of {organization_id}")


def put(db: Connection, organization_id: int, **given: Any) -> Row:
    """Create an organization's subscription, or change these columns of it."""
    row = {
        "plan": "business",
        "payable": 1,
        "seat_management": "assign_selected",
        "public_code": "block",
        "ide_chat": "enabled",
        "platform_chat": "enabled",
        "cli": "enabled",
        **(of(db, organization_id) or {}),
        **given,
        "organization_id": organization_id,
    }
    upsert.insert_or_replace(db, "assistant_subscription", row, "organization_id")
    return row


def billed(db: Connection, organization_id: int) -> Row:
    """Return the subscription. Raises Missing without one, Invalid if it cannot be paid for."""
    row = existing(of(db, organization_id), "subscription")
    if not row["payable"]:
        raise Invalid("There is a problem with the organization's payment method.")
    return row


def check_assignable(subscription: Row) -> None:
    """Raise Invalid if seats cannot be given to single users and teams.

    Source: the specification, 9, preconditions.
    """
    if subscription["public_code"] == "unconfigured":
        raise Invalid("The organization has not set a policy for suggestions of public code.")
    if subscription["seat_management"] in (ALL, "unconfigured"):
        raise Invalid("The organization does not give seats to selected users and teams.")


def check_selective(subscription: Row) -> None:
    """Raise Invalid if every member has a seat, so that none can be cancelled for single users."""
    if subscription["seat_management"] == ALL:
        raise Invalid("The organization gives a seat to each of its members.")


def cycle(now: int) -> tuple[int, int]:
    """Return the start and the end of the billing cycle, a calendar month, in microseconds."""
    moment = datetime.fromtimestamp(now // SECOND, UTC)
    begins = datetime(moment.year, moment.month, 1, tzinfo=UTC)
    year, month = divmod(moment.year * 12 + moment.month, 12)
    ends = datetime(year, month + 1, 1, tzinfo=UTC)
    return round(begins.timestamp()) * SECOND, round(ends.timestamp()) * SECOND
