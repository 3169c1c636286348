"""Deployment records: in which environments and clusters an organization's artifacts run."""

import asyncio
from typing import Any

import httpx
import pytest
from artifact_world import AT, CLUSTER, RECORD, Acme, deployment, digest, posted, record, records
from assertions import assert_error, bodies, links
from bearer import bearer
from hub_client import open_client
from long_texts import incompressible
from racing import waits
from statement_log import statements
from transactions import transaction
from waiting import until

from hub.settings import HubSettings
from store import Connection, Row, Store
from store.accounts import accounts, apps
from store.apps import installation_tokens, installations
from store.artifacts import artifacts, deployment_records
from store.artifacts.deployment_records import Deployment, DeploymentPlace
from store.clock import MovableClock
from store.repositories import repositories


def cluster(*deployments: Row, **given: Any) -> Row:
    return {"logical_environment": "production", "deployments": [*deployments]} | given


# Single records


async def test_the_longest_deployment_can_be_stored(hub: httpx.AsyncClient) -> None:
    longest = {
        "logical_environment": incompressible(128),
        "physical_environment": incompressible(128),
        "cluster": incompressible(128),
        "deployment_name": incompressible(256),
    }
    (one,) = (await posted(hub, RECORD, record(**longest)))["deployment_records"]
    assert {name: one[name] for name in longest} == longest


async def test_a_deployment_record_is_created(
    hub: httpx.AsyncClient, store: Store, clock: MovableClock
) -> None:
    more = {
        "version": "1.0",
        "physical_environment": "north",
        "cluster": "moon",
        "tags": {"team": "bells"},
        "runtime_risks": ["sensitive-data", "internet-exposed"],
    }
    shown = await posted(hub, RECORD, record(**more))
    (one,) = shown["deployment_records"]
    assert shown["total_count"] == 1
    assert one == {
        "id": one["id"],
        "digest": digest(),
        "logical_environment": "production",
        "physical_environment": "north",
        "cluster": "moon",
        "deployment_name": "web",
        "status": "deployed",
        "tags": {"team": "bells"},
        "runtime_risks": ["sensitive-data", "internet-exposed"],
        "created": "2026-11-21T07:33:00Z",
        "created_at": "2026-11-21T07:33:00Z",
        "updated_at": "2026-11-21T07:33:00Z",
        "attestation_id": None,
    }
    assert await records(hub) == [one]
    assert await records(hub, "b") == []
    (event,) = bodies(store, "deployment_record")
    assert event["action"] == "created"
    assert event["deployment_record"] == one
    assert event["artifact"] == {"name": "bell", "version": "1.0", "digest": digest()}
    assert event["repository"]["full_name"] == "acme/tools"
    assert (event["organization"]["login"], event["sender"]["login"]) == ("acme", "octo")


async def test_members_that_are_not_given_are_empty(hub: httpx.AsyncClient) -> None:
    (one,) = (await posted(hub, RECORD, record()))["deployment_records"]
    assert (one["physical_environment"], one["cluster"], one["tags"]) == ("", "", {})
    assert one["runtime_risks"] == []


async def test_each_combination_of_names_has_one_record(
    hub: httpx.AsyncClient, store: Store, clock: MovableClock
) -> None:
    (first,) = (await posted(hub, RECORD, record()))["deployment_records"]
    others: list[Row] = [
        {"logical_environment": "staging"},
        {"physical_environment": "north"},
        {"cluster": "moon"},
        {"deployment_name": "other"},
    ]
    for other in others:
        (one,) = (await posted(hub, RECORD, record(**other)))["deployment_records"]
        assert one["id"] != first["id"]
    clock.advance(60)
    changed = record(status="decommissioned", digest=digest("b"), github_repository="bells")
    (again,) = (await posted(hub, RECORD, changed))["deployment_records"]
    assert again == first | {
        "status": "decommissioned",
        "digest": digest("b"),
        "updated_at": "2026-11-21T07:34:00Z",
    }
    assert len(await records(hub)) == len(others)
    assert await records(hub, "b") == [again]
    assert [each["action"] for each in bodies(store, "deployment_record")][-2:] == [
        "created",
        "updated",
    ]


