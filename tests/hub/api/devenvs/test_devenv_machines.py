"""The machine types that are available for development environments."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from assertions import assert_error
from bearer import by
from hub_client import open_client

from hub.settings import HubSettings
from store import Row, Store
from store.accounts import accounts, sso
from store.devenvs import devenv_locations, devenv_machines, devenvs
from store.devenvs.devenv_machines import GIB, Machine
from store.devenvs.devenvs import EVERY_REF, Restriction
from store.repositories import refs, repositories

AT = "/repos/octo/hello/devenvs/machines"
OWN = "/user/devenvs/den/machines"
SHA = "6dcb09b5b57875f334f61aebed695e2e4193db5e"
KNOWN = [
    "basicLinux32gb",
    "standardLinux32gb",
    "premiumLinux",
    "largePremiumLinux",
    "xLargePremiumLinux",
]


def header(store: Store, account: Row, **what: Any) -> dict[str, str]:
    return by(store, account, **{"scopes": ["devenv"]} | what)


@pytest.fixture
async def hub(store: Store, seed: Any, settings: HubSettings) -> AsyncIterator[httpx.AsyncClient]:
    bounds = settings.model_copy(update={"trusted_proxies": ["127.0.0.0/8"]})
    async with open_client(store, bounds, headers=header(store, seed.octo)) as opened:
        yield opened


def names(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    shown = [each["name"] for each in answer.json()["machines"]]
    assert answer.json()["total_count"] == len(shown)
    return shown


def built(answer: httpx.Response) -> dict[str, str]:
    return {each["name"]: each["prebuild_availability"] for each in answer.json()["machines"]}


def only(store: Store, name: str, location: str) -> None:
    """Add a machine type that only this location offers."""
    reported = Machine(name, name, "linux", 64 * GIB, 4 * GIB, 1, (location,))
    store.write_sync(devenv_machines.put, reported)


async def test_known_machines_are_listed_by_default(hub: httpx.AsyncClient) -> None:
    answer = await hub.get(AT)
    assert names(answer) == KNOWN
    assert answer.json()["machines"][0] == {
        "name": "basicLinux32gb",
        "display_name": "2 cores, 8 GB RAM, 32 GB storage",
        "operating_system": "linux",
        "storage_in_bytes": 34359738368,
        "memory_in_bytes": 8589934592,
        "cpus": 2,
        "prebuild_availability": "none",
    }


# Locations


async def test_machines_of_a_location(hub: httpx.AsyncClient, store: Store) -> None:
    only(store, "small", "WestEurope")
    for named in ("WestEurope", "westeurope", "EuropeWest"):
        assert names(await hub.get(AT, params={"location": named})) == ["small", *KNOWN]
    for elsewhere in ("EastUs", "UsEast", "WestUs2", "SoutheastAsia"):
        assert names(await hub.get(AT, params={"location": elsewhere})) == KNOWN
    assert names(await hub.get(AT)) == KNOWN


async def test_machines_of_a_location_are_listed(hub: httpx.AsyncClient, store: Store) -> None:
    store.write_sync(devenv_locations.put, "Attic", default=True)
    only(store, "small", "Attic")
    assert names(await hub.get(AT)) == ["small", *KNOWN]
    assert names(await hub.get(AT, params={"location": "EastUs"})) == KNOWN


NO_LOCATION = ["Nowhere", "", "a\0", "x" * 101]


async def test_an_unknown_location_is_refused(hub: httpx.AsyncClient) -> None:
    for named in NO_LOCATION:
        assert_error(await hub.get(AT, params={"location": named}), 422)


async def test_the_client_s_address_selects_the_location(
    hub: httpx.AsyncClient, store: Store
) -> None:
    networks = {"WestUs2": ["198.51.100.0/24"], "WestEurope": ["198.51.100.64/26", "2001:db8::/32"]}
    for place, given in networks.items():
        store.write_sync(devenv_locations.put, place, networks=given)
        only(store, place, place)

    async def seen(**how: Any) -> set[str]:
        return set(names(await hub.get(AT, **how))) - set(KNOWN)

    for address, place in (
        ("198.51.100.1", {"WestUs2"}),
        ("198.51.100.70", {"WestEurope"}),
        ("::ffff:198.51.100.1", {"WestUs2"}),
        ("2001:db8:1::7", {"WestEurope"}),
        ("2001:db9::7", set()),
        ("203.0.113.5", set()),
    ):
        assert await seen(params={"client_ip": address}) == place
        assert await seen(headers={"X-Forwarded-For": address}) == place
    # `client_ip` takes precedence over the client's address, and `location` over both.
    behind = {"X-Forwarded-For": "198.51.100.1"}
    assert await seen(headers=behind, params={"client_ip": "203.0.113.5"}) == set()
    asked = {"client_ip": "198.51.100.1", "location": "WestEurope"}
    assert await seen(params=asked) == {"WestEurope"}


NO_ADDRESS = ["", "here", "1.2.3", "1.2.3.4/24", "::1::", "x" * 101]


async def test_bad_addresses_are_refused(hub: httpx.AsyncClient) -> None:
    for bad in NO_ADDRESS:
        assert_error(await hub.get(AT, params={"client_ip": bad}), 422)


# Branches and commits


async def test_machines_meet_the_restrictions_of_a_branch(
    hub: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    def restrict(ref: str, **asked: Any) -> None:
        store.write_sync(devenvs.restrict, seed.hello["id"], ref, Restriction(**asked))

    restrict("main", cpus=4)
    restrict("heavy", memory_in_bytes=64 * GIB)
    restrict(SHA, storage_in_bytes=64 * GIB)
    for ref, shown in (
        (None, KNOWN[1:]),
        ("main", KNOWN[1:]),
        ("refs/heads/main", KNOWN[1:]),
        ("heavy", KNOWN[3:]),
        (SHA, KNOWN[2:]),
        ("other", KNOWN),
    ):
        assert names(await hub.get(AT, params={} if ref is None else {"ref": ref})) == shown
    restrict(EVERY_REF, machines=("standardLinux32gb", "largePremiumLinux"))
    assert names(await hub.get(AT)) == ["standardLinux32gb", "largePremiumLinux"]
    assert names(await hub.get(AT, params={"ref": "heavy"})) == ["largePremiumLinux"]


async def test_a_branch_is_its_commit(hub: httpx.AsyncClient, store: Store, seed: Any) -> None:
    store.write_sync(refs.put, seed.hello["id"], "refs/heads/main", SHA)
    store.write_sync(devenvs.restrict, seed.hello["id"], SHA, Restriction(cpus=16))
    store.write_sync(devenvs.restrict, seed.hello["id"], "main", Restriction(machines=(KNOWN[4],)))
    for ref in ("main", SHA):
        assert names(await hub.get(AT, params={"ref": ref})) == KNOWN[4:]


async def test_prebuilt_machines_are_shown(hub: httpx.AsyncClient, store: Store, seed: Any) -> None:
    def prebuild(ref: str, machine: str, availability: str) -> None:
        store.write_sync(devenvs.prebuild, seed.hello["id"], ref, machine, availability)

    prebuild("main", KNOWN[0], "in_progress")
    prebuild("main", KNOWN[1], "ready")
    prebuild("other", KNOWN[2], "ready")
    prebuild(SHA, KNOWN[0], "ready")
    wanted = {**dict.fromkeys(KNOWN, "none"), KNOWN[0]: "in_progress", KNOWN[1]: "ready"}
    assert built(await hub.get(AT)) == wanted
    assert built(await hub.get(AT, params={"ref": "refs/heads/main"})) == wanted
    by_commit = {**dict.fromkeys(KNOWN, "none"), KNOWN[0]: "ready"}
    assert built(await hub.get(AT, params={"ref": SHA})) == by_commit
    store.write_sync(refs.put, seed.hello["id"], "refs/heads/main", SHA)
    # The branch main now points to this commit, so each ref has the prebuilds of both.
    for ref in ("main", SHA):
        assert built(await hub.get(AT, params={"ref": ref})) == wanted | {KNOWN[0]: "ready"}


NO_REF = ["a\0b", "x" * 256]


async def test_bad_refs_are_refused(hub: httpx.AsyncClient) -> None:
    for bad in NO_REF:
        assert_error(await hub.get(AT, params={"ref": bad}), 422)


# Disabled machine types


async def test_a_disabled_machine_is_not_listed(hub: httpx.AsyncClient, store: Store) -> None:
    gone = devenv_machines.KNOWN[0]
    reported = Machine(gone.name, "gone", "linux", 1, 1, 1, None, False)
    assert store.write_sync(devenv_machines.put, reported)
    assert not store.write_sync(devenv_machines.put, reported)
    assert names(await hub.get(AT)) == KNOWN[1:]


# Machine types for an existing environment


def den(store: Store, seed: Any, **given: Any) -> None:
    values = {"account_id": seed.octo["id"], "repo_id": seed.hello["id"], "ref": "main"}
    values |= {"machine": "premiumLinux", "location": "EastUs"}
    store.write_sync(devenvs.put, "den", values | given)


async def test_machines_that_fit_an_environment_are_listed(
    hub: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    den(store, seed)
    assert names(await hub.get(OWN)) == KNOWN[3:]
    den(store, seed, machine="basicLinux32gb")
    assert names(await hub.get(OWN)) == KNOWN[1:]
    store.write_sync(devenvs.restrict, seed.hello["id"], "main", Restriction(cpus=8))
    assert names(await hub.get(OWN)) == KNOWN[2:]
    only(store, "here", "EastUs")
    only(store, "there", "WestUs2")
    store.write_sync(devenvs.restrict, seed.hello["id"], "main", Restriction())
    assert names(await hub.get(OWN)) == ["here", *KNOWN[1:]]
    other = Machine("windows", "another system", "windows", 64 * GIB, GIB, 8)
    store.write_sync(devenv_machines.put, other)
    assert "windows" not in names(await hub.get(OWN))
    assert "windows" in names(await hub.get(AT))
    den(store, seed, machine="a kind that is gone")
    assert names(await hub.get(OWN)) == ["here", *KNOWN[:2], "windows", *KNOWN[2:]]


async def test_a_devenvs_prebuilds(hub: httpx.AsyncClient, store: Store, seed: Any) -> None:
    den(store, seed, ref="topic")
    store.write_sync(devenvs.prebuild, seed.hello["id"], "topic", KNOWN[4], "ready")
    assert built(await hub.get(OWN)) == {KNOWN[3]: "none", KNOWN[4]: "ready"}


async def test_the_devenv_of_another_user_is_not_found(
    hub: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    den(store, seed, account_id=seed.reader["id"])
    assert_error(await hub.get(OWN), 404)
    assert names(await hub.get(OWN, headers=header(store, seed.reader))) == KNOWN[3:]


async def test_a_token_for_other_repositories(
    hub: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    den(store, seed)
    fine = {"kind": "fine_grained", "permissions": {"devenv_metadata": "read"}, "scopes": []}
    for repo, status in ((seed.hello, 200), (seed.vault, 404)):
        what = fine | {"target_id": seed.octo["id"], "repositories": [repo["id"]]}
        headers = header(store, seed.octo, **what)
        assert (await hub.get(OWN, headers=headers)).status_code == status


async def test_a_token_without_single_sign_on_in_the_organization_of_a_devenv(
    hub: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    acme = store.write_sync(accounts.create, "acme", kind="Organization")
    den(store, seed, repo_id=store.write_sync(repositories.create, acme["id"], "tools")["id"])
    assert (await hub.get(OWN)).status_code == 200
    store.write_sync(sso.enforce, acme["id"], True)
    answer = await hub.get(OWN)
    assert (answer.status_code, "X-Service-SSO" in answer.headers) == (403, True)
