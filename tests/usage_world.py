"""An enterprise whose usage of the assistant is counted."""

from dataclasses import dataclass, replace
from typing import Any

from store import Connection, Row
from store.accounts import accounts, teams
from store.assistant import assistant_seats, assistant_subscriptions, usage, usage_days
from store.assistant.usage import UsageRecord
from store.enterprises import enterprises
from store.repositories import repositories


@dataclass(frozen=True)
class Using:
    """The enterprise globe with the organization acme, in it acme/tools and the team ops, which
    ann is in. ann and ben have seats.
    """

    enterprise: Row
    acme: Row
    tools: Row
    ops: Row
    ann: Row
    ben: Row

    def row(self, day: str, user: Row | None = None, **given: Any) -> UsageRecord:
        """What ann, or another one, did on a day."""
        found = UsageRecord(
            self.enterprise["id"],
            self.acme["id"],
            (user or self.ann)["id"],
            usage_days.of_iso(day),
            active=True,
        )
        return replace(found, **given)


def using(db: Connection, slug: str = "globe", policy: str = "enabled") -> Using:
    """A new one; its people are called so that there can be others."""
    enterprise = enterprises.create(db, slug)
    enterprises.enable_usage_metrics(db, enterprise, policy)
    found = enterprises.by_slug(db, slug)
    assert found is not None
    suffix = "" if slug == "globe" else f"-{slug}"
    acme = accounts.create(db, f"acme{suffix}", kind="Organization")
    enterprises.adopt(db, found["id"], acme["id"])
    people = [accounts.create(db, f"{name}{suffix}") for name in ("ann", "ben")]
    for person in people:
        accounts.join(db, acme["id"], person["id"], "member")
    tools = repositories.create(db, acme["id"], "tools")
    ops = teams.create(db, acme["id"], "Ops")
    teams.join(db, ops["id"], [people[0]["id"]])
    assistant_subscriptions.put(db, acme["id"])
    assistant_seats.give_users(db, acme["id"], [person["id"] for person in people])
    return Using(found, acme, tools, ops, *people)


def many(db: Connection, world: Using, day: str, users: int, each: int) -> None:
    """Rows of so many users that are nobody, so many of each."""
    base = world.row(day, lines=1)
    rows = [
        replace(base, user_id=1_000_000 + user, editor=f"e{number}", suggestions=number)
        for user in range(users)
        for number in range(each)
    ]
    usage.record(db, rows)
