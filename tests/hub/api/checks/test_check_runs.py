"""Check runs: creation, changes, annotations, lists, events, and rerequests."""

from typing import Any

import httpx
import pytest
from assertions import BASE, assert_error, bodies, links
from bearer import Headers, by
from statement_log import statements
from transactions import transaction

from store import Store
from store.accounts import apps
from store.checks import check_runs, check_suites
from store.hooks import hooks
from store.issues import pulls
from store.projection import projection_table
from store.registry import app_removal
from store.repositories import refs

HELLO, VAULT = "/repos/octo/hello", "/repos/octo/vault"
RUNS = f"{HELLO}/check-runs"
SHA = "ce587453ced02b1526dfb4cb910479d431683101"
NOW = "2026-11-21T07:33:00Z"
NEW: dict[str, Any] = {"name": "mighty_readme", "head_sha": SHA, "status": "in_progress"}
LINE: dict[str, Any] = {
    "path": "README.md",
    "annotation_level": "warning",
    "message": "Check your spelling",
    "start_line": 2,
    "end_line": 2,
}


def app_of(store: Store, seed: Any, name: str) -> Any:
    with transaction(store) as db:
        return (
            apps.by_name(db, name)
            or apps.create(
                db,
                seed.octo["id"],
                name,
                url="https://checker.example/",
                kind="integration",
                permissions={"checks": "write", "metadata": "read"},
            )[1]
        )


def token(store: Store, seed: Any, app: str | None = None, **given: Any) -> Headers:
    """Headers with a token of octo that may write checks. `app` names the app of the token."""
    given = {"kind": "installation", "permissions": {"checks": "write"}} | given
    if app is not None:
        given["app_id"] = app_of(store, seed, app)["id"]
    return by(store, seed.octo, **given)


@pytest.fixture
def mine(store: Store, seed: Any) -> Headers:
    return token(store, seed, "Super CI")


async def made(hub: httpx.AsyncClient, mine: Headers, **body: Any) -> dict[str, Any]:
    answer = await hub.post(RUNS, json=NEW | body, headers=mine)
    assert answer.status_code == 201, answer.text
    run: dict[str, Any] = answer.json()
    return run


async def changed(
    hub: httpx.AsyncClient, mine: Headers, run: dict[str, Any], **body: Any
) -> dict[str, Any]:
    answer = await hub.patch(f"{RUNS}/{run['id']}", json=body, headers=mine)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def names(hub: httpx.AsyncClient, path: str, **query: Any) -> list[str]:
    answer = await hub.get(path, params=query)
    assert answer.status_code == 200, answer.text
    content = answer.json()
    assert content["total_count"] >= len(content["check_runs"])
    return [run["name"] for run in content["check_runs"]]


# Creation


async def test_a_check_run_is_created(hub: httpx.AsyncClient, seed: Any, mine: Headers) -> None:
    output = {"title": "Mighty Readme report", "summary": "", "text": ""}
    body = {**NEW, "external_id": "42", "started_at": "2018-05-04T01:14:52Z", "output": output}
    answer = await hub.post(RUNS, json=body, headers=mine)
    assert answer.status_code == 201
    run = answer.json()
    assert answer.headers["Location"] == run["url"] == f"{BASE}{RUNS}/{run['id']}"
    assert run["output"] == {
        **output,
        "annotations_count": 0,
        "annotations_url": f"{run['url']}/annotations",
        "images": [],
    }
    app = run.pop("app")
    assert (
        run.items()
        >= {
            "head_sha": SHA,
            "name": "mighty_readme",
            "status": "in_progress",
            "conclusion": None,
            "external_id": "42",
            "started_at": "2018-05-04T01:14:52Z",
            "completed_at": None,
            "details_url": "https://checker.example/",
            "html_url": f"https://forge.example/octo/hello/runs/{run['id']}",
        }.items()
    )
    assert (run["pull_requests"], run["actions"]) == ([], [])
    assert app["slug"] == "super-ci"
    assert app["owner"]["login"] == "octo"
    assert app["permissions"] == {"checks": "write", "metadata": "read"}
    assert app["html_url"] == "https://forge.example/apps/super-ci"
    assert (app["external_url"], app["events"]) == ("https://checker.example/", [])
    assert (await hub.get(f"{RUNS}/{run['id']}")).json() == {**run, "app": app}


async def test_a_check_run_has_defaults(hub: httpx.AsyncClient, mine: Headers) -> None:
    answer = await hub.post(RUNS, json={"name": "lint", "head_sha": SHA.upper()}, headers=mine)
    run = answer.json()
    assert (run["status"], run["head_sha"], run["external_id"]) == ("queued", SHA, "")
    assert (run["started_at"], run["completed_at"]) == (NOW, None)
    assert run["output"]["title"] is run["output"]["summary"] is run["output"]["text"] is None


