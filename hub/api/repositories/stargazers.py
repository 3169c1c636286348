"""The users who have starred a repository."""

from typing_extensions import TypedDict

from hub.auth.repository_access import on_repo
from hub.rest import serializers
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.paging import NumberedPaging
from hub.rest.serializers import SimpleUser
from store import Row
from store.clock import iso
from store.repositories import stars

ops = OperationGroup("activity")

READ = on_repo("metadata", "read").or_anyone()
WITH_TIMES = "star"


class Stargazer(TypedDict):
    starred_at: str
    user: SimpleUser


@ops("GET /repos/{owner}/{repo}/stargazers", READ, media=(WITH_TIMES,), family="", errors=(422,))
def list_stargazers_for_repo(
    ctx: Context, repo: Row, page: NumberedPaging
) -> list[SimpleUser] | list[Stargazer]:
    """List stargazers

    The users whose stars events have reported, the first star first. `stargazers_count` of the
    repository counts all stars. With the media type `star`, each has the time of the star.
    """
    page.count(lambda most: stars.count(ctx.db, repo["id"], most))
    rows = stars.page(ctx.db, repo["id"], **page.bounds)
    if ctx.media.param != WITH_TIMES:
        return [serializers.simple_user(ctx.urls, row) for row in rows]
    return [_with_time(ctx, row) for row in rows]


def _with_time(ctx: Context, row: Row) -> Stargazer:
    user = serializers.simple_user(ctx.urls, row)
    return {"starred_at": iso(row["starred_at"]), "user": user}