async def test_tags_and_risks_that_are_not_given_stay(
    hub: httpx.AsyncClient, store: Store, clock: MovableClock
) -> None:
    body = record(tags={"a": "1", "b": "2"}, runtime_risks=["lateral-movement"])
    (first,) = (await posted(hub, RECORD, body))["deployment_records"]
    clock.advance(1)
    (again,) = (await posted(hub, RECORD, record()))["deployment_records"]
    assert (again["tags"], again["runtime_risks"]) == (first["tags"], first["runtime_risks"])
    assert again["updated_at"] == "2026-11-21T07:33:01Z"
    # The second request changed nothing, so it emitted no event.
    assert len(bodies(store, "deployment_record")) == 1
    emptied = record(tags={}, runtime_risks=[])
    (last,) = (await posted(hub, RECORD, emptied))["deployment_records"]
    assert (last["tags"], last["runtime_risks"]) == ({}, [])
    assert len(bodies(store, "deployment_record")) == 2


async def test_tags_and_risks_of_another_repositorys_deployment_do_not_stay(
    hub: httpx.AsyncClient,
) -> None:
    given = {"tags": {"a": "1"}, "runtime_risks": ["lateral-movement"]}
    (first,) = (await posted(hub, RECORD, record(github_repository="safe", **given)))[
        "deployment_records"
    ]
    (again,) = (await posted(hub, RECORD, record(github_repository="bells")))["deployment_records"]
    assert again == first | {"tags": {}, "runtime_risks": []}


RETURNED_RECORDS = [
    ({}, True),
    ({"return_records": True}, True),
    ({"return_records": False}, False),
]


async def test_records_are_returned_on_request(hub: httpx.AsyncClient) -> None:
    for given, there in RETURNED_RECORDS:
        alone = await posted(hub, RECORD, record(**given))
        together = await posted(hub, CLUSTER, cluster(deployment(), **given))
        for shown in (alone, together):
            assert shown["total_count"] == 1
            assert ("deployment_records" in shown) == there


# Digests


A_DIGEST = [
    ("sha256:" + "A" * 64, "sha256:" + "a" * 64),
    ("b" * 64, "sha256:" + "b" * 64),
    ("c" * 96, "sha384:" + "c" * 96),
    ("sha512:" + "d" * 128, "sha512:" + "d" * 128),
]


async def test_a_digest_is_normalized(hub: httpx.AsyncClient) -> None:
    for given, kept in A_DIGEST:
        (one,) = (await posted(hub, RECORD, record(digest=given)))["deployment_records"]
        assert one["digest"] == kept
        for named in (given, kept, kept.replace(":", "%3A")):
            answer = await hub.get(f"{AT}/{named}/metadata/deployment-records")
            assert answer.json()["deployment_records"] == [one]


NO_DIGEST = ["", "a" * 63, "x" * 64, "md5:" + "a" * 32, "sha512:" + "a" * 64, "sha256:", "ü" * 64]


async def test_an_invalid_digest_is_rejected(hub: httpx.AsyncClient) -> None:
    for bad in NO_DIGEST:
        assert_error(await hub.post(RECORD, json=record(digest=bad)), 422)
        answer = await hub.get(f"{AT}/{bad or 'x'}/metadata/deployment-records")
        assert_error(answer, 404, "Not Found")


# Repositories of records


async def test_a_repository_is_found_by_its_name_in_any_case(
    hub: httpx.AsyncClient, store: Store
) -> None:
    await posted(hub, RECORD, record(github_repository="TOOLS"))
    assert bodies(store, "deployment_record")[0]["repository"]["full_name"] == "acme/tools"