async def test_a_suite_is_made_as_needed(
    hub: httpx.AsyncClient, store: Store, seed: Any, mine: Headers
) -> None:
    store.write_sync(refs.put, seed.hello["id"], "refs/heads/topic", SHA)
    first, second = await made(hub, mine), await made(hub, mine, name="lint")
    assert first["check_suite"] == second["check_suite"]
    elsewhere = await made(hub, mine, head_sha="b" * 40)
    other = await made(hub, token(store, seed, "Other"))
    assert len({run["check_suite"]["id"] for run in (first, elsewhere, other)}) == 3
    requested = bodies(store, "check_suite")
    assert [event["action"] for event in requested] == ["requested"] * 3
    suite = requested[0]["check_suite"]
    assert suite["head_commit"]["id"] == suite["head_sha"]
    assert suite["id"] == first["check_suite"]["id"]
    assert (suite["head_branch"], suite["after"], suite["before"]) == ("topic", SHA, None)
    assert suite["app"] == first["app"]
    assert suite["check_runs_url"] == f"{suite['url']}/check-runs"
    assert requested[1]["check_suite"]["head_branch"] is None


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"head_sha": "main"}, None),
        ({"head_sha": SHA[:7]}, None),
        ({"head_sha": "g" * 40}, None),
        ({"details_url": "javascript:alert(1)"}, None),
        ({"details_url": "https://"}, None),
        ({"output": {"title": "", "summary": "", "images": [{"alt": "", "image_url": "x"}]}}, None),
        ({"conclusion": "stale"}, None),
        ({"name": ""}, "name"),
        ({"name": "n" * 256}, "name"),
        ({"name": "a\0b"}, "name"),
        ({"status": "waiting"}, "status"),
        ({"status": "done"}, "status"),
        ({"conclusion": "fine"}, "conclusion"),
        ({"started_at": "yesterday"}, "started_at"),
        ({"output": {"summary": ""}}, "output/title"),
        ({"output": {"title": ""}}, "output/summary"),
        ({"output": {"title": "", "summary": "s" * 65_536}}, "output/summary"),
        ({"output": {"title": "", "summary": "", "text": "t" * 65_536}}, "output/text"),
        ({"actions": [{"label": "", "identifier": ""}]}, "actions/0/description"),
        (
            {"actions": [{"label": "l" * 21, "description": "", "identifier": ""}]},
            "actions/0/label",
        ),
        (
            {"actions": [{"label": "", "description": "d" * 41, "identifier": ""}]},
            "actions/0/description",
        ),
        (
            {"actions": [{"label": "", "description": "", "identifier": "i" * 21}]},
            "actions/0/identifier",
        ),
        ({"actions": [{"label": "", "description": "", "identifier": ""}] * 4}, "actions"),
        (
            {"output": {"title": "", "summary": "", "images": [{"alt": ""}]}},
            "output/images/0/image_url",
        ),
    ],
)
async def test_invalid_check_runs_are_rejected(
    hub: httpx.AsyncClient, store: Store, mine: Headers, body: dict[str, Any], message: str | None
) -> None:
    answer = await hub.post(RUNS, json=NEW | body, headers=mine)
    if message is None:
        assert_error(answer, 422, "Validation Failed", code="invalid")
    else:
        assert f'"{message}" wasn\'t' in assert_error(answer, 422)["message"] or (
            f"For '{message}'" in answer.json()["message"]
        )
    assert store.read_sync(lambda db: db.value("SELECT count(*) FROM check_suite")) == 0


# Permissions


@pytest.mark.parametrize("kind", ["installation", "app_user"])
async def test_apps_write_check_runs(
    hub: httpx.AsyncClient, store: Store, seed: Any, kind: str
) -> None:
    run = await made(hub, token(store, seed, "CI", kind=kind))
    assert run["app"]["name"] == "CI"


@pytest.mark.parametrize("kind", ["personal", "oauth", "fine_grained"])
async def test_others_do_not(
    hub: httpx.AsyncClient, store: Store, seed: Any, mine: Headers, kind: str
) -> None:
    run = await made(hub, mine)
    rights = {} if kind == "fine_grained" else {"scopes": ["repo"], "permissions": {}}
    other = token(store, seed, kind=kind, **rights)
    for answer in (
        await hub.post(RUNS, json=NEW, headers=other),
        await hub.patch(f"{RUNS}/{run['id']}", json={}, headers=other),
    ):
        message = assert_error(answer, 403)["message"]
        assert message.startswith("Resource not accessible by ")
    assert (await hub.get(f"{RUNS}/{run['id']}", headers=other)).status_code == 200


