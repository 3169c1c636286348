"""The pages of limits, jobs, the audit log and the check of its chain."""

import re
from html import unescape
from typing import Any

import pytest
from audit_forgery import forge
from dashboard_client import open_dashboard, text_of
from engines import embedded
from transactions import transaction
from ui_rows import operator

from hub.ui.pages import audit_log
from store import Store
from store.accounts import accounts
from store.audit import audit_log as audit
from store.audit import audit_search
from store.audit.audit_log import Actor, AuditEntry
from store.clock import DAY, HOUR, MovableClock
from store.jobs import jobs
from store.jobs.jobs import JobSchedule
from store.repositories import interaction_limits

OPERATORS = ("/ui/jobs", "/ui/audit", "/ui/audit/check")


@pytest.mark.parametrize("path", OPERATORS)
async def test_the_installation_is_for_operators(store: Store, seed: Any, path: str) -> None:
    async with open_dashboard(store, seed.token) as browser:
        assert (await browser.get(path)).status_code == 403
        menu = await browser.page("/ui/replay")
        assert f'href="{path}"' not in menu


async def test_limits_are_shown_with_their_remaining_time(
    store: Store, seed: Any, clock: MovableClock
) -> None:
    now = clock.now()
    async with open_dashboard(store, seed.token, last=False) as browser:
        said = text_of(await browser.page("/ui/limits"))
        assert "No limit is in force" in said
        assert "interaction-limits" in said
    store.write_sync(
        interaction_limits.limit_repository, seed.hello, "contributors_only", now + 4 * DAY
    )
    clock.advance(86_400)
    async with open_dashboard(store, seed.token) as browser:
        html = await browser.page("/ui/limits")
        assert "octo/hello" in html
        assert 'value="75.0"' in html
        assert "in 3 d" in html
        assert "users who have not contributed before" in html


async def test_limits_are_found_by_a_part_of_a_name_and_a_period(
    store: Store, seed: Any, clock: MovableClock
) -> None:
    ends = clock.now() + 4 * DAY
    store.write_sync(interaction_limits.limit_repository, seed.hello, "existing_users", ends)
    clock.advance(seconds=7200)
    acme = store.write_sync(accounts.create, "acme")
    store.write_sync(interaction_limits.limit_account, acme["id"], "existing_users", ends + DAY)
    one, other = "octo/hello", "all of acme"
    async with open_dashboard(store, store.write_sync(operator), ui_idle=10**6) as browser:
        for query, there in {
            "": (True, True),
            "name=HELL": (True, False),
            "name=ac": (False, True),
            "range=1h": (False, True),
            "until=2026-11-20T08:00": (False, False),
            "name=%25": (False, False),
        }.items():
            said = text_of(await browser.page(f"/ui/limits?{query}"))
            assert (one in said, other in said) == there, query
            assert ("No matching limits" in said) is not any(there)


async def test_limits_of_others_are_not_shown(store: Store, seed: Any, clock: MovableClock) -> None:
    ends = clock.now() + DAY
    store.write_sync(interaction_limits.limit_account, seed.octo["id"], "existing_users", ends)
    async with open_dashboard(store, seed.reader_token, last=False) as browser:
        assert "Nothing that you may see" in text_of(await browser.page("/ui/limits"))
    async with open_dashboard(store, store.write_sync(operator)) as browser:
        assert "all of octo user" in text_of(await browser.page("/ui/limits"))


async def test_jobs_are_shown_and_run(store: Store, seed: Any, clock: MovableClock) -> None:
    now = clock.now()
    async with open_dashboard(store, store.write_sync(operator)) as browser:
        assert "No worker has run yet" in text_of(await browser.page("/ui/jobs"))
        store.write_sync(jobs.save_schedules, [JobSchedule("prune", "*/10 * * * *", now + HOUR)])
        store.write_sync(jobs.save_schedules, [JobSchedule("expire", "when needed", None)])
        said = text_of(await browser.page("/ui/jobs"))
        assert (
            "prune Deletes data whose retention has ended. */10 * * * * – – not yet run in 1 h"
            in said
        )
        answer = await browser.post("/ui/jobs/prune/run", on="/ui/jobs")
        assert answer.status_code == 303
        assert "as soon as a worker is free" in text_of(await browser.page("/ui/jobs"))
        taken = store.write_sync(jobs.claim, "prune", "a worker")
        assert "running" in text_of(await browser.page("/ui/jobs"))
        store.write_sync(jobs.fail, taken, "the disk is <full>")
        html = await browser.page("/ui/jobs")
        assert "the disk is &lt;full&gt;" in html
        # It is tried again after a rest, and can be run before that.
        assert "as soon as a worker is free" not in html
        assert '<button aria-label="Run now: prune">' in html
        answer = await browser.post("/ui/jobs/nothing/run", on="/ui/jobs")
        assert answer.status_code == 404
        assert store.read_sync(audit_search.page, limit=1)[0]["action"] == "ui/run-job"


def changed(store: Store, many: int, actor: str = "octo") -> None:
    entry = AuditEntry(
        Actor(actor, "token"), "repos/update", "/repos/octo/hello", "200", fields=("name",)
    )

    with transaction(store) as db:
        for _ in range(many):
            audit.add(db, entry)


