"""Organizations, their members, and the memberships of users."""

from typing import Any

import httpx
import pytest
from assertions import BASE, assert_error, links
from bearer import Headers, bearer, by
from hub_client import anonymously
from transactions import transaction

from store import Row, Store
from store.accounts import accounts, memberships, sso, tokens, totp
from store.repositories import repositories


@pytest.fixture
def acme(store: Store, seed: Any) -> Row:
    """The organization acme: octo owns it, bella is a public member, reader is not a member."""

    with transaction(store) as db:
        made = accounts.create(db, "acme", kind="Organization", name="Acme")
        bella = accounts.create(db, "bella")
        accounts.join(db, made["id"], seed.octo["id"], "admin")
        accounts.join(db, made["id"], bella["id"], "member")
        memberships.publicize(db, made["id"], bella["id"], True)
        repositories.create(db, made["id"], "kit", private=True)
        return made


@pytest.fixture
def owner(store: Store, seed: Any) -> Headers:
    return by(store, seed.octo, scopes=["admin:org"])


def logins(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [one["login"] for one in answer.json()]


async def test_owners_see_more_of_an_organization(
    client: httpx.AsyncClient, store: Store, seed: Any, acme: Row, owner: Headers
) -> None:
    public = (await anonymously(client, "/orgs/acme")).json()
    assert (public["name"], public["public_repos"]) == ("Acme", 0)
    assert "owned_private_repos" not in public
    assert (await client.get("/orgs/acme", headers=owner)).json()["owned_private_repos"] == 1
    for headers in (
        by(store, seed.octo),
        by(store, seed.reader, scopes=["admin:org"]),
    ):
        assert (await client.get("/orgs/acme", headers=headers)).json() == public


async def test_a_user_is_no_organization(client: httpx.AsyncClient) -> None:
    assert_error(await client.get("/orgs/octo"), 404, "Not Found")


async def test_single_sign_on_hides_the_owner_s_part(
    client: httpx.AsyncClient, store: Store, acme: Row, owner: Headers
) -> None:
    store.write_sync(sso.enforce, acme["id"], True)
    found = await client.get("/orgs/acme", headers=owner)
    assert "owned_private_repos" not in found.json()


async def test_concealed_members_are_for_members(
    client: httpx.AsyncClient, store: Store, seed: Any, acme: Row, owner: Headers
) -> None:
    assert logins(await client.get("/orgs/acme/members", headers=owner)) == ["octo", "bella"]
    outsider = by(store, seed.reader, scopes=["read:org"])
    for headers in (outsider, by(store, seed.octo)):
        assert logins(await client.get("/orgs/acme/members", headers=headers)) == ["bella"]
    assert logins(await anonymously(client, "/orgs/acme/members")) == ["bella"]
    assert logins(await client.get("/orgs/acme/public_members")) == ["bella"]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("role=admin", ["octo"]),
        ("role=member", ["bella"]),
        ("filter=2fa_disabled", ["bella"]),
        ("filter=2fa_insecure", []),
    ],
)
async def test_filters_of_members(
    client: httpx.AsyncClient,
    store: Store,
    seed: Any,
    acme: Row,
    owner: Headers,
    query: str,
    wanted: list[str],
) -> None:
    store.write_sync(lambda db: totp.set_up(db, seed.octo["id"], login="octo", issuer="tower"))
    assert logins(await client.get(f"/orgs/acme/members?{query}", headers=owner)) == wanted


async def test_the_filter_for_a_second_factor_is_refused_to_others(
    client: httpx.AsyncClient, acme: Row
) -> None:
    assert_error(await client.get("/orgs/acme/members?filter=2fa_disabled"), 422)


async def test_members_have_pages(client: httpx.AsyncClient, acme: Row, owner: Headers) -> None:
    answer = await client.get("/orgs/acme/members?per_page=1", headers=owner)
    assert logins(answer) == ["octo"]
    assert links(answer)["next"] == f"{BASE}/orgs/acme/members?per_page=1&page=2"


async def test_a_member_can_check_the_membership_of_others(
    client: httpx.AsyncClient, acme: Row, owner: Headers
) -> None:
    assert (await client.get("/orgs/acme/members/bella", headers=owner)).status_code == 204
    assert_error(await client.get("/orgs/acme/members/reader", headers=owner), 404)


