"""The pages of reports and imports: the progress, the rights to see it, and hidden credentials."""

from typing import Any

import pytest
from dashboard_client import open_dashboard, text_of
from ui_rows import operator
from usage_world import using

from hub.ui.pages.imports import without_credentials
from store import Store
from store.accounts import accounts, tokens
from store.assistant import report_queries, reports
from store.assistant.reports import ReportPart
from store.clock import MovableClock
from store.enterprises import enterprises
from store.imports import import_queries, import_rounds, imports


def made(db: Any, enterprise_id: int, day: int) -> int:
    """Begin two reports of a day, and finish the first one. Return its id."""
    begun = reports.begin(db, ["users-1-day", "repos-1-day"], enterprise_id, day, day, 1)
    reports.put_part(db, begun["users-1-day"], 0, b"{}\n")
    reports.put_part(db, begun["repos-1-day"], 0, b"{}\n")
    reports.finish(db, [ReportPart(begun["users-1-day"], 1, 3, "a digest")])
    return begun["users-1-day"]


@pytest.mark.parametrize("policy", ["enabled", "disabled"])
async def test_reports_in_progress_are_listed(store: Store, seed: Any, policy: str) -> None:
    world = store.write_sync(using, policy=policy)
    store.write_sync(made, world.enterprise["id"], 20_700)
    async with open_dashboard(store, store.write_sync(operator)) as browser:
        html = await browser.page("/ui/reports")
        said = text_of(html)
        assert "users-1-day globe 2026-09-04 current" in said
        assert "repos-1-day globe 2026-09-04 being made 1 part so far" in said
        assert ("signature=" in html) == (policy == "enabled")
        assert "globe" in text_of(await browser.page("/ui/reports?enterprise=globe"))
        said = text_of(await browser.page("/ui/reports?enterprise=none"))
        assert "No matching reports" in said


async def test_the_file_of_a_report_can_be_had_by_its_link(store: Store, seed: Any) -> None:
    world = store.write_sync(using)
    number = store.write_sync(made, world.enterprise["id"], 20_700)
    rows = store.read_sync(report_queries.page, [world.enterprise["id"]], limit=9)
    assert [row["parts"] for row in rows] in ([0, 1], [1, 0])
    assert store.read_sync(report_queries.page, [world.enterprise["id"]], limit=9, before=1) == []
    assert store.read_sync(report_queries.page, [], limit=9) == []
    async with open_dashboard(store, store.write_sync(operator)) as browser:
        assert f"/reports/{number}?expires=" in await browser.page("/ui/reports")


async def test_reports_are_shown_to_managers_of_an_enterprise(store: Store, seed: Any) -> None:
    world = store.write_sync(using)
    store.write_sync(made, world.enterprise["id"], 20_700)
    manager = store.write_sync(accounts.create, "manager")
    store.write_sync(enterprises.join, world.enterprise["id"], manager["id"], "billing_manager")
    store.write_sync(enterprises.join, world.enterprise["id"], seed.octo["id"], "member")
    value, _ = store.write_sync(tokens.create, manager["id"], scopes=["read:enterprise"])
    member, _ = store.write_sync(tokens.create, seed.octo["id"], scopes=["read:enterprise"])
    async with open_dashboard(store, value, last=False) as browser:
        assert "users-1-day" in text_of(await browser.page("/ui/reports"))
    async with open_dashboard(store, member, last=False) as browser:
        said = text_of(await browser.page("/ui/reports"))
        assert "No enterprises" in said
        assert "users-1-day" not in said
    held = {"kind": "fine_grained", "permissions": {"enterprise_assistant_metrics": "read"}}
    for more, status in (({}, 200), ({"target_id": seed.octo["id"]}, 404)):
        value, _ = store.write_sync(tokens.create, manager["id"], **held, **more)
        async with open_dashboard(store, value, last=False) as browser:
            assert (await browser.get("/ui/reports")).status_code == status
    async with open_dashboard(store, seed.token) as browser:
        answer = await browser.get("/ui/reports")
        assert answer.status_code == 403
        assert "read:enterprise" in text_of(answer.text)


