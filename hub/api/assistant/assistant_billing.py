"""Seats of the coding assistant (group 9): an organization's, for its owners."""

from collections.abc import Collection, Sequence
from typing import Annotated, Any, Literal

from annotated_types import MaxLen, MinLen
from typing_extensions import TypedDict

from hub.api.assistant.seat_serializers import (
    AssistantSeat,
    AssistantSeatEvent,
    Plan,
    event_data,
    several,
)
from hub.auth.organization_access import on_org
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.paging import NumberedPaging
from hub.rest.validation import Text
from store import Connection, Row
from store.accounts import accounts, organizations, teams
from store.assistant import assistant_seats, assistant_subscriptions, seat_tally
from store.errors import Invalid, existing

ops = OperationGroup("assistant", org=organizations.by_login, username=accounts.by_login)

READ = on_org(
    "assistant_business", "read", owner=True, scopes=("manage_billing:assistant", "read:org")
).or_has("organization_administration", "read")
WRITE = on_org(
    "assistant_business", "write", owner=True, scopes=("manage_billing:assistant", "admin:org")
).or_has("organization_administration", "write")
GIVEN = ("assistant_seat.cancelled", "assistant_seat.created", "assistant_seat.refreshed")
CANCELLED = ("assistant_seat.cancellation_pending",)
MOST = 1000

Switch = Literal["enabled", "disabled", "unconfigured"]
Names = Annotated[list[Annotated[Text, MaxLen(100)]], MinLen(1), MaxLen(MOST)]


class AssistantSeatBreakdown(TypedDict):
    """Counts of seats. A billing cycle is a calendar month."""

    total: int
    added_this_cycle: int
    pending_cancellation: int
    pending_invitation: int
    active_this_cycle: int
    inactive_this_cycle: int


class AssistantBilling(TypedDict):
    seat_breakdown: AssistantSeatBreakdown
    public_code_suggestions: Literal["allow", "block", "unconfigured"]
    ide_chat: Switch
    platform_chat: Switch
    cli: Switch
    seat_management_setting: Literal["assign_all", "assign_selected", "disabled", "unconfigured"]
    plan_type: Plan


class AssistantSeats(TypedDict):
    total_seats: int
    seats: list[AssistantSeat]


class SelectedTeams(TypedDict):
    """Names or slugs of the organization's teams."""

    selected_teams: Names


class SelectedUsers(TypedDict):
    selected_usernames: Names


class CreatedSeats(TypedDict):
    """The number of new seats, and of seats whose pending cancellation was undone."""

    seats_created: int


class CancelledSeats(TypedDict):
    seats_cancelled: int


@ops("GET /orgs/{org}/assistant/billing", READ, errors=(404, 422))
def get_assistant_organization_details(ctx: Context, org: Row) -> AssistantBilling:
    """Get assistant seat information and settings for an organization

    The numbers are counted from the seats. 404 if the organization has no subscription, 422 if its
    payment is not possible.
    """
    row = assistant_subscriptions.billed(ctx.db, org["id"])
    breakdown: Any = assistant_seats.breakdown(ctx.db, org["id"])
    return {
        "seat_breakdown": breakdown,
        "public_code_suggestions": row["public_code"],
        "ide_chat": row["ide_chat"],
        "platform_chat": row["platform_chat"],
        "cli": row["cli"],
        "seat_management_setting": row["seat_management"],
        "plan_type": row["plan"],
    }


@ops("GET /orgs/{org}/assistant/billing/seats", READ, errors=(404,), default_per_page=50)
def list_assistant_seats(ctx: Context, org: Row, page: NumberedPaging) -> AssistantSeats:
    """List all assistant seat assignments for an organization"""
    plan = _plan(ctx.db, org["id"])
    page.total = seat_tally.total(ctx.db, org["id"])
    rows = assistant_seats.page(ctx.db, org["id"], **page.bounds)
    return {"total_seats": page.total, "seats": several(ctx.urls, ctx.db, org, plan, rows)}


@ops(
    "POST /orgs/{org}/assistant/billing/selected_teams",
    WRITE,
    status=201,
    errors=(404,),
    emits=GIVEN,
)
def add_assistant_seats_for_teams(ctx: Context, org: Row, body: SelectedTeams) -> CreatedSeats:
    """Add teams to the assistant subscription for an organization

    Each current member of each team gets a seat.
    """
    _check_assignable(ctx, org)
    found = [row["id"] for row in _teams(ctx, org, body)]
    _end(ctx, org, teams.member_ids(ctx.db, found))
    return _given(ctx, assistant_seats.give_teams(ctx.db, org["id"], found))


@ops("DELETE /orgs/{org}/assistant/billing/selected_teams", WRITE, errors=(404,), emits=CANCELLED)
def cancel_assistant_seat_assignment_for_teams(
    ctx: Context, org: Row, body: SelectedTeams
) -> CancelledSeats:
    """Remove teams from the assistant subscription for an organization

    The members' seats end with the billing cycle, unless they also have one on another ground. 422
    if the plan gives every member a seat.
    """
    _check_removable(ctx, org)
    found = [row["id"] for row in _teams(ctx, org, body)]
    return _cancelled(ctx, assistant_seats.cancel_teams(ctx.db, org["id"], found))