async def test_a_token_of_no_app_is_refused(
    hub: httpx.AsyncClient, store: Store, seed: Any, mine: Headers
) -> None:
    run = await made(hub, mine)
    message = "You must authenticate via an app: this token belongs to none."
    nobody = token(store, seed)
    assert_error(await hub.post(RUNS, json=NEW, headers=nobody), 403, message)
    assert_error(await hub.patch(f"{RUNS}/{run['id']}", json={}, headers=nobody), 403, message)


async def test_the_run_of_another_app_cannot_be_changed(
    hub: httpx.AsyncClient, store: Store, seed: Any, mine: Headers
) -> None:
    run = await made(hub, mine)
    other = token(store, seed, "Other")
    answer = await hub.patch(f"{RUNS}/{run['id']}", json={"name": "x"}, headers=other)
    assert assert_error(answer, 403)["message"].startswith("Invalid app_id")
    assert_error(await hub.post(f"{RUNS}/{run['id']}/rerequest", headers=other), 403)


# Changes


async def test_a_check_run_is_changed(hub: httpx.AsyncClient, clock: Any, mine: Headers) -> None:
    before = await made(
        hub, mine, output={"title": "T", "summary": "S", "text": "X"}, external_id="1"
    )
    clock.advance(60)
    after = await changed(
        hub, mine, before, name="renamed", details_url="https://x.example/1", output={"summary": ""}
    )
    assert (after["name"], after["details_url"]) == ("renamed", "https://x.example/1")
    assert (after["status"], after["started_at"], after["external_id"]) == ("in_progress", NOW, "1")
    kept = {name: after["output"][name] for name in ("title", "summary", "text")}
    assert kept == {"title": "T", "summary": "", "text": "X"}
    assert (await hub.get(f"{RUNS}/{before['id']}")).json() == after
    assert await changed(hub, mine, before) == after


@pytest.mark.parametrize(
    ("body", "completed_at"),
    [
        ({"conclusion": "success"}, "2026-11-21T07:34:00Z"),
        ({"conclusion": "success", "status": "completed"}, "2026-11-21T07:34:00Z"),
        ({"conclusion": "success", "status": "in_progress"}, "2026-11-21T07:34:00Z"),
        ({"conclusion": "success", "completed_at": "2026-11-21T08:33:30+01:00"},
         "2026-11-21T07:33:30Z"),
    ],
)  # fmt: skip
async def test_a_conclusion_completes(
    hub: httpx.AsyncClient, clock: Any, mine: Headers, body: dict[str, Any], completed_at: str
) -> None:
    run = await made(hub, mine)
    clock.advance(60)
    for after in (await changed(hub, mine, run, **body), await made(hub, mine, **body)):
        assert (after["status"], after["conclusion"]) == ("completed", "success")
        assert after["completed_at"] == completed_at


@pytest.mark.parametrize("body", [{"status": "completed"}, {"completed_at": NOW}])
async def test_completing_needs_a_conclusion(
    hub: httpx.AsyncClient, mine: Headers, body: dict[str, Any]
) -> None:
    run = await made(hub, mine)
    for answer in (
        await hub.post(RUNS, json=NEW | body, headers=mine),
        await hub.patch(f"{RUNS}/{run['id']}", json=body, headers=mine),
    ):
        content = assert_error(answer, 422, "Validation Failed", code="missing_field")
        assert content["errors"][0]["field"] == "conclusion"
    assert_error(
        await hub.patch(f"{RUNS}/{run['id']}", json={"conclusion": "stale"}, headers=mine), 422
    )


async def test_completion_is_kept_until_a_run_starts_again(
    hub: httpx.AsyncClient, clock: Any, mine: Headers
) -> None:
    run = await made(hub, mine, conclusion="failure")
    clock.advance(60)
    still = await changed(hub, mine, run, output={"summary": "again"})
    assert (still["conclusion"], still["completed_at"]) == ("failure", NOW)
    another = await changed(hub, mine, run, conclusion="neutral")
    assert (another["conclusion"], another["completed_at"]) == ("neutral", NOW)
    later = await changed(hub, mine, run, completed_at="2026-11-21T07:33:59Z")
    assert (later["conclusion"], later["completed_at"]) == ("neutral", "2026-11-21T07:33:59Z")
    anew = await changed(hub, mine, run, status="in_progress")
    assert (anew["status"], anew["conclusion"], anew["completed_at"]) == ("in_progress", None, None)


@pytest.mark.parametrize("status", ["queued", "in_progress", "waiting", "requested", "pending"])
async def test_statuses_of_a_change(hub: httpx.AsyncClient, mine: Headers, status: str) -> None:
    run = await changed(hub, mine, await made(hub, mine), status=status)
    assert run["status"] == status


