"""A user creates, tries, changes, pauses and deletes a hook in a browser."""

import re

import pytest
from certificates import Authority
from chromium import violations
from playwright.async_api import expect

from store.delivery import hook_removal
from store.hooks import hooks, option_secrets


def found(server, url):
    with server.opened() as store:
        return store.write_sync(hooks.by_url, server.world.engine, url)


async def test_make_a_hook_try_it_and_see_its_ping(visit, server):
    url = f"http://127.0.0.1:{server.receiver.port}/made"
    guest = await visit("ada")
    page = await guest.go("/ui/hooks")
    await page.get_by_role("link", name="New hook").click()
    await page.get_by_role("combobox", name="Repository").fill("ada/engine")
    await page.get_by_label("URL", exact=True).fill(url)
    await page.get_by_label("Find an event").fill("issue")
    await expect(page.get_by_label("push", exact=True)).to_be_hidden()
    chosen = page.get_by_label("issues", exact=True)
    await expect(chosen).to_have_accessible_description("An issue changed.")
    await chosen.check()
    await expect(page.get_by_text("2 chosen")).to_be_visible()
    await page.get_by_role("combobox", name="Secret").select_option("own")
    await page.get_by_label("Your own secret").fill("a secret to keep")
    await page.get_by_role("button", name="Send a trial").click()
    trial = page.locator("#trial")
    await expect(trial).to_contain_text("status 200")
    await expect(trial).to_contain_text("X-Hub-Signature-256: sha256=")
    assert found(server, url) is None
    # The form still has what was entered.
    await expect(page.get_by_label("Your own secret")).to_have_value("a secret to keep")
    assert await violations(page) == []
    await page.get_by_role("button", name="Create the hook").click()
    await expect(page.get_by_role("status").first).to_contain_text("has been created")
    attempts = page.get_by_role("region", name="Latest attempts")
    await expect(attempts.get_by_role("row", name=re.compile("200.*ping"))).to_have_count(1)
    assert found(server, url)["events"] == ["issues", "push"]


async def test_a_trial_keeps_the_focus(visit, server):
    guest = await visit("ada")
    page = await guest.go("/ui/hooks/new?repository=ada/engine")
    url = f"http://127.0.0.1:{server.receiver.port}/focus"
    await page.get_by_label("URL", exact=True).fill(url)
    for name, said in (
        ("Show the request", "It has not been sent"),
        ("Send a trial", "status 200"),
    ):
        button = page.get_by_role("button", name=name)
        await button.focus()
        await page.keyboard.press("Enter")
        await expect(page.locator("#trial")).to_contain_text(said)
        await expect(button).to_be_focused()


async def test_a_failed_trial_says_why(visit, server):
    guest = await visit("ada")
    page = await guest.go(f"/ui/hooks/{server.world.good}/edit")
    token = await page.locator("body").get_attribute("hx-headers")
    for headers, said in (("{}", "This form is out of date."), (token, "It has not been sent")):
        await page.evaluate("(given) => document.body.setAttribute('hx-headers', given)", headers)
        form = page.locator("form.hook-form input[name=csrf]")
        await form.evaluate("(field) => { field.disabled = true; }")
        await page.get_by_role("button", name="Show the request").click()
        await expect(page.locator("#trial")).to_contain_text(said)
    await expect(page.locator("#failure")).to_have_count(0)
    (complaint,) = guest.watched.complaints
    assert "403" in complaint
    guest.watched.complaints.clear()


async def test_errors_lead_to_their_fields(visit, server):
    guest = await visit("ada")
    page = await guest.go(f"/ui/hooks/{server.world.good}/edit")
    await page.get_by_label("Retry schedule").fill("0, later")
    await page.get_by_label("Timeout").fill("900")
    await page.get_by_role("button", name="Save").click()
    problem = page.get_by_role("alert").first
    await expect(problem).to_contain_text("Nothing has been saved")
    await problem.get_by_role("link", name="Timeout").click()
    field = page.get_by_label("Timeout")
    await expect(field).to_be_focused()
    await expect(field).to_have_attribute("aria-invalid", "true")
    await expect(field).to_have_accessible_description(re.compile("less than or equal to 120"))
    assert await violations(page) == []


async def test_a_hook_s_life_without_scripts(visit, server):
    url = f"http://127.0.0.1:{server.receiver.port}/plain"
    guest = await visit("ada", scripts=False)
    page = await guest.go("/ui/hooks/new?repository=ada/engine")
    await page.get_by_label("URL", exact=True).fill(url)
    await page.get_by_role("button", name="Show the request").click()
    await expect(page.locator("#trial")).to_contain_text("It has not been sent")
    await page.get_by_label("all of them").check()
    await page.get_by_role("button", name="Create the hook").click()
    await expect(page.get_by_text("It is shown only this once")).to_be_visible()
    await page.get_by_role("link", name="Back to the hook").click()
    await page.get_by_role("button", name="Pause the hook").click()
    await expect(page.get_by_text("Its deliveries wait.")).to_be_visible()
    await page.get_by_role("button", name="Resume").click()
    await page.get_by_role("link", name="Edit").click()
    await page.get_by_label("Rate").fill("5")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("status").first).to_contain_text("has been changed")
    made = found(server, url)
    assert (made["options"], made["events"], made["paused_at"]) == ({"rate": 5}, ["*"], None)
    await page.get_by_role("link", name="Edit").click()
    await page.get_by_role("link", name="Delete the hook").click()
    await page.get_by_role("button", name="Delete the hook").click()
    await expect(page.get_by_role("status").first).to_contain_text("has been deleted")
    assert found(server, url) is None


