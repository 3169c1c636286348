"""Tests that wait are spread between those that compute."""

from types import SimpleNamespace

from spread import spread


def test_blocks_that_wait_are_among_the_others_and_stay_whole() -> None:
    names = [f"hub/{file}.py::test_{number}" for file in "abcd" for number in range(2)]
    names += [f"worker/{file}.py::test_{number}" for file in "xy" for number in range(2)]
    items = [SimpleNamespace(nodeid=name, getparent=lambda kind: None) for name in names]
    found = [item.nodeid for item in spread(items, "worker/")]
    assert sorted(found) == sorted(names)
    files = ["hub/a", "worker/x", "hub/b", "worker/y", "hub/c", "hub/d"]
    assert found == [f"{file}.py::test_{number}" for file in files for number in range(2)]