async def test_imports_with_their_progress(store: Store, seed: Any, clock: MovableClock) -> None:
    url = "https://somebody:hush@git.example/thing.git"
    store.write_sync(
        imports.start, seed.hello["id"], seed.octo["id"], url, vcs="git", password="hush too"
    )
    async with open_dashboard(store, seed.token, imports=True) as browser:
        html = await browser.page("/ui/imports")
        said = text_of(html)
        assert "octo/hello https://git.example/thing.git git Importing" in said
        assert "hush" not in html
        row = store.write_sync(import_rounds.claim, [])
        store.write_sync(
            import_rounds.report_progress, row, {"import_percent": 40, "commit_count": 1234}
        )
        said = text_of(await browser.page("/ui/imports"))
        assert "40 %" in said
        assert "1 234" in said
        store.write_sync(import_rounds.stop, row, "error", "It <broke>", "importing")
        html = await browser.page("/ui/imports")
        assert "It &lt;broke&gt;" in html
        assert "Failed" in text_of(html)


async def test_imports_of_others_are_not_shown(store: Store, seed: Any) -> None:
    url = "https://git.example/thing.git"
    store.write_sync(imports.start, seed.hello["id"], seed.octo["id"], url)
    looks, _ = store.write_sync(tokens.create, seed.octo["id"], scopes=["read:repo_hook"])
    async with open_dashboard(store, seed.reader_token, last=False, imports=True) as browser:
        assert "Nothing that you may see" in text_of(await browser.page("/ui/imports"))
    async with open_dashboard(store, looks, last=False, imports=True) as browser:
        assert (await browser.get("/ui/imports")).status_code == 403
    async with open_dashboard(store, store.write_sync(operator), imports=True) as browser:
        assert "octo/hello" in text_of(await browser.page("/ui/imports"))
    assert "password" not in import_queries.COLUMNS


async def test_imports_are_answered_and_cancelled(store: Store, seed: Any) -> None:
    url = "https://git.example/thing.git"
    store.write_sync(imports.start, seed.hello["id"], seed.octo["id"], url)
    row = store.write_sync(import_rounds.claim, [])
    store.write_sync(import_rounds.stop, row, "auth_failed", "Not signed in", "importing")
    at = f"/ui/imports/{seed.hello['id']}"
    async with open_dashboard(store, seed.token, last=False, imports=True) as browser:
        assert at in await browser.page("/ui/imports?state=needs+attention&host=git.example")
        assert "No matching imports" in await browser.page("/ui/imports?state=complete")
        assert "Sign in at the source" in await browser.page(at)
        answers = {"vcs_username": "ada", "vcs_password": "secret", "vcs": ""}
        answer = await browser.post(f"{at}/restart", answers, on=at)
        assert answer.headers["location"] == at
        again = store.read_sync(imports.needed, seed.hello["id"])
        assert (again["status"], again["username"]) == ("detecting", "ada")
        assert store.read_sync(imports.password_of, again) == "secret"
        wrong = await browser.post(f"{at}/restart", {"vcs_username": "a\x01b"}, on=at)
        assert wrong.status_code == 422
        looks, _ = store.write_sync(tokens.create, seed.octo["id"], scopes=["read:repo_hook"])
        browser.client.cookies.clear()
        await browser.sign_in(looks)
        assert (await browser.post(f"{at}/cancel", on="/ui")).status_code == 403
        browser.client.cookies.clear()
        await browser.sign_in(seed.token)
        answer = await browser.post(f"{at}/cancel", on=at)
        assert answer.headers["location"] == "/ui/imports"
        assert (await browser.get(at)).status_code == 404
    audited = store.read_sync(lambda db: db.tuples("SELECT details FROM audit"))
    assert "secret" not in str(audited)
    await store.close()


async def test_without_the_setting_there_are_none(store: Store, seed: Any) -> None:
    async with open_dashboard(store, seed.token, imports=False) as browser:
        assert (await browser.get("/ui/imports")).status_code == 404
        assert 'href="/ui/imports"' not in await browser.page("/ui/replay")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://a:b@c.example/d", "https://c.example/d"),
        ("https://c.example/d@e", "https://c.example/d@e"),
        ("https://[", "an invalid URL"),
    ],
)
def test_a_url_is_shown_without_credentials(url: str, shown: str) -> None:
    assert without_credentials(url) == shown
