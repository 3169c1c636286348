"""The dashboard's form for access to a hook's endpoint: headers, certificates, tokens."""

import re
from typing import Any

import pytest
from certificates import NOW, Authority
from dashboard_client import Browser, open_dashboard, text_of
from required import required
from ui_trials import Trials
from ui_world import World

from store import Row
from store.hooks import hooks, option_secrets

URL = "https://receiver.example/in"
CONFIG = {"url": URL, "content_type": "json", "verify": "1", "which": "some", "events": "issues"}
NEW = CONFIG | {"repository": "octo/hello", "active": "1", "secret": "none"}
TOKENS = {
    "oauth2_token_url": "https://login.example/token",
    "oauth2_client_id": "tocsin",
    "oauth2_client_secret": "hunter2",
    "oauth2_private_key": "",
}
REPEATED = "the form does not repeat them"


def headers(**given: str) -> dict[str, list[str]]:
    """Return the form's rows of headers and an empty row. An underscore stands for a dash."""
    names = [name.replace("_", "-") for name in given]
    return {"header_name": [*names, ""], "header_value": [*given.values(), ""]}


async def made(browser: Browser, world: World, **form: Any) -> Row:
    answer = await browser.post("/ui/hooks/new", NEW | form, on="/ui/hooks/new")
    assert answer.status_code == 303, text_of(answer.text)
    return required(world.store.write_sync(hooks.by_url, world.seed.hello["id"], URL))


async def edited(browser: Browser, hook: Row, **form: Any) -> tuple[int, str]:
    at = f"/ui/hooks/{hook['id']}/edit"
    answer = await browser.post(at, CONFIG | form, on=at)
    return answer.status_code, answer.text


def revealed(world: World, hook: Row) -> dict[str, Any]:
    def read(db: Any) -> dict[str, Any]:
        found = required(hooks.by_id(db, hook["id"]))
        return option_secrets.revealed(db, found)

    return world.store.read_sync(read)


class TestHeaders:
    async def test_a_secret_value_is_kept_and_never_shown(self, world: World) -> None:
        given = {"Authorization": "Bearer hunter2", "X-Env": "live"}
        async with open_dashboard(world.store, world.seed.token) as browser:
            hook = await made(
                browser, world, **headers(Authorization="Bearer hunter2", X_Env="live")
            )
            assert revealed(world, hook) == {"headers": given}
            for place in (f"/ui/hooks/{hook['id']}", f"/ui/hooks/{hook['id']}/edit"):
                page = await browser.page(place)
                assert "hunter2" not in page
                assert "live" in page
            status, _ = await edited(browser, hook, **headers(Authorization="", X_Env="test"))
            assert status == 303
            assert revealed(world, hook) == {"headers": given | {"X-Env": "test"}}
            status, _ = await edited(browser, hook, **headers(X_Env="test"))
            assert (status, revealed(world, hook)) == (303, {"headers": {"X-Env": "test"}})
            status, _ = await edited(browser, hook, **headers())
            assert (status, revealed(world, hook)) == (303, {})

    async def test_a_secret_value_does_not_follow_to_another_server(self, world: World) -> None:
        async with open_dashboard(world.store, world.seed.token) as browser:
            hook = await made(browser, world, **headers(Authorization="Bearer hunter2"))
            moved = headers(Authorization="") | {"url": "https://elsewhere.example/in"}
            status, page = await edited(browser, hook, **moved)
            assert status == 422
            assert "give secret values again" in re.findall(r'id="url-wrong">(.*?)</p>', page)[0]
            moved["header_value"] = ["Bearer other", ""]
            assert (await edited(browser, hook, **moved))[0] == 303
            assert revealed(world, hook) == {"headers": {"Authorization": "Bearer other"}}

    @pytest.mark.parametrize(
        ("rows", "said"),
        [
            (headers(Host="hunter2"), "is not allowed"),
            (headers(X_Key=""), "printable ASCII"),
            ({"header_name": ["X-Key", "X-Key"], "header_value": ["hunter2", "2"]}, "given twice"),
            ({"header_name": [""], "header_value": ["hunter2"]}, "not a name of a header"),
            (headers(X_Key="********"), "asterisks mean the stored value"),
        ],
    )
    async def test_an_error_stands_beside_the_headers(
        self, world: World, rows: dict[str, Any], said: str
    ) -> None:
        async with open_dashboard(world.store, world.seed.token) as browser:
            answer = await browser.post("/ui/hooks/new", NEW | rows, on="/ui/hooks/new")
            assert answer.status_code == 422
            (message,) = re.findall(r'id="headers-wrong">(.*?)</p>', answer.text)
            assert said.lower() in message.lower()
            assert 'href="#headers"' in answer.text

    async def test_another_error_asks_for_secret_values_again(self, world: World) -> None:
        rows = headers(X_Key="hunter2", X_Env="live")
        async with open_dashboard(world.store, world.seed.token) as browser:
            form = NEW | rows | TOKENS | {"url": "ftp://x"}
            answer = await browser.post("/ui/hooks/new", form, on="/ui/hooks/new")
            assert answer.status_code == 422
            assert "hunter2" not in answer.text
            assert answer.text.count(REPEATED) == 2
            assert 'value="X-Key"' in answer.text
            assert 'value="live"' in answer.text
            assert REPEATED not in await browser.page("/ui/hooks/new")

    async def test_other_forms_leave_them_as_they_are(self, world: World) -> None:
        async with open_dashboard(world.store, world.seed.token) as browser:
            hook = await made(browser, world, **headers(X_Key="hunter2"), **TOKENS)
            before = revealed(world, hook)
            assert (await edited(browser, hook))[0] == 303
            assert revealed(world, hook) == before


