"""Reports about the use of the assistant: their descriptions, and the signed download links."""

import hashlib
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from assertions import BASE, assert_error
from bearer import by
from hub_client import open_client
from usage_world import Using, using

from hub.settings import HubSettings
from store import Connection, Row, Store
from store.assistant import report_files, reports, usage_days
from store.assistant.reports import OF_A_DAY, OF_A_WINDOW, ReportPart
from store.clock import MovableClock
from store.enterprises import enterprises

AT = "/enterprises/globe/assistant/metrics/reports"
DAY = "2026-11-20"
CONTENT = b'{"n":1}\n{"n":2}\n'
DIGEST = hashlib.sha256(CONTENT).hexdigest()
ONE_DAY = ("enterprise-1-day", "users-1-day", "user-teams-1-day")
OTHER_DIGITS = "?day=%D9%A2%D9%A0%D9%A2%D9%A6-11-20"  # the year in Arabic-Indic digits
WINDOWS = ("enterprise-28-day/latest", "users-28-day/latest")


def made(db: Connection, enterprise_id: int, day: str, lines: int = 2) -> list[int]:
    """Store the reports of `day` and of its 28-day window, each with CONTENT. Return their ids."""
    number = usage_days.of_iso(day)
    ids: list[int] = []
    for kinds, first in ((OF_A_DAY, number), (OF_A_WINDOW, number - 27)):
        begun = reports.begin(db, kinds, enterprise_id, first, number, 1)
        for report_id in begun.values():
            for at in range(2):
                reports.put_part(db, report_id, at, CONTENT[8 * at : 8 * at + 8])
        reports.finish(
            db, [ReportPart(each, lines, len(CONTENT), DIGEST) for each in begun.values()]
        )
        ids += begun.values()
    return ids


@pytest.fixture
def settings(tmp_path: Path) -> HubSettings:
    return HubSettings(base_url=BASE, data_dir=tmp_path, report_link_seconds=600)


@pytest.fixture
def world(store: Store) -> Using:
    found = store.write_sync(using)
    store.write_sync(enterprises.join, found.enterprise["id"], found.ann["id"], "billing_manager")
    store.write_sync(made, found.enterprise["id"], DAY)
    return found


def headers(store: Store, user: Row, **given: Any) -> dict[str, str]:
    given = given or {"scopes": ["manage_billing:assistant"]}
    return by(store, user, **given)


@pytest.fixture
async def client(
    store: Store, world: Using, settings: HubSettings
) -> AsyncIterator[httpx.AsyncClient]:
    async with open_client(store, settings, headers=headers(store, world.ann)) as opened:
        yield opened


@pytest.fixture
async def link(client: httpx.AsyncClient) -> str:
    answer = await client.get(f"{AT}/users-1-day?day={DAY}")
    (found,) = answer.json()["download_links"]
    del client.headers["Authorization"]
    return str(found)


async def test_each_report_has_links_of_its_own(client: httpx.AsyncClient) -> None:
    seen = set()
    for kind in (*ONE_DAY, "repos-1-day"):
        answer = await client.get(f"{AT}/{kind}?day={DAY}")
        assert answer.status_code == 200
        assert answer.json().keys() == {"download_links", "report_day"}
        assert answer.json()["report_day"] == DAY
        seen.update(answer.json()["download_links"])
    for kind in WINDOWS:
        answer = await client.get(f"{AT}/{kind}")
        assert answer.status_code == 200
        described = answer.json()
        seen.update(described.pop("download_links"))
        assert described == {"report_start_day": "2026-10-24", "report_end_day": DAY}
    assert len(seen) == 6
    assert all(re.fullmatch(rf"{BASE}/reports/\d+\?expires=\d+&signature=[0-9a-f]{{64}}", one)
               for one in seen)  # fmt: skip


