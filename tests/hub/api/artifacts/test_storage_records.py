"""Storage records: in which registries an organization's artifacts are stored."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from artifact_world import AT, Acme, digest, posted, records
from assertions import assert_error, bodies
from hub_client import open_client
from long_texts import incompressible

from hub.settings import HubSettings
from store import Row, Store
from store.artifacts import artifacts
from store.clock import MovableClock

STORAGE = f"{AT}/metadata/storage-record"
REGISTRY = "https://registry.example/"


@pytest.fixture
async def hub(store: Store, acme: Acme, settings: HubSettings) -> AsyncIterator[httpx.AsyncClient]:
    async with open_client(store, settings, headers=acme.by()) as opened:
        yield opened


def storage(**given: Any) -> Row:
    return {
        "name": "bell",
        "digest": digest(),
        "registry_url": REGISTRY,
        "github_repository": "tools",
    } | given


async def put(hub: httpx.AsyncClient, **given: Any) -> Row:
    shown = await posted(hub, STORAGE, storage(**given))
    assert shown["total_count"] == 1
    (one,) = shown["storage_records"]
    return one


async def test_a_storage_record_is_created(hub: httpx.AsyncClient, store: Store) -> None:
    more = {
        "version": "1.0",
        "artifact_url": "https://registry.example/bells/bell",
        "path": "bells/bell",
        "repository": "bells",
    }
    one = await put(hub, **more)
    assert one == {
        "id": one["id"],
        "name": "bell",
        "digest": digest(),
        "registry_url": REGISTRY,
        "artifact_url": "https://registry.example/bells/bell",
        "repository": "bells",
        "path": "bells/bell",
        "status": "active",
        "created_at": "2026-11-21T07:33:00Z",
        "updated_at": "2026-11-21T07:33:00Z",
    }
    assert await records(hub, kind="storage") == [one]
    assert await records(hub, "b", kind="storage") == []
    (event,) = bodies(store, "storage_record")
    assert (event["action"], event["storage_record"]) == ("created", one)
    assert event["artifact"] == {"name": "bell", "version": "1.0", "digest": digest()}
    assert event["repository"]["full_name"] == "acme/tools"
    assert (event["organization"]["login"], event["sender"]["login"]) == ("acme", "octo")


async def test_fields_without_a_value_are_left_out(hub: httpx.AsyncClient) -> None:
    one = await put(hub)
    assert not {"artifact_url", "repository", "path"} & one.keys()


async def test_each_place_has_one_record(
    hub: httpx.AsyncClient, store: Store, clock: MovableClock
) -> None:
    first = await put(hub, artifact_url="https://registry.example/x")
    others: list[Row] = [
        {"registry_url": "https://other.example"},
        {"repository": "bells"},
        {"path": "bells"},
        {"github_repository": "bells"},
        {"digest": digest("b")},
    ]
    for other in others:
        assert (await put(hub, **other))["id"] != first["id"]
    clock.advance(60)
    reported = len(bodies(store, "storage_record"))
    # Missing fields stay, and an unchanged record emits no event.
    again = await put(hub)
    assert again == first | {"updated_at": "2026-11-21T07:34:00Z"}
    assert len(bodies(store, "storage_record")) == reported
    for status in ("eol", "deleted", "active"):
        assert (await put(hub, status=status))["status"] == status
    assert bodies(store, "storage_record")[-1]["action"] == "updated"
    assert len(await records(hub, kind="storage")) == 5


async def test_the_longest_place_can_be_stored(hub: httpx.AsyncClient) -> None:
    longest = {
        "registry_url": "https://" + incompressible(248),
        "repository": incompressible(128),
        "path": incompressible(512),
    }
    first = await put(hub, **longest)
    assert {name: first[name] for name in longest} == longest
    assert (await put(hub, **longest))["id"] == first["id"]
    moved = await put(hub, **longest | {"repository": "", "path": longest["repository"]})
    assert moved["id"] != first["id"]


async def test_storage_records_have_the_latest_name_of_their_artifact(
    hub: httpx.AsyncClient,
) -> None:
    await put(hub, name="first")
    await put(hub, name="second", path="other")
    assert {one["name"] for one in await records(hub, kind="storage")} == {"second"}


async def test_an_event_has_the_stored_version_of_the_artifact(
    hub: httpx.AsyncClient, store: Store
) -> None:
    await put(hub, version="1.0")
    await put(hub, status="eol")
    versions = [each["artifact"]["version"] for each in bodies(store, "storage_record")]
    assert versions == ["1.0", "1.0"]


async def test_records_are_returned_on_request(hub: httpx.AsyncClient) -> None:
    shown = await posted(hub, STORAGE, storage(return_records=False))
    assert shown == {"total_count": 1}


async def test_a_storage_record_needs_the_right_to_push(
    hub: httpx.AsyncClient, store: Store, acme: Acme
) -> None:
    nameless = storage()
    del nameless["github_repository"]
    assert_error(await hub.post(STORAGE, json=nameless), 404, "Not Found")
    missing = storage(github_repository="nothing")
    assert_error(await hub.post(STORAGE, json=missing), 404, "Not Found")
    pusher = acme.by("pusher")
    for repo, status in (("tools", 200), ("bells", 403)):
        body = storage(github_repository=repo)
        assert (await hub.post(STORAGE, json=body, headers=pusher)).status_code == status
    store.write_sync(artifacts.attest, acme.tools["id"], digest())
    assert (await hub.post(STORAGE, json=nameless, headers=pusher)).status_code == 200
    # The attestation names tools as the source, so the hub ignores `github_repository`.
    answer = await hub.post(STORAGE, json=storage(github_repository="bells"), headers=pusher)
    assert answer.status_code == 200


async def test_private_repositories(hub: httpx.AsyncClient, acme: Acme) -> None:
    await put(hub, github_repository="safe")
    assert len(await records(hub, kind="storage")) == 1
    public = acme.by("octo", "public_repo")
    assert await records(hub, kind="storage", headers=public) == []
    body = storage(github_repository="safe")
    assert_error(await hub.post(STORAGE, json=body, headers=public), 404, "Not Found")


async def test_storage_records_need_a_scope_for_the_repository(
    hub: httpx.AsyncClient, acme: Acme
) -> None:
    for scope in ("gist", "read:org", "admin:org"):
        headers = acme.by("octo", scope)
        assert_error(await hub.post(STORAGE, json=storage(), headers=headers), 403)
        at = f"{AT}/{digest()}/metadata/storage-records"
        assert_error(await hub.get(at, headers=headers), 403)
    public = acme.by("octo", "public_repo")
    assert (await hub.post(STORAGE, json=storage(), headers=public)).status_code == 200


async def test_invalid_storage_records_are_rejected(hub: httpx.AsyncClient) -> None:
    for bad in (
        {"name": ""},
        {"digest": "x"},
        {"registry_url": ""},
        {"registry_url": "http://registry.example"},
        {"registry_url": "https://" + "x" * 249},
        {"artifact_url": "ftp://registry.example"},
        {"artifact_url": "https://" + "x" * 145},
        {"path": "x" * 513},
        {"repository": "x" * 129},
        {"version": ""},
        {"status": "gone"},
        {"github_repository": "a/b"},
        {"path": "a\0"},
    ):
        answer = await hub.post(STORAGE, json=storage(**bad))
        assert answer.status_code == 422, bad
    for name in ("name", "digest", "registry_url"):
        body = storage()
        del body[name]
        content = assert_error(await hub.post(STORAGE, json=body), 422)
        assert f'"{name}" wasn\'t supplied.' in content["message"]


async def test_storage_records_of_an_invalid_digest_are_not_found(hub: httpx.AsyncClient) -> None:
    assert_error(await hub.get(f"{AT}/x/metadata/storage-records"), 404, "Not Found")
