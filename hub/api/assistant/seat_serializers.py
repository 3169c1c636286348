"""Serializers of seats of the coding assistant."""

from collections.abc import Sequence
from datetime import date
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from hub.api.enterprises import team_serializers
from hub.api.enterprises.team_serializers import Team
from hub.rest import organization_serializers, serializers
from hub.rest.event_payloads import EventData
from hub.rest.organization_serializers import OrganizationSimple
from hub.rest.serializers import SimpleUser
from hub.rest.urls import Urls
from store import Connection, Row
from store.accounts import accounts, teams
from store.clock import iso

Plan = Literal["business", "enterprise"]


class AssistantSeat(TypedDict):
    assignee: SimpleUser | None
    assigning_team: Team | None
    organization: OrganizationSimple
    pending_cancellation_date: date | None
    last_activity_at: str | None
    last_activity_editor: str | None
    last_authenticated_at: str | None
    created_at: str
    updated_at: str
    plan_type: Plan


class AssistantSeatEvent(TypedDict):
    action: Literal["created", "refreshed", "cancellation_pending", "cancelled"]
    seat: dict[str, Any]
    organization: OrganizationSimple
    sender: NotRequired[SimpleUser]


def several(
    urls: Urls, db: Connection, org: Row, plan: Plan, rows: Sequence[Row]
) -> list[AssistantSeat]:
    users = serializers.simple_users(urls, db, {row["account_id"] for row in rows})
    through = teams.of(db, {row["team_id"] for row in rows if row["team_id"] is not None})
    owner = organization_serializers.organization(urls, org)
    return [
        {
            "assignee": users[row["account_id"]],
            "assigning_team": _team(urls, org, through.get(row["team_id"])),
            "organization": owner,
            "pending_cancellation_date": _ends(row),
            "last_activity_at": serializers.time(row["active_at"]),
            "last_activity_editor": row["editor"],
            "last_authenticated_at": serializers.time(row["authenticated_at"]),
            "created_at": iso(row["created_at"]),
            "updated_at": iso(row["updated_at"]),
            "plan_type": plan,
        }
        for row in rows
    ]


def _team(urls: Urls, org: Row, row: Row | None) -> Team | None:
    return None if row is None else team_serializers.team(urls, org, row)


def _ends(row: Row) -> Any:
    """Return the day on which a seat ends, or None."""
    at = serializers.time(row["expires_at"])
    return None if at is None else at[:10]


def event_data(urls: Urls, db: Connection, rows: Sequence[Row]) -> list[EventData]:
    """Return the event data for changed seats: their users and the days on which they end."""
    owners = accounts.of(db, {row["organization_id"] for row in rows})
    users = serializers.simple_users(urls, db, {row["account_id"] for row in rows})
    return [
        (
            None,
            {
                "seat": {
                    "assignee": users[row["account_id"]],
                    "pending_cancellation_date": _ends(row),
                    "created_at": iso(row["created_at"]),
                },
                "organization": organization_serializers.organization(
                    urls, owners[row["organization_id"]]
                ),
            },
        )
        for row in rows
    ]
