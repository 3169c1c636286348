"""A person at a provider stays the same user here, whatever their name becomes."""

import asyncio
from typing import Any

import pytest
from dashboard_client import open_dashboard, text_of
from engines import embedded
from openid_sign_in import EMAIL, START, settings, through
from openid_site import SUBJECT, OpenIDSite
from ui_rows import operator

from store import Connection, Row, Store
from store.accounts import accounts, emails, sessions, tokens
from store.audit import audit_search
from store.clock import HOUR
from store.openid import openid_links
from store.registry import account_removal

pytestmark = embedded("test_openid_links tests stored links on every engine")
TAKEN = "belongs to another person there"


def links(store: Store) -> list[Row]:
    return store.read_sync(openid_links.every)


async def signed_in_as(store: Store, site: OpenIDSite, **more: Any) -> str:
    """Sign in with another browser. Return the login, or the text of the page that refuses it."""
    async with open_dashboard(store, last=False, **settings(site, **more)) as browser:
        answer = await through(browser, site)
        if answer.status_code != 200:
            return text_of(answer.text)
        token = browser.client.cookies["tocsin_ui"]
    found = store.read_sync(sessions.find, token, HOUR)
    assert found is not None
    return str(found["token"]["login"])


async def test_the_first_sign_in_makes_a_link(store: Store, octo: Row, site: OpenIDSite) -> None:
    assert await signed_in_as(store, site) == "octo"
    (link,) = links(store)
    made = (link["login"], link["issuer"], link["subject"])
    assert made == ("octo", site.issuer, SUBJECT)
    entry = store.read_sync(audit_search.page, limit=1)[0]
    assert entry["details"] == {"fields": ["openid_link"], "openid_link": link["id"]}
    assert await signed_in_as(store, site) == "octo"
    assert len(links(store)) == 1
    entry = store.read_sync(audit_search.page, limit=1)[0]
    assert entry["details"] == {"openid_link": link["id"]}
    await store.close()


@pytest.mark.parametrize(
    "claims",
    [
        {"email": "octavia@tower.example"},
        {"email_verified": False},
        {"email": None},
        {"email": "ada@tower.example"},
    ],
)
async def test_a_renamed_person_keeps_their_account(
    store: Store, octo: Row, site: OpenIDSite, claims: dict[str, Any]
) -> None:
    store.write_sync(accounts.create, "ada", email="ada@tower.example")
    assert await signed_in_as(store, site) == "octo"
    site.claims |= claims
    assert await signed_in_as(store, site) == "octo"
    assert [row["login"] for row in links(store)] == ["octo"]
    await store.close()


async def test_a_name_that_the_provider_reuses_does_not_give_the_account(
    store: Store, octo: Row, site: OpenIDSite
) -> None:
    assert await signed_in_as(store, site) == "octo"
    (link,) = links(store)
    site.claims["sub"] = "another-person"
    said = await signed_in_as(store, site)
    assert TAKEN in said
    assert "tocsin user openid list" in said
    entry = store.read_sync(audit_search.page, limit=1)[0]
    assert (entry["actor"], entry["action"]) == ("nobody", "ui/sign-in")
    assert (entry["target"], entry["outcome"]) == (START, "403")
    ids = {"user": "octo", "openid_link": link["id"], "subject": "another-person"}
    assert entry["details"] == ids
    assert links(store) == [link]
    # The person whom the link names still gets in.
    site.claims["sub"] = SUBJECT
    assert await signed_in_as(store, site) == "octo"
    await store.close()


async def test_a_reused_login_does_not_give_the_account(
    store: Store, octo: Row, site: OpenIDSite
) -> None:
    by_login = {"openid_match": "login"}
    site.claims = {"preferred_username": "octo"}
    assert await signed_in_as(store, site, **by_login) == "octo"
    site.claims |= {"sub": "another-person", "preferred_username": "OCTO"}
    assert TAKEN in await signed_in_as(store, site, **by_login)
    site.claims |= {"sub": SUBJECT, "preferred_username": "octavia"}
    assert await signed_in_as(store, site, **by_login) == "octo"
    await store.close()


async def test_subjects_differ_by_case(store: Store, octo: Row, site: OpenIDSite) -> None:
    site.claims["sub"] = "abc"
    assert await signed_in_as(store, site) == "octo"
    site.claims["sub"] = "ABC"
    assert TAKEN in await signed_in_as(store, site)
    await store.close()


async def test_each_issuer_has_its_own_subjects(store: Store, octo: Row, site: OpenIDSite) -> None:
    ada = store.write_sync(accounts.create, "ada", email="ada@tower.example")

    def link_elsewhere(db: Connection) -> None:
        openid_links.add(db, ada["id"], f"{site.issuer}/", SUBJECT)
        openid_links.add(db, octo["id"], "https://other.example", "7")

    store.write_sync(link_elsewhere)
    assert await signed_in_as(store, site) == "octo"
    assert len(links(store)) == 3
    await store.close()


async def test_a_removed_user_s_link_does_not_come_back_with_the_login(
    store: Store, octo: Row, site: OpenIDSite
) -> None:
    ada = store.write_sync(accounts.create, "ada", email="ada@tower.example")
    site.claims["email"] = "ada@tower.example"
    assert await signed_in_as(store, site) == "ada"
    store.write_sync(account_removal.remove, ada)
    assert links(store) == []
    assert "No user here" in await signed_in_as(store, site)
    again = store.write_sync(accounts.create, "ada", email="ada@tower.example")
    assert again["id"] != ada["id"]
    site.claims["sub"] = "another-person"
    assert await signed_in_as(store, site) == "ada"
    # The person whom the provider named so before is not the new user.
    site.claims["sub"] = SUBJECT
    assert TAKEN in await signed_in_as(store, site)
    await store.close()


