"""The columns of a hook that follow from its delivery options."""

import json
from typing import Any

import orjson

from store.database.connection import Connection, Row
from store.endpoint_access import handshake
from store.hooks import batch_options, option_secrets, pull_urls
from store.hooks.hook_targets import HookKind

# The columns that depend on options and URL alone. Changes of other fields keep them.
ACCESS = ("option_secrets", "certificate_ends_at", "handshake", "handshake_rate")


def columns(
    db: Connection, kind: HookKind, hook: Row | None, options: dict[str, Any], url: str
) -> Row:
    """Return the columns for new options of a hook with this URL. `hook` is None if it is new.

    Raises Invalid if an option does not fit the hook, and as `option_secrets.sealed_columns` does.
    """
    batch_options.check(options)
    return {
        **option_secrets.sealed_columns(db, hook, options, url),
        **handshake.columns_after(hook, options, url),
        **_plain(kind, options, url),
    }


def changed(db: Connection, kind: HookKind, hook: Row, changes: dict[str, Any]) -> Row:
    """Return the same columns after changes. Secret values are decrypted only if it is needed."""
    wanted = {**hook, **changes}
    options, url = wanted["options"], wanted["url"]
    if "options" in changes or url != hook["url"]:
        return columns(db, kind, hook, options, url)
    kept = {name: hook[name] for name in ACCESS}
    return {"options": json.dumps(options), **kept, **_plain(kind, options, url)}


def _plain(kind: HookKind, options: dict[str, Any], url: str) -> Row:
    """Return `pull` and `filter`. The fan-out reads a hook's filter from a column of its own."""
    filter_ = options.get("filter")
    return {
        "pull": pull_urls.column(kind, url, options),
        "filter": None if filter_ is None else orjson.dumps(filter_).decode(),
    }
