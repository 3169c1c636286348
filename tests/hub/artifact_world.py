"""An organization with repositories and people, for tests of what its artifacts are recorded as."""

from dataclasses import dataclass
from typing import Any

import httpx

from store import Connection, Row, Store
from store.accounts import accounts, tokens
from store.repositories import repositories

AT = "/orgs/acme/artifacts"
RECORD = f"{AT}/metadata/deployment-record"
CLUSTER = f"{RECORD}/cluster/moon"
Headers = dict[str, str]


def digest(letter: str = "a") -> str:
    return f"sha256:{letter * 64}"


@dataclass
class Acme:
    """octo owns acme with the public tools and bells and the private safe; pusher is a member who
    may push to tools, plain one who may not push at all. else/where is somebody else's.
    """

    store: Store
    org: Row
    tools: Row
    bells: Row
    safe: Row
    where: Row
    people: dict[str, int]

    def by(self, login: str = "octo", *scopes: str, **what: Any) -> Headers:
        """The header with a token, which has the scope `repo` if nothing else is said."""
        if "kind" not in what:
            what["scopes"] = scopes or ("repo",)
        value, _ = self.store.do(tokens.create, self.people[login], **what)
        return {"Authorization": f"Bearer {value}"}


def make(store: Store) -> Acme:
    def made(db: Connection) -> Acme:
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

    return store.do(made)


def deployment(called: str = "web", /, **given: Any) -> Row:
    """One of a cluster's."""
    return {
        "name": "bell",
        "digest": digest(),
        "deployment_name": called,
        "github_repository": "tools",
    } | given


def record(called: str = "web", /, **given: Any) -> Row:
    """One on its own."""
    return deployment(called, status="deployed", logical_environment="production") | given


async def posted(hub: httpx.AsyncClient, path: str, body: Row, **how: Any) -> Row:
    """The answer to a request that succeeds."""
    answer = await hub.post(path, json=body, **how)
    assert answer.status_code == 200, answer.text
    shown: Row = answer.json()
    return shown


async def records(
    hub: httpx.AsyncClient, letter: str = "a", kind: str = "deployment", **how: Any
) -> list[Row]:
    """The records of a digest."""
    answer = await hub.get(f"{AT}/{digest(letter)}/metadata/{kind}-records", **how)
    assert answer.status_code == 200, answer.text
    found: list[Row] = answer.json()[f"{kind}_records"]
    assert answer.json()["total_count"] == len(found)
    return found
