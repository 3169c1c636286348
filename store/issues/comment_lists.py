"""Lists of comments and reviews: of an issue or a pull request, or of a whole repository.

Comments on issues that were deleted or moved are in no list of a repository.
"""

from dataclasses import dataclass
from typing import Literal

from store.database import paging
from store.database.connection import Connection, Row, prefixed
from store.issues import issue_comments

COLUMNS = prefixed("c", issue_comments.COLUMNS)
IS_THERE = (
    "EXISTS (SELECT 1 FROM issue i WHERE i.id = c.issue_id AND i.deleted_at IS NULL"
    " AND i.moved_to IS NULL)"
)
Kind = Literal["comment", "review", "line"]
Order = Literal["number", "created_at", "updated_at"]
# The rest of an order, after its column. Each order has an index.
THEN = {"number": "", "created_at": ", c.id {}", "updated_at": ", c.id {}"}


@dataclass(frozen=True, slots=True)
class CommentSelection:
    """The comments of one kind that are in a list, and their order.

    They are the ones of an issue, or else of a repository, that were updated `since` then.
    `review` is the public id of a review of the issue, for the comments on lines that are in it.
    """

    kind: Kind
    issue_id: int | None = None
    repo_id: int | None = None
    review: int | None = None
    since: int | None = None
    order: Order = "number"
    ascending: bool = True

    def conditions(self) -> tuple[str, Row]:
        """Return the conditions as SQL, and their parameters."""
        return paging.conditions(
            {
                "c.issue_id = :issue_id": self.issue_id,
                "c.repo_id = :repo_id": self.repo_id,
                "c.kind = :kind": self.kind,
                "c.review_number = :review": self.review,
                "c.updated_at >= :since": self.since,
                IS_THERE: self.issue_id is None,
            }
        )

    def ordering(self) -> str:
        """Return the order as SQL."""
        how = "ASC" if self.ascending else "DESC"
        return f"c.{self.order} {how}{THEN[self.order].format(how)}"


def page(db: Connection, chosen: CommentSelection, *, limit: int, offset: int) -> list[Row]:
    """Return a page of the comments, with their details as objects."""
    where, given = chosen.conditions()
    rows = paging.page(
        db,
        f"SELECT {COLUMNS} FROM issue_comment c WHERE {where} ORDER BY {chosen.ordering()}",
        limit,
        offset,
        **given,
    )
    return [issue_comments.decode_row(row) for row in rows]


def count(db: Connection, chosen: CommentSelection, most: int) -> int:
    """Return how many comments `page` can return, counted up to `most`."""
    where, given = chosen.conditions()
    return paging.count(db, f"SELECT c.id FROM issue_comment c WHERE {where}", most, **given)
