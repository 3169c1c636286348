"""Source imports through the API."""

import asyncio
import json
from typing import Any

import httpx
import pytest
from assertions import BASE, assert_error, bodies, links
from bearer import bearer
from hub_client import open_client
from racing import waits
from transactions import transaction
from waiting import until

from hub.api.imports import source_imports
from hub.rest.context import Services
from hub.settings import HubSettings
from hub.worker_events import WorkerEvents
from store import Row, Store
from store.accounts import accounts
from store.audit import audit_search
from store.imports import import_contents, import_rounds, imports
from store.imports.import_contents import Author, LargeFile
from store.repositories import repositories

AT = "/repos/octo/hello/import"
URL = "https://source.example/bells.git"
PASSWORD = "open sesame"


async def started(client: httpx.AsyncClient, **given: Any) -> Row:
    answer = await client.put(AT, json={"vcs_url": URL} | given)
    assert answer.status_code == 201, answer.text
    assert answer.headers["Location"] == answer.json()["url"]
    return answer.json()


async def shown(client: httpx.AsyncClient) -> Row:
    answer = await client.get(AT)
    assert answer.status_code == 200, answer.text
    return answer.json()


def taken(store: Store) -> Row:
    row = store.write_sync(import_rounds.claim, ())
    assert row is not None
    return row


async def test_an_import_is_started_and_shown(client: httpx.AsyncClient, store: Store) -> None:
    assert_error(await client.get(AT), 404, "Not Found")
    fresh = await started(client)
    root = f"{BASE}{AT}"
    assert fresh == {
        "vcs": None,
        "use_lfs": "undecided",
        "vcs_url": URL,
        "status": "detecting",
        "status_text": "Detecting...",
        "failed_step": None,
        "error_message": None,
        "percent": None,
        "import_percent": None,
        "commit_count": None,
        "push_percent": None,
        "has_large_files": False,
        "large_files_size": 0,
        "large_files_count": 0,
        "authors_count": None,
        "url": root,
        "html_url": "https://forge.example/octo/hello/import",
        "authors_url": f"{root}/authors",
        "repository_url": f"{BASE}/repos/octo/hello",
    }
    assert await shown(client) == fresh
    row = taken(store)
    store.write_sync(import_rounds.report_progress, row, {"status": "importing"})
    now = await shown(client)
    assert (now["percent"], now["import_percent"], now["commit_count"]) == (0, 0, 0)
    news = {"status": "importing", "vcs": "git", "import_percent": 40, "commit_count": 7}
    store.write_sync(import_rounds.report_progress, row, news)
    now = await shown(client)
    assert (now["status"], now["percent"], now["import_percent"]) == ("importing", 40, 40)
    assert (now["vcs"], now["commit_count"]) == ("git", 7)
    store.write_sync(
        import_rounds.report_progress,
        row,
        {"status": "pushing", "push_percent": 10, "authors_count": 2},
    )
    now = await shown(client)
    assert (now["percent"], now["push_percent"], now["authors_count"]) == (None, 10, 2)
    store.write_sync(import_rounds.complete, row, {})
    now = await shown(client)
    assert (now["status"], now["status_text"], now["push_percent"]) == ("complete", "Done", 100)


async def test_a_given_kind_skips_the_detection(client: httpx.AsyncClient) -> None:
    made = await started(client, vcs="mercurial", tfvc_project="a")
    assert (made["status"], made["vcs"], made["tfvc_project"]) == ("importing", "mercurial", "a")


async def test_an_invalid_import_is_rejected(client: httpx.AsyncClient) -> None:
    for wrong in (
        {},
        {"vcs_url": ""},
        {"vcs_url": 1},
        {"vcs_url": URL, "vcs": "cvs"},
        {"vcs_url": URL, "vcs_username": "a\nb"},
        {"vcs_url": URL, "vcs_password": "a\0b"},
        {"vcs_url": URL, "vcs_password": "x" * 1001},
        {"vcs_url": "https://a.example/" + "x" * 2048},
    ):
        assert_error(await client.put(AT, json=wrong), 422)
    for refused in ("file:///etc/passwd", "ssh://a.example/b", "https://forbidden.example/"):
        answer = await client.put(AT, json={"vcs_url": refused})
        (detail,) = assert_error(answer, 422, "Validation Failed")["errors"]
        assert (detail["resource"], detail["field"]) == ("Import", "vcs_url")
        assert "is refused" in detail["message"]
    assert_error(await client.get(AT), 404)


