"""The rights of the tokens of apps, which are limited anew for each request."""

from collections.abc import Mapping

import orjson

from store.accounts import installation_rights, permissions
from store.database.connection import Connection, Row


def limit_token(db: Connection, token: Row) -> Row:
    """Limit the token of an app to what the app has at present. Others keep their rights."""
    if token["installation_id"] is not None:
        return installation_rights.limit_token(db, token)
    if token["kind"] == "app_user" and token["app_id"] is not None:
        most = db.value("SELECT permissions FROM app WHERE id = :id", id=token["app_id"])
        token["permissions"] = of_user(token["permissions"], orjson.loads(most))
    return token


def of_user(held: Mapping[str, str], most: Mapping[str, str]) -> dict[str, str]:
    """Return the permissions of a user's token that its app, which has `most`, still has."""
    return permissions.common(held, permissions.METADATA | dict(most))
