"""Secrets of a repository for its development environments."""

import base64
import logging
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from assertions import assert_error, bodies, by_id, links
from bearer import bearer, by
from hub_client import open_client
from sealed_values import sealed

from hub.settings import HubSettings
from store import Row, Store
from store.clock import MovableClock
from store.devenvs import devenv_keys, devenv_secrets
from store.devenvs.devenv_secrets import MOST, MOST_BYTES
from store.repositories import repositories

AT = "/repos/octo/hello/devenvs/secrets"
VAULT = "/repos/octo/vault/devenvs/secrets"


@pytest.fixture
async def hub(store: Store, seed: Any, settings: HubSettings) -> AsyncIterator[httpx.AsyncClient]:
    """A client with a token of octo, who administers octo/hello and octo/vault."""
    bounds = settings.model_copy(update={"max_body_bytes": 1024 * 1024})
    async with open_client(store, bounds, headers=bearer(seed.token)) as opened:
        yield opened


async def key_of(hub: httpx.AsyncClient, at: str = AT) -> Row:
    answer = await hub.get(f"{at}/public-key")
    assert answer.status_code == 200, answer.text
    return answer.json()


def value_of(store: Store, repo: Row, name: str = "key") -> bytes:
    row = store.read_sync(devenv_secrets.get, repo["id"], name)
    return store.read_sync(devenv_secrets.value_of, row)


async def test_a_secret_from_beginning_to_end(
    hub: httpx.AsyncClient, store: Store, seed: Any, clock: MovableClock
) -> None:
    key = await key_of(hub)
    answer = await hub.put(f"{AT}/key", json=sealed(key))
    assert (answer.status_code, answer.json()) == (201, {})
    shown = await hub.get(f"{AT}/Key")
    assert shown.json() == {
        "name": "KEY",
        "created_at": "2026-11-21T07:33:00Z",
        "updated_at": "2026-11-21T07:33:00Z",
        "visibility": "all",
    }
    assert value_of(store, seed.hello) == b"hush"
    clock.advance(60)
    answer = await hub.put(f"{AT}/KEY", json=sealed(key, b"quiet"))
    assert (answer.status_code, answer.content) == (204, b"")
    assert value_of(store, seed.hello) == b"quiet"
    (listed,) = (await hub.get(AT)).json()["secrets"]
    assert listed == shown.json() | {"updated_at": "2026-11-21T07:34:00Z"}
    assert (await hub.delete(f"{AT}/key")).status_code == 204
    assert_error(await hub.get(f"{AT}/key"), 404)
    assert_error(await hub.delete(f"{AT}/key"), 404)
    reported = bodies(store, "devenv_secret")
    assert [each["action"] for each in reported] == ["created", "updated", "deleted"]
    assert reported[0].keys() == {"action", "secret", "repository", "sender"}
    assert reported[0]["secret"] == shown.json()


