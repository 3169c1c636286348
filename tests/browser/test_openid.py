"""A user signs in with an OpenID Connect provider, on the pages of the hub and of the provider."""

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import httpx
import pytest
from chromium import violations
from daemon import Site
from playwright.async_api import Browser, Page, expect
from ports import free_port
from waiting import PATIENCE

from store import Connection
from store.accounts import accounts, emails


@dataclass
class Provider:
    """The URLs of a provider in another process, and of a hub whose users sign in with it."""

    issuer: str
    hub: str


@asynccontextmanager
async def provider_process(*users: dict[str, object]) -> AsyncIterator[str]:
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-W", "ignore", "-m", "oidc_provider_mock", "--port", str(port),
        *(word for user in users for word in ("--user-claims", json.dumps(user))),
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
        # The provider does not need the variables of the project.
        env={name: value for name, value in os.environ.items() if not name.startswith("TOCSIN")},
    )  # fmt: skip
    issuer = f"http://127.0.0.1:{port}"
    try:
        client = httpx.AsyncClient(trust_env=False, timeout=PATIENCE)
        async with asyncio.timeout(PATIENCE), client:
            while True:
                with suppress(httpx.TransportError):
                    found = await client.get(f"{issuer}/.well-known/openid-configuration")
                    yield str(found.json()["issuer"])
                    break
                await asyncio.sleep(0.05)
    finally:
        process.kill()
        await process.wait()


def _verified(db: Connection) -> None:
    ada = accounts.by_login(db, "ada")
    assert ada is not None
    emails.add(db, ada["id"], ["ada@tower.example"], verified=True)


@pytest.fixture(scope="module")
async def provider(
    anyio_backend: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Provider]:
    ada = {"sub": "ada", "email": "ada@tower.example", "email_verified": True}
    eve = {"sub": "eve", "email": "eve@tower.example", "email_verified": True}
    async with provider_process(ada, eve) as issuer:
        site = Site(tmp_path_factory.mktemp("openid") / "data")
        with site.opened() as store:
            store.write_sync(_verified)
        try:
            daemon = await site.serve(
                TOCSIN_OPENID_ISSUER=issuer,
                TOCSIN_OPENID_CLIENT_ID="tocsin",
                TOCSIN_OPENID_CLIENT_SECRET="a secret",
                TOCSIN_OPENID_LABEL="Sign in with Tower",
            )
            yield Provider(issuer, daemon.url)
        finally:
            await site.close()


@asynccontextmanager
async def page_of(browser: Browser, provider: Provider, *, scripts: bool) -> AsyncIterator[Page]:
    context = await browser.new_context(base_url=provider.hub, java_script_enabled=scripts)
    context.set_default_timeout(PATIENCE * 1000)
    try:
        yield await context.new_page()
    finally:
        await context.close()


async def agree(page: Page, name: str) -> None:
    """Sign in at the provider as the user `name`."""
    await page.get_by_role("link", name="Sign in with Tower").click()
    await page.get_by_role("button", name=name).click()


@pytest.mark.parametrize("scripts", [True, False])
async def test_users_sign_in_and_out_with_a_provider(browser, provider, scripts):
    async with page_of(browser, provider, scripts=scripts) as page:
        await page.goto("/ui/hooks")
        if scripts:
            assert await violations(page) == []
        await agree(page, "ada")
        await expect(page).to_have_url(f"{provider.hub}/ui/hooks")
        await page.get_by_role("link", name="ada").click()
        await expect(page.get_by_role("row", name=re.compile("OpenID Connect"))).to_be_visible()
        if scripts:
            assert await violations(page) == []
        await page.get_by_role("button", name="Sign out").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("You are signed out")
        if scripts:
            assert await violations(page) == []
        await page.goto("/ui")
        await expect(page).to_have_url(re.compile("/ui/sign-in"))


async def test_a_sign_in_without_an_account_names_the_remedy(browser, provider):
    async with page_of(browser, provider, scripts=True) as page:
        await page.goto("/ui")
        await agree(page, "eve")
        alert = page.get_by_role("alert")
        await expect(alert).to_contain_text("No user here has the verified email address")
        await expect(alert).to_contain_text("A site administrator can add one")
        assert await violations(page) == []
