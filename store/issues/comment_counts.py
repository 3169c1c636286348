"""The number of comments on an issue: those that are listed, and the platform's other ones.

A platform reports how many comments an issue has. Some of them were there before the hub knew the
issue. It does not count comments that were made here. Some platforms report the number before the
change, so each event of a comment also changes the number. If two numbers are possible, the smaller
one counts until the platform reports the issue again.
"""

from store.database.connection import Connection, Row

NONE_YET: Row = {"comments_seen": 0, "comments_unseen": 0}
LESS_UNSEEN = "CASE WHEN comments_unseen > 0 THEN 1 ELSE 0 END"


def report(db: Connection, issue_id: int, before: Row | None, number: int | None) -> None:
    """Record the number that a platform reports for an issue, unless it is None."""
    known = before or NONE_YET
    unseen = max(0, (number or 0) - known["comments_seen"])
    if number is not None and unseen != known["comments_unseen"]:
        _set(
            db,
            issue_id,
            "comments = comments - comments_unseen + :unseen, comments_unseen = :unseen",
            unseen=unseen,
        )


def add(db: Connection, issue_id: int, number: int) -> None:
    """Add to the number of listed comments."""
    _set(db, issue_id, "comments = comments + :number", number=number)


def came(db: Connection, issue_id: int) -> None:
    """Count a comment that a platform has reported and that is listed now."""
    _set(
        db,
        issue_id,
        f"comments = comments + 1 - {LESS_UNSEEN}, comments_seen = comments_seen + 1,"
        f" comments_unseen = comments_unseen - {LESS_UNSEEN}",
    )


def went(db: Connection, issue_id: int, *, listed: bool) -> None:
    """Count a known comment that a platform has deleted. It was `listed`, or deleted here."""
    _set(
        db,
        issue_id,
        "comments = comments - :listed, comments_seen = comments_seen - 1",
        listed=int(listed),
    )


def went_unseen(db: Connection, issue_id: int) -> None:
    """Count a comment that a platform has deleted, and that was never listed."""
    _set(
        db,
        issue_id,
        f"comments = comments - {LESS_UNSEEN}, comments_unseen = comments_unseen - {LESS_UNSEEN}",
    )


def _set(db: Connection, issue_id: int, changes: str, **given: int) -> None:
    db.execute(f"UPDATE issue SET {changes} WHERE id = :id", id=issue_id, **given)