async def test_two_first_sign_ins_at_the_same_time_make_one_link(
    store: Store, octo: Row, site: OpenIDSite
) -> None:
    async with open_dashboard(store, last=False, **settings(site)) as browser:
        places = [site.sign_in((await browser.get(START)).headers["location"])[0] for _ in range(2)]
        paths = [place.removeprefix("http://127.0.0.1:8765") for place in places]
        answers = await asyncio.gather(*(browser.get(path) for path in paths))
    assert [answer.status_code for answer in answers] == [200, 200]
    assert len(links(store)) == 1
    await store.close()


@pytest.mark.parametrize("subject", ["", "x" * 256, "a\0b", "a\nb", 5, ["a"]])
async def test_a_subject_that_cannot_be_kept_is_refused(
    store: Store, octo: Row, site: OpenIDSite, subject: Any
) -> None:
    site.claims["sub"] = subject
    async with open_dashboard(store, last=False, **settings(site)) as browser:
        assert (await through(browser, site)).status_code == 403
    assert links(store) == []
    await store.close()


async def test_an_operator_sees_and_removes_links(
    store: Store, octo: Row, site: OpenIDSite
) -> None:
    assert await signed_in_as(store, site) == "octo"
    (link,) = links(store)
    own = store.write_sync(tokens.create, octo["id"])[1]
    kept = store.write_sync(sessions.begin, token_id=own["id"])
    root = store.write_sync(operator)
    async with open_dashboard(store, root, last=False, **settings(site)) as browser:
        assert "/ui/openid-links" in await browser.page("/ui")
        said = text_of(await browser.page("/ui/openid-links"))
        for word in ("octo", site.issuer, SUBJECT):
            assert word in said
        assert SUBJECT in await browser.page("/ui/openid-links?name=OCT")
        assert "No matching links" in await browser.page("/ui/openid-links?name=nobody")
        for order in ("login", "-subject", "used", "linked"):
            assert SUBJECT in await browser.page(f"/ui/openid-links?sort={order}")
        answer = await browser.post(f"/ui/openid-links/{link['id']}/remove", on="/ui/openid-links")
        assert answer.status_code == 303
        assert "No links yet" in text_of(await browser.page("/ui/openid-links"))
        again = await browser.post(f"/ui/openid-links/{link['id']}/remove")
        assert again.status_code == 404
    entry = store.read_sync(audit_search.page, limit=1)[0]
    assert entry["action"] == "ui/remove-openid-link"
    assert entry["details"] == {"user": "octo", "openid_link": link["id"]}
    count = "SELECT count(*) FROM ui_session WHERE method = 'openid'"
    assert store.read_sync(lambda db: db.value(count)) == 0
    assert store.read_sync(sessions.find, kept, HOUR) is not None
    # Without the link, the name counts again.
    site.claims["sub"] = "another-person"
    assert await signed_in_as(store, site) == "octo"
    await store.close()


async def test_a_person_signs_in_by_a_link_that_was_made_before(
    store: Store, octo: Row, site: OpenIDSite
) -> None:
    ada = store.write_sync(accounts.create, "ada")
    store.write_sync(openid_links.link, ada, site.issuer, SUBJECT)
    root = store.write_sync(operator)
    async with open_dashboard(store, root, last=False, **settings(site)) as browser:
        for order in ("used", "-used"):
            assert "never" in text_of(await browser.page(f"/ui/openid-links?sort={order}"))
    # The claims name octo.
    assert await signed_in_as(store, site) == "ada"
    (link,) = links(store)
    assert link["used_at"] is not None
    await store.close()


async def test_links_are_for_operators(
    store: Store, octo: Row, seed: Any, site: OpenIDSite
) -> None:
    assert await signed_in_as(store, site) == "octo"
    (link,) = links(store)
    async with open_dashboard(store, seed.token, last=False, **settings(site)) as browser:
        assert "/ui/openid-links" not in await browser.page("/ui")
        assert (await browser.get("/ui/openid-links")).status_code == 403
        answer = await browser.post(f"/ui/openid-links/{link['id']}/remove")
        assert answer.status_code == 403
    looks = store.write_sync(
        lambda db: tokens.create(
            db,
            accounts.create(db, "looker", site_admin=True)["id"],
            scopes=["read:enterprise", "repo"],
        )[0]
    )
    async with open_dashboard(store, looks, last=False, **settings(site)) as browser:
        assert "Remove the link" not in await browser.page("/ui/openid-links")
        answer = await browser.post(f"/ui/openid-links/{link['id']}/remove")
        assert answer.status_code == 403
    assert links(store) == [link]
    await store.close()


async def test_an_address_that_belongs_to_nobody_makes_no_link(
    store: Store, octo: Row, site: OpenIDSite
) -> None:
    site.claims["email"] = "eve@tower.example"
    assert "No user here" in await signed_in_as(store, site)
    assert links(store) == []
    # A person who could not sign in can do so as soon as there is a user.
    store.write_sync(emails.add, octo["id"], ["eve@tower.example"], verified=True)
    assert await signed_in_as(store, site) == "octo"
    assert EMAIL["email"] != site.claims["email"]
    await store.close()
