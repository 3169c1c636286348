"""Changes of a repository's milestones through the API."""

from collections.abc import Mapping
from typing import Any

from store.clock import SECOND
from store.database import row_lookup, upsert
from store.database.connection import Connection, Row
from store.errors import Invalid
from store.issues import milestones, own_numbers
from store.repositories import deletions


def create(db: Connection, repo_id: int, creator_id: int, fields: Mapping[str, Any]) -> Row:
    """Create a milestone with the next free number. `fields` has `title` and other columns.

    Raises Invalid if another milestone has the title.
    """
    made = None
    while made is None:
        # A platform's event may bring the same number at this moment.
        number = own_numbers.following(db, repo_id, "milestone")
        _check_title(db, repo_id, fields["title"])
        # Platforms report whole seconds. A report from the same second must not be outdated.
        own = {"creator_id": creator_id, "made_here": 1, "reported_at": db.now // SECOND * SECOND}
        closed = {"closed_at": db.now if fields.get("state") == "closed" else None}
        values = {**own, "edited_at": db.now, **closed, **fields}
        made = upsert.insert_with_number(db, "milestone", repo_id, number, values)
    return milestones.of(db, [made])[made]


def update(db: Connection, milestone: Row, fields: Mapping[str, Any]) -> tuple[Row, Row]:
    """Change a milestone. Return it as it was before and as it is now.

    Raises Invalid if another milestone has the new title, and Missing if the milestone is gone.
    """
    before = row_lookup.lock(db, "milestone", milestones.COLUMNS, milestone, "milestone")
    wanted = {name: value for name, value in fields.items() if before[name] != value}
    if "title" in wanted:
        db.alone(f"milestone numbers of {before['repo_id']}")
        _check_title(db, before["repo_id"], wanted["title"])
    if "state" in wanted:
        wanted["closed_at"] = db.now if wanted["state"] == "closed" else None
    if wanted:
        upsert.update(db, "milestone", before, wanted | {"edited_at": db.now})
    return before, milestones.of(db, [before["id"]])[before["id"]]


def delete(db: Connection, milestone: Row) -> None:
    """Delete a milestone, also from its issues. Older payloads do not bring it back.

    Raises Missing if it is gone.
    """
    row_lookup.delete(db, "milestone", milestone, "milestone")
    deletions.put_own(db, milestones.KIND, milestone)
    own_numbers.retire(db, milestone["repo_id"], milestone["number"], "milestone")


def _check_title(db: Connection, repo_id: int, title: str) -> None:
    taken = "SELECT 1 FROM milestone WHERE repo_id = :repo_id AND title = :title"
    if db.exists(taken, repo_id=repo_id, title=title):
        raise Invalid(
            f"there is a milestone {title!r} already",
            field="title",
            code="already_exists",
            resource="Milestone",
        )
