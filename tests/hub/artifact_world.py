"""An organization with repositories and members, for tests of artifact records."""

from dataclasses import dataclass
from typing import Any

import httpx
from bearer import Headers, bearer
from transactions import transaction

from store import Row, Store
from store.accounts import accounts, tokens
from store.repositories import repositories

AT = "/orgs/acme/artifacts"
RECORD = f"{AT}/metadata/deployment-record"
CLUSTER = f"{RECORD}/cluster/moon"


def digest(letter: str = "a") -> str:
    return f"sha256:{letter * 64}"


@dataclass
class Acme:
    """octo owns acme, which has the public repositories tools and bells, and the private one safe.

    The member pusher may push to tools. The member plain may push to no repository. else/where
    belongs to another account.
    """

    store: Store
    org: Row
    tools: Row
    bells: Row
    safe: Row
    where: Row
    people: dict[str, int]

    def by(self, login: str = "octo", *scopes: str, **what: Any) -> Headers:
        """The header with a new token of this user; its default scope is `repo`."""
        if "kind" not in what:
            what["scopes"] = scopes or ("repo",)
        value, _ = self.store.write_sync(tokens.create, self.people[login], **what)
        return bearer(value)


def make(store: Store) -> Acme:
    with transaction(store) as db:
        org = accounts.create(db, "acme", kind="Organization")
        people = {}
        for login, role in (("octo", "admin"), ("plain", "member"), ("pusher", "member")):
            people[login] = accounts.create(db, login)["id"]
            accounts.join(db, org["id"], people[login], role)
        tools = repositories.create(db, org["id"], "tools")
        bells = repositories.create(db, org["id"], "bells")
        safe = repositories.create(db, org["id"], "safe", private=True)
        where = repositories.create(db, accounts.create(db, "else")["id"], "where")
        repositories.grant(db, tools["id"], people["pusher"], "write")
        return Acme(store, org, tools, bells, safe, where, people)


def deployment(called: str = "web", /, **given: Any) -> Row:
    """A deployment in the body of a request for a cluster."""
    return {
        "name": "bell",
        "digest": digest(),
        "deployment_name": called,
        "github_repository": "tools",
    } | given


def record(called: str = "web", /, **given: Any) -> Row:
    """The body of a request for a single deployment record."""
    return deployment(called, status="deployed", logical_environment="production") | given


async def posted(hub: httpx.AsyncClient, path: str, body: Row, **how: Any) -> Row:
    """The content of the response to a POST request, which has to succeed."""
    answer = await hub.post(path, json=body, **how)
    assert answer.status_code == 200, answer.text
    shown: Row = answer.json()
    return shown


async def records(
    hub: httpx.AsyncClient, letter: str = "a", kind: str = "deployment", **how: Any
) -> list[Row]:
    """The records of this kind for `digest(letter)`."""
    answer = await hub.get(f"{AT}/{digest(letter)}/metadata/{kind}-records", **how)
    assert answer.status_code == 200, answer.text
    found: list[Row] = answer.json()[f"{kind}_records"]
    assert answer.json()["total_count"] == len(found)
    return found