@pytest.mark.parametrize(
    "conclusion",
    ["action_required", "cancelled", "failure", "neutral", "success", "skipped", "timed_out"],
)
async def test_each_conclusion_is_accepted(
    hub: httpx.AsyncClient, mine: Headers, conclusion: str
) -> None:
    assert (await made(hub, mine, conclusion=conclusion))["conclusion"] == conclusion


async def test_actions_and_images(hub: httpx.AsyncClient, mine: Headers) -> None:
    actions = [
        {"label": "l" * 20, "description": "d" * 40, "identifier": "i" * 20} for _ in range(3)
    ]
    image = {"alt": "Super bananas", "image_url": "https://example.com/images/42"}
    output = {"title": "", "summary": "", "images": [image]}
    run = await made(hub, mine, actions=actions, output=output)
    assert run["actions"] == actions
    assert run["output"]["images"] == [{**image, "caption": None}]
    kept = await changed(hub, mine, run, name="x")
    assert (kept["actions"], kept["output"]) == (actions, run["output"])
    fewer = await changed(hub, mine, run, actions=[], output={"summary": "", "images": []})
    assert (fewer["actions"], fewer["output"]["images"]) == ([], [])


# Annotations


async def test_annotations_are_appended(hub: httpx.AsyncClient, mine: Headers) -> None:
    output = {"title": "", "summary": "", "annotations": [LINE] * 50}
    run = await made(hub, mine, output=output)
    assert run["output"]["annotations_count"] == 50
    last = {
        **LINE,
        "path": "doc/über all.md",
        "title": "Spell Checker",
        "raw_details": "Do you mean 'bananas'?",
        "start_column": 1,
        "end_column": 5,
    }
    more = {"summary": "", "annotations": [LINE, last]}
    assert (await changed(hub, mine, run, output=more))["output"]["annotations_count"] == 52
    path = f"{RUNS}/{run['id']}/annotations"
    page = await hub.get(path)
    assert len(page.json()) == 30
    assert links(page)["last"].endswith("page=2")
    rest = (await hub.get(f"{path}?per_page=50&page=2")).json()
    href = f"https://forge.example/octo/hello/blob/{SHA}/doc/%C3%BCber%20all.md"
    assert rest[1] == {**last, "blob_href": href}
    nothing = dict.fromkeys(("title", "raw_details", "start_column", "end_column"))
    href = f"https://forge.example/octo/hello/blob/{SHA}/README.md"
    assert rest[0] == {**LINE, **nothing, "blob_href": href}


@pytest.mark.parametrize(
    ("annotations", "named"),
    [
        ([LINE] * 51, "output/annotations"),
        ([LINE | {"annotation_level": "error"}], "output/annotations/0/annotation_level"),
        ([LINE | {"start_line": -1}], "output/annotations/0/start_line"),
        ([LINE | {"end_line": 2**31}], "output/annotations/0/end_line"),
        ([LINE | {"start_line": "2"}], "output/annotations/0/start_line"),
        ([LINE | {"title": "t" * 256}], "output/annotations/0/title"),
        ([LINE | {"message": "m" * 65_537}], "output/annotations/0/message"),
        ([LINE | {"raw_details": "r" * 65_537}], "output/annotations/0/raw_details"),
        ([LINE | {"path": ""}], "output/annotations/0/path"),
    ],
)
async def test_bad_annotations(
    hub: httpx.AsyncClient, mine: Headers, annotations: list[Any], named: str
) -> None:
    run = await made(hub, mine)
    output = {"title": "", "summary": "", "annotations": annotations}
    for answer in (
        await hub.post(RUNS, json={**NEW, "output": output}, headers=mine),
        await hub.patch(f"{RUNS}/{run['id']}", json={"output": output}, headers=mine),
    ):
        assert f"For '{named}'" in assert_error(answer, 422)["message"]
    assert (await hub.get(f"{RUNS}/{run['id']}")).json()["output"]["annotations_count"] == 0


# Runs with the same name


async def test_the_newest_runs_of_a_name_on_a_commit_are_kept(
    hub: httpx.AsyncClient, mine: Headers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_runs, "MOST_OF_A_NAME", 3)
    other = await made(hub, mine, name="other")
    runs = [await made(hub, mine) for _ in range(5)]
    on_commit = f"{HELLO}/commits/{SHA}/check-runs"
    answer = (await hub.get(on_commit, params={"filter": "all"})).json()
    kept = [run["id"] for run in answer["check_runs"]]
    assert kept == [*(run["id"] for run in runs[:1:-1]), other["id"]]
    assert answer["total_count"] == 4
    assert_error(await hub.get(f"{RUNS}/{runs[0]['id']}"), 404)
    elsewhere = await made(hub, mine, head_sha="c" * 40)
    assert (await hub.get(f"{RUNS}/{elsewhere['id']}")).status_code == 200