async def test_the_audit_log_is_filtered_by_action_actor_and_time(
    store: Store, seed: Any, clock: MovableClock
) -> None:
    changed(store, 60)
    clock.advance(3600)
    changed(store, 1, "reader")
    async with open_dashboard(store, store.write_sync(operator)) as browser:
        html = await browser.page("/ui/audit?what=repos/update")
        assert "before=12" in html
        assert "fields: name" in html
        said = text_of(await browser.page("/ui/audit?who=reader"))
        assert "reader by token repos/update" in said
        assert "octo by token" not in said
        said = text_of(await browser.page("/ui/audit?since=2026-11-21T08:30"))
        assert "octo by token" not in said
        for earlier in ("until=2026-11-21T08:30", "until=2026-11-21T08:30&since=2026-11-21T07:00"):
            said = text_of(await browser.page(f"/ui/audit?{earlier}"))
            assert "octo by token" in said, earlier
            assert "reader by token" not in said, earlier
        assert "octo by token" not in text_of(await browser.page("/ui/audit?range=1h&who=reader"))
        assert "No such entries" in text_of(await browser.page("/ui/audit?until=2020-01-01T00:00"))
        assert "'soon' is not a time" in text_of(await browser.page("/ui/audit?since=soon"))
        assert "No such entries" in text_of(await browser.page("/ui/audit?who=nobody"))
        said = text_of(await browser.page("/ui/audit?what=OS/UPD"))
        assert "61 entries" in said
        assert "repos/update" in said
        said = text_of(await browser.page("/ui/audit?what=OS/UPD&who=reade"))
        assert "1 entry" in said
        assert "reader by token repos/update" in said
        assert "octo by token" not in said


async def test_the_audit_log_is_searched_for_a_target(
    store: Store, seed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = store.write_sync(operator)
    changed(store, 3)
    monkeypatch.setattr(audit_search, "MOST_SEARCHED", 4)
    async with open_dashboard(store, root) as browser:
        page = await browser.page("/ui/audit?on=OCTO/hel")
        assert 'value="OCTO/hel"' in page
        assert "3 entries" in text_of(page)
        assert "Search further back" not in text_of(page)
        changed(store, 5)
        assert "4 in the newest 4 entries" in text_of(await browser.page("/ui/audit?on=hello"))
        page = await browser.page("/ui/audit?on=sign-in")
        assert "No match in 4 entries" in text_of(page)
        (further,) = re.findall(r'<a href="([^"]*)">Search further back', page)
        page = await browser.page(unescape(further))
        assert "1 in the newest" not in text_of(page)
        assert "/ui/sign-in" in text_of(page)
        (further,) = re.findall(r'<a href="([^"]*)">Search further back', page)
        page = text_of(await browser.page(unescape(further)))
        assert "Search further back" not in page
        assert "This page has no entries" in page


async def test_a_search_in_another_order_examines_the_same_entries_on_each_page(
    store: Store, seed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = store.write_sync(operator)
    changed(store, 6)
    monkeypatch.setattr(audit_search, "MOST_SEARCHED", 4)
    monkeypatch.setattr(audit_log.LIST, "size", 2)
    async with open_dashboard(store, root) as browser:
        path, shown = "/ui/audit?on=hello&sort=actor", []
        while path:
            page = await browser.page(unescape(path))
            shown.append(page.count("/repos/octo/hello"))
            path = "".join(re.findall(r'<a href="([^"]*)" rel="next"', page))
        # The sign-in is the newest entry of all.
        assert shown == [2, 1]


async def test_the_chain_is_checked_to_its_end(
    store: Store, seed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_log, "PORTION", 4)
    root = store.write_sync(operator)
    changed(store, 6)
    async with open_dashboard(store, root) as browser:
        html = await browser.page("/ui/audit/check")
        assert "Checking" in text_of(html)
        assert "/ui/audit/check/live" in html
        chain, more = store.read_sync(_whole)
        assert (more, chain.problems, chain.count) == (False, [], chain.number)
        monkeypatch.setattr(audit_log, "PORTION", 2_000)
        assert "No entry has been altered" in text_of(await browser.page("/ui/audit/check"))
        store.write_sync(_forge)
        said = text_of(await browser.page("/ui/audit/check"))
        assert "The log has been altered" in said
        assert "entry 2 is not what was written" in said


@embedded("PostgreSQL stores no text that is not UTF-8")
async def test_a_text_that_is_not_utf8_is_a_finding(store: Store, seed: Any) -> None:
    root = store.write_sync(operator)
    changed(store, 3)
    store.write_sync(forge, "UPDATE audit SET actor = CAST(x'ff' AS TEXT) WHERE id = 2")
    async with open_dashboard(store, root) as browser:
        said = text_of(await browser.page("/ui/audit/check"))
    assert "The log has been altered: 1 problem" in said
    assert "entry 2 is not what was written" in said


def _whole(db: Any) -> Any:
    class Look:
        pass

    look: Any = Look()
    look.db = db
    state: Any = None
    for _ in range(9):
        state, _parts = audit_log.continue_check(look, state)
    return state


def _forge(db: Any) -> None:
    forge(db, "UPDATE audit SET target = 'elsewhere' WHERE id = 2")
