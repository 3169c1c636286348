"""Imports of Subversion repositories from `svnserve` with the `svn://` protocol, and the tunnel.

Tests with the server need Subversion and git-svn.
"""

import asyncio
import shutil
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from git_site import git
from import_place import Place
from receivers import LOOPBACK
from svn_repository import fill, has_git_svn

from store import Store
from worker.http.endpoint import SOURCES
from worker.http.guard import Guard
from worker.imports.proxy import USER, proxy_to
from worker.imports.steps import ROOT
from worker.imports.tunnel import environment

PASSWORD = "open sesame"
SENT = b"( success ( ) ) " * 10_000
real = pytest.mark.skipif(
    not has_git_svn("svn", "svnadmin", "svnserve"), reason="Subversion or git-svn is not installed"
)


@pytest.fixture(params=["sqlite"])
def url(request: pytest.FixtureRequest) -> str:
    """Only SQLite, because imports with svn do not depend on the database engine."""
    return str(request.param)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    root = tmp_path_factory.mktemp("svn")
    fill(root)
    shutil.copytree(root / "repo", root / "locked")
    settings = "[general]\nanon-access = none\nauth-access = read\npassword-db = passwd\n"
    (root / "locked" / "conf" / "svnserve.conf").write_text(settings)
    (root / "locked" / "conf" / "passwd").write_text(f"[users]\nada = {PASSWORD}\n")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    where = ("--listen-host", "127.0.0.1", "--listen-port", str(port), "--root", str(root))
    with subprocess.Popen(["svnserve", "--daemon", "--foreground", *where]) as server:
        try:
            while server.poll() is None:
                with socket.socket() as asking:
                    if asking.connect_ex(("127.0.0.1", port)) == 0:
                        break
            assert server.poll() is None, "svnserve does not start"
            yield f"svn://127.0.0.1:{port}"
        finally:
            server.terminate()


@real
async def test_a_repository_is_imported(store: Store, served: str, tmp_path: Path) -> None:
    place = Place(store, served, tmp_path / "data")
    row = await place.done("/repo")
    assert (row["status"], row["vcs"], row["error_message"]) == ("complete", "subversion", None)
    assert (row["commit_count"], row["authors_count"]) == (6, 2)
    refs = git(place.made, "for-each-ref", "--format=%(refname)", "refs/heads", "refs/tags")
    assert refs.splitlines() == ["refs/heads/quiet", "refs/heads/trunk", "refs/tags/v1"]
    names = git(place.made, "ls-tree", "-r", "--name-only", "trunk")
    assert names.splitlines() == ["0.txt", "1.txt", "2.txt"]
    assert "127.0.0.1" not in git(place.made, "log", "--format=%B%an%ae", "--all")
    assert place.left() == []


@real
async def test_a_part_of_it_has_no_branches(store: Store, served: str, tmp_path: Path) -> None:
    row = await (place := Place(store, served, tmp_path / "data")).done("/repo/trunk")
    assert (row["status"], row["commit_count"]) == ("complete", 4)
    refs = git(place.made, "for-each-ref", "--format=%(refname)", "refs/heads", "refs/tags")
    assert refs.splitlines() == ["refs/heads/trunk"]


@real
async def test_an_import_from_svnserve_asks_for_a_password(
    store: Store, served: str, tmp_path: Path
) -> None:
    place = Place(store, served, tmp_path / "data")
    row = await place.done("/locked")
    assert row["status"] == "auth_failed"
    place.restart(username="ada", password="wrong")
    assert (await place.work())["status"] == "auth_failed"
    place.restart(password=PASSWORD)
    assert (await place.work())["status"] == "complete"


@real
async def test_a_missing_repository_fails_the_import(
    store: Store, served: str, tmp_path: Path
) -> None:
    row = await Place(store, served, tmp_path / "data").done("/nothing")
    assert (row["status"], row["failed_step"]) == ("error", "importing")
    assert row["error_message"].startswith("git: ")
    assert str(tmp_path) not in row["error_message"]
    assert "tocsin" not in row["error_message"]