async def test_a_run_that_gets_the_name_of_many_newer_runs_is_kept(
    hub: httpx.AsyncClient, store: Store, mine: Headers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_runs, "MOST_OF_A_NAME", 3)
    other = await made(hub, mine, name="other")
    runs = [await made(hub, mine) for _ in range(3)]
    output = {"title": "t", "summary": "s", "annotations": [LINE]}
    body = {"name": NEW["name"], "conclusion": "success", "output": output}
    renamed = await changed(hub, mine, other, **body)
    assert (await hub.get(f"{RUNS}/{other['id']}")).json() == renamed
    assert renamed["output"]["annotations_count"] == 1
    assert bodies(store, "check_run")[-1]["check_run"]["id"] == other["id"]
    on_commit = f"{HELLO}/commits/{SHA}/check-runs"
    answer = (await hub.get(on_commit, params={"filter": "all"})).json()
    kept = [run["id"] for run in answer["check_runs"]]
    assert kept == [runs[2]["id"], runs[1]["id"], other["id"]]
    assert answer["total_count"] == 3
    newest = await made(hub, mine)
    answer = (await hub.get(on_commit, params={"filter": "all"})).json()
    kept = [run["id"] for run in answer["check_runs"]]
    assert kept == [newest["id"], runs[2]["id"], runs[1]["id"]]


# Lists


async def test_the_filter_selects_the_latest_or_all_runs(
    hub: httpx.AsyncClient, mine: Headers
) -> None:
    first, second = await made(hub, mine), await made(hub, mine)
    lint = await made(hub, mine, name="lint")
    for path in (
        f"{HELLO}/commits/{SHA}/check-runs",
        f"{HELLO}/check-suites/{first['check_suite']['id']}/check-runs",
    ):
        latest = (await hub.get(path)).json()
        assert [run["id"] for run in latest["check_runs"]] == [lint["id"], second["id"]]
        assert latest["total_count"] == 2
        assert latest == (await hub.get(path, params={"filter": "latest"})).json()
        every = (await hub.get(path, params={"filter": "all"})).json()
        ids = [run["id"] for run in every["check_runs"]]
        assert ids == [lint["id"], second["id"], first["id"]]
        assert every["total_count"] == 3
    await changed(hub, mine, second, name="other")
    latest = (await hub.get(f"{HELLO}/commits/{SHA}/check-runs")).json()
    ids = [run["id"] for run in latest["check_runs"]]
    assert ids == [lint["id"], second["id"], first["id"]]
    assert latest["total_count"] == 3


async def test_filters_of_check_runs(
    hub: httpx.AsyncClient, store: Store, seed: Any, mine: Headers
) -> None:
    run = await made(hub, mine, name="a")
    await made(hub, mine, name="b", status="queued")
    await made(hub, mine, name="c", conclusion="success")
    await made(hub, token(store, seed, "Other"), name="a", status="queued")
    path = f"{HELLO}/commits/{SHA}/check-runs"
    assert await names(hub, path) == ["a", "c", "b", "a"]
    assert await names(hub, path, check_name="a") == ["a", "a"]
    assert await names(hub, path, check_name="A") == []
    assert await names(hub, path, status="completed") == ["c"]
    assert await names(hub, path, status="queued") == ["a", "b"]
    assert await names(hub, path, status="queued", check_name="a") == ["a"]
    own = run["app"]["id"]
    assert await names(hub, path, app_id=own) == ["c", "b", "a"]
    assert await names(hub, path, app_id=own, status="queued") == ["b"]
    assert await names(hub, path, app_id=987654) == []
    in_suite = f"{HELLO}/check-suites/{run['check_suite']['id']}/check-runs"
    assert await names(hub, in_suite) == ["c", "b", "a"]
    assert await names(hub, in_suite, status="in_progress") == ["a"]
    assert await names(hub, in_suite, check_name="b") == ["b"]
    for query in ("status=done", "filter=newest", "app_id=x", "app_id=-1", "check_name=%00"):
        assert_error(await hub.get(f"{path}?{query}"), 422)


async def test_check_runs_in_pages(
    hub: httpx.AsyncClient, store: Store, seed: Any, mine: Headers
) -> None:
    other = token(store, seed, "Other")
    runs = [await made(hub, who, name=str(n)) for n in range(4) for who in (mine, other)]
    path = f"{HELLO}/commits/{SHA}/check-runs"
    found = []
    for number in (1, 2, 3):
        page = await hub.get(path, params={"per_page": 3, "page": number})
        assert page.json()["total_count"] == 8
        found += [run["id"] for run in page.json()["check_runs"]]
    assert found == [run["id"] for run in reversed(runs)]
    assert links(page)["prev"].endswith("per_page=3&page=2")
    beyond = (await hub.get(path, params={"page": 9})).json()
    assert beyond == {"total_count": 8, "check_runs": []}


