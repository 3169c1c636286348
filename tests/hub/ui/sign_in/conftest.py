from collections.abc import AsyncIterator
from typing import Any

import pytest
from openid_sign_in import EMAIL
from openid_site import OpenIDSite, openid_site

from store import Store
from store.accounts import accounts, emails
from store.clock import SECOND


@pytest.fixture
async def site(store: Store) -> AsyncIterator[OpenIDSite]:
    async with openid_site() as made:
        made.clock = lambda: store.clock.now() / SECOND
        made.claims |= EMAIL
        yield made


@pytest.fixture
def octo(store: Store, seed: Any) -> Any:
    """A user with a verified email address."""
    user = store.read_sync(accounts.by_login, "octo")
    store.write_sync(emails.add, user["id"], ["octo@tower.example"], verified=True)
    return user
