"""The headers with which requests of tests send a token."""

from typing import Any

from store import Row, Store
from store.accounts import tokens

Headers = dict[str, str]


def bearer(value: str) -> Headers:
    return {"Authorization": f"Bearer {value}"}


def by(store: Store, account: Row, **what: Any) -> Headers:
    """Make a token of an account, and return the headers with it."""
    value, _ = store.write_sync(tokens.create, account["id"], **what)
    return bearer(value)
