"""The browser tests notice a load from another host, a broken script and barriers for readers."""

from chromium import Watched, violations
from playwright.async_api import Browser

BAD = """<html><head><title>bad</title></head><body>
<img src="http://elsewhere.example/x.png"><script>nonsense()</script></body></html>"""


async def test_a_load_from_another_host_is_seen(browser: Browser):
    context = await browser.new_context()
    watched = Watched(context, "http://127.0.0.1")
    page = await context.new_page()
    await page.set_content(BAD)
    assert watched.outside == ["http://elsewhere.example/x.png"]
    assert "nonsense is not defined" in watched.complaints[0]
    found = {one["rule"] for one in await violations(page)}
    assert {"image-alt", "html-has-lang"} <= found
    await context.close()


async def test_the_world_has_deliveries_in_each_state(server, client):
    assert (await client.get("/healthz")).status_code == 200
    states = server.states()
    # Other tests may have added deliveries before.
    assert states["delivered"] >= 6
    assert states["dead"] >= 3
    assert states["waiting"] >= 3
    assert server.receiver.got