async def test_an_attestation_counts_for_more(
    hub: httpx.AsyncClient, store: Store, acme: Acme
) -> None:
    for repo in (acme.tools, acme.bells):
        store.write_sync(artifacts.attest, repo["id"], digest())
    latest = store.read_sync(lambda db: db.value("SELECT max(id) FROM attestation"))
    # If the artifact has an attestation, the hub ignores the repository in the request.
    for number, named in enumerate(({"github_repository": "nothing"}, {})):
        body = record(f"web-{number}")
        del body["github_repository"]
        (one,) = (await posted(hub, RECORD, body | named))["deployment_records"]
        assert one["attestation_id"] == latest
    reported = bodies(store, "deployment_record")
    assert {each["repository"]["full_name"] for each in reported} == {"acme/bells"}


async def test_unknown_repositories_are_not_found(
    hub: httpx.AsyncClient, store: Store, acme: Acme
) -> None:
    store.write_sync(artifacts.attest, acme.where["id"], digest())
    for named in ({"github_repository": "nothing"}, {"github_repository": "where"}, {}):
        body = record()
        del body["github_repository"]
        content = assert_error(await hub.post(RECORD, json=body | named), 404, "Not Found")
        assert content["errors"][0]["field"] == "github_repository"
    assert bodies(store, "deployment_record") == []


PUSH_RIGHTS = [
    ("octo", "tools", 200),
    ("octo", "safe", 200),
    ("pusher", "tools", 200),
    ("pusher", "bells", 403),
    ("pusher", "safe", 403),
    ("plain", "tools", 403),
]


async def test_a_deployment_record_needs_the_right_to_push(
    hub: httpx.AsyncClient, acme: Acme
) -> None:
    for login, repo, status in PUSH_RIGHTS:
        body = record(github_repository=repo)
        answer = await hub.post(RECORD, json=body, headers=acme.by(login))
        assert answer.status_code == status
        if status == 403:
            assert_error(answer, 403, "Must have push access to Repository.")


async def test_a_collaborator_without_membership_records_deployments(
    hub: httpx.AsyncClient, store: Store, acme: Acme
) -> None:
    for login, repo, role in (("guest", acme.safe, "write"), ("reader", acme.tools, "read")):
        acme.people[login] = store.write_sync(accounts.create, login)["id"]
        store.write_sync(repositories.grant, repo["id"], acme.people[login], role)
    acme.people["stranger"] = store.write_sync(accounts.create, "stranger")["id"]
    at = f"{AT}/metadata/storage-record"
    place = {"name": "bell", "digest": digest(), "registry_url": "https://registry.example"}
    for login, repo, status in (
        ("guest", "safe", 200),
        ("guest", "bells", 403),
        ("reader", "tools", 403),
        ("reader", "safe", 404),
        ("stranger", "tools", 404),
    ):
        headers, named = acme.by(login), {"github_repository": repo}
        entries = cluster(deployment(**named))
        for path, body in ((RECORD, record(**named)), (at, place | named), (CLUSTER, entries)):
            answer = await hub.post(path, json=body, headers=headers)
            assert answer.status_code == status, (login, repo, path, answer.text)
    # The token must show the repository.
    shown = await hub.post(RECORD, json=record(), headers=acme.by("guest", "public_repo"))
    assert_error(shown, 404, "Not Found")
    for login, many in (("guest", 2), ("reader", 0)):
        assert len(await records(hub, headers=acme.by(login))) == many
    listed = await hub.get(
        f"{AT}/{digest()}/metadata/deployment-records", headers=acme.by("stranger")
    )
    assert_error(listed, 404, "Not Found")


def installation(store: Store, acme: Acme, *repos: Row) -> dict[str, str]:
    """The header with a token of an app that is installed in these repositories, or in all."""

    def install(db: Connection) -> str:
        ids = [repo["id"] for repo in repos] or None
        _, app = apps.create(
            db, acme.org["id"], f"Mill {ids}", url="https://mill.example/", kind="integration",
            permissions={"artifact_metadata": "write"},
        )  # fmt: skip
        made = installations.create(db, app, acme.org, repositories=ids)
        return installation_tokens.create(db, made, wanted={})[0]

    return bearer(store.write_sync(install))


