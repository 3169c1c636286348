"""Imports of real Mercurial repositories from a server on loopback, and the proxy that they use."""

import asyncio
import base64
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from git_site import git
from hg_repository import hg, wrote
from import_place import Place
from receivers import LOOPBACK

from store import Store
from worker.http.guard import Guard
from worker.imports.proxy import USER, proxy_to
from worker.imports.steps import ImportSteps

PASSWORD = "open sesame"
PROGRAMS = str(Path(sys.executable).parent)


@pytest.fixture(scope="module")
def bells(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with two branches, a merge, a tag, a bookmark, and several kinds of files."""
    repo = tmp_path_factory.mktemp("hg")
    hg(repo, "init")
    wrote(repo, "a.txt", b"1")
    wrote(repo, 'ö "quoted".bin', bytes(range(256)), "Bob Ölm <bob@tower.example>")
    hg(repo, "tag", "v1", "-u", "eve", "-d", "1700000000 0")
    hg(repo, "branch", "-q", "stable line")
    (repo / "run").write_text("#!/bin/sh\n")
    (repo / "run").chmod(0o755)
    (repo / "link").symlink_to("a.txt")
    wrote(repo, "b/b.txt", b"2", "carol@tower.example")
    hg(repo, "bookmark", "feature")
    hg(repo, "update", "-q", "default")
    hg(repo, "remove", "a.txt")
    wrote(repo, "c.txt", b"3")
    hg(repo, "merge", "-q", "stable line")
    wrote(repo, "d.txt", b"4")
    return repo


class HgSite:
    """A server of a repository at `url`. Requests need a password after `ask_for`."""

    def __init__(self, port: str, file: Path) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self._file = file

    def ask_for(self, password: str, name: str = "ada") -> None:
        self._file.write_text(password and f"{name}:{password}")


@pytest.fixture(scope="module")
def server(bells: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HgSite]:
    file = tmp_path_factory.mktemp("server") / "password"
    file.touch()
    program = Path(__file__).parents[1] / "hg_server.py"
    command = [sys.executable, str(program), str(bells), str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield HgSite(process.stdout.readline().strip(), file)
        process.kill()


@pytest.fixture
def site(server: HgSite) -> HgSite:
    server.ask_for("")
    return server


@pytest.fixture(params=["sqlite"])
def url(request: pytest.FixtureRequest) -> str:
    """Only SQLite, because imports with hg do not depend on the database engine."""
    return str(request.param)


@pytest.fixture
def place(store: Store, site: HgSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("PATH", f"{PROGRAMS}:{os.environ['PATH']}")
    return Place(store, site.url, tmp_path / "data")


async def test_a_repository_is_imported(place: Place, bells: Path) -> None:
    row = await place.done("/")
    assert (row["status"], row["vcs"], row["error_message"]) == ("complete", "mercurial", None)
    assert row["commit_count"] == int(hg(bells, "log", "-r", "tip", "-T", "{rev}")) + 1
    refs = git(place.made, "for-each-ref", "--format=%(refname)", "refs/heads", "refs/tags")
    heads = ["refs/heads/default", "refs/heads/feature", "refs/heads/stable-line", "refs/tags/v1"]
    assert refs.splitlines() == heads
    assert git(place.made, "symbolic-ref", "HEAD") == "refs/heads/default"
    assert git(place.made, "fsck", "--strict") == ""
    listed = [
        f"{line.split()[0]} {line.partition(chr(9))[2]}"
        for line in git(place.made, "ls-tree", "-r", "-z", "HEAD").split("\0")
        if line
    ]
    assert sorted(listed) == [
        "100644 .hgtags",
        "100644 b/b.txt",
        "100644 c.txt",
        "100644 d.txt",
        '100644 ö "quoted".bin',
        "100755 run",
        "120000 link",
    ]
    dates = git(place.made, "log", "-1", "--format=%ad", "--date=raw", "v1~1")
    assert dates == "1700000000 +0100"
    people = {(one["remote_name"], one["remote_id"]) for one in place.authors()}
    assert people == {
        ("Ada", "ada@tower.example"),
        ("Bob Ölm", "bob@tower.example"),
        ("eve", ""),
        ("carol@tower.example", "carol@tower.example"),
    }
    assert place.left() == []


async def test_each_head_has_a_ref(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that git cannot have beside another gets the beginning of the changeset's hash."""
    monkeypatch.setenv("PATH", f"{PROGRAMS}:{os.environ['PATH']}")
    repo = tmp_path / "hg"
    repo.mkdir()
    hg(repo, "init")
    wrote(repo, "a.txt", b"1")
    for bookmark in ("bell x", "default/old"):
        hg(repo, "bookmark", "-i", bookmark)
    branches = ("bell/low", "bell", "bell x", "bell-x", ".default", "tower.lock.")
    for number, branch in enumerate(branches):
        hg(repo, "update", "-q", "0")
        hg(repo, "branch", "-q", branch)
        wrote(repo, "b.txt", b"%d" % number)
    steps = ImportSteps(tmp_path, lambda **news: None, memory=1 << 32)
    await steps.take_over("hg_to_git", repo, on_line=lambda line: None)
    refs = git(steps.source, "for-each-ref", "--format=%(refname:lstrip=3)", "refs/tocsin/source")
    first, low, _, _, dashed, dotted, _ = hg(
        repo, "log", "-r", "sort(all(), rev)", "-T", "{node|short} "
    ).split()
    assert {*refs.splitlines()} == {
        "heads/bell",
        "heads/bell-x",
        f"heads/bell-x-{first}",
        f"heads/bell-x-{dashed}",
        f"heads/bell-low-{low}",
        "heads/default",
        f"heads/default-{dotted}",
        f"heads/default-old-{first}",
        "heads/tower-",
    }


async def test_an_import_from_mercurial_asks_for_a_password(place: Place, site: HgSite) -> None:
    site.ask_for(PASSWORD)
    assert (await place.done("/"))["status"] == "detection_needs_auth"
    assert (await place.done("/", vcs="mercurial"))["status"] == "auth_failed"
    place.restart(username="ada", password="wrong")
    assert (await place.work())["status"] == "auth_failed"
    place.restart(password=PASSWORD)
    row = await place.work()
    assert (row["status"], row["error_message"]) == ("complete", None)
    place.rename("eve", name="Eve", email="eve@tower.example")
    assert (await place.work())["status"] == "complete"
    assert "Eve <eve@tower.example>" in place.log()


async def test_hg_takes_the_user_name_as_it_is(place: Place, site: HgSite) -> None:
    name = "~root/$HOME"
    site.ask_for(PASSWORD, name)
    row = await place.done("/", vcs="mercurial", username=name, password=PASSWORD)
    assert (row["status"], row["error_message"]) == ("complete", None)


async def test_the_fetched_repository_is_removed_beside_the_event_loop(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    removed: dict[str, int] = {}

    def removing(folder: Path, **given: Any) -> None:
        removed[folder.name] = threading.get_ident()
        rmtree(folder, **given)

    rmtree = shutil.rmtree
    monkeypatch.setattr(shutil, "rmtree", removing)
    assert (await place.done("/"))["status"] == "complete"
    assert removed["source.hg"] != threading.get_ident()


async def test_hg_is_not_installed(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.imports.fetch_hg.shutil.which", lambda name: None)
    row = await place.done("/")
    assert (row["status"], row["failed_step"]) == ("error", "importing")
    assert (
        row["error_message"] == "mercurial repositories need the program hg, which is not installed"
    )


async def test_another_url_than_a_mercurial_repository_fails(place: Place) -> None:
    row = await place.done("/nothing/here", vcs="mercurial")
    assert (row["status"], row["failed_step"]) == ("error", "importing")
    assert row["error_message"].startswith("hg: abort")


async def test_a_redirect_to_ftp_is_not_followed(place: Place) -> None:
    met: list[str] = []

    async def redirect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        lines = ("HTTP/1.1 302 Found", f"Location: ftp://127.0.0.1:{port_of(internal)}/x", "", "")
        writer.write("\r\n".join(lines).encode())
        writer.close()

    async def banner(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        met.append("ftp")
        writer.write(b"530 a secret of this network\r\n")
        writer.close()

    async with (
        await asyncio.start_server(redirect, "127.0.0.1", 0) as public,
        await asyncio.start_server(banner, "127.0.0.1", 0) as internal,
    ):
        place.source = f"http://127.0.0.1:{port_of(public)}"
        row = await place.done("/", vcs="mercurial")
    assert (row["status"], met) == ("error", [])
    assert "redirects to ftp, which is refused" in row["error_message"]


def port_of(server: asyncio.Server) -> int:
    port: int = server.sockets[0].getsockname()[1]
    return port


async def asked(port: int, request: str) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request.encode())
    try:
        return (await reader.read()).decode("latin-1")
    finally:
        writer.close()


async def test_the_proxy_needs_its_token(site: HgSite) -> None:
    guard = Guard(allow_networks=LOOPBACK, resolver=_loopback)
    there = site.url.removeprefix("http://")
    async with proxy_to(guard, guard.endpoint(f"{site.url}/")) as proxy:
        known = base64.b64encode(f"{USER}:{proxy.token}".encode()).decode()
        pass_ = f"Proxy-Authorization: Basic {known}\r\n"
        get = f"GET http://{there}/?cmd=capabilities HTTP/1.1\r\nHost: x\r\n"
        assert (await asked(proxy.port, f"{get}\r\n")).startswith("HTTP/1.1 407 ")
        wrong = get + pass_.replace(known, "eA==")
        assert (await asked(proxy.port, f"{wrong}\r\n")).startswith("HTTP/1.1 407 ")
        said = await asked(proxy.port, f"{get}{pass_}\r\n")
        assert "200 " in said.partition("\r\n")[0]
        assert "unbundle" in said
        said = await asked(
            proxy.port,
            f"CONNECT {there} HTTP/1.1\r\n{pass_}\r\nGET /?cmd=capabilities HTTP/1.0\r\n\r\n",
        )
        assert said.startswith("HTTP/1.1 200 Connected\r\n\r\nHTTP/1.0 200 ")
        assert proxy.refused is None
        for other in ("GET http://127.0.0.1:1/", "CONNECT 127.0.0.1:443", "GET file:///etc/x"):
            said = await asked(proxy.port, f"{other} HTTP/1.1\r\n{pass_}\r\n")
            assert said.startswith("HTTP/1.1 403 "), other
        assert "file" in str(proxy.refused)
    # The proxy refuses a name whose address the guard no longer allows.
    guard.allow([], "1-65535")
    endpoint = guard.endpoint("http://bells.invalid/")
    async with proxy_to(guard, endpoint) as proxy:
        known = base64.b64encode(f"{USER}:{proxy.token}".encode()).decode()
        pass_ = f"Proxy-Authorization: Basic {known}\r\n"
        get = f"GET http://bells.invalid/ HTTP/1.1\r\n{pass_}\r\n"
        assert (await asked(proxy.port, get)).startswith("HTTP/1.1 403 ")
        assert "127.0.0.1 (an address of bells.invalid) is refused" in str(proxy.refused)
    guard.close()


async def _loopback(host: str, port: int) -> list[str]:
    return ["127.0.0.1"]