@pytest.mark.parametrize(
    "ref",
    [
        SHA,
        SHA.upper(),
        "feature%2Fx",
        "heads%2Ffeature%2Fx",
        "refs%2Fheads%2Ffeature%2Fx",
        "v1",
        "tags%2Fv1",
    ],
)
async def test_check_runs_of_a_ref(
    hub: httpx.AsyncClient, store: Store, seed: Any, mine: Headers, ref: str
) -> None:
    store.write_sync(refs.put, seed.hello["id"], "refs/heads/feature/x", SHA)
    store.write_sync(refs.put, seed.hello["id"], "refs/tags/v1", SHA)
    run = await made(hub, mine)
    answer = await hub.get(f"{HELLO}/commits/{ref}/check-runs")
    assert [each["id"] for each in answer.json()["check_runs"]] == [run["id"]]


async def test_runs_of_an_unknown_ref_are_refused(hub: httpx.AsyncClient, mine: Headers) -> None:
    await made(hub, mine)
    for ref in ("nothing", SHA[:7], "heads%2Fv1"):
        answer = await hub.get(f"{HELLO}/commits/{ref}/check-runs")
        message = assert_error(answer, 422)["message"]
        assert message.startswith("No commit found for SHA: ")
    nothing = await hub.get(f"{HELLO}/commits/{'d' * 40}/check-runs")
    assert nothing.json() == {"total_count": 0, "check_runs": []}


async def test_a_private_repository_s(
    hub: httpx.AsyncClient, store: Store, seed: Any, mine: Headers, octo: Headers
) -> None:
    answer = await hub.post(f"{VAULT}/check-runs", json=NEW, headers=mine)
    run = answer.json()
    suite = run["check_suite"]["id"]
    for path in (
        f"check-runs/{run['id']}",
        f"check-runs/{run['id']}/annotations",
        f"check-suites/{suite}/check-runs",
        f"commits/{SHA}/check-runs",
    ):
        assert (await hub.get(f"{VAULT}/{path}", headers=octo)).status_code == 200
        assert_error(await hub.get(f"{VAULT}/{path}"), 404)
        scopeless = token(store, seed, kind="personal", permissions={}, scopes=["public_repo"])
        assert_error(await hub.get(f"{VAULT}/{path}", headers=scopeless), 404)
    assert_error(await hub.get(f"{RUNS}/{run['id']}"), 404)
    assert_error(await hub.get(f"{HELLO}/check-suites/{suite}/check-runs"), 404)


# Pull requests


def pull(store: Store, repo: Any, number: int, head_repo: str, **given: Any) -> None:
    reported = {
        "id": 1000 + number,
        "number": number,
        "title": "Change",
        "state": "open",
        "head": {"ref": "topic", "sha": SHA, "repo": {"full_name": head_repo}},
        "base": {"ref": "main", "sha": "e" * 40, "repo": {"full_name": "octo/hello"}},
        **given,
    }
    store.write_sync(
        lambda db: pulls.put(db, repo, reported, projection_table.projected_events(db))
    )


async def test_pull_requests(
    hub: httpx.AsyncClient, store: Store, seed: Any, mine: Headers
) -> None:
    pull(store, seed.hello, 7, "Octo/Hello")
    pull(store, seed.hello, 8, "octo/hello", state="closed")
    here = {"id": seed.hello["id"], "url": f"{BASE}{HELLO}", "name": "hello"}
    run = await made(hub, mine)
    assert run["pull_requests"] == [
        {
            "id": 1007,
            "number": 7,
            "url": f"{BASE}{HELLO}/pulls/7",
            "head": {"ref": "topic", "sha": SHA, "repo": here},
            "base": {"ref": "main", "sha": "e" * 40, "repo": here},
        }
    ]


async def test_a_check_run_has_the_latest_pull_requests_of_its_commit(
    hub: httpx.AsyncClient, store: Store, seed: Any, mine: Headers
) -> None:
    """A page of a hundred check runs has them a hundred times. Those of forks take no place."""
    for number in range(1, 23):
        pull(store, seed.hello, number, "octo/hello")
        pull(store, seed.hello, 100 + number, "reader/hello")
    run = await made(hub, mine)
    assert [one["number"] for one in run["pull_requests"]] == [*range(3, 23)]


async def test_pushes_in_forks_are_not_detected(
    hub: httpx.AsyncClient, store: Store, seed: Any, mine: Headers
) -> None:
    pull(store, seed.hello, 7, "reader/hello")
    pull(store, seed.hello, 9, "octo/hello", head={"ref": "topic", "sha": SHA, "repo": None})
    assert (await made(hub, mine))["pull_requests"] == []


# Events