async def test_others_are_sent_to_the_public_members(
    client: httpx.AsyncClient, store: Store, seed: Any, acme: Row
) -> None:
    headers = by(store, seed.reader, scopes=["read:org"])
    for login, status in (("bella", 204), ("octo", 404)):
        answer = await client.get(f"/orgs/acme/members/{login}", headers=headers)
        at = f"{BASE}/orgs/acme/public_members/{login}"
        assert (answer.status_code, answer.headers["Location"]) == (302, at)
        assert (await client.get(at, headers=headers)).status_code == status
    assert_error(await client.get("/orgs/acme/members/reader", headers=headers), 404)


async def test_memberships_are_shown_to_members_with_their_role(
    client: httpx.AsyncClient, acme: Row, owner: Headers
) -> None:
    found = (await client.get("/orgs/acme/memberships/bella", headers=owner)).json()
    assert (found["role"], found["state"]) == ("member", "active")
    assert (await client.get(found["url"], headers=owner)).json() == found
    own = (await client.get("/user/memberships/orgs/acme", headers=owner)).json()
    assert (own["role"], own["user"]["login"]) == ("admin", "octo")
    listed = (await client.get("/user/memberships/orgs", headers=owner)).json()
    assert listed == [own]
    pending = await client.get("/user/memberships/orgs?state=pending", headers=owner)
    assert pending.json() == []


async def test_memberships_of_outsiders(
    client: httpx.AsyncClient, store: Store, seed: Any, acme: Row, owner: Headers
) -> None:
    assert_error(await client.get("/orgs/acme/memberships/reader", headers=owner), 404)
    headers = by(store, seed.reader, scopes=["read:org"])
    assert_error(await client.get("/orgs/acme/memberships/bella", headers=headers), 403)
    assert_error(await client.get("/user/memberships/orgs/acme", headers=headers), 404)


async def test_organizations_of_users(
    client: httpx.AsyncClient, store: Store, seed: Any, acme: Row
) -> None:
    assert logins(await client.get("/users/bella/orgs")) == ["acme"]
    assert logins(await client.get("/users/octo/orgs")) == []
    scoped = by(store, seed.octo, scopes=["read:org"])
    assert logins(await client.get("/user/orgs", headers=scoped)) == ["acme"]
    assert_error(await client.get("/user/orgs", headers=by(store, seed.octo)), 403)
    fine = by(store, seed.octo, kind="fine_grained", permissions={"members": "read"})
    assert logins(await client.get("/user/orgs", headers=fine)) == []


@pytest.mark.parametrize("kind", ["fine_grained", "app_user"])
async def test_a_token_that_is_limited_to_an_account_knows_no_other_membership(
    client: httpx.AsyncClient, store: Store, seed: Any, acme: Row, kind: str
) -> None:
    held = {"kind": kind, "permissions": {"members": "read"}}
    one = "/user/memberships/orgs/acme"
    for target, wanted in ((acme["id"], ["acme"]), (seed.octo["id"], [])):
        limited = by(store, seed.octo, target_id=target, **held)
        assert own(await client.get("/user/memberships/orgs", headers=limited)) == wanted
        status = 200 if wanted else 404
        assert (await client.get(one, headers=limited)).status_code == status


async def test_single_sign_on_hides_the_user_s_own_membership(
    client: httpx.AsyncClient, store: Store, seed: Any, acme: Row
) -> None:
    store.write_sync(sso.enforce, acme["id"], True)
    value, row = store.write_sync(
        lambda db: tokens.create(db, seed.octo["id"], scopes=["read:org"])
    )
    reads = bearer(value)
    for wanted, status in (([], 403), (["acme"], 200)):
        assert own(await client.get("/user/memberships/orgs", headers=reads)) == wanted
        assert logins(await client.get("/user/orgs", headers=reads)) == wanted
        found = await client.get("/user/memberships/orgs/acme", headers=reads)
        assert (found.status_code, "X-Service-SSO" in found.headers) == (status, status == 403)
        store.write_sync(sso.authorize, row["id"], acme["id"])


def own(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [one["organization"]["login"] for one in answer.json()]
