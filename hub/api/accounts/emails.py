"""Email addresses of the authenticated user (group 13)."""

from typing import Annotated, Literal

from annotated_types import MaxLen, MinLen
from pydantic import WithJsonSchema
from typing_extensions import TypedDict

from hub.auth.access import on_user
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.paging import NumberedPaging
from hub.rest.serializers import SimpleUser
from hub.rest.validation import Text
from store import Row
from store.accounts import emails

ops = OperationGroup("users")

READ = on_user("email_addresses", "read", scopes=("user:email",))
WRITE = on_user("email_addresses", "write", scopes=("user",))

# The format alone excludes what the pattern of Text does.
Address = Annotated[
    Text, MaxLen(320), WithJsonSchema({"type": "string", "format": "email", "maxLength": 320})
]
Addresses = Annotated[list[Address], MinLen(1), MaxLen(emails.MOST)]


class EmailAddresses(TypedDict):
    emails: Addresses | Address


Body = EmailAddresses | Addresses | Address
"""The addresses in an object, as an array, or as a single string."""


class EmailVisibility(TypedDict):
    visibility: Literal["public", "private"]


class EmailMetadata(TypedDict):
    """The properties of an address, without the address.

    `visibility` is null unless it is the primary.
    """

    primary: bool
    verified: bool
    visibility: str | None


class Email(EmailMetadata):
    email: str


class EmailEvent(TypedDict):
    """A user has added, removed or changed the visibility of an email address"""

    action: Literal["added", "removed", "visibility_changed"]
    email: EmailMetadata
    sender: SimpleUser | None


ops.declare_events(email=EmailEvent)


@ops("PATCH /user/email/visibility", WRITE, emits=("email.visibility_changed",), errors=(404,))
def set_primary_email_visibility_for_authenticated_user(
    ctx: Context, body: EmailVisibility
) -> list[Email]:
    """Set primary email visibility for the authenticated user

    404 if the user has no address.
    """
    row, changed = emails.set_visibility(ctx.db, ctx.required_caller.account_id, body["visibility"])
    if changed:
        ctx.emit("email.visibility_changed", None, email=_metadata(row))
    return [_serialize(row)]


@ops("GET /user/emails", READ)
def list_emails_for_authenticated_user(ctx: Context, page: NumberedPaging) -> list[Email]:
    """List email addresses for the authenticated user

    The primary address comes first.
    """
    return _page(ctx, page, public=False)


@ops("POST /user/emails", WRITE, status=201, emits=("email.added",))
def add_email_for_authenticated_user(ctx: Context, body: Body) -> list[Email]:
    """Add an email address for the authenticated user

    Adds all of the addresses or none. A new address is not verified. The first one is the primary.
    """
    rows = emails.add(ctx.db, ctx.required_caller.account_id, _addresses(body))
    for row in rows:
        ctx.emit("email.added", None, email=_metadata(row))
    return [_serialize(row) for row in rows]


@ops("DELETE /user/emails", WRITE, emits=("email.removed",), errors=(404,))
def delete_email_for_authenticated_user(ctx: Context, body: Body) -> None:
    """Delete an email address for the authenticated user

    Removes all of the addresses or none. A verified primary and the last verified address cannot be
    removed. If an unverified primary is removed, the first verified address becomes the primary,
    or else the first one.
    """
    for row in emails.remove(ctx.db, ctx.required_caller.account_id, _addresses(body)):
        ctx.emit("email.removed", None, email=_metadata(row))


@ops("GET /user/public_emails", READ)
def list_public_emails_for_authenticated_user(ctx: Context, page: NumberedPaging) -> list[Email]:
    """List public email addresses for the authenticated user"""
    return _page(ctx, page, public=True)


def _addresses(body: Body) -> list[str]:
    given = body["emails"] if isinstance(body, dict) else body
    return [given] if isinstance(given, str) else given


def _page(ctx: Context, page: NumberedPaging, *, public: bool) -> list[Email]:
    account_id = ctx.required_caller.account_id
    page.total = emails.count(ctx.db, account_id, public=public)
    rows = emails.page(ctx.db, account_id, **page.bounds, public=public)
    return [_serialize(row) for row in rows]


def _serialize(row: Row) -> Email:
    return {"email": row["email"], **_metadata(row)}


def _metadata(row: Row) -> EmailMetadata:
    # Events are stored and read by others, so they do not contain the address.
    return {
        "primary": bool(row["is_primary"]),
        "verified": bool(row["verified"]),
        "visibility": row["visibility"],
    }