async def test_a_record_that_the_caller_may_not_see_is_not_replaced(
    hub: httpx.AsyncClient, store: Store, acme: Acme
) -> None:
    acme.people["guest"] = store.write_sync(accounts.create, "guest")["id"]
    store.write_sync(repositories.grant, acme.tools["id"], acme.people["guest"], "write")
    for called in ("web", "api"):
        await posted(hub, RECORD, record(called, github_repository="safe", cluster="moon"))
    before, emitted = await records(hub), len(bodies(store, "deployment_record"))
    # The guest and the first installation may push to tools only. The scope shows public ones only.
    blind = (
        acme.by("guest"),
        acme.by("pusher", "public_repo"),
        installation(store, acme, acme.tools),
    )
    for headers in blind:
        one = await hub.post(RECORD, json=record(cluster="moon"), headers=headers)
        content = assert_error(one, 403, "Must have push access to Repository.")
        assert content["errors"][0]["field"] == "deployment_name"
        entries = (deployment(), deployment("db"))
        all_or_none = await hub.post(CLUSTER, json=cluster(*entries), headers=headers)
        assert_error(all_or_none, 403, "Must have push access to Repository.")
        some = cluster(*entries, partial_success=True)
        answer = await hub.post(CLUSTER, json=some, headers=headers)
        assert answer.status_code == 207
        (error,) = answer.json()["errors"]
        assert (error["cause"], error["deployment"]["deployment_name"]) == ("unauthorized", "web")
    assert (await records(hub))[:2] == before
    assert len(bodies(store, "deployment_record")) == emitted + 1
    # Who can see the record may replace it.
    for headers in (acme.by("pusher"), installation(store, acme)):
        await posted(hub, RECORD, record(cluster="moon"), headers=headers)
        await posted(hub, RECORD, record(github_repository="safe", cluster="moon"))


@pytest.mark.parametrize("url", ["postgres"], indirect=True)
@pytest.mark.parametrize("path", [RECORD, CLUSTER])
async def test_a_record_that_another_hub_creates_is_not_replaced(
    hub: httpx.AsyncClient, store: Store, acme: Acme, url: str, path: str
) -> None:
    """The other hub's transaction has not ended when the request comes."""
    safe = Deployment(acme.safe["id"], None, "x", digest("b"), None, "deployed", "web", None, None)
    place = DeploymentPlace("production", cluster="moon")
    body = record(cluster="moon") if path == RECORD else cluster(deployment())
    headers = acme.by("pusher", "public_repo")
    with transaction(store) as db:
        deployment_records.put(db, acme.org["id"], place, [safe])
        mine = asyncio.create_task(hub.post(path, json=body, headers=headers))
        await until(lambda: mine.done() or waits(url), "the request waits")
    assert_error(await mine, 403, "Must have push access to Repository.")
    kept = store.read_sync(deployment_records.get, acme.org["id"], place, "web")
    assert kept is not None
    assert kept["digest"] == digest("b")


async def test_an_installation_writes_records_of_its_organization(
    hub: httpx.AsyncClient, store: Store, acme: Acme
) -> None:
    everywhere = installation(store, acme)
    entry = deployment("db", github_repository="tools")
    for path, body in ((RECORD, record()), (f"{RECORD}/cluster/moon", cluster(entry))):
        answer = await hub.post(path, json=body, headers=everywhere)
        assert answer.status_code == 200, answer.json()
    in_bells = installation(store, acme, acme.bells)
    answer = await hub.post(RECORD, json=record("b", github_repository="tools"), headers=in_bells)
    assert_error(answer, 404, "Not Found")


