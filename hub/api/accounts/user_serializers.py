"""The full representation of users, for everybody and for themselves."""

from typing import Literal, cast

from hub.rest import serializers
from hub.rest.context import Context
from hub.rest.serializers import SimpleUser
from store import Row
from store.accounts import emails, totp
from store.clock import iso
from store.repositories import repository_details


class UserDetails(SimpleUser):
    """A user.

    `email` is the public address; it is shown to callers with credentials. Gists and followers are
    not known here.
    """

    name: str | None
    company: None
    blog: None
    location: None
    email: str | None
    hireable: None
    bio: str | None
    public_repos: int
    public_gists: int
    followers: int
    following: int
    created_at: str
    updated_at: str


class PublicUser(UserDetails):
    user_view_type: Literal["public"]


class PrivateUser(UserDetails):
    """The authenticated user. `collaborators` counts the accounts with a role in private ones."""

    user_view_type: Literal["private"]
    private_gists: int
    total_private_repos: int
    owned_private_repos: int
    disk_usage: int
    collaborators: int
    two_factor_authentication: bool


def public_user(ctx: Context, account: Row) -> PublicUser:
    """Serialize what everybody may know about a user or an organization."""
    owned = repository_details.owned(ctx.db, account["id"])
    found = {**_user(ctx, account, owned), "user_view_type": "public"}
    return cast("PublicUser", found)


def private_user(ctx: Context, account: Row) -> PrivateUser:
    """Serialize what users may know about themselves."""
    owned = repository_details.owned(ctx.db, account["id"])
    return cast(
        "PrivateUser",
        {
            **_user(ctx, account, owned),
            "user_view_type": "private",
            "private_gists": 0,
            "total_private_repos": owned["private"],
            "owned_private_repos": owned["private"],
            "disk_usage": owned["size"],
            "collaborators": owned["collaborators"],
            "two_factor_authentication": totp.required(ctx.db, account["id"]),
        },
    )


def _user(ctx: Context, account: Row, owned: Row) -> UserDetails:
    return {
        **serializers.simple_user(ctx.urls, account),
        "name": account["name"],
        "company": None,
        "blog": None,
        "location": None,
        "email": None if ctx.caller is None else _public_email(ctx, account),
        "hireable": None,
        "bio": account["description"],
        "public_repos": owned["public"],
        "public_gists": 0,
        "followers": 0,
        "following": 0,
        "created_at": iso(account["created_at"]),
        "updated_at": iso(account["updated_at"]),
    }


def _public_email(ctx: Context, account: Row) -> str | None:
    if account["kind"] == "Organization":
        return cast("str | None", account["email"])
    found = emails.page(ctx.db, account["id"], limit=1, offset=0, public=True)
    return found[0]["email"] if found else None
