"""State documents: development environments and their machines."""

from typing import Any

import pytest

from store import Store
from store.devenvs import devenv_locations, devenv_machines, devenvs
from store.devenvs.devenvs import Restriction
from store.repositories import repositories

MACHINE: dict[str, Any] = {
    "name": "belfry",
    "storage_in_bytes": 1000,
    "memory_in_bytes": 100,
    "cpus": 1,
    "locations": ["tower"],
}
DEVENV: dict[str, Any] = {
    "name": "den",
    "owner": "ada",
    "repository": "ada/engine",
    "ref": "main",
    "machine": "belfry",
    "location": "eastus",
}
DOCUMENT: dict[str, Any] = {
    "users": [{"login": "ada"}],
    "repositories": [{"name": "ada/engine"}],
    "devenv_locations": [{"name": "Tower", "networks": ["192.0.2.0/24"]}],
    "devenv_machines": [MACHINE],
    "devenv_policies": [
        {
            "repository": "ada/engine",
            "prebuilds": [{"ref": "refs/heads/main", "machine": "belfry"}],
            "restrictions": [{"cpus": 1}, {"ref": "main", "machines": ["belfry"]}],
        }
    ],
    "devenvs": [DEVENV],
}


def test_devenvs_are_made_once(load, store: Store):
    assert "6 created, 0 updated, 0 unchanged" in load(DOCUMENT).stdout
    machine = store.read_sync(devenv_machines.get, "belfry")
    assert (machine.display_name, machine.operating_system) == ("belfry", "linux")
    assert machine.locations == ("Tower",)
    repo_id = store.read_sync(repositories.find, "ada", "engine")["id"]
    assert store.read_sync(devenvs.prebuilt, repo_id, "main") == {"belfry": "ready"}
    asked = store.read_sync(devenvs.restrictions, repo_id, "main")
    assert set(asked) == {Restriction(cpus=1), Restriction(machines=("belfry",))}
    assert store.read_sync(devenvs.by_name, "den")["location"] == "EastUs"
    assert "0 created, 0 updated, 6 unchanged" in load(DOCUMENT).stdout


def test_changed_devenvs_are_updated(load, store: Store):
    load(DOCUMENT)
    other: dict[str, Any] = {
        "devenv_locations": [{"name": "tower", "default": True}],
        "devenv_machines": [{"name": "belfry", "cpus": 2}],
        "devenv_policies": [
            {
                "repository": "ada/engine",
                "prebuilds": [{"ref": "main", "machine": "belfry", "availability": "none"}],
            }
        ],
        "devenvs": [DEVENV | {"location": "Tower"}],
    }
    assert "0 created, 4 updated, 0 unchanged" in load(other).stdout
    assert "0 created, 0 updated, 4 unchanged" in load(other).stdout
    assert store.read_sync(devenv_locations.nearest, "nowhere") == "Tower"
    assert store.read_sync(devenv_locations.get, "Tower").networks == ("192.0.2.0/24",)
    machine = store.read_sync(devenv_machines.get, "belfry")
    assert (machine.cpus, machine.memory_in_bytes, machine.locations) == (2, 100, ("Tower",))


def test_a_policy_keeps_the_keys_that_its_parts_leave_out(load, store: Store):
    asked = {"ref": "main", "cpus": 4, "memory_in_bytes": 1, "storage_in_bytes": 2}
    prebuild = {"ref": "main", "machine": "belfry"}

    def policy(restriction: dict[str, Any], **more: str) -> dict[str, Any]:
        parts = {"prebuilds": [prebuild | more], "restrictions": [restriction]}
        return DOCUMENT | {"devenv_policies": [{"repository": "ada/engine"} | parts]}

    load(policy(asked | {"machines": ["belfry"]}, availability="in_progress"))
    again = policy({"ref": "refs/heads/main", "cpus": 5})
    assert "0 created, 1 updated, 5 unchanged" in load(again).stdout
    repo_id = store.read_sync(repositories.find, "ada", "engine")["id"]
    assert store.read_sync(devenvs.restriction, repo_id, "main") == Restriction(
        5, 1, 2, ("belfry",)
    )
    assert store.read_sync(devenvs.prebuilt, repo_id, "main") == {"belfry": "in_progress"}
    load(policy({"ref": "main", "machines": None}))
    assert store.read_sync(devenvs.restriction, repo_id, "main") == Restriction(5, 1, 2)


def test_a_known_one_is_changed(load, store: Store):
    gone = {"devenv_machines": [{"name": "basicLinux32gb", "offered": False}]}
    assert "0 created, 1 updated" in load(gone).stdout
    machine = store.read_sync(devenv_machines.get, "basicLinux32gb")
    assert (machine.cpus, machine.offered) == (2, False)


@pytest.mark.parametrize(
    ("part", "change", "said"),
    [
        ("devenv_locations", {"networks": ["192.0.2.1/24"]}, "has host bits set"),
        ("devenv_locations", {"name": "EastUs", "default": False}, "the default instead"),
        ("devenv_machines", {"cpus": None}, "is new and needs cpus"),
        ("devenv_machines", {"cpus": -1}, "greater than or equal to 0"),
        ("devenv_machines", {"locations": ["Nowhere"]}, "'Nowhere' is none of EastUs"),
        ("devenv_policies", {"repository": "ada/nothing"}, "no repository 'ada/nothing'"),
        ("devenvs", {"owner": "bob"}, "there is no user 'bob'"),
        ("devenvs", {"name": "a/b"}, "pattern"),
        ("devenvs", {"location": "Nowhere"}, "'Nowhere' is none of"),
    ],
)
def test_a_wrong_environment_is_refused(load, part: str, change: dict[str, Any], said: str):
    result = load(DOCUMENT | {part: [DOCUMENT[part][0] | change]}, code=2)
    assert f"{part}[0]" in result.output
    assert said in result.output