async def test_a_token_for_other_repositories(hub: httpx.AsyncClient, acme: Acme) -> None:
    def only(repo: Row) -> dict[str, str]:
        return acme.by(
            kind="installation",
            permissions={"artifact_metadata": "write"},
            target_id=acme.org["id"],
            repositories=[repo["id"]],
        )

    for repo, named, status in (
        (acme.tools, "tools", 200),
        (acme.tools, "bells", 403),
        (acme.tools, "safe", 404),
        (acme.safe, "safe", 200),
    ):
        body = record(f"{named}-{status}", github_repository=named)
        assert (await hub.post(RECORD, json=body, headers=only(repo))).status_code == status
    # The list shows only records of repositories that the token can read.
    shown = await records(hub, headers=only(acme.tools))
    assert [each["deployment_name"] for each in shown] == ["tools-200"]
    assert len(await records(hub)) == 2
    assert len(await records(hub, headers=acme.by("octo", "public_repo"))) == 1


async def test_deployment_records_need_a_scope_for_the_repository(
    hub: httpx.AsyncClient, acme: Acme
) -> None:
    for scope in ("gist", "read:org", "admin:org"):
        headers = acme.by("octo", scope)
        answer = await hub.post(RECORD, json=record(), headers=headers)
        assert_error(answer, 403)
        assert answer.headers["X-Accepted-OAuth-Scopes"] == "repo, public_repo"
        assert_error(await hub.post(CLUSTER, json=cluster(deployment()), headers=headers), 403)
        at = f"{AT}/{digest()}/metadata/deployment-records"
        assert_error(await hub.get(at, headers=headers), 403)
    public = acme.by("octo", "public_repo")
    for named, status in (("tools", 200), ("safe", 404), ("nothing", 404)):
        body = record(github_repository=named)
        assert (await hub.post(RECORD, json=body, headers=public)).status_code == status
    entries = cluster(deployment(github_repository="safe"), partial_success=True)
    answer = await hub.post(CLUSTER, json=entries, headers=public)
    assert [error["cause"] for error in answer.json()["errors"]] == ["not_found"]


WRONG_RECORDS = [
    {"name": ""},
    {"name": "x" * 257},
    {"name": "a\0"},
    {"status": "gone"},
    {"status": None},
    {"logical_environment": ""},
    {"logical_environment": "x" * 129},
    {"physical_environment": "x" * 129},
    {"cluster": "x" * 129},
    {"deployment_name": ""},
    {"deployment_name": "x" * 257},
    {"version": "x" * 101},
    {"version": ""},
    {"github_repository": "a/b"},
    {"github_repository": "x" * 101},
    {"tags": {"a": 1}},
    {"tags": ["a"]},
    {"tags": {str(each): "x" for each in range(6)}},
    {"tags": {"a": "x" * 257}},
    {"tags": {"a\0": "x"}},
    {"runtime_risks": ["fire"]},
    {"runtime_risks": ["sensitive-data", "sensitive-data"]},
    {"return_records": "no"},
]


async def test_invalid_records_are_rejected(hub: httpx.AsyncClient) -> None:
    for bad in WRONG_RECORDS:
        content = assert_error(await hub.post(RECORD, json=record(**bad)), 422)
        assert content["message"].startswith("Invalid request.")


NEEDED_FIELDS = ["name", "digest", "status", "logical_environment", "deployment_name"]


async def test_required_members_are_named(hub: httpx.AsyncClient) -> None:
    for name in NEEDED_FIELDS:
        body = record()
        del body[name]
        content = assert_error(await hub.post(RECORD, json=body), 422)
        assert f'"{name}" wasn\'t supplied.' in content["message"]


# Deployments of a cluster


async def test_the_deployments_of_a_cluster_are_recorded(
    hub: httpx.AsyncClient, store: Store, clock: MovableClock
) -> None:
    names = ("web", "api", "db")
    body = cluster(*map(deployment, names), physical_environment="north")
    shown = await posted(hub, CLUSTER, body)
    assert shown["total_count"] == 3
    assert [each["deployment_name"] for each in shown["deployment_records"]] == [*names]
    for each in shown["deployment_records"]:
        assert (each["cluster"], each["physical_environment"]) == ("moon", "north")
        assert each["status"] == "deployed"
    clock.advance(1)
    changes = (deployment("web", status="decommissioned"), deployment("new"))
    again = await posted(hub, CLUSTER, cluster(*changes, physical_environment="north"))
    assert again["deployment_records"][0]["id"] == shown["deployment_records"][0]["id"]
    assert len(await records(hub)) == 4
    # A deployment in another environment has its own record.
    await posted(hub, CLUSTER, cluster(deployment("web")))
    assert len(await records(hub)) == 5
    actions = [each["action"] for each in bodies(store, "deployment_record")]
    assert sorted(actions) == ["created"] * 5 + ["updated"]