class TestCertificates:
    async def test_certificates_are_checked_stored_and_removed(self, world: World) -> None:
        authority = Authority()
        certificate, key = authority.issue()
        form = {
            "tls_client_cert": certificate.replace("\n", "\r\n"),
            "tls_client_key": key.replace("\n", "\r\n"),
            "tls_ca": authority.pem,
            "tls_verify_hostname": "no",
            "tls_min_version": "1.3",
        }
        async with open_dashboard(world.store, world.seed.token) as browser:
            hook = await made(browser, world, **form)
            wanted = {
                "client_cert": certificate.strip(),
                "client_key": key.strip(),
                "ca": authority.pem.strip(),
                "verify_hostname": False,
                "min_version": "1.3",
            }
            assert revealed(world, hook) == {"tls": wanted}
            page = await browser.page(f"/ui/hooks/{hook['id']}/edit")
            assert "PRIVATE KEY" not in page
            assert certificate.splitlines()[1] in page
            assert "The first certificate ends" in text_of(page)
            form["tls_client_key"] = ""
            assert (await edited(browser, hook, **form, timeout="3"))[0] == 303
            assert revealed(world, hook) == {"tls": wanted, "timeout": 3.0}
            emptied = dict.fromkeys(form, "")
            assert (await edited(browser, hook, **emptied))[0] == 303
            assert revealed(world, hook) == {"timeout": 3.0}

    async def test_an_error_stands_beside_its_field(self, world: World) -> None:
        authority = Authority()
        certificate, key = authority.issue()
        other = authority.issue()[1]
        good = {"tls_client_cert": certificate, "tls_client_key": key}
        async with open_dashboard(world.store, world.seed.token) as browser:
            for wrong, name, said in (
                ({"tls_client_key": other}, "tls_client_key", "does not belong"),
                ({"tls_client_key": "x"}, "tls_client_key", "is not a private key"),
                ({"tls_client_cert": "x"}, "tls_client_cert", "is not a list"),
                ({"tls_client_key": ""}, "tls_client_cert", "belong together"),
                ({"tls_ca": "x"}, "tls_ca", "is not a list"),
                ({"tls_min_version": "1.0"}, "tls_min_version", "1.2"),
            ):
                form = NEW | good | wrong
                answer = await browser.post("/ui/hooks/new", form, on="/ui/hooks/new")
                assert answer.status_code == 422
                (message,) = re.findall(rf'id="{name}-wrong">(.*?)</p>', answer.text)
                assert said in message
                assert key.splitlines()[1] not in answer.text

    @pytest.mark.parametrize("end", ["\n", "\r\n"])
    async def test_a_certificate_that_ended_does_not_hold_up_other_changes(
        self, world: World, end: str
    ) -> None:
        certificate, key = (pem.replace("\n", end) for pem in Authority().issue(ends=NOW))
        world.store.clock.at = 1
        tls = {"client_cert": certificate, "client_key": key}
        async with open_dashboard(world.store, world.seed.token) as browser:
            hook = await made(browser, world)
            world.store.write_sync(hooks.update, hook, options={"tls": tls})
            lines = "\r\n".join(certificate.splitlines()) + "\r\n"
            form = {"tls_client_cert": lines, "tls_client_key": ""}
            assert (await edited(browser, hook, **form, timeout="3"))[0] == 303
            assert revealed(world, hook) == {"tls": tls, "timeout": 3.0}


