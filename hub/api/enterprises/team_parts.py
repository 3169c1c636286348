"""The members and the organizations of an enterprise's team: both change in the same way."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from hub.api.enterprises.enterprise_events import emit_event
from hub.auth.enterprise_access import on_enterprise
from hub.rest.context import Context
from store import Connection, Row
from store.enterprises import enterprise_teams
from store.errors import Invalid

PERSONAL = ("personal",)
READ = on_enterprise("enterprise_teams", "read", scopes=("read:enterprise",), kinds=PERSONAL)
OWNER = on_enterprise(
    "enterprise_teams", "write", role="owner", scopes=("admin:enterprise",), kinds=PERSONAL
)


@dataclass(frozen=True, slots=True)
class TeamPart:
    """A kind of accounts that a team has.

    `name` is its member in events. The store's functions take the team and the accounts' ids.
    """

    name: str
    among: Callable[[Connection, Row, Collection[int]], set[int]]
    insert: Callable[[Connection, Row, Collection[int]], None]
    delete: Callable[[Connection, Row, Collection[int]], None]

    def add(self, ctx: Context, enterprise: Row, team: Row, rows: list[Row]) -> None:
        """Add the accounts that the team does not have yet, and emit an event if there are any."""
        team = enterprise_teams.locked(ctx.db, team)
        known = self.among(ctx.db, team, [row["id"] for row in rows])
        new = [row for row in rows if row["id"] not in known]
        self.insert(ctx.db, team, [row["id"] for row in new])
        self._emit(ctx, "added", enterprise, team, new)

    def remove(self, ctx: Context, enterprise: Row, team: Row, rows: list[Row]) -> None:
        """Remove the accounts that the team has, and emit an event if there are any."""
        team = enterprise_teams.locked(ctx.db, team)
        known = self.among(ctx.db, team, [row["id"] for row in rows])
        old = [row for row in rows if row["id"] in known]
        self.delete(ctx.db, team, [row["id"] for row in old])
        self._emit(ctx, "removed", enterprise, team, old)

    def _emit(self, ctx: Context, how: str, enterprise: Row, team: Row, rows: list[Row]) -> None:
        if rows:
            logins = [row["login"] for row in rows]
            # The change may have changed the team as well.
            now = enterprise_teams.find(ctx.db, enterprise["id"], str(team["id"]))
            assert now is not None, "it has just been changed"
            emit_event(ctx, f"{self.name}_{how}", enterprise, now, **{self.name: logins})


def require_all(logins: Collection[str], rows: list[Row], field: str, kind: str) -> list[Row]:
    """Return the rows. Raises Invalid if one of the logins (in lower case) has no row."""
    unknown = {*logins} - {row["login"].lower() for row in rows}
    if unknown:
        raise Invalid(
            f"not {kind} of the enterprise: {', '.join(sorted(unknown)[:10])}",
            field=field,
            resource="EnterpriseTeam",
        )
    return rows