async def test_no_deployments(hub: httpx.AsyncClient, store: Store) -> None:
    shown = await posted(hub, CLUSTER, cluster())
    assert shown == {"total_count": 0, "deployment_records": []}
    assert bodies(store, "deployment_record") == []


async def test_a_name_is_there_once(hub: httpx.AsyncClient) -> None:
    body = cluster(deployment(), deployment("api"), deployment(), partial_success=True)
    content = assert_error(await hub.post(CLUSTER, json=body), 422, code="invalid")
    assert "deployments[2]" in content["errors"][0]["message"]
    assert await records(hub) == []


async def test_the_first_name_and_version_win(hub: httpx.AsyncClient, store: Store) -> None:
    def artifact() -> Row | None:
        return store.read_sync(lambda db: db.one("SELECT name, version, deployments FROM artifact"))

    body = cluster(
        deployment("web", name="first", version="1"), deployment("api", name="second", version="2")
    )
    await posted(hub, CLUSTER, body)
    assert artifact() == {"name": "first", "version": "1", "deployments": 2}
    stored = {"name": "first", "version": "1", "digest": digest()}
    assert [each["artifact"] for each in bodies(store, "deployment_record")] == [stored] * 2
    # The next request renames the artifact. It has no version, so the old version stays.
    await posted(hub, CLUSTER, cluster(deployment("db", name="third")))
    assert artifact() == {"name": "third", "version": "1", "deployments": 3}
    assert bodies(store, "deployment_record")[-1]["artifact"] == stored | {"name": "third"}


async def test_the_same_digest_of_two_repositories(hub: httpx.AsyncClient, store: Store) -> None:
    body = cluster(deployment("web"), deployment("api", github_repository="bells", name="other"))
    await posted(hub, CLUSTER, body)
    assert store.read_sync(lambda db: db.value("SELECT count(*) FROM artifact")) == 2
    assert len(await records(hub)) == 2


async def test_partial_success_records_the_valid_deployments(
    hub: httpx.AsyncClient, acme: Acme
) -> None:
    unknown = deployment("api", github_repository="nothing", tags={"a": "b"})
    forbidden = deployment("db", github_repository="bells", version="1", status="decommissioned")
    nameless = deployment("cron", digest=digest("c"))
    del nameless["github_repository"]
    entries = (unknown, deployment("web"), forbidden, nameless)
    pusher = acme.by("pusher")
    answer = await hub.post(CLUSTER, json=cluster(*entries, partial_success=True), headers=pusher)
    assert answer.status_code == 207
    shown = answer.json()
    assert shown["total_count"] == 1
    assert [each["deployment_name"] for each in shown["deployment_records"]] == ["web"]
    assert shown["errors"] == [
        {
            "cause": "not_found",
            "deployment": {
                **unknown,
                "version": None,
                "status": "deployed",
                "runtime_risks": [],
            },
        },
        {"cause": "unauthorized", "deployment": {**forbidden, "tags": {}, "runtime_risks": []}},
        {
            "cause": "not_found",
            "deployment": {
                **nameless,
                "version": None,
                "status": "deployed",
                "github_repository": None,
                "tags": {},
                "runtime_risks": [],
            },
        },
    ]
    fine = cluster(deployment(), partial_success=True)
    assert (await hub.post(CLUSTER, json=fine, headers=pusher)).status_code == 200


ALL_OR_NOTHING = [{}, {"partial_success": False}]


