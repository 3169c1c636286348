"""`tocsin app install`, `uninstall`, `suspend` and `resume`."""

import json
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("url")

Installed = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def installed(run: Any) -> Installed:
    """Return a function that lists the installations of Mill, an app that asks for checks."""
    run("user", "add", "ada")
    run("repo", "add", "ada/bells")
    given = ("--owner", "ada", "--url", "https://x.example/", "--kind", "integration")
    run("app", "add", "Mill", *given, "--permission", "checks=write")

    def call() -> list[dict[str, Any]]:
        shown = json.loads(run("app", "show", "Mill", "--json").stdout)
        return list(shown["installed_on"])

    return call


def test_an_app_is_installed_suspended_and_removed(run: Any, installed: Installed) -> None:
    run("app", "install", "Mill", "ada", "--repo", "bells", "--permission", "checks=read")
    (row,) = installed()
    assert (row["account"], row["repositories"]) == ("ada", ["bells"])
    assert row["permissions"] == {"metadata": "read", "checks": "read"}
    run("app", "suspend", "Mill", "ada")
    assert installed()[0]["suspended_at"] is not None
    assert "already" in run("app", "suspend", "Mill", "ada").stdout
    run("app", "resume", "Mill", "ada")
    assert installed()[0]["suspended_at"] is None
    run("app", "uninstall", "Mill", "ada", "--yes")
    assert installed() == []
    run("app", "uninstall", "Mill", "ada", "--yes", code=4)


def test_an_installation_keeps_its_repositories(run: Any, installed: Installed) -> None:
    run("app", "install", "Mill", "ada", "--repo", "bells", "--permission", "checks=read")
    run("app", "install", "Mill", "ada")
    (row,) = installed()
    assert (row["repositories"], row["permissions"]["checks"]) == (["bells"], "write")
    run("app", "install", "Mill", "ada", "--all-repos")
    assert installed()[0]["repositories"] == "all"
    run("app", "install", "Mill", "ada")
    assert installed()[0]["repositories"] == "all"
    run("app", "install", "Mill", "ada", "--repo", "bells")
    assert installed()[0]["repositories"] == ["bells"]


@pytest.mark.parametrize("chosen", [(), ("--all-repos",)])
def test_a_new_installation_covers_all_repositories(
    run: Any, installed: Installed, chosen: tuple[str, ...]
) -> None:
    run("app", "install", "Mill", "ada", *chosen)
    assert installed()[0]["repositories"] == "all"


def test_a_wrong_installation_is_refused(run: Any, installed: Installed) -> None:
    run("app", "install", "Mill", "ada", "--permission", "checks=admin", code=2)
    run("app", "install", "Mill", "ada", "--repo", "nothing", code=4)
    twice = ("--permission", "checks=read", "--permission", "checks=write")
    assert "checks is given twice" in run("app", "install", "Mill", "ada", *twice, code=2).stderr
    assert installed() == []