async def test_check_runs_and_their_suites_emit_events(
    hub: httpx.AsyncClient, store: Store, seed: Any, mine: Headers
) -> None:
    store.write_sync(hooks.create, seed.hello["id"], url="https://receiver.example/", events=["*"])
    run = await made(hub, mine)
    (created,) = bodies(store, "check_run")
    assert created["action"] == "created"
    assert created["sender"]["login"] == "octo"
    assert created["repository"]["full_name"] == "octo/hello"
    suite = created["check_run"].pop("check_suite")
    assert {**created["check_run"], "check_suite": {"id": suite["id"]}} == run
    assert (suite["head_sha"], suite["status"]) == (SHA, "in_progress")
    await changed(hub, mine, run, output={"summary": "nothing that is told"})
    done = await changed(hub, mine, run, conclusion="success")
    await changed(hub, mine, run, conclusion="success", output={"summary": "nor this"})
    _, completed = bodies(store, "check_run")
    assert completed["action"] == "completed"
    assert completed["check_run"]["conclusion"] == done["conclusion"]
    requested, ended = bodies(store, "check_suite")
    assert [requested["action"], ended["action"]] == ["requested", "completed"]
    assert (ended["check_suite"]["status"], ended["check_suite"]["conclusion"]) == (
        "completed",
        "success",
    )
    assert ended["check_suite"]["latest_check_runs_count"] == 1
    await changed(hub, mine, run, conclusion="failure")
    reported = [event["action"] for event in bodies(store, "check_run")]
    assert reported == ["created", "completed", "completed"]
    assert bodies(store, "check_suite")[-1]["check_suite"]["conclusion"] == "failure"
    assert store.read_sync(lambda db: db.value("SELECT count(*) FROM delivery")) == 6


async def test_events_name_nobody_as_the_author_of_an_unknown_commit(
    hub: httpx.AsyncClient, store: Store, mine: Headers
) -> None:
    """Typed receivers refuse an author or a committer that is null."""
    await made(hub, mine, conclusion="neutral")
    runs = [event["check_run"]["check_suite"] for event in bodies(store, "check_run")]
    suites = [event["check_suite"] for event in bodies(store, "check_suite")]
    nobody = {"name": "", "email": ""}
    for suite in (*runs, *suites):
        assert suite["head_commit"]["author"] == suite["head_commit"]["committer"] == nobody


async def test_a_completed_new_run_emits_two_events(
    hub: httpx.AsyncClient, store: Store, mine: Headers
) -> None:
    await made(hub, mine, conclusion="neutral")
    reported = [event["action"] for event in bodies(store, "check_run")]
    assert reported == ["created", "completed"]
    reported = [event["action"] for event in bodies(store, "check_suite")]
    assert reported == ["requested", "completed"]


def suite_of(store: Store, seed: Any, run: dict[str, Any]) -> tuple[str, str | None]:
    row = store.read_sync(check_suites.get, seed.hello["id"], run["check_suite"]["id"])
    assert row is not None
    return row["status"], row["conclusion"]


async def test_a_suite_stands_as_its_latest_runs_do(
    hub: httpx.AsyncClient, store: Store, seed: Any, mine: Headers
) -> None:
    first = await made(hub, mine, name="a", status="queued")
    assert suite_of(store, seed, first) == ("queued", None)
    second = await made(hub, mine, name="b")
    assert suite_of(store, seed, first) == ("in_progress", None)
    await changed(hub, mine, second, conclusion="timed_out")
    assert suite_of(store, seed, first) == ("queued", None)
    await changed(hub, mine, first, conclusion="success")
    assert suite_of(store, seed, first) == ("completed", "timed_out")
    await made(hub, mine, name="b", conclusion="skipped")
    assert suite_of(store, seed, first) == ("completed", "success")
    await made(hub, mine, name="c", conclusion="neutral")
    assert suite_of(store, seed, first) == ("completed", "neutral")


# Rerequests


@pytest.mark.parametrize("kind", ["fine_grained", "app_user", "installation"])
async def test_a_rerequest_emits_an_event(
    hub: httpx.AsyncClient, store: Store, seed: Any, mine: Headers, kind: str
) -> None:
    run = await made(hub, mine, conclusion="failure")
    other = await made(hub, mine, name="other", conclusion="success")
    asks = token(store, seed, None if kind == "fine_grained" else "Super CI", kind=kind)
    answer = await hub.post(f"{RUNS}/{run['id']}/rerequest", headers=asks)
    assert (answer.status_code, answer.json()) == (201, {})
    event = bodies(store, "check_run")[-1]
    assert event["action"] == "rerequested"
    assert event["check_run"]["id"] == run["id"]
    assert event["check_run"]["check_suite"]["status"] == "queued"
    assert (await hub.get(f"{RUNS}/{run['id']}")).json() == run
    assert suite_of(store, seed, run) == ("queued", None)
    await changed(hub, mine, other, output={"summary": "the other one is still asked for"})
    assert suite_of(store, seed, run) == ("queued", None)
    await changed(hub, mine, run, status="in_progress")
    assert suite_of(store, seed, run) == ("in_progress", None)
    await changed(hub, mine, run, conclusion="success")
    assert suite_of(store, seed, run) == ("completed", "success")