async def test_one_wrong_deployment_refuses_all_by_default(
    hub: httpx.AsyncClient, acme: Acme
) -> None:
    for how in ALL_OR_NOTHING:
        pusher = acme.by("pusher")
        for repo, status in (("nothing", 404), ("bells", 403)):
            body = cluster(deployment(), deployment("api", github_repository=repo), **how)
            content = assert_error(await hub.post(CLUSTER, json=body, headers=pusher), status)
            assert content["errors"][0]["field"] == "deployments[1]"
        assert await records(hub) == []


NO_CLUSTER = ["a b", "ü", "a%2Fb", "x" * 129, "%20"]


async def test_an_invalid_cluster_name_is_rejected(hub: httpx.AsyncClient) -> None:
    for name in NO_CLUSTER:
        answer = await hub.post(f"{RECORD}/cluster/{name}", json=cluster(deployment()))
        assert_error(answer, 422, "Validation Failed", code="invalid")


async def test_as_many_as_there_may_be(hub: httpx.AsyncClient, store: Store) -> None:
    many = [deployment(f"web-{each}") for each in range(1000)]
    shown = await posted(hub, CLUSTER, cluster(*many))
    assert [each["deployment_name"] for each in shown["deployment_records"]] == [
        each["deployment_name"] for each in many
    ]
    assert_error(await hub.post(CLUSTER, json=cluster(*many, deployment("more"))), 422)
    assert store.read_sync(lambda db: db.value("SELECT deployments FROM artifact")) == 1000


async def test_a_larger_body_than_others_may_have(
    store: Store, acme: Acme, settings: HubSettings
) -> None:
    async with open_client(store, settings, headers=acme.by()) as hub:
        many = [deployment(f"web-{each}", name="x" * 250) for each in range(100)]
        assert (await hub.post(CLUSTER, json=cluster(*many))).status_code == 200


# Lists


def _many(store: Store, acme: Acme, count: int, letter: str = "a") -> None:
    wanted = [
        Deployment(acme.tools["id"], None, "x", digest(letter), None, "deployed", f"d-{each}",
                   None, None)
        for each in range(count)
    ]  # fmt: skip
    store.write_sync(deployment_records.put, acme.org["id"], DeploymentPlace("many"), wanted)


async def test_a_page_has_a_thousand_records_at_most(
    hub: httpx.AsyncClient, store: Store, acme: Acme
) -> None:
    _many(store, acme, 1002)
    path = f"{AT}/{digest()}/metadata/deployment-records"
    first = await hub.get(path)
    assert first.json()["total_count"] == 1002
    assert len(first.json()["deployment_records"]) == 1000
    rest = await hub.get(links(first)["next"])
    assert rest.json()["total_count"] == 1002
    assert [each["deployment_name"] for each in rest.json()["deployment_records"]] == [
        "d-1000",
        "d-1001",
    ]


async def test_a_moved_deployment_is_counted_once(
    hub: httpx.AsyncClient, store: Store, acme: Acme
) -> None:
    _many(store, acme, 5)
    _many(store, acme, 3, "b")
    assert (len(await records(hub)), len(await records(hub, "b"))) == (2, 3)
    store.write_sync(
        lambda db: db.execute("DELETE FROM repository WHERE id = :id", id=acme.tools["id"])
    )
    assert await records(hub) == []


async def test_more_deployments_take_no_more_statements(
    hub: httpx.AsyncClient, store: Store, acme: Acme, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def counted(count: int) -> int:
        entries = [deployment(f"{count}-{each}", digest=digest(f"{each % 10}")) for each in
                   range(count)]  # fmt: skip
        asked.clear()
        assert (await hub.post(CLUSTER, json=cluster(*entries))).status_code == 200
        return len(asked)

    await posted(hub, CLUSTER, cluster(deployment()))
    asked = statements(monkeypatch)
    few, many = await counted(2), await counted(60)
    # The store splits many rows among several INSERT statements.
    assert many - few <= 12
