"""Parts shared by the operations that a user calls with a password (group 1)."""

from typing import Annotated

from annotated_types import MaxLen
from typing_extensions import TypedDict

from hub.auth.access import as_user
from hub.rest.context import Context
from hub.rest.operation import Deprecation
from hub.rest.validation import Text
from store.accounts import apps
from store.errors import existing

USER = as_user()
# The platform has announced the end of these operations; older clients still call them.
LEAVE_OUT = Deprecation("2020-02-14", sunset="2020-11-13")

ShortText = Annotated[Text, MaxLen(255)]


class ClientIdQuery(TypedDict, total=False):
    """The query of a list that can be limited to one application."""

    client_id: ShortText


def filtered(ctx: Context, query: ClientIdQuery) -> int | None:
    """Return the id of the application in the query, or None without one.

    Raises Missing if the application does not exist.
    """
    if "client_id" not in query:
        return None
    app = existing(apps.by_client_id(ctx.db, query["client_id"]), "application")
    return int(app["id"])
