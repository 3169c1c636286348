"""Whom most tests of the hub find there."""

from dataclasses import dataclass

from store import Connection, Row
from store.accounts import accounts, tokens
from store.repositories import repositories


@dataclass
class Seed:
    """octo administers the public octo/hello and the private octo/vault; reader may only look."""

    octo: Row
    reader: Row
    hello: Row
    vault: Row
    token: str
    reader_token: str


def make(db: Connection) -> Seed:
    octo = accounts.create(db, "octo")
    reader = accounts.create(db, "reader")
    hello = repositories.create(db, octo["id"], "hello")
    vault = repositories.create(db, octo["id"], "vault", private=True)
    token, _ = tokens.create(db, octo["id"], scopes=["repo"])
    reader_token, _ = tokens.create(db, reader["id"], scopes=["repo"])
    return Seed(octo, reader, hello, vault, token, reader_token)
