"""More rows in the store do not make a page run more SQL statements."""

import re
from typing import Any

import pytest
from dashboard_client import Browser, open_dashboard
from statement_log import statements
from ui_rows import arrive, hook, operator
from usage_world import using

from hub.ui.site_sections import SECTIONS
from store import Connection, Store
from store.assistant import reports
from store.audit import audit_log
from store.audit.audit_log import Actor, AuditEntry
from store.clock import DAY
from store.delivery.replays import replay_runs
from store.delivery.replays.replay_selection import ReplaySelection
from store.imports import imports
from store.jobs import jobs
from store.jobs.jobs import JobSchedule
from store.openid import openid_links
from store.repositories import interaction_limits
from store.repositories import repositories as repos

MOST = 16
PAGES = (
    "/ui",
    "/ui/hooks",
    "/ui/catalogue",
    "/ui/catalogue/push",
    "/ui/problems",
    "/ui/mail",
    "/ui/hooks/new",
    "/ui/hooks/1/edit",
    "/ui/hooks/1/delete",
    "/ui/hooks/1/send",
    "/ui/hooks/1/trends",
    "/ui/hooks/1/pending",
    "/ui/hosts/receiver.example",
    "/ui/retry?attempt=1",
    "/ui/retried?deliveries=1",
    "/ui/deliveries",
    "/ui/events",
    "/ui/events?wanted=nobody",
    "/ui/events/1",
    "/ui/find?q=1",
    "/ui/rejected",
    "/ui/replay",
    "/ui/replay?count=1&hook=1",
    "/ui/replay/1",
    "/ui/topics",
    "/ui/topics/1?event=push",
    "/ui/topics/followers",
    "/ui/limits",
    "/ui/reports",
    "/ui/imports",
    "/ui/jobs",
    "/ui/apps",
    "/ui/openid-links",
    "/ui/audit",
    "/ui/audit/check",
    "/ui/reference",
    "/ui/reference/repos",
    "/ui/reference/schemas/Hook",
    "/ui/sign-in",
    "/ui/sessions",
)
# These pages show one object each. This module does not count their statements.
ELSEWHERE = {
    "/ui/problem",
    "/ui/hooks/{hook_id}",
    "/ui/deliveries/{delivery_id}",
    "/ui/shared",
    "/ui/imports/{repo_id}",
    "/ui/apps/{app_id}",
}


def test_every_page_is_counted() -> None:
    asked = {path.partition("?")[0] for path in PAGES}
    for page in (page for section in SECTIONS for page in section.pages):
        shape = re.compile(re.sub(r"\{[^}]+\}", "[^/]+", page.path))
        assert page.path in ELSEWHERE or any(map(shape.fullmatch, asked)), page.path


def fill(db: Connection, owner_id: int, first: int, many: int) -> None:
    """Create `many` more entries for each list."""
    for at in range(first, first + many):
        repo = repos.create(db, owner_id, f"more-{at}")
        hook(db, repo, "push", "star", url=f"https://receiver.example/{at}")
        arrive(db, repo["id"], 2)
        interaction_limits.limit_repository(db, repo, "existing_users", db.now + DAY)
        imports.start(db, repo["id"], owner_id, "https://git.example/it.git", vcs="git")
        replay_runs.create(db, ReplaySelection(repo_id=repo["id"]), f"user-{at}")
        jobs.save_schedules(db, [JobSchedule(f"job-{at}", "when needed", None)])
        audit_log.add(db, AuditEntry(Actor("ada", "token"), "repos/update", "/repos/a/b", "200"))
        openid_links.add(db, owner_id, f"https://login-{at}.example", "7")
        enterprise = using(db, f"slug-{at}").enterprise
        begun = reports.begin(db, reports.OF_A_DAY, enterprise["id"], 20_700, 20_700, 1)
        for number in begun.values():
            reports.put_part(db, number, 0, b"{}\n")


async def counted(browser: Browser, asked: list[str], path: str) -> int:
    await browser.page(path)
    del asked[:]
    await browser.page(path)
    return sum(1 for sql in asked if re.match(r"\s*(SELECT|WITH)\b", sql, re.IGNORECASE))


@pytest.mark.parametrize("who", ["octo", "root"])
async def test_more_rows_take_no_more_statements(
    store: Store, seed: Any, who: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write_sync(fill, seed.octo["id"], 0, 2)
    token = store.write_sync(operator) if who == "root" else seed.token
    # The clock stands still, so that cached figures do not expire during the test.
    given = {"api_reference": "public", "imports": True, "clock": lambda: 1000.0}
    mine = [
        path
        for path in PAGES
        if who == "root" or not re.search("jobs|apps|audit|reports|openid-links|rejected", path)
    ]
    asked = statements(monkeypatch)
    async with open_dashboard(store, token, **given) as browser:
        few = {path: await counted(browser, asked, path) for path in mine}
        await browser.client.get("/ui")
        store.write_sync(fill, seed.octo["id"], 2, 9)
        many = {path: await counted(browser, asked, path) for path in mine}
    assert many == few
    assert max(many.values()) <= MOST, many