async def test_days_without_a_report(
    client: httpx.AsyncClient, store: Store, world: Using, clock: MovableClock
) -> None:
    for day in ("2025-10-09", "2025-11-20"):
        store.write_sync(made, world.enterprise["id"], day)
    for day in ("2025-10-09", "2025-11-20", "2026-11-19", "2026-11-21", "2026-11-22", "9999-12-31"):
        for kind in ONE_DAY:
            assert_error(await client.get(f"{AT}/{kind}?day={day}"), 404, "Not Found")
        answer = await client.get(f"{AT}/repos-1-day?day={day}")
        assert (answer.status_code, answer.content) == (204, b"")


async def test_history_of_assistant_metrics(
    client: httpx.AsyncClient, store: Store, world: Using, clock: MovableClock
) -> None:
    clock.advance(-100 * 86_400)
    for day, status in (("2025-10-10", 200), ("2025-10-09", 404)):
        store.write_sync(made, world.enterprise["id"], day)
        assert (await client.get(f"{AT}/users-1-day?day={day}")).status_code == status
    # Reports are available for a year.
    clock.advance(58 * 86_400)
    assert (await client.get(f"{AT}/users-1-day?day=2025-10-10")).status_code == 200
    clock.advance(86_400)
    assert (await client.get(f"{AT}/users-1-day?day=2025-10-10")).status_code == 404


async def test_a_day_without_repositories(
    client: httpx.AsyncClient, store: Store, world: Using
) -> None:
    store.write_sync(made, world.enterprise["id"], "2026-11-18", 0)
    answer = await client.get(f"{AT}/repos-1-day?day=2026-11-18")
    assert (answer.status_code, answer.content) == (204, b"")
    assert (await client.get(f"{AT}/user-teams-1-day?day=2026-11-18")).status_code == 200


async def test_the_latest_is_of_the_last_day(
    client: httpx.AsyncClient, store: Store, world: Using
) -> None:
    store.write_sync(made, world.enterprise["id"], "2026-11-21")
    described = (await client.get(f"{AT}/users-28-day/latest")).json()
    assert described["report_end_day"] == "2026-11-21"
    store.write_sync(lambda db: db.execute("DELETE FROM report"))
    for kind in WINDOWS:
        assert_error(await client.get(f"{AT}/{kind}"), 404)


async def test_an_invalid_day_is_rejected(client: httpx.AsyncClient) -> None:
    malformed = ("", "2026-1-1", "2026-11- 1", "2026-W47-5", "20261120", "2026-02-30", "tomorrow")
    for query in ("", OTHER_DIGITS, *(f"?day={day}" for day in malformed)):
        content = assert_error(await client.get(f"{AT}/users-1-day{query}"), 422)
        assert "day" in content["message"]


@pytest.mark.parametrize("policy", ["disabled", "unconfigured"])
async def test_metrics_need_an_enabled_policy(
    client: httpx.AsyncClient, store: Store, world: Using, policy: str
) -> None:
    store.write_sync(enterprises.enable_usage_metrics, world.enterprise, policy)
    reported = "The usage metrics policy of the enterprise is not enabled everywhere."
    for kind in (*ONE_DAY, "repos-1-day"):
        for day in (DAY, "2026-01-01"):
            assert_error(await client.get(f"{AT}/{kind}?day={day}"), 403, reported)
    for kind in WINDOWS:
        assert_error(await client.get(f"{AT}/{kind}"), 403, reported)