@ops(
    "POST /orgs/{org}/assistant/billing/selected_users",
    WRITE,
    status=201,
    errors=(404,),
    emits=GIVEN,
)
def add_assistant_seats_for_users(ctx: Context, org: Row, body: SelectedUsers) -> CreatedSeats:
    """Add users to the assistant subscription for an organization"""
    _check_assignable(ctx, org)
    found = _users(ctx, org, body)
    _end(ctx, org, found)
    return _given(ctx, assistant_seats.give_users(ctx.db, org["id"], found))


@ops("DELETE /orgs/{org}/assistant/billing/selected_users", WRITE, errors=(404,), emits=CANCELLED)
def cancel_assistant_seat_assignment_for_users(
    ctx: Context, org: Row, body: SelectedUsers
) -> CancelledSeats:
    """Remove users from the assistant subscription for an organization

    The seats end with the billing cycle, except seats through a team. 422 if the plan gives every
    member a seat.
    """
    _check_removable(ctx, org)
    found = _users(ctx, org, body)
    return _cancelled(ctx, assistant_seats.cancel_users(ctx.db, org["id"], found))


@ops("GET /orgs/{org}/members/{username}/assistant", READ, errors=(422,))
def get_assistant_seat_details_for_user(ctx: Context, org: Row, username: Row) -> AssistantSeat:
    """Get assistant seat assignment details for a user

    404 if the user has none.
    """
    plan = assistant_subscriptions.billed(ctx.db, org["id"])["plan"]
    row = existing(assistant_seats.of(ctx.db, org["id"], username["id"]), "seat")
    return several(ctx.urls, ctx.db, org, plan, [row])[0]


def _check_assignable(ctx: Context, org: Row) -> None:
    assistant_subscriptions.alone(ctx.db, org["id"])
    row = assistant_subscriptions.of(ctx.db, org["id"])
    if row is None:
        raise Invalid("The organization has no business or enterprise plan.")
    assistant_subscriptions.check_assignable(assistant_subscriptions.billed(ctx.db, org["id"]))
    if row["seat_management"] == "disabled":
        assistant_subscriptions.put(ctx.db, org["id"], seat_management="assign_selected")


def _check_removable(ctx: Context, org: Row) -> None:
    assistant_subscriptions.alone(ctx.db, org["id"])
    assistant_subscriptions.check_selective(assistant_subscriptions.billed(ctx.db, org["id"]))


def _teams(ctx: Context, org: Row, body: SelectedTeams) -> list[Row]:
    rows = teams.named(ctx.db, org["id"], body["selected_teams"])
    known = {row["slug"] for row in rows}
    unknown = [name for name in body["selected_teams"] if teams.slug_of(name) not in known]
    _check_known(unknown, "selected_teams", "not teams of the organization")
    return rows


def _users(ctx: Context, org: Row, body: SelectedUsers) -> list[int]:
    found = organizations.members_by_login(ctx.db, org["id"], body["selected_usernames"])
    unknown = [name for name in body["selected_usernames"] if name.lower() not in found]
    _check_known(unknown, "selected_usernames", "not members of the organization")
    return sorted(set(found.values()))


def _check_known(unknown: Sequence[str], field: str, what: str) -> None:
    if unknown:
        named = ", ".join(sorted(set(unknown))[:10])
        raise Invalid(f"{what}: {named}", field=field, resource="AssistantSeat")


def _end(ctx: Context, org: Row, account_ids: Collection[int]) -> None:
    """End the seats that the worker has not ended yet: new ones take their place."""
    ended = assistant_seats.end(ctx.db, org["id"], account_ids)
    ctx.emit_all("assistant_seat.cancelled", event_data(ctx.urls, ctx.db, ended), sent=False)


def _given(ctx: Context, rows: tuple[list[Row], list[Row]]) -> CreatedSeats:
    new, refreshed = rows
    ctx.emit_all("assistant_seat.created", event_data(ctx.urls, ctx.db, new))
    ctx.emit_all("assistant_seat.refreshed", event_data(ctx.urls, ctx.db, refreshed))
    return {"seats_created": len(new) + len(refreshed)}


def _cancelled(ctx: Context, rows: list[Row]) -> CancelledSeats:
    ctx.emit_all("assistant_seat.cancellation_pending", event_data(ctx.urls, ctx.db, rows))
    return {"seats_cancelled": len(rows)}


def _plan(db: Connection, organization_id: int) -> Plan:
    row = existing(assistant_subscriptions.of(db, organization_id), "subscription")
    plan: Plan = row["plan"]
    return plan


ops.declare_events(assistant_seat=AssistantSeatEvent)
ops.declare_serializers(assistant_seat=event_data)
