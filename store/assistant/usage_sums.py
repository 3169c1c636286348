"""Sums of usage by user and by repository.

The database adds up some hundreds of them at a time, so that even a large report is read in short
steps.
"""

from collections.abc import Collection
from dataclasses import dataclass, field

from store.accounts import accounts, teams
from store.database.connection import LAST_ID, Connection, Row, json_array
from store.repositories import repositories

PAGE = 4_000
"""Rows of usage that one step reads, unless one user or repository has more."""
SUMS = (
    "sum(u.suggestions) AS suggestions, sum(u.acceptances) AS acceptances,"
    " sum(u.lines) AS lines, sum(u.chats) AS chats"
)
DIMENSIONS = {"editor": "editor_id", "language": "language_id", "model": "model_id"}

Group = tuple[int, int, int, int, int, int, int, int]
"""The user or repository, the name's id (0: all), suggestions, acceptances, lines, chats, active
and engaged. The last two are numbers of days for a user, and of users for a repository.
"""


@dataclass(frozen=True, slots=True)
class SumSubject:
    """The subject of sums: rows with the same value in `column`.

    Active and engaged count different values of the column `counted`.
    """

    column: str
    counted: str
    dimensions: dict[str, str]
    """The further columns by which it is summed."""


USERS = SumSubject("user_id", "day_id", {**DIMENSIONS, "organization": "organization_id"})
REPOSITORIES = SumSubject("repo_id", "user_id", DIMENSIONS)


@dataclass(frozen=True, slots=True)
class SumBatch:
    """The sums of a range of users or repositories."""

    upto: int | None
    """The last of the range, or None if there are no more."""
    totals: list[Group]
    by: dict[str, list[Group]]
    rows: dict[int, Row]
    """The accounts or repositories, by id."""
    teams: list[Group] = field(default_factory=list)
    """Sums of users by team."""
    named: dict[int, Row] = field(default_factory=dict)
    """The teams, by id."""


def users(db: Connection, day_ids: Collection[int], after: int) -> SumBatch:
    """Return the sums of the next users after `after`, on these days."""
    upto = _limit_page(db, USERS, day_ids, after)
    given = {"days": json_array(day_ids), "after": after, "upto": upto or LAST_ID}
    totals = _groups(db, USERS, "0", given)
    by_team = _by_team(db, given)
    return SumBatch(
        upto,
        totals,
        {name: _groups(db, USERS, f"u.{at}", given) for name, at in USERS.dimensions.items()},
        accounts.of(db, [group[0] for group in totals]),
        by_team,
        teams.of(db, {group[1] for group in by_team}),
    )


def of_repositories(db: Connection, day_ids: Collection[int], after: int) -> SumBatch:
    """Return the sums of the next repositories after `after` (at first 0), on these days."""
    upto = _limit_page(db, REPOSITORIES, day_ids, after)
    given = {"days": json_array(day_ids), "after": after, "upto": upto or LAST_ID}
    totals = _groups(db, REPOSITORIES, "0", given)
    return SumBatch(
        upto,
        totals,
        {
            name: _groups(db, REPOSITORIES, f"u.{at}", given)
            for name, at in REPOSITORIES.dimensions.items()
        },
        repositories.of(db, [group[0] for group in totals]),
    )


def _limit_page(db: Connection, of: SumSubject, day_ids: Collection[int], after: int) -> int | None:
    """Return the last user or repository of the step after `after`, or None."""
    return db.optional_number(
        f"SELECT min(x.upto) FROM (SELECT (SELECT u.{of.column} FROM usage u"
        f" WHERE u.day_id = w.id AND u.{of.column} > :after{_there(of)}"
        f" ORDER BY u.{of.column} LIMIT 1 OFFSET :many) AS upto"
        f" FROM {db.each('days', id='integer')} AS w) AS x",
        days=json_array(day_ids),
        after=after,
        many=max(1, PAGE // max(1, len(day_ids))),
    )


def _there(of: SumSubject) -> str:
    """Return the SQL condition with which the index of repositories can be used."""
    return " AND u.repo_id > 0" if of is REPOSITORIES else ""


def _groups(db: Connection, of: SumSubject, name: str, given: Row) -> list[Group]:
    counted = ", ".join(
        f"count(DISTINCT CASE WHEN u.{flag} = 1 THEN u.{of.counted} END) AS {flag}"
        for flag in ("active", "engaged")
    )
    rows = db.tuples(
        f"SELECT u.{of.column}, {name} AS name_id, {SUMS}, {counted}"
        f" FROM {db.each('days', id='integer')} AS w CROSS JOIN usage u"
        f" WHERE u.day_id = w.id AND u.{of.column} > :after AND u.{of.column} <= :upto{_there(of)}"
        f" GROUP BY u.{of.column}, name_id ORDER BY u.{of.column}, name_id",
        **given,
    )
    return [_group(row) for row in rows]


def _group(row: tuple[int, ...]) -> Group:
    of, name, suggestions, acceptances, lines, chats, active, engaged = row
    return of, name, suggestions, acceptances, lines, chats, active, engaged


def _by_team(db: Connection, given: Row) -> list[Group]:
    """Return sums of users by team: the named team, or else each team of the user."""
    columns = (
        "u.user_id, u.day_id, u.suggestions, u.acceptances, u.lines, u.chats, u.active, u.engaged"
    )
    source = f"{db.each('days', id='integer')} AS w CROSS JOIN usage u"
    chosen = "u.day_id = w.id AND u.user_id > :after AND u.user_id <= :upto"
    rows = db.tuples(
        f"SELECT u.user_id, u.team_id, {SUMS},"
        " count(DISTINCT CASE WHEN u.active = 1 THEN u.day_id END) AS active,"
        " count(DISTINCT CASE WHEN u.engaged = 1 THEN u.day_id END) AS engaged"
        f" FROM (SELECT u.team_id, {columns} FROM {source} WHERE {chosen} AND u.team_id > 0"
        f" UNION ALL SELECT m.team_id, {columns} FROM {source} JOIN team_member m"
        " ON m.account_id = u.user_id JOIN team t ON t.id = m.team_id"
        f" AND t.organization_id = u.organization_id WHERE {chosen} AND u.team_id = 0) AS u"
        " GROUP BY u.user_id, u.team_id ORDER BY u.user_id, u.team_id",
        **given,
    )
    return [_group(row) for row in rows]
