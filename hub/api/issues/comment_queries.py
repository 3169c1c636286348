"""The filter and the order of lists of comments, as a query states them."""

from typing import Literal, cast

from typing_extensions import TypedDict

from hub.rest.validation import Moment
from store.issues.comment_lists import CommentSelection, Kind, Order


class CommentQuery(TypedDict, total=False):
    """A filter: only comments that were updated since this time."""

    since: Moment


class SortedCommentQuery(CommentQuery, total=False):
    """A filter and an order. Without `sort`, comments are listed by id."""

    sort: Literal["created", "updated", "created_at"]
    direction: Literal["asc", "desc"]


ORDERS: dict[str | None, Order] = {
    None: "number",
    "created": "created_at",
    "created_at": "created_at",
    "updated": "updated_at",
}


def selection(
    kind: Kind,
    query: CommentQuery | SortedCommentQuery,
    *,
    issue_id: int | None = None,
    repo_id: int | None = None,
) -> CommentSelection:
    """Return the comments that a query selects, of an issue or else of a repository."""
    given = cast("SortedCommentQuery", query)
    sort = given.get("sort")
    return CommentSelection(
        kind,
        issue_id=issue_id,
        repo_id=repo_id,
        since=given.get("since"),
        order=ORDERS[sort],
        ascending=sort is None or given.get("direction") != "desc",
    )