class TestTokens:
    async def test_a_secret_is_kept_for_its_server(self, world: World) -> None:
        async with open_dashboard(world.store, world.seed.token) as browser:
            hook = await made(browser, world, **TOKENS, oauth2_scope="deliver")
            wanted = {
                "token_url": "https://login.example/token",
                "client_id": "tocsin",
                "client_secret": "hunter2",
                "scope": "deliver",
            }
            assert revealed(world, hook) == {"oauth2": wanted}
            assert "hunter2" not in await browser.page(f"/ui/hooks/{hook['id']}/edit")
            form = TOKENS | {"oauth2_client_secret": "", "oauth2_method": "client_secret_post"}
            assert (await edited(browser, hook, **form))[0] == 303
            del wanted["scope"]
            assert revealed(world, hook) == {"oauth2": wanted | {"method": "client_secret_post"}}
            form["oauth2_token_url"] = "https://elsewhere.example/token"
            status, page = await edited(browser, hook, **form)
            assert status == 422
            (message,) = re.findall(r'id="oauth2_token_url-wrong">(.*?)</p>', page)
            assert "give its secret again" in message
            assert (await edited(browser, hook, **dict.fromkeys(form, "")))[0] == 303
            assert revealed(world, hook) == {}

    @pytest.mark.parametrize(
        ("wrong", "name", "said"),
        [
            ({"oauth2_token_url": "https://forbidden.example"}, "oauth2_token_url", "refused"),
            ({"oauth2_token_url": ""}, "oauth2_token_url", "required"),
            ({"oauth2_client_id": ""}, "oauth2_client_id", "required"),
            ({"oauth2_client_secret": ""}, "oauth2_client_secret", "requires client_secret"),
            ({"oauth2_method": "private_key_jwt"}, "oauth2_private_key", "requires private_key"),
            ({"oauth2_method": "magic"}, "oauth2_method", "private_key_jwt"),
            (headers(Authorization="x"), "oauth2_token_url", "either oauth2 or the header"),
        ],
    )
    async def test_an_error_stands_beside_its_field(
        self, world: World, wrong: dict[str, Any], name: str, said: str
    ) -> None:
        async with open_dashboard(world.store, world.seed.token) as browser:
            answer = await browser.post("/ui/hooks/new", NEW | TOKENS | wrong, on="/ui/hooks/new")
            assert answer.status_code == 422
            (message,) = re.findall(rf'id="{name}-wrong">(.*?)</p>', answer.text)
            assert said in message
            assert "hunter2" not in answer.text

    async def test_a_trial_uses_stored_secrets_and_judges_the_token_url(self, world: World) -> None:
        trials = Trials()
        async with open_dashboard(world.store, world.seed.token, trials=trials) as browser:
            hook = await made(browser, world, **TOKENS)
            at, form = f"/ui/hooks/{hook['id']}", CONFIG | TOKENS | {"oauth2_client_secret": ""}
            answer = await browser.post(f"{at}/try", form, on=f"{at}/edit")
            assert answer.status_code == 200
            (asked,) = trials.asked
            assert asked.options.oauth2.client_secret == "hunter2"
            assert "hunter2" not in answer.text
            bad = form | TOKENS | {"oauth2_token_url": "https://forbidden.example"}
            answer = await browser.post(f"{at}/try", bad, on=f"{at}/edit")
            assert answer.status_code == 422
            assert 'id="oauth2_token_url-wrong"' in answer.text
            assert len(trials.asked) == 1