async def test_values_of_secrets_are_never_shown_or_stored_in_the_clear(
    hub: httpx.AsyncClient, store: Store, seed: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    body = sealed(await key_of(hub), b"correct horse")
    await hub.put(f"{AT}/key", json=body)
    await hub.put(f"{AT}/key", json=body | {"key_id": "1"})
    kept = store.read_sync(lambda db: db.all("SELECT * FROM devenv_secret"))
    keys = store.read_sync(lambda db: db.all("SELECT * FROM devenv_key"))
    shown = [(await hub.get(path)).text for path in (AT, f"{AT}/key", f"{AT}/public-key")]
    for secret in ("correct horse", base64.b64encode(b"correct horse").decode()):
        for place in (caplog.text, str(kept), str(keys), *shown):
            assert secret not in place
    assert body["encrypted_value"] not in str(kept) + str(bodies(store, "devenv_secret"))


ANY_VALUE = [b"", b"\0\xff\xfe", "ü€😀".encode(), b"x" * MOST_BYTES]


async def test_a_secret_may_have_any_value(hub: httpx.AsyncClient, store: Store, seed: Any) -> None:
    for value in ANY_VALUE:
        answer = await hub.put(f"{AT}/key", json=sealed(await key_of(hub), value))
        assert answer.is_success, answer.text
        assert value_of(store, seed.hello) == value


# The public key


async def test_the_key_is_made_once(hub: httpx.AsyncClient, store: Store) -> None:
    key = await key_of(hub)
    assert len(base64.b64decode(key["key"])) == 32
    assert await key_of(hub) == key
    assert (await hub.head(f"{AT}/public-key")).status_code == 200
    assert store.read_sync(lambda db: db.value("SELECT count(*) FROM devenv_key")) == 1


async def test_a_head_makes_it_as_well(hub: httpx.AsyncClient) -> None:
    first = await hub.head(f"{AT}/public-key")
    again = await hub.get(f"{AT}/public-key", headers={"If-None-Match": first.headers["ETag"]})
    assert again.status_code == 304


async def test_each_repository_has_a_key_of_its_own(hub: httpx.AsyncClient) -> None:
    key, other = await key_of(hub), await key_of(hub, VAULT)
    assert key != other
    assert_error(await hub.put(f"{VAULT}/key", json=sealed(key)), 422, code="invalid")
    borrowed = sealed(key) | {"key_id": other["key_id"]}
    content = assert_error(await hub.put(f"{VAULT}/key", json=borrowed), 422, code="invalid")
    assert content["errors"][0]["field"] == "encrypted_value"


def test_a_repository_keeps_its_first_key(store: Store, seed: Any) -> None:
    first = store.write_sync(devenv_keys.make, seed.hello["id"])
    assert store.write_sync(devenv_keys.make, seed.hello["id"]) == first


# Refusals


async def test_a_key_that_was_never_fetched_is_refused(hub: httpx.AsyncClient) -> None:
    body = {"encrypted_value": "aGk=", "key_id": "1"}
    content = assert_error(await hub.put(f"{AT}/key", json=body), 422, code="invalid")
    assert content["errors"][0]["field"] == "key_id"


WHAT_IS_NO_BASE64 = ["", "a", "aGk", "aGk=\n", "aG k=", "=", "aGk_", "é", 5, None, "A" * 70_000]


async def test_an_encrypted_value_in_bad_base64_is_rejected(
    hub: httpx.AsyncClient, store: Store
) -> None:
    for bad in WHAT_IS_NO_BASE64:
        body = sealed(await key_of(hub)) | {"encrypted_value": bad}
        assert_error(await hub.put(f"{AT}/key", json=body), 422)
        assert (await hub.get(AT)).json() == {"total_count": 0, "secrets": []}


UNSEALED_LENGTHS = [1, 31, 47, 48, 1000]


async def test_values_that_are_not_sealed_to_the_key_are_refused(hub: httpx.AsyncClient) -> None:
    for length in UNSEALED_LENGTHS:
        junk = base64.b64encode(b"\x07" * length).decode()
        body = sealed(await key_of(hub)) | {"encrypted_value": junk}
        content = assert_error(await hub.put(f"{AT}/key", json=body), 422, code="invalid")
        assert content["errors"][0] == {
            "resource": "DevenvSecret",
            "field": "encrypted_value",
            "code": "invalid",
            "message": "it was not sealed to the repository's key",
        }


async def test_a_value_beyond_the_bound_is_refused(hub: httpx.AsyncClient) -> None:
    body = sealed(await key_of(hub), b"x" * (MOST_BYTES + 1))
    assert_error(await hub.put(f"{AT}/key", json=body), 422)


BOTH_ARE_NEEDED = [["key_id"], ["encrypted_value"], ["key_id", "encrypted_value"]]


async def test_both_are_needed(hub: httpx.AsyncClient) -> None:
    for left_out in BOTH_ARE_NEEDED:
        body = sealed(await key_of(hub))
        for name in left_out:
            del body[name]
        content = assert_error(await hub.put(f"{AT}/key", json=body), 422, code="missing_field")
        assert content["errors"][0]["field"] in left_out


WRONG_NAMES = ["1st", "a-b", "a%20b", "github_token", "x" * 256]


async def test_a_wrong_name_is_refused(hub: httpx.AsyncClient) -> None:
    for name in WRONG_NAMES:
        answer = await hub.put(f"{AT}/{name}", json=sealed(await key_of(hub)))
        content = assert_error(answer, 422, "Validation Failed", code="invalid")
        assert content["errors"][0]["field"] == "secret_name"


async def test_a_name_with_a_null_byte_is_not_found(hub: httpx.AsyncClient) -> None:
    assert_error(await hub.put(f"{AT}/a%00b", json=sealed(await key_of(hub))), 404)


async def test_secrets_of_a_repository_are_bounded(
    hub: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    store.write_sync(
        lambda db: db.insert_many(
            "devenv_secret",
            "repo_id, name, value, created_at, updated_at",
            [(seed.hello["id"], f"S{each:03}", b"x", 0, 0) for each in range(MOST)],
        )
    )
    body = sealed(await key_of(hub))
    assert_error(await hub.put(f"{AT}/one_more", json=body), 422, code="invalid")
    assert (await hub.put(f"{AT}/s000", json=body)).status_code == 204
    first = await hub.get(AT)
    assert first.json()["total_count"] == MOST
    assert [each["name"] for each in first.json()["secrets"]][:2] == ["S000", "S001"]
    assert links(first)["next"] == f"{by_id(AT)}?page=2"
    assert len((await hub.get(f"{AT}?per_page=100")).json()["secrets"]) == MOST


# Rights


RIGHTS_OF_ROLES = [
    ("read", False, False),
    ("triage", False, False),
    ("write", True, False),
    ("maintain", True, False),
    ("admin", True, True),
]


async def test_secrets_need_a_role_in_the_repository(
    hub: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    for role, reads, writes in RIGHTS_OF_ROLES:
        store.write_sync(repositories.grant, seed.hello["id"], seed.reader["id"], role)
        body = sealed(await key_of(hub))
        headers = bearer(seed.reader_token)
        for path in (AT, f"{AT}/public-key"):
            assert (await hub.get(path, headers=headers)).is_success == reads
        assert (await hub.put(f"{AT}/key", json=body, headers=headers)).is_success == writes
        assert (await hub.delete(f"{AT}/key", headers=headers)).is_success == writes


async def test_reading_takes_the_permission_to_write(
    hub: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    for level, status in (("read", 403), ("write", 200)):
        headers = by(store, seed.octo, kind="fine_grained", permissions={"devenv_secrets": level})
        for path in (AT, f"{AT}/public-key"):
            assert (await hub.get(path, headers=headers)).status_code == status
