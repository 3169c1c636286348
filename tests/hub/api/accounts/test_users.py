"""The public profile of a user, and the private profile of the authenticated user."""

from typing import Any

import httpx
import pytest
from assertions import assert_error
from bearer import by
from hub_client import anonymously
from transactions import transaction

from store import Store
from store.accounts import emails, placeholder_accounts, totp
from store.repositories import repositories


async def test_a_user_is_found_by_login_and_by_id(client: httpx.AsyncClient, seed: Any) -> None:
    by_login = await client.get("/users/OCTO")
    by_id = await client.get(f"/user/{seed.octo['id']}")
    assert by_login.json() == by_id.json()
    found = by_login.json()
    assert (found["login"], found["type"], found["public_repos"]) == ("octo", "User", 1)
    assert "owned_private_repos" not in found


@pytest.mark.parametrize("path", ["/users/nobody", "/user/987654321", "/user/octo"])
async def test_an_unknown_user_is_not_found(client: httpx.AsyncClient, path: str) -> None:
    assert_error(await client.get(path), 404, "Not Found")


async def test_an_address_is_shown_if_its_owner_wants_it(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    assert (await client.get("/users/reader")).json()["email"] is None
    with transaction(store) as db:
        emails.add(db, seed.reader["id"], ["reader@tower.example"], verified=True)
        emails.set_visibility(db, seed.reader["id"], "public")
    assert (await client.get("/users/reader")).json()["email"] == "reader@tower.example"
    anonymous = await anonymously(client, "/users/reader")
    assert anonymous.json()["email"] is None


async def test_an_account_known_from_events_is_shown(
    client: httpx.AsyncClient, store: Store
) -> None:
    given = {"login": "ringer[bot]", "type": "Bot"}
    store.write_sync(placeholder_accounts.get_or_create, given)
    found = (await client.get("/users/ringer%5Bbot%5D")).json()
    assert (found["login"], found["type"], found["name"]) == ("ringer[bot]", "Bot", None)


async def test_private_fields_of_a_user_need_the_user_scope(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    store.write_sync(repositories.grant, seed.vault["id"], seed.reader["id"], "read")
    store.write_sync(lambda db: totp.set_up(db, seed.octo["id"], login="octo", issuer="tower"))
    private = (await client.get("/user", headers=by(store, seed.octo, scopes=["user"]))).json()
    assert private["two_factor_authentication"] is True
    assert (private["owned_private_repos"], private["collaborators"]) == (1, 1)
    public = (await client.get("/user", headers=by(store, seed.octo))).json()
    assert "two_factor_authentication" not in public
    assert {name: private[name] for name in public} == {**public, "user_view_type": "private"}


async def test_oneself_needs_a_user_s_token(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    assert_error(await anonymously(client, "/user"), 401)
    assert_error(await client.get("/user", headers=by(store, seed.octo, kind="installation")), 403)
    fine = by(store, seed.octo, kind="fine_grained")
    assert (await client.get("/user", headers=fine)).json()["login"] == "octo"
