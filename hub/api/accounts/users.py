"""Users: the authenticated one, and any by login or id."""

from hub.api.accounts import user_serializers
from hub.api.accounts.user_serializers import PrivateUser, PublicUser
from hub.auth.access import public, signed_in
from hub.auth.token_rights import covers
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from store import Row
from store.accounts import accounts

ops = OperationGroup("users", username=accounts.by_login, account_id=accounts.get)

MINE = signed_in()


@ops("GET /user", MINE)
def get_authenticated(ctx: Context) -> PrivateUser | PublicUser:
    """Get the authenticated user

    A classic token needs the scope `user` for the private members.
    """
    caller = ctx.required_caller
    account = accounts.required(ctx.db, caller.account_id)
    if caller.has_scopes and not covers(caller, ("read:user",)):
        return user_serializers.public_user(ctx, account)
    return user_serializers.private_user(ctx, account)


@ops("GET /users/{username}", public())
def get_by_username(ctx: Context, username: Row) -> PublicUser:
    """Get a user

    Organizations answer too; their `type` is Organization.
    """
    return user_serializers.public_user(ctx, username)


@ops("GET /user/{account_id}", public())
def get_by_id(ctx: Context, account: Row) -> PublicUser:
    """Get a user using their ID"""
    return user_serializers.public_user(ctx, account)
