"""Concurrency groups of repositories and workflow runs."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from assertions import BASE, assert_error, links
from bearer import Headers, bearer, by
from platform_events import report

from store import Store

HELLO, VAULT = "/repos/octo/hello", "/repos/octo/vault"
GROUPS = f"{HELLO}/actions/concurrency_groups"
RUN_1 = f"{HELLO}/actions/runs/1/concurrency_groups"


def reported(store: Store, repo: Any, name: str, given: Any, concurrency: Any) -> None:
    report(store, repo, name, **{name: given, "concurrency": concurrency})


def run(store: Store, seed: Any, number: int, status: str = "queued", **concurrency: Any) -> None:
    created = f"2026-11-20T00:00:{number:02}Z"
    given = {"id": number, "name": f"CI {number}", "status": status, "created_at": created}
    reported(store, seed.hello, "workflow_run", given, concurrency)


def job(
    store: Store, seed: Any, number: int, run_id: int, status: str = "queued", **concurrency: Any
) -> None:
    name = concurrency.pop("name", f"job {number}")
    given = {"id": number, "run_id": run_id, "name": name, "status": status}
    reported(store, seed.hello, "workflow_job", given, concurrency)


def of_run(number: int, status: str) -> dict[str, Any]:
    return {
        "run_id": number,
        "run_name": f"CI {number}",
        "run_url": f"{BASE}{HELLO}/actions/runs/{number}",
        "run_html_url": f"https://forge.example/octo/hello/actions/runs/{number}",
        "status": status,
    }


def of_job(number: int, run_id: int, status: str) -> dict[str, Any]:
    return {
        **of_run(run_id, status),
        "job_id": number,
        "job_name": f"job {number}",
        "job_url": f"{BASE}{HELLO}/actions/jobs/{number}",
        "job_html_url": f"https://forge.example/octo/hello/actions/runs/{run_id}/job/{number}",
    }


async def ids(hub: httpx.AsyncClient, path: str) -> list[int]:
    answer = await hub.get(path)
    assert answer.status_code == 200, answer.text
    content = answer.json()
    assert content["total_count"] == len(content["group_members"])
    return [member.get("job_id", member["run_id"]) for member in content["group_members"]]


async def names(hub: httpx.AsyncClient, path: str) -> tuple[str, httpx.Response]:
    answer = await hub.get(path)
    assert answer.status_code == 200, answer.text
    return "".join(group["group_name"] for group in answer.json()["concurrency_groups"]), answer


def leads(answer: httpx.Response) -> dict[str, dict[str, str]]:
    """The query parameters of the URLs in the Link header, by relation."""
    return {
        rel: {name: value for name, (value,) in parse_qs(urlsplit(url).query).items()}
        for rel, url in links(answer).items()
    }


async def test_a_concurrency_group_is_shown(
    hub: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    run(store, seed, 1, "in_progress", group="prod")
    run(store, seed, 2, group="prod")
    run(store, seed, 3, "in_progress")
    job(store, seed, 30, 3, group="prod")
    answer = (await hub.get(f"{GROUPS}/PROD")).json()
    assert answer == {
        "group_name": "prod",
        "group_url": f"{BASE}{GROUPS}/prod",
        "total_count": 3,
        "group_members": [
            of_run(1, "in_progress"),
            of_run(2, "pending"),
            of_job(30, 3, "pending"),
        ],
    }


async def test_an_inactive_group_is_not_found(
    hub: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    assert_error(await hub.get(f"{GROUPS}/prod"), 404, "Not Found")
    run(store, seed, 1, group="prod", configured=["idle"])
    assert_error(await hub.get(f"{GROUPS}/idle"), 404, "Not Found")
    run(store, seed, 1, "completed")
    assert_error(await hub.get(f"{GROUPS}/prod"), 404, "Not Found")
    assert_error(await hub.get(f"{GROUPS}/prod?ahead_of_run=1"), 404, "Not Found")


@pytest.mark.parametrize(
    ("name", "encoded"),
    [("ci-refs/heads/ä b?", "ci-refs%2Fheads%2F%C3%A4%20b%3F"), (".", "%2E"), ("..", "%2E%2E")],
)
async def test_a_name_is_encoded_as_one_segment_of_its_url(
    hub: httpx.AsyncClient, store: Store, seed: Any, name: str, encoded: str
) -> None:
    run(store, seed, 1, group=name)
    (item,) = (await hub.get(GROUPS)).json()["concurrency_groups"]
    assert item["group_name"] == name
    assert item["group_url"] == f"{BASE}{GROUPS}/{encoded}"
    assert (await hub.get(item["group_url"])).json()["group_name"] == name
    (mine,) = (await hub.get(RUN_1)).json()["concurrency_groups"]
    (member,) = mine["group_members"]
    assert (await hub.get(member["position_url"])).json()["total_count"] == 1


async def test_runs_ahead_of_a_run_are_listed(
    hub: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    run(store, seed, 1, "in_progress", group="prod")
    run(store, seed, 2, group="prod")
    run(store, seed, 3)
    calls = [{"path": "deploy", "group": "prod"}]
    job(store, seed, 30, 3, name="deploy / x", reusable=calls)
    job(store, seed, 31, 3, group="prod")
    assert await ids(hub, f"{GROUPS}/prod") == [1, 2, 3, 31]
    assert await ids(hub, f"{GROUPS}/prod?ahead_of_run=1") == [1]
    assert await ids(hub, f"{GROUPS}/prod?ahead_of_run=2") == [1, 2]
    assert await ids(hub, f"{GROUPS}/prod?ahead_of_run=3") == [1, 2, 3]
    assert await ids(hub, f"{GROUPS}/prod?ahead_of_job=30") == [1, 2, 3]
    assert await ids(hub, f"{GROUPS}/prod?ahead_of_job=31") == [1, 2, 3, 31]


async def test_a_run_outside_of_the_group_is_rejected(
    hub: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    run(store, seed, 1, "in_progress", group="prod")
    run(store, seed, 2)
    job(store, seed, 20, 2, group="prod")
    job(store, seed, 10, 1)
    for query in ("ahead_of_run=2", "ahead_of_run=3", "ahead_of_job=10", "ahead_of_job=1"):
        answer = await hub.get(f"{GROUPS}/prod?{query}")
        content = assert_error(answer, 422, "Validation Failed", code="invalid")
        assert content["errors"][0]["field"] == query.partition("=")[0]


@pytest.mark.parametrize(
    "query",
    [
        "ahead_of_run=1&ahead_of_job=1",
        "ahead_of_run=0",
        "ahead_of_job=-1",
        "ahead_of_run=x",
        "ahead_of_run=",
        "ahead_of_job=1.5",
        f"ahead_of_run={2**63}",
    ],
)
async def test_bad_questions(hub: httpx.AsyncClient, store: Store, seed: Any, query: str) -> None:
    run(store, seed, 1, group="prod")
    assert_error(await hub.get(f"{GROUPS}/prod?{query}"), 422)


async def test_a_run_s_groups(hub: httpx.AsyncClient, store: Store, seed: Any) -> None:
    run(store, seed, 2, "in_progress", group="prod")
    run(store, seed, 3, group="prod")
    run(store, seed, 1, group="prod", configured=["idle"])
    job(store, seed, 10, 1, "in_progress", group="db")
    answer = (await hub.get(RUN_1)).json()
    assert answer["total_count"] == 3
    db, idle, prod = answer["concurrency_groups"]
    url = f"{BASE}{GROUPS}/db"
    assert db == {
        "group_name": "db",
        "group_url": url,
        "group_members": [
            {
                **of_job(10, 1, "in_progress"),
                "position": 0,
                "position_url": f"{url}?ahead_of_job=10",
            }
        ],
    }
    assert idle == {"group_name": "idle", "group_url": f"{BASE}{GROUPS}/idle", "group_members": []}
    assert prod["group_members"] == [
        {
            **of_run(1, "pending"),
            "position": 1,
            "position_url": f"{BASE}{GROUPS}/prod?ahead_of_run=1",
        }
    ]
    assert await ids(hub, prod["group_members"][0]["position_url"]) == [2, 1]


async def test_a_run_that_is_over_keeps_its_configuration(
    hub: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    run(store, seed, 1, "in_progress", group="prod")
    run(store, seed, 1, "completed")
    answer = (await hub.get(RUN_1)).json()
    assert answer["total_count"] == 1
    assert answer["concurrency_groups"][0]["group_members"] == []


async def test_a_run_without_groups_has_an_empty_list(
    hub: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    run(store, seed, 1)
    assert (await hub.get(RUN_1)).json() == {"total_count": 0, "concurrency_groups": []}
    assert_error(await hub.get(f"{HELLO}/actions/runs/2/concurrency_groups"), 404, "Not Found")


async def test_active_groups(hub: httpx.AsyncClient, store: Store, seed: Any) -> None:
    assert (await hub.get(GROUPS)).json() == {"total_count": 0, "concurrency_groups": []}
    run(store, seed, 1, group="b", configured=["idle"])
    acquired = "2026-11-20T10:00:00Z"
    run(store, seed, 2, group="a", status="in_progress")
    run(store, seed, 3, group="c", acquired_at=acquired)
    reported(
        store,
        seed.hello,
        "workflow_run",
        {"id": 3, "status": "in_progress"},
        {"group": "c", "acquired_at": acquired},
    )
    answer = (await hub.get(GROUPS)).json()
    assert answer["total_count"] == 3
    assert [group["last_acquired_at"] for group in answer["concurrency_groups"]] == [
        "2026-11-21T07:33:00Z",
        None,
        acquired,
    ]
    assert answer["concurrency_groups"][0] == {
        "group_name": "a",
        "group_url": f"{BASE}{GROUPS}/a",
        "last_acquired_at": "2026-11-21T07:33:00Z",
    }


async def test_pages_of_active_groups_lead_forward(
    hub: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    for number, name in enumerate("edcba", 1):
        run(store, seed, number, group=name)
    found, answer = await names(hub, f"{GROUPS}?per_page=2")
    assert (found, leads(answer).keys()) == ("ab", {"next"})
    found, answer = await names(hub, links(answer)["next"])
    assert (found, leads(answer).keys(), answer.json()["total_count"]) == ("cd", {"next"}, 5)
    found, answer = await names(hub, links(answer)["next"])
    assert (found, leads(answer)) == ("e", {})
    found, answer = await names(hub, f"{GROUPS}?per_page=5")
    assert (found, leads(answer)) == ("abcde", {})


async def test_pages_of_a_run_s_groups(hub: httpx.AsyncClient, store: Store, seed: Any) -> None:
    run(store, seed, 1, configured=list("gfedcba"))
    found, first = await names(hub, f"{RUN_1}?per_page=2")
    assert (found, leads(first).keys()) == ("ab", {"next"})
    assert leads(first)["next"].keys() == {"per_page", "after"}
    found, second = await names(hub, links(first)["next"])
    assert (found, leads(second).keys()) == ("cd", {"next"})
    found, third = await names(hub, links(second)["next"])
    assert (found, leads(third).keys()) == ("ef", {"next"})
    found, fourth = await names(hub, links(third)["next"])
    assert (found, leads(fourth)) == ("g", {})
    # A cursor from a link to the next page also works backwards.
    back = f"{RUN_1}?per_page=2&before="
    found, answer = await names(hub, back + leads(third)["next"]["after"])
    assert (found, leads(answer).keys()) == ("ef", {"prev", "next"})
    found, answer = await names(hub, links(answer)["prev"])
    assert (found, leads(answer).keys()) == ("cd", {"prev", "next"})
    assert leads(answer)["next"].keys() == {"per_page", "after"}
    assert (await names(hub, links(answer)["next"]))[0] == "ef"
    found, answer = await names(hub, links(answer)["prev"])
    assert (found, leads(answer).keys()) == ("ab", {"next"})
    assert answer.json()["total_count"] == 7


@pytest.mark.parametrize(
    "query", ["after=%21", "before=a", "after=a%00", "after=YQ", "before=YQ", "after=", "before="]
)
async def test_invalid_cursors_are_rejected(
    hub: httpx.AsyncClient, store: Store, seed: Any, query: str
) -> None:
    run(store, seed, 1)
    said = assert_error(await hub.get(f"{RUN_1}?{query}"), 422)["message"]
    assert "take it from the Link header of a response" in said
    if query.startswith("after"):
        assert_error(await hub.get(f"{GROUPS}?{query}"), 422)


async def test_cursors_are_good_for_their_list_and_one_way(
    hub: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    run(store, seed, 1, configured=list("cba"))
    run(store, seed, 2, group="a")
    run(store, seed, 3, group="b")
    _, answer = await names(hub, f"{RUN_1}?per_page=1")
    cursor = leads(answer)["next"]["after"]
    assert (await names(hub, f"{RUN_1}?after={cursor}"))[0] == "bc"
    assert_error(await hub.get(f"{GROUPS}?after={cursor}"), 422)
    said = assert_error(await hub.get(f"{RUN_1}?after={cursor}&before={cursor}"), 422)["message"]
    assert "Only one of before and after" in said


async def test_a_private_repository_s(hub: httpx.AsyncClient, store: Store, seed: Any) -> None:
    given = {"id": 1, "status": "in_progress"}
    reported(store, seed.vault, "workflow_run", given, {"group": "prod"})
    paths = (
        f"{VAULT}/actions/concurrency_groups",
        f"{VAULT}/actions/concurrency_groups/prod",
        f"{VAULT}/actions/runs/1/concurrency_groups",
    )

    def header(**given: Any) -> Headers:
        return by(store, seed.octo, **given)

    good = [header(scopes=["repo"]), header(kind="fine_grained", permissions={"actions": "read"})]
    bad = [{}, header(scopes=["public_repo"]), bearer(seed.reader_token)]
    for path in paths:
        for headers in good:
            assert (await hub.get(path, headers=headers)).status_code == 200
        for headers in bad:
            assert_error(await hub.get(path, headers=headers), 404)
        other = header(kind="fine_grained", permissions={"contents": "read"})
        assert_error(await hub.get(path, headers=other), 403)
