"""Signing in to the dashboard at the provider of `openid_site`."""

from typing import Any

from dashboard_client import HERE, Browser, text_of
from openid_site import CLIENT, SECRET, OpenIDSite

START = "/ui/sign-in/openid"
EMAIL = {"email": "octo@tower.example", "email_verified": True}


def settings(site: OpenIDSite, **more: Any) -> dict[str, Any]:
    return {
        "openid_issuer": site.issuer,
        "openid_client_id": CLIENT,
        "openid_client_secret": SECRET,
        **more,
    }


async def through(browser: Browser, site: OpenIDSite, start: str = START) -> Any:
    """Sign in at the provider. Return the response after the redirect back."""
    answer = await browser.get(start)
    assert answer.status_code == 303, text_of(answer.text)
    place, _ = site.sign_in(answer.headers["location"])
    return await browser.get(place.removeprefix(HERE))