async def test_metrics_need_an_owner_or_a_billing_manager(
    client: httpx.AsyncClient, store: Store, world: Using
) -> None:
    at = f"{AT}/users-1-day?day={DAY}"
    assert_error(await client.get(at, headers=headers(store, world.ben)), 403)
    for role, status in (("member", 403), ("billing_manager", 200), ("owner", 200)):
        store.write_sync(enterprises.join, world.enterprise["id"], world.ben["id"], role)
        answer = await client.get(at, headers=headers(store, world.ben))
        assert answer.status_code == status, role
    reading = {"kind": "fine_grained", "permissions": {"enterprise_assistant_metrics": "read"}}
    assert (await client.get(at, headers=headers(store, world.ben, **reading))).status_code == 200
    store.write_sync(enterprises.join, world.enterprise["id"], world.ben["id"], "member")
    # A member's fine-grained token with the permission needs no role.
    assert (await client.get(at, headers=headers(store, world.ben, **reading))).status_code == 200
    by_app = reading | {"kind": "app_user"}
    assert_error(await client.get(at, headers=headers(store, world.ben, **by_app)), 403)
    for lacking in ({}, {"enterprise_teams": "read"}):
        other = {"kind": "fine_grained", "permissions": lacking}
        assert_error(await client.get(at, headers=headers(store, world.ben, **other)), 403)
    stranger = store.write_sync(using, "moon").ann
    assert_error(await client.get(at, headers=headers(store, stranger, **reading)), 404)
    assert_error(await client.get(at, headers=headers(store, stranger)), 404)


# Downloads


async def test_a_report_is_downloaded(client: httpx.AsyncClient, link: str, tmp_path: Path) -> None:
    answer = await client.get(link)
    assert (answer.status_code, answer.content) == (200, CONTENT)
    assert answer.headers["Content-Type"] == "application/x-ndjson"
    assert answer.headers["Content-Length"] == str(len(CONTENT))
    name = f"globe-users-1-day-{DAY}.ndjson"
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{name}"'
    assert answer.headers["ETag"] == f'"{DIGEST}"'
    assert answer.headers["Last-Modified"] == "Sat, 21 Nov 2026 07:33:00 GMT"
    assert answer.headers["X-Service-Request-Id"]
    head = await client.head(link)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["Content-Length"] == str(len(CONTENT))
    # The link also works without the prefix of the API.
    assert (await client.get(link.replace("/api/v3", ""))).content == CONTENT


async def test_ranges_of_a_report_are_served(client: httpx.AsyncClient, link: str) -> None:
    tag = f'"{DIGEST}"'
    for given, status, content in (
        ({"Range": "bytes=8-"}, 206, CONTENT[8:]),
        ({"Range": "bytes=0-3"}, 206, CONTENT[:4]),
        ({"Range": "bytes=-4"}, 206, CONTENT[-4:]),
        ({"Range": "bytes=8-", "If-Range": tag}, 206, CONTENT[8:]),
        ({"Range": "bytes=8-", "If-Range": '"of another file"'}, 200, CONTENT),
        ({"Range": "bytes=8-", "If-Range": "Sat, 21 Nov 2026 07:33:00 GMT"}, 206, CONTENT[8:]),
    ):
        answer = await client.get(link, headers=given)
        assert (answer.status_code, answer.content) == (status, content), given
    answer = await client.get(link, headers={"Range": "bytes=8-11"})
    assert answer.headers["Content-Range"] == "bytes 8-11/16"
    answer = await client.get(link, headers={"Range": "bytes=99-"})
    assert answer.status_code == 416
    assert answer.headers["Content-Range"] == "bytes */16"
    answer = await client.get(link, headers={"Range": "bytes=0-1,8-9"})
    assert answer.status_code == 206
    assert answer.headers["Content-Type"].startswith("multipart/byteranges")


async def test_wrong_ranges_are_ignored(client: httpx.AsyncClient, link: str) -> None:
    for asked in (
        "bytes=5-2", "bytes=", "bytes=a-b", "lines=0-1", "bytes", "bytes=-", "bytes=1--2",
    ):  # fmt: skip
        answer = await client.get(link, headers={"Range": asked})
        assert (answer.status_code, answer.content) == (200, CONTENT), asked


async def test_a_report_link_expires(
    client: httpx.AsyncClient, link: str, clock: MovableClock, settings: HubSettings
) -> None:
    clock.advance(settings.report_link_seconds - 1)
    assert (await client.get(link)).status_code == 200
    clock.advance(1)
    assert "it has expired" in assert_error(await client.get(link), 403)["message"]
    assert (await client.head(link)).status_code == 403