@real
async def test_the_checked_address_is_dialed(store: Store, served: str, tmp_path: Path) -> None:
    """The guard decides by the address of the name, which it allows first and refuses later."""
    place = Place(store, served.replace("127.0.0.1", "localhost"), tmp_path / "data")
    row = await place.done("/repo", vcs="subversion")
    assert row["status"] == "complete"
    place.settings = place.settings.model_copy(update={"allow_networks": []})
    place.restart()
    row = await place.work()
    assert (row["status"], "loopback" in row["error_message"]) == ("error", True)


@real
async def test_a_server_leads_the_import_to_no_other_one(store: Store, tmp_path: Path) -> None:
    """The server names a root of its repository on another port, which nothing may connect to."""
    asked: list[object] = []

    async def other(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(writer.get_extra_info("peername"))
        writer.close()

    def root(server: asyncio.Server) -> str:
        return f"svn://127.0.0.1:{server.sockets[0].getsockname()[1]}"

    async def hostile(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        elsewhere = root(inner)
        for said in (
            "( success ( 2 2 ( ) ( edit-pipeline svndiff1 ) ) ) ",
            "( success ( ( ANONYMOUS ) 5:tower ) ) ",
            f"( success ( ) ) ( success ( 4:uuid {len(elsewhere)}:{elsewhere} ( ) ) ) ",
        ):
            writer.write(said.encode())
            await reader.read(1_000)
        writer.close()

    inner = await asyncio.start_server(other, "127.0.0.1", 0)
    outer = await asyncio.start_server(hostile, "127.0.0.1", 0)
    # Subversion takes no root that is longer than the URL.
    row = await Place(store, root(outer), tmp_path / "data").done("/repository/of/the/tower")
    said = "git: fatal: the root of the repository is not on its server"
    assert (row["status"], row["error_message"], asked) == ("error", said, [])
    for server in (inner, outer):
        server.close()


async def test_a_refused_address_ends_an_import(store: Store, tmp_path: Path) -> None:
    row = await Place(store, "svn://10.0.0.1", tmp_path / "data").done("/repo")
    assert row["status"] == "error"
    assert "10.0.0.1 is refused" in row["error_message"]


@pytest.mark.parametrize("vcs", ["git", "mercurial", "tfvc"])
async def test_only_subversion_is_there(store: Store, tmp_path: Path, vcs: str) -> None:
    row = await Place(store, "svn://127.0.0.1:1024", tmp_path / "data").done("/repo", vcs=vcs)
    assert row["error_message"] == f"at svn:// there are no {vcs} repositories"


# The tunnel program that Subversion runs. These tests need no Subversion.


async def tunnelled(place: str, *, token: str | None = None) -> tuple[int | None, bytes]:
    """Send bytes through a tunnel to `place`. Return its exit code and its output."""
    guard = Guard(allow_networks=LOOPBACK)
    endpoint = guard.endpoint(f"svn://{place}/", SOURCES)
    async with proxy_to(guard, endpoint) as proxy:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "worker.imports.tunnel", "host", "svnserve", "-t"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=environment(proxy.port, USER, token or proxy.token, place) | {"PYTHONPATH": ROOT},
        )
        said, _ = await process.communicate(SENT)
    guard.close()
    return process.returncode, said


@pytest.fixture
async def answering(anyio_backend: str) -> AsyncIterator[str]:
    """The address of a server that sends a greeting and then the bytes that it has received."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello ")
        writer.write(await reader.read())
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    server.close()


async def test_the_tunnel_passes_on_both_directions(answering: str) -> None:
    assert await tunnelled(answering) == (0, b"hello " + SENT)


async def test_the_tunnel_refuses_a_wrong_token(
    answering: str,
) -> None:
    assert await tunnelled(answering, token="guessed") == (1, b"")


async def test_the_tunnel_ends_if_the_server_is_unreachable(anyio_backend: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        assert await tunnelled(place) == (1, b"")
