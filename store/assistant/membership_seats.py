"""Joining and leaving an organization, with the seat that may come with the membership."""

from store.accounts import accounts, memberships, teams
from store.assistant import assistant_seats, assistant_subscriptions
from store.database.connection import Connection, Row


def join(
    db: Connection, organization_id: int, account_id: int, role: str
) -> tuple[list[Row], list[Row]]:
    """Make an account `admin` or `member`. If every member has a seat, the account gets one.

    Return the new seats, and those that no longer end.
    """
    assistant_subscriptions.alone(db, organization_id)
    accounts.join(db, organization_id, account_id, role)
    subscription = assistant_subscriptions.of(db, organization_id)
    if subscription is None or subscription["seat_management"] != assistant_subscriptions.ALL:
        return [], []
    return assistant_seats.give_members(db, organization_id, [account_id])


def leave(db: Connection, organization_id: int, account_id: int) -> list[Row] | None:
    """End a membership, and the account's membership in the organization's teams.

    Return the account's seat in a list if it ends now with the billing cycle, or None if the
    account is no member. Raises Conflict if it is the last administrator.
    """
    assistant_subscriptions.alone(db, organization_id)
    if not memberships.leave(db, organization_id, account_id):
        return None
    teams.leave(db, organization_id, account_id)
    return assistant_seats.cancel_users(db, organization_id, [account_id])