async def test_a_report_link_of_a_fast_clock_has_ended(
    client: httpx.AsyncClient, clock: MovableClock, link: str
) -> None:
    clock.advance(-8 * 86_400)
    assert_error(await client.get(link), 403)


# The altered part of a link, and its replacement.
ALTERED = [
    (r"reports/\d+", "reports/1"),
    (r"reports/\d+", "reports/x"),
    (r"reports/\d+", "reports/99999999999999999999"),
    (r"expires=\d+", "expires=9999999999"),
    (r"expires=\d+", "expires="),
    (r"expires=\d+", "expires=%F0%9F%94%94"),
    (r"expires=\d+&", ""),
    (r"signature=.", "signature=x"),
    (r"signature=.*", "signature=" + "0" * 64),
    (r"signature=.*", "signature=%F0%9F%94%94"),
    (r"&signature=.*", ""),
    (r"\?.*", ""),
]


async def test_an_altered_link_is_refused(client: httpx.AsyncClient, link: str) -> None:
    for pattern, instead in ALTERED:
        altered, times = re.subn(pattern, instead, link)
        assert times == 1
        assert_error(await client.get(altered), 403)


async def test_a_link_from_before_a_restore_is_refused(
    client: httpx.AsyncClient, store: Store, link: str
) -> None:
    store.write_sync(lambda db: db.execute("UPDATE report SET digest = :other", other="cd" * 32))
    assert_error(await client.get(link), 403)


async def test_the_link_of_a_deleted_report_is_refused(
    client: httpx.AsyncClient, store: Store, link: str
) -> None:
    store.write_sync(lambda db: db.execute("DELETE FROM report"))
    assert_error(await client.get(link), 403)


async def test_a_report_that_was_replaced_can_be_had_until_the_link_ends(
    client: httpx.AsyncClient, store: Store, world: Using, link: str
) -> None:
    store.write_sync(made, world.enterprise["id"], DAY)
    assert (await client.get(link)).content == CONTENT


async def test_the_file_is_made_where_it_is_not(
    client: httpx.AsyncClient, link: str, tmp_path: Path
) -> None:
    folder = report_files.folder(tmp_path)
    assert list(folder.iterdir()) == []
    # No worker here deleted it together with its report.
    report_files.path(tmp_path, 4711).write_bytes(CONTENT)
    assert (await client.get(link)).content == CONTENT
    (file,) = folder.iterdir()
    assert file.read_bytes() == CONTENT
    # The hub replaces an incomplete file, and leaves no temporary file.
    file.write_bytes(CONTENT[:5])
    assert (await client.get(link)).content == CONTENT
    file.unlink()
    assert (await client.get(link)).content == CONTENT
    assert list(folder.iterdir()) == [file]
    assert file.stat().st_mode & 0o777 == 0o600


async def test_a_report_that_is_deleted_while_it_is_read_is_refused(
    client: httpx.AsyncClient, link: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = reports.part

    def deleting(db: Connection, report_id: int, number: int) -> bytes | None:
        return part(db, report_id, number) if number == 0 else None

    monkeypatch.setattr(reports, "part", deleting)
    assert_error(await client.get(link), 403)
    assert list(report_files.folder(tmp_path).iterdir()) == []


async def test_the_file_of_another_database_is_replaced(
    client: httpx.AsyncClient, link: str, tmp_path: Path
) -> None:
    number = int(re.findall(r"reports/(\d+)", link)[0])
    report_files.folder(tmp_path)
    report_files.path(tmp_path, number).write_bytes(b"!" * len(CONTENT))
    assert (await client.get(link)).content == CONTENT


async def test_a_full_disk_is_answered_with_503(
    client: httpx.AsyncClient, link: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*given: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(report_files, "restore", full)
    assert_error(await client.get(link), 503)