async def test_options_that_are_texts_and_lists(visit, server):
    url = f"http://127.0.0.1:{server.receiver.port}/options"
    guest = await visit("ada")
    page = await guest.go("/ui/hooks/new?repository=ada/engine")
    await page.get_by_label("URL", exact=True).fill(url)
    await page.get_by_label("Filter", exact=True).fill('{"payload": {"ref": ')
    await page.get_by_label("Ordering", exact=True).fill("/issue/id")
    await page.get_by_label("When an ordered delivery died").select_option("block")
    await page.get_by_label("Signatures").fill("sha256, v1a")
    await page.get_by_label("Format", exact=True).select_option("thin")
    await page.get_by_role("combobox", name="Secret").select_option("none")
    await page.get_by_role("button", name="Create the hook").click()
    field = page.get_by_label("Filter", exact=True)
    await expect(field).to_have_attribute("aria-invalid", "true")
    await expect(page.get_by_label("Ordering", exact=True)).to_have_value("/issue/id")
    await field.fill('{"cel": "payload.size >"}')
    await page.get_by_role("button", name="Create the hook").click()
    await expect(field).to_have_accessible_description(re.compile("line 1, column 15"))
    await field.fill('{"cel": "payload.size > 1"}')
    await page.get_by_role("button", name="Create the hook").click()
    await expect(page.get_by_role("status").first).to_contain_text("has been created")
    assert found(server, url)["options"] == {
        "filter": {"cel": "payload.size > 1"},
        "ordering": {"path": "/issue/id"},
        "on_exhausted": "block",
        "signatures": ["sha256", "v1a"],
        "format": "thin",
    }
    form = page.get_by_role("button", name="Test the filter")
    await page.get_by_label("Payload").fill('{"size": 1}')
    await form.click()
    await expect(page.get_by_text("The event is filtered")).to_be_visible()
    assert await violations(page) == []


@pytest.mark.parametrize("scripts", [True, False])
async def test_access_to_a_protected_receiver_can_be_set_up(visit, server, scripts):
    # Nothing listens there: the receiver of these tests expects no requests for tokens.
    url, token_url = f"https://127.0.0.1:1025/access-{scripts}", "https://127.0.0.1:1025/token"
    authority = Authority()
    certificate, key = authority.issue()
    guest = await visit("ada", scripts=scripts)
    page = await guest.go("/ui/hooks/new?repository=ada/engine")
    await page.get_by_label("URL", exact=True).fill(url)
    await page.get_by_role("combobox", name="Secret").select_option("none")
    await page.get_by_text("Headers", exact=True).click()
    await page.get_by_label("Name of header 1").fill("X-Api-Key")
    await page.get_by_label("Value of header 1").fill("hunter2")
    await page.get_by_text("Certificates", exact=True).click()
    await page.get_by_label("Client certificate").fill(certificate)
    await page.get_by_label("Private key of the certificate").fill("half a key")
    await page.get_by_text("Access tokens (OAuth 2.0)").click()
    await page.get_by_label("Token URL").fill(token_url)
    await page.get_by_label("Client id").fill("tocsin")
    await page.get_by_label("Client secret").fill("hunter3")
    await page.get_by_role("button", name="Create the hook").click()
    problem = page.get_by_role("alert").first
    await problem.get_by_role("link", name="Private key of the certificate").click()
    field = page.get_by_label("Private key of the certificate")
    await expect(field).to_be_focused()
    await expect(field).to_have_accessible_description(re.compile("client_key is not a private"))
    secret = page.get_by_label("Client secret")
    await expect(secret).to_have_value("")
    await expect(secret).to_have_accessible_description(re.compile("Enter secret values again"))
    if scripts:
        assert await violations(page) == []
    await field.fill(key)
    await secret.fill("hunter3")
    await page.get_by_label("Value of header 1").fill("hunter2")
    await page.get_by_role("button", name="Create the hook").click()
    await expect(page.get_by_role("status").first).to_contain_text("has been created")
    await page.get_by_role("link", name="Edit").click()
    await expect(page.get_by_text("The first certificate ends")).to_be_visible()
    await expect(page.get_by_label("Value of header 1")).to_have_value("")
    await expect(secret).to_have_accessible_description(re.compile("Empty keeps it"))
    await page.get_by_label("Scope").fill("deliver")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("status").first).to_contain_text("has been changed")
    with server.opened() as store:
        made = store.write_sync(hooks.by_url, server.world.engine, url)
        options = store.read_sync(option_secrets.revealed, made)
        store.write_sync(hook_removal.delete, made)
    assert options["headers"] == {"X-Api-Key": "hunter2"}
    assert options["tls"] == {"client_cert": certificate.strip(), "client_key": key.strip()}
    assert options["oauth2"] == {
        "token_url": token_url,
        "client_id": "tocsin",
        "client_secret": "hunter3",
        "scope": "deliver",
    }