async def test_an_svn_url_is_accepted_for_subversion_only(client: httpx.AsyncClient) -> None:
    for scheme in ("svn+ssh", "git", "file"):
        answer = await client.put(AT, json={"vcs_url": f"{scheme}://a.example/b"})
        (detail,) = assert_error(answer, 422)["errors"]
        assert "use an http, https or svn URL" in detail["message"]
    for vcs in ("git", "mercurial", "tfvc"):
        answer = await client.put(AT, json={"vcs_url": "svn://a.example/b", "vcs": vcs})
        (detail,) = assert_error(answer, 422)["errors"]
        assert detail["field"] == "vcs"
    answer = await client.put(AT, json={"vcs_url": "svn://forbidden.example/b"})
    (detail,) = assert_error(answer, 422)["errors"]
    assert detail["field"] == "vcs_url"
    made = await started(client, vcs_url="svn://a.example/b")
    assert made["vcs_url"] == "svn://a.example/b"


@pytest.mark.parametrize(
    ("source", "judged"),
    [
        ("svn://a.example/b", "http://a.example:3690/b"),
        ("SVN://a.example", "http://a.example:3690"),
        ("svn://a.example:99/b?c", "http://a.example:99/b?c"),
        ("svn://a.example:/b", "http://a.example:/b"),
        ("svn://[::1]/b", "http://[::1]:3690/b"),
        ("svn://[::1]:99/b", "http://[::1]:99/b"),
        ("svn://ada:secret@a.example/b", "http://ada:secret@a.example/b"),
        ("https://a.example/b", "https://a.example/b"),
    ],
)
async def test_a_server_of_subversion_is_judged_by_its_host_and_port(
    store: Store, settings: HubSettings, source: str, judged: str
) -> None:
    asked: list[str] = []

    async def judge(url: str) -> None:
        asked.append(url)

    await source_imports.check_url(Services(store, settings, judge), {"vcs_url": source})
    assert asked == [judged]


async def test_a_repository_has_one_import_at_a_time(
    client: httpx.AsyncClient, store: Store
) -> None:
    await started(client)
    answer = await client.put(AT, json={"vcs_url": URL})
    (detail,) = assert_error(answer, 422)["errors"]
    assert "under way" in detail["message"]
    store.write_sync(import_rounds.stop, taken(store), "error", "It broke", "importing")
    now = await shown(client)
    assert (now["failed_step"], now["error_message"]) == ("importing", "It broke")
    assert (await started(client))["error_message"] is None


