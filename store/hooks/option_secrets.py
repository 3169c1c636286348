"""The secret values in a hook's delivery options, encrypted at rest."""

from typing import Any
from urllib.parse import urlsplit

import orjson

from store.database.connection import Connection, Row
from store.endpoint_access import client_tls, oauth2, secret_parts
from store.errors import Invalid


def revealed(db: Connection, hook: Row) -> dict[str, Any]:
    """Return a hook's options with their secret values. Raises Unusable if they do not decrypt."""
    options: dict[str, Any] = hook["options"]
    if hook["option_secrets"] is None:
        return options
    return secret_parts.join(options, _secrets(db, hook))


def resolved(db: Connection, hook: Row | None, options: dict[str, Any], url: str) -> dict[str, Any]:
    """Return options for a hook with this URL, with stored values in place of asterisks.

    Raises Invalid if there is no stored value, or if it would be sent to another server than
    before: somebody who may change a hook must not read its secrets in this way.
    """
    if not secret_parts.kept(options):
        return options
    stored = {} if hook is None or hook["option_secrets"] is None else _secrets(db, hook)
    found = secret_parts.resolve(options, stored)
    if hook is not None:
        _check_servers(hook, options, url)
    return found


def _check_servers(hook: Row, options: dict[str, Any], url: str) -> None:
    kept = {group for group, _ in secret_parts.kept(options)}
    # The option `tls` needs no check, because a connection does not reveal a certificate's key.
    if kept & {"headers", "oauth2"} and _server(url) != _server(hook["url"]):
        raise _other_server("the new URL is on another server: give secret values again", "url")
    if "oauth2" in kept:
        before, after = (found["oauth2"]["token_url"] for found in (hook["options"], options))
        if _server(before) != _server(after):
            raise _other_server("token_url is on another server: give its secret again", "oauth2")


def _other_server(message: str, field: str) -> Invalid:
    return Invalid(message, field=field, resource="Hook")


def sealed_columns(db: Connection, hook: Row | None, options: dict[str, Any], url: str) -> Row:
    """Return the columns for new options of a hook with this URL. `hook` is None if it is new.

    Raises Invalid as `resolved` does, and if new certificates are not usable.
    """
    options = resolved(db, hook, options, url)
    if options.get("oauth2"):
        oauth2.check(options["oauth2"], options.get("headers") or {})
    shown, secrets = secret_parts.split(options)
    return {
        "options": orjson.dumps(shown).decode(),
        "certificate_ends_at": _certificate_end(db, hook, options, url),
        "option_secrets": db.vault.seal(orjson.dumps(secrets).decode()) if secrets else None,
    }


def _certificate_end(
    db: Connection, hook: Row | None, options: dict[str, Any], url: str
) -> int | None:
    """Return when the first certificate ends. Only new ones are checked: others may have ended."""
    tls = options.get("tls")
    if not tls:
        return None
    if hook is not None and url == hook["url"] and tls == revealed(db, hook).get("tls"):
        ends_at: int | None = hook["certificate_ends_at"]
        return ends_at
    return client_tls.check(tls, url, db.now)


def _secrets(db: Connection, hook: Row) -> secret_parts.Secrets:
    found: secret_parts.Secrets = orjson.loads(db.vault.open(hook["option_secrets"]))
    return found


def _server(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc.lower()
