"""The section `usage`: counts of users' usage of the assistant."""

from datetime import date
from typing import Annotated

from pydantic import Field

from hub.cli.console.lookups import account, organization, repository_named
from hub.cli.state.base import FullName, SectionEntry
from hub.cli.state.changes import Outcome, StateChange
from store import Connection, Row
from store.accounts import teams
from store.assistant import usage, usage_days
from store.assistant.usage import MOST
from store.enterprises import enterprises
from store.errors import Invalid, Missing

Count = Annotated[int, Field(ge=0, le=MOST)]
Name = Annotated[str, Field(max_length=100)]
COPIED = ("editor", "language", "model", *usage.COUNTED)


class UsageEntry(SectionEntry):
    """The counts of a user for one day and one combination of repository, team, editor, language
    and model. They replace earlier counts of the same day and combination as a whole: a count that
    is left out becomes 0, `active` becomes true, and `engaged` becomes false.
    """

    enterprise: str
    organization: str
    user: str
    day: date
    repository: FullName | None = None
    team: str | None = None
    editor: Name = ""
    language: Name = ""
    model: Name = ""
    suggestions: Count = 0
    acceptances: Count = 0
    lines: Count = 0
    chats: Count = 0
    active: bool = True
    engaged: bool = False

    def apply(self, db: Connection) -> StateChange:
        """Store the counts, instead of earlier counts of the same day and combination."""
        last = usage.last(db)
        changed = usage.record(db, [self._record(db)])
        outcome: Outcome = "created" if usage.last(db) > last else "updated"
        return self.change(db, {}, outcome if changed else "unchanged")

    def name_in(self, db: Connection, parent: Row) -> str:
        return f"{self.user} {self.day.isoformat()}"

    def _record(self, db: Connection) -> usage.UsageRecord:
        day = usage_days.number(self.day)
        if day < usage_days.BEGAN:
            raise Invalid(f"usage begins with {usage_days.iso(usage_days.BEGAN)}")
        org = organization(db, self.organization)
        enterprise = enterprises.of_organization(db, org["id"])
        if enterprise is None or enterprise["slug"] != self.enterprise.lower():
            raise Missing(f"{org['login']} is no organization of {self.enterprise!r}")
        return usage.UsageRecord(
            enterprise["id"],
            org["id"],
            account(db, self.user)["id"],
            day,
            repo_id=_repository(db, org, self.repository),
            team_id=_team(db, org, self.team),
            **{name: getattr(self, name) for name in COPIED},
        )


def _repository(db: Connection, org: Row, name: str | None) -> int:
    if name is None:
        return 0
    repo = repository_named(db, name)
    if repo["owner_id"] != org["id"]:
        raise Invalid(f"{name} is not one of {org['login']}")
    return int(repo["id"])


def _team(db: Connection, org: Row, name: str | None) -> int:
    if name is None:
        return 0
    found = teams.named(db, org["id"], [name])
    if not found:
        raise Missing(f"there is no team {name!r} of {org['login']}")
    return int(found[0]["id"])
