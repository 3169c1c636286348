"""The enterprises in the world of all operations, with their teams and assistant seats."""

from store import Connection, Row
from store.assistant import assistant_seats, assistant_subscriptions, reports, usage_days
from store.assistant.reports import ReportPart
from store.enterprises import (
    enterprise_assignments,
    enterprise_memberships,
    enterprise_teams,
    enterprises,
)

TEAM = "ent:ops"


def enterprise(db: Connection, slug: str, owner: Row, member: Row, organization: Row) -> None:
    """Create an enterprise of `owner`, with the organization and a team that has both users."""
    made = enterprises.create(db, slug)
    enterprises.enable_usage_metrics(db, made, "enabled")
    enterprises.join(db, made["id"], owner["id"], "owner")
    enterprises.adopt(db, made["id"], organization["id"])
    team = enterprise_teams.create(db, made["id"], "Ops" if slug == "globe" else slug)
    enterprise_assignments.add(db, team, [organization["id"]])
    enterprise_memberships.add(db, team, [owner["id"], member["id"]])
    if slug == "globe":
        enterprises.join(db, made["id"], member["id"], "member")
    assistant_subscriptions.put(db, organization["id"])
    assistant_seats.give_users(db, organization["id"], [owner["id"], member["id"]])
    day = usage_days.of_moment(db.now) - 1
    for kinds in (reports.OF_A_DAY, reports.OF_A_WINDOW):
        begun = reports.begin(db, kinds, made["id"], day, day, 1)
        reports.finish(db, [ReportPart(each, 1, 2, "d" * 64) for each in begun.values()])
