"""Fixtures of the tests of apps: an app with two installations, and its requests."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from app_tokens import app_key, signed_token
from transactions import transaction

from store import Connection, Row, Store
from store.accounts import accounts, apps
from store.apps import app_keys, installation_tokens, installations
from store.clock import SECOND
from store.repositories import repositories

PERMISSIONS = {"issues": "write", "contents": "read"}


@dataclass
class Installed:
    """The app Mill with its key, installed on octo (only octo/vault) and on the organization acme.

    acme has the public repository tools and the private repository kit.
    """

    store: Store
    hub: httpx.AsyncClient
    app: Row
    on_octo: Row
    on_acme: Row
    tools: Row
    kit: Row

    def token(self, installation: Row | None = None, **what: Any) -> str:
        """A new token of an installation. The default is the installation on acme."""
        value, _ = self.store.write_sync(
            lambda db: installation_tokens.create(db, installation or self.on_acme, **what)
        )
        return value

    def jwt(self, issuer: Any = None, key: int = 0, **claims: Any) -> str:
        """A JSON Web Token of the app. A claim with the value `...` is left out."""
        now = self.store.clock.now() // SECOND
        return signed_token(issuer or self.app["id"], now, key=key, **claims)

    async def ask(self, method: str, path: str, token: str, **how: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {token}", **how.pop("headers", {})}
        return await self.hub.request(method, path, headers=headers, **how)

    async def itself(self, method: str, path: str, **how: Any) -> httpx.Response:
        """Send a request with a JSON Web Token of the app."""
        return await self.ask(method, path, self.jwt(), **how)


@pytest.fixture
def installed(store: Store, seed: Any, hub: httpx.AsyncClient) -> Installed:
    return install(store, seed, hub)


def install(store: Store, seed: Any, hub: httpx.AsyncClient) -> Installed:
    with transaction(store) as db:
        acme = accounts.create(db, "acme", kind="Organization")
        accounts.join(db, acme["id"], seed.octo["id"], "admin")
        tools = repositories.create(db, acme["id"], "tools")
        kit = repositories.create(db, acme["id"], "kit", private=True)
        app = make_app(db, seed.octo["id"], "Mill")
        app_keys.add(db, app["id"], app_key(0)[1])
        on_octo = installations.create(db, app, seed.octo, repositories=[seed.vault["id"]])
        on_acme = installations.create(db, app, acme)
        return Installed(store, hub, app, on_octo, on_acme, tools, kit)


def make_app(db: Connection, owner_id: int, name: str, **given: Any) -> Row:
    wanted = {"kind": "integration", "permissions": PERMISSIONS, **given}
    _, app = apps.create(db, owner_id, name, url=f"https://{name.lower()}.example/", **wanted)
    return app


@pytest.fixture
def another(store: Store, seed: Any) -> Callable[..., Row]:
    """A function that creates an app, which octo owns."""

    def make(name: str, **given: Any) -> Row:
        return store.write_sync(lambda db: make_app(db, seed.octo["id"], name, **given))

    return make