async def test_passwords_are_never_shown_or_logged(
    client: httpx.AsyncClient, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    made = await started(client, vcs_username="ada", vcs_password=PASSWORD)
    answer = await client.patch(AT, json={"vcs_password": f"{PASSWORD} 2"})
    assert PASSWORD not in json.dumps([made, answer.json()])
    assert PASSWORD not in caplog.text
    logged = json.dumps(store.read_sync(audit_search.page, limit=10), default=str)
    assert "vcs_password" in logged
    assert PASSWORD not in logged
    row = taken(store)
    assert PASSWORD.encode() not in bytes(row["password"])
    assert store.read_sync(imports.password_of, row) == f"{PASSWORD} 2"
    refused = await client.patch(AT, json={"vcs_password": [PASSWORD]})
    assert PASSWORD not in refused.text


@pytest.mark.parametrize(
    ("status", "body"),
    [
        ("auth_failed", {"vcs_username": "ada", "vcs_password": PASSWORD}),
        ("detection_needs_auth", {"vcs_username": "ada"}),
        ("detection_found_nothing", {"vcs": "git"}),
        ("error", None),
    ],
)
async def test_an_import_with_a_problem_is_restarted_by_an_update(
    client: httpx.AsyncClient, store: Store, status: str, body: Row | None
) -> None:
    await started(client)
    store.write_sync(import_rounds.stop, taken(store), status)
    now = await shown(client)
    assert now["status"] == status
    assert now["status_text"]
    answer = await client.patch(AT, json=body)
    assert answer.status_code == 200, answer.text
    assert answer.json()["status"] == ("importing" if body == {"vcs": "git"} else "detecting")
    assert store.read_sync(import_rounds.next_due) is not None


async def test_a_project_is_chosen(client: httpx.AsyncClient, store: Store) -> None:
    await started(client)
    choices = [
        {"vcs": "git", "tfvc_project": name, "human_name": f"{name} (git)"} for name in ("a", "b")
    ]
    store.write_sync(import_rounds.choose, taken(store), choices)
    now = await shown(client)
    assert (now["status"], now["project_choices"]) == ("detection_found_multiple", choices)
    answer = await client.patch(AT, json={"tfvc_project": "c"})
    (detail,) = assert_error(answer, 422)["errors"]
    assert detail["message"] == "choose one of: a, b"
    # The client may send a listed choice back unchanged.
    answer = await client.patch(AT, json=choices[1])
    assert answer.status_code == 200
    assert (answer.json()["status"], answer.json()["tfvc_project"]) == ("importing", "b")
    assert "project_choices" not in answer.json()


async def test_requests_without_an_import_are_not_found(client: httpx.AsyncClient) -> None:
    for method, path, body in (
        ("PATCH", AT, {}),
        ("DELETE", AT, None),
        ("PATCH", f"{AT}/lfs", {"use_lfs": "opt_in"}),
        ("PATCH", f"{AT}/authors/1", {}),
        ("GET", f"{AT}/authors", None),
        ("GET", f"{AT}/large_files", None),
    ):
        assert_error(await client.request(method, path, json=body), 404, "Not Found")


async def test_an_import_can_be_canceled(client: httpx.AsyncClient, store: Store) -> None:
    await started(client)
    row = taken(store)
    assert (await client.delete(AT)).status_code == 204
    assert not store.read_sync(import_rounds.is_current, row)
    assert_error(await client.get(AT), 404)
    (reported,) = bodies(store, "repository_import")
    assert reported.keys() == {"status", "repository", "sender"}
    assert reported["status"] == "cancelled"
    assert reported["repository"]["full_name"] == "octo/hello"
    assert reported["sender"]["login"] == "octo"


@pytest.mark.parametrize("url", ["postgres"], indirect=True)
async def test_an_import_that_ends_while_it_is_cancelled_has_one_outcome(
    client: httpx.AsyncClient, store: Store, url: str
) -> None:
    await started(client)
    row = taken(store)
    with transaction(store) as db:
        assert import_rounds.complete(db, row, {})
        cancelling = asyncio.ensure_future(client.delete(AT))
        await until(lambda: cancelling.done() or waits(url))
    assert (await cancelling).status_code == 204
    assert bodies(store, "repository_import") == []


async def test_one_that_is_complete_is_forgotten(client: httpx.AsyncClient, store: Store) -> None:
    await started(client)
    store.write_sync(import_rounds.complete, taken(store), {})
    assert (await client.delete(AT)).status_code == 204
    assert bodies(store, "repository_import") == []


async def test_the_result_of_an_import_is_reported_as_an_event(
    store: Store, settings: HubSettings, seed: Any
) -> None:
    with transaction(store) as db:
        org = accounts.create(db, "acme", kind="Organization")
        kit = repositories.create(db, org["id"], "kit")
        rows = [
            {"repo_id": repo["id"], "account_id": who, "outcome": outcome}
            for repo, who, outcome in (
                (seed.hello, seed.octo["id"], "success"),
                (kit, None, "failure"),
            )
        ]
        WorkerEvents(settings)(db, "repository_import", rows)
    success, failure = bodies(store, "repository_import")
    assert (success["status"], success["sender"]["login"]) == ("success", "octo")
    assert "organization" not in success
    assert (failure["status"], failure["sender"]) == ("failure", None)
    assert failure["organization"]["login"] == "acme"
    assert failure["repository"]["full_name"] == "acme/kit"


@pytest.fixture
async def authors(client: httpx.AsyncClient, store: Store, seed: Any) -> list[Row]:
    await started(client)
    found = [Author(f"{at}", f"Ada {at}", f"{at}@tower.example") for at in range(3)]
    store.write_sync(import_contents.put_authors, seed.hello["id"], found)
    return (await client.get(f"{AT}/authors")).json()  # type: ignore[no-any-return]


async def test_authors_are_listed_and_mapped(client: httpx.AsyncClient, authors: list[Row]) -> None:
    one, two, three = authors
    assert one == {
        "id": one["id"],
        "remote_id": "0@tower.example",
        "remote_name": "Ada 0",
        "email": "0@tower.example",
        "name": "Ada 0",
        "url": f"{BASE}{AT}/authors/{one['id']}",
        "import_url": f"{BASE}{AT}",
    }
    later = await client.get(f"{AT}/authors", params={"since": one["id"]})
    assert later.json() == [two, three]
    first = await client.get(f"{AT}/authors", params={"per_page": 2})
    assert first.json() == [one, two]
    next_page = links(first)["next"]
    assert f"since={two['id']}" in next_page
    assert (await client.get(next_page)).json() == [three]
    assert (await client.get(f"{AT}/authors", params={"since": "x"})).json() == authors
    assert (await client.get(f"{AT}/authors", params={"since": "9" * 19})).json() == []


async def test_an_author_is_mapped(
    client: httpx.AsyncClient, store: Store, authors: list[Row]
) -> None:
    row = taken(store)
    named = {"name": "Eve", "email": "eve@tower.example"}
    answer = await client.patch(authors[1]["url"], json=named)
    assert answer.status_code == 200
    assert answer.json() == authors[1] | named
    assert store.read_sync(import_rounds.is_current, row)
    store.write_sync(
        import_rounds.complete, row, store.read_sync(import_contents.renamed, row["repo_id"])
    )
    # An edit without a change does not repeat the mapping of authors.
    for nothing in ({}, named, {"name": "Eve"}):
        assert (await client.patch(authors[1]["url"], json=nothing)).status_code == 200
    assert (await shown(client))["status"] == "complete"
    await client.patch(authors[1]["url"], json={"name": "Eva"})
    assert (await shown(client))["status"] == "mapping"


async def test_an_author_keeps_an_address_of_the_source(
    client: httpx.AsyncClient, store: Store, seed: Any, authors: list[Row]
) -> None:
    found = [Author("s", "svn", "svn")]
    store.write_sync(import_contents.put_authors, seed.hello["id"], found)
    *_, one = (await client.get(f"{AT}/authors")).json()
    answer = await client.patch(one["url"], json={"name": "Ada", "email": "svn"})
    assert (answer.status_code, answer.json()["email"]) == (200, "svn")


async def test_wrong_names_of_authors_are_refused(
    client: httpx.AsyncClient, authors: list[Row]
) -> None:
    for wrong in (
        {"name": ""},
        {"name": "a<b"},
        {"email": "a>b"},
        {"name": "a\nb"},
        {"name": "x" * 321},
        {"email": "notmail"},
        {"email": "@tower.example"},
        {"login": "ada"},
    ):
        assert_error(await client.patch(authors[0]["url"], json=wrong), 422)


async def test_large_files_are_listed(client: httpx.AsyncClient, store: Store, seed: Any) -> None:
    await started(client)
    assert (await client.get(f"{AT}/large_files")).json() == []
    oid = "d3d9446802a44259755d38e6d163e820aabbccdd"
    found = [LargeFile("refs/heads/main", "bell.wav", oid, 132_331_036)]
    store.write_sync(
        import_contents.put_large_files, seed.hello["id"], found, count=1, size=132_331_036
    )
    assert (await client.get(f"{AT}/large_files")).json() == [
        {"ref_name": "refs/heads/main", "path": "bell.wav", "oid": oid, "size": 132_331_036}
    ]
    now = await shown(client)
    assert (now["has_large_files"], now["large_files_count"], now["large_files_size"]) == (
        True,
        1,
        1,
    )
    for choice in ("opt_in", "opt_out"):
        answer = await client.patch(f"{AT}/lfs", json={"use_lfs": choice})
        assert answer.json()["use_lfs"] == choice
        assert "stay in the history" in answer.json()["message"]
    assert_error(await client.patch(f"{AT}/lfs", json={"use_lfs": "undecided"}), 422)


async def test_a_setting_switches_imports_off(
    store: Store, settings: HubSettings, seed: Any
) -> None:
    off = settings.model_copy(update={"imports": False})
    async with open_client(store, off, headers=bearer(seed.token)) as client:
        for method, path in (
            ("GET", AT),
            ("PUT", AT),
            ("PATCH", AT),
            ("DELETE", AT),
            ("GET", f"{AT}/authors"),
            ("PATCH", f"{AT}/authors/1"),
            ("GET", f"{AT}/large_files"),
            ("PATCH", f"{AT}/lfs"),
        ):
            answer = await client.request(method, path)
            message = "This operation is gone: the setting imports of this server is off"
            assert_error(answer, 410, message)


async def test_source_imports_announce_their_deprecation(client: httpx.AsyncClient) -> None:
    await started(client)
    answer = await client.get(AT)
    assert answer.headers["Deprecation"] == "Fri, 12 Apr 2024 00:00:00 GMT"
    assert answer.headers["Sunset"] == "Fri, 12 Apr 2024 00:00:00 GMT"
