"""How the API tells of seats at the coding assistant."""

from collections.abc import Sequence
from datetime import date
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from hub import organization_shapes, shapes, team_shapes
from hub.emitting import Told
from hub.organization_shapes import OrganizationSimple
from hub.shapes import SimpleUser
from hub.team_shapes import Team
from hub.urls import Urls
from store import Connection, Row, accounts, teams
from store.clock import iso

Plan = Literal["business", "enterprise"]


class Seat(TypedDict):
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


def several(urls: Urls, db: Connection, org: Row, plan: Plan, rows: Sequence[Row]) -> list[Seat]:
    """Seats of an organization with this plan."""
    users = accounts.of(db, {row["account_id"] for row in rows})
    through = teams.of(db, {row["team_id"] for row in rows if row["team_id"] is not None})
    owner = organization_shapes.organization(urls, org)
    return [
        {
            "assignee": shapes.simple_user(urls, users[row["account_id"]]),
            "assigning_team": _team(urls, org, through.get(row["team_id"])),
            "organization": owner,
            "pending_cancellation_date": _ends(row),
            "last_activity_at": shapes.time(row["active_at"]),
            "last_activity_editor": row["editor"],
            "last_authenticated_at": shapes.time(row["authenticated_at"]),
            "created_at": iso(row["created_at"]),
            "updated_at": iso(row["updated_at"]),
            "plan_type": plan,
        }
        for row in rows
    ]


def _team(urls: Urls, org: Row, row: Row | None) -> Team | None:
    return None if row is None else team_shapes.team(urls, org, row)


def _ends(row: Row) -> Any:
    """A day."""
    at = shapes.time(row["expires_at"])
    return None if at is None else at[:10]


def told(urls: Urls, db: Connection, rows: Sequence[Row]) -> list[Told]:
    """What is told of seats that changed: who has each, and when it ends."""
    owners = accounts.of(db, {row["organization_id"] for row in rows})
    users = accounts.of(db, {row["account_id"] for row in rows})
    return [
        (
            None,
            {
                "seat": {
                    "assignee": shapes.simple_user(urls, users[row["account_id"]]),
                    "pending_cancellation_date": _ends(row),
                    "created_at": iso(row["created_at"]),
                },
                "organization": organization_shapes.organization(
                    urls, owners[row["organization_id"]]
                ),
            },
        )
        for row in rows
    ]
