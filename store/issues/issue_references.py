"""References in texts: `@login`, `#7`, `owner/name#7`; and the events that they cause."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

from store.accounts import accounts
from store.database.connection import Connection, Row, json_array
from store.issues import issue_events, issues
from store.issues.issue_events import IssueEventData
from store.repositories import repositories

# The characters of a text that are examined, and the limit of references of each kind.
LOOKED_AT = 65_536
MOST = 50
# The limits for all commits of a push. All writes wait while its messages are examined.
MOST_OF_PUSH = 1_000
LOOKED_AT_OF_PUSH = 262_144
CODE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]*`", re.DOTALL)
MENTION = re.compile(r"(?<![\w/@.`-])@([A-Za-z0-9](?:[A-Za-z0-9-]{0,98}[A-Za-z0-9])?)(?![\w/@-])")
ISSUE = re.compile(
    r"(?<![\w/&#.-])(?:([A-Za-z0-9_.-]{1,100})/([A-Za-z0-9_.-]{1,100}))?#([0-9]{1,9})(?![\w#])"
)


@dataclass(frozen=True, slots=True)
class References:
    """The references in a text.

    `logins` are in lower case. `issues` have the repository's owner and name (None: the text's own
    repository) and the number.
    """

    logins: tuple[str, ...]
    issues: tuple[tuple[str | None, str | None, int], ...]


def references_of(text: str | None) -> References:
    """Return the references in a text, except in its code."""
    plain = CODE.sub(" ", (text or "")[:LOOKED_AT])
    logins = dict.fromkeys(found[1].lower() for found in MENTION.finditer(plain))
    numbers = dict.fromkeys((found[1], found[2], int(found[3])) for found in ISSUE.finditer(plain))
    return References(tuple(logins)[:MOST], tuple(numbers)[:MOST])


def references_in(
    db: Connection, repo: Row, issue: Row, text: str | None, *, by: int | None, at: int
) -> None:
    """Store events for the references in a text on an issue.

    Mentioned users are subscribed to the issue, and other issues of the repository get a
    cross-reference. Each reference counts once.
    """
    found = references_of(text)
    if found.logins:
        issue_events.add(db, issue, _mentioned(db, repo, issue, found.logins, at))
    for other in _issues(db, repo, found.issues):
        if other["id"] != issue["id"] and not _known(db, other, issue):
            made = IssueEventData("cross-referenced", by, at, subject_id=issue["id"])
            issue_events.add(db, other, [made])


def _mentioned(
    db: Connection, repo: Row, issue: Row, logins: Iterable[str], at: int
) -> Iterator[IssueEventData]:
    people = accounts.users_by_login(db, logins).values()
    before = _actors(db, issue, [person["id"] for person in people])
    for person in people:
        if repositories.role_of(db, repo, person) is None:
            continue
        for kind in ("mentioned", "subscribed"):
            if (kind, person["id"]) not in before:
                yield IssueEventData(kind, person["id"], at)


def _actors(db: Connection, issue: Row, ids: Iterable[int]) -> set[tuple[str, int]]:
    rows = db.tuples(
        "SELECT e.kind, e.actor_id FROM issue_event e"
        " WHERE e.issue_id = :issue_id AND e.kind IN ('mentioned', 'subscribed')"
        f" AND e.actor_id {db.among('ids')}",
        issue_id=issue["id"],
        ids=json_array(ids),
    )
    return {(kind, actor_id) for kind, actor_id in rows}


def _issues(
    db: Connection, repo: Row, wanted: Iterable[tuple[str | None, str | None, int]]
) -> Iterator[Row]:
    numbers = [*_own_numbers(repo, wanted)]
    known = _present(db, repo, numbers)
    yield from (known[number] for number in dict.fromkeys(numbers) if number in known)


def _own_numbers(repo: Row, wanted: Iterable[tuple[str | None, str | None, int]]) -> Iterator[int]:
    # A text in one repository changes nothing in another one.
    own = (repo["owner"].lower(), repo["name"].lower())
    for owner, name, number in wanted:
        if owner is None or name is None or (owner.lower(), name.lower()) == own:
            yield number


def _present(db: Connection, repo: Row, numbers: Iterable[int]) -> dict[int, Row]:
    found = issues.by_number(db, repo["id"], numbers)
    return {number: row for number, row in found.items() if issue_events.is_there(row)}


def _known(db: Connection, issue: Row, source: Row) -> bool:
    return db.exists(
        "SELECT 1 FROM issue_event WHERE subject_id = :source AND kind = 'cross-referenced'"
        " AND issue_id = :issue_id",
        source=source["id"],
        issue_id=issue["id"],
    )


def referenced(db: Connection, repo: Row, commits: Iterable[IssueEventData]) -> None:
    """Store events for the issues of the repository to which the commits of a push refer.

    `commits` are the commits' own events, with their messages. The number of statements does not
    grow with the commits.
    """
    wanted = [*islice(_of_push(repo, commits), MOST_OF_PUSH)]
    known = _present(db, repo, (number for number, _ in wanted))
    issue_events.add_all(
        db, ((known[number], _reference(one)) for number, one in wanted if number in known)
    )


def _of_push(repo: Row, commits: Iterable[IssueEventData]) -> Iterator[tuple[int, IssueEventData]]:
    left = LOOKED_AT_OF_PUSH
    for one in commits:
        message = one.members["message"]
        left -= len(message)
        # Part of a message may end within a number.
        if left < 0:
            return
        for number in _own_numbers(repo, references_of(message).issues):
            yield number, one


def _reference(commit: IssueEventData) -> IssueEventData:
    return replace(commit, kind="referenced", members={})