async def test_a_requested_run_completes_with_the_same_conclusion(
    hub: httpx.AsyncClient, store: Store, seed: Any, clock: Any, mine: Headers
) -> None:
    run = await made(hub, mine, conclusion="success")
    await hub.post(f"{RUNS}/{run['id']}/rerequest", headers=mine)
    clock.advance(30)
    await changed(hub, mine, run, output={"title": "Again", "summary": "It runs."})
    assert suite_of(store, seed, run) == ("queued", None)
    again = await changed(hub, mine, run, conclusion="success")
    assert again["completed_at"] == "2026-11-21T07:33:30Z"
    assert suite_of(store, seed, run) == ("completed", "success")
    event = bodies(store, "check_run")[-1]
    assert (event["action"], event["check_run"]["completed_at"]) == (
        "completed",
        again["completed_at"],
    )
    assert event["check_run"]["check_suite"]["status"] == "completed"
    many = len(bodies(store, "check_run"))
    clock.advance(30)
    assert await changed(hub, mine, run, conclusion="success") == again
    assert len(bodies(store, "check_run")) == many


async def test_a_new_run_answers_a_request_too(
    hub: httpx.AsyncClient, store: Store, seed: Any, mine: Headers
) -> None:
    run = await made(hub, mine, conclusion="failure")
    await hub.post(f"{RUNS}/{run['id']}/rerequest", headers=mine)
    await made(hub, mine, conclusion="success")
    assert suite_of(store, seed, run) == ("completed", "success")


async def test_a_run_whose_request_is_answered_has_ended(
    hub: httpx.AsyncClient, store: Store, clock: Any, mine: Headers
) -> None:
    run = await made(hub, mine, conclusion="success")
    await hub.post(f"{RUNS}/{run['id']}/rerequest", headers=mine)
    await made(hub, mine, conclusion="success")
    many = len(bodies(store, "check_run"))
    clock.advance(30)
    again = await changed(hub, mine, run, conclusion="success")
    assert again["completed_at"] == run["completed_at"]
    assert len(bodies(store, "check_run")) == many


async def test_an_older_run_that_is_requested_later_completes_again(
    hub: httpx.AsyncClient, store: Store, clock: Any, mine: Headers
) -> None:
    run = await made(hub, mine, conclusion="success")
    await made(hub, mine, conclusion="success")
    await hub.post(f"{RUNS}/{run['id']}/rerequest", headers=mine)
    clock.advance(30)
    again = await changed(hub, mine, run, conclusion="success")
    assert again["completed_at"] > run["completed_at"]
    assert bodies(store, "check_run")[-1]["action"] == "completed"


async def test_wrong_rerequests_of_a_check_run_are_refused(
    hub: httpx.AsyncClient, store: Store, seed: Any, mine: Headers, octo: Headers
) -> None:
    run = await made(hub, mine)
    path = f"{RUNS}/{run['id']}/rerequest"
    assert_error(await hub.post(path, headers=mine), 422, "This check run is not rerequestable")
    await changed(hub, mine, run, conclusion="failure")
    assert_error(await hub.post(path, headers=octo), 403)
    assert_error(await hub.post(f"{RUNS}/987654/rerequest", headers=mine), 404)
    store.write_sync(app_removal.remove, run["app"]["id"])
    person = token(store, seed, kind="fine_grained")
    assert_error(await hub.post(path, headers=person), 422)
    left = (await hub.get(f"{RUNS}/{run['id']}")).json()
    assert left["app"] is None
    assert (await hub.get(f"{HELLO}/commits/{SHA}/check-runs")).json()["total_count"] == 1


# Numbers of SQL statements


async def test_as_many_statements_for_many_as_for_one(
    hub: httpx.AsyncClient,
    store: Store,
    seed: Any,
    mine: Headers,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = await made(hub, mine)
    asked = statements(monkeypatch)

    async def count(path: str) -> int:
        await hub.get(path)
        asked.clear()
        await hub.get(path)
        return len(asked)

    paths = (
        f"{HELLO}/commits/{SHA}/check-runs?filter=all",
        f"{HELLO}/check-suites/{run['check_suite']['id']}/check-runs",
        f"{RUNS}/{run['id']}/annotations",
    )
    few = [await count(path) for path in paths]
    for number in range(5):
        await made(hub, token(store, seed, f"App {number}"), name=str(number))
        output = {"summary": "", "annotations": [LINE] * 5}
        await changed(hub, mine, run, output=output)
    assert [await count(path) for path in paths] == few
