"""Imports of Subversion repositories over HTTP with `git svn`, and errors if it is not installed.

The server is Apache with mod_dav_svn. Tests of it need Subversion, git-svn and Apache.
"""

import base64
import hashlib
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from engines import embedded
from git_site import GitSite, git, git_site
from import_place import Place
from svn_repository import fill, has_git_svn
from waiting import wait_until

from store import Store
from worker.imports.git import CommandFailed

pytestmark = embedded("imports with svn do not depend on the database engine")

PASSWORD = "open sesame"
MODULES = Path(os.environ.get("TOCSIN_APACHE_MODULES", "/usr/lib/apache2/modules"))
LOADED = ("mpm_event", "authn_core", "authn_file", "authz_core", "authz_user", "auth_basic", "dav")
CONFIGURATION = """
ServerRoot {root}
ServerName localhost
PidFile {root}/pid
ErrorLog {root}/log
Listen 127.0.0.1:{port}
{modules}
User {user}
Group #{group}
<Location /svn>
DAV svn
SVNPath {root}/repo
</Location>
<Location /locked>
DAV svn
SVNPath {root}/repo
AuthType Basic
AuthName svn
AuthUserFile {root}/users
Require valid-user
</Location>
"""


def installed() -> bool:
    return has_git_svn("svn", "svnadmin", "apache2") and (MODULES / "mod_dav_svn.so").exists()


real = pytest.mark.skipif(not installed(), reason="Subversion, git-svn or Apache is not installed")


@pytest.fixture(scope="module")
def served() -> Iterator[str]:
    # If root starts Apache, it runs as another user, who cannot read the folders of pytest.
    with TemporaryDirectory(prefix="tocsin-svn-") as folder:
        yield from _served(Path(folder))


def _served(root: Path) -> Iterator[str]:
    fill(root)
    digest = base64.b64encode(hashlib.sha1(PASSWORD.encode()).digest()).decode()  # noqa: S324 - the form that Apache reads
    (root / "users").write_text(f"ada:{{SHA}}{digest}\n")
    loaded = [f"LoadModule {name}_module {MODULES}/mod_{name}.so" for name in (*LOADED, "dav_svn")]
    who = {"user": "#65534" if os.getuid() == 0 else f"#{os.getuid()}", "group": os.getgid()}
    for _ in range(5):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        text = CONFIGURATION.format(root=root, port=port, modules="\n".join(loaded), **who)
        (root / "conf").write_text(text)
        with subprocess.Popen(["apache2", "-X", "-f", str(root / "conf")]) as server:
            try:
                if _listens(server, root, port):
                    yield f"http://127.0.0.1:{port}"
                    return
            finally:
                server.terminate()
    raise AssertionError("Apache does not start")


def _listens(server: subprocess.Popen[bytes], root: Path, port: int) -> bool:
    """Wait until Apache listens. Return False if it ends, because another program has the port."""

    def answers() -> bool:
        with socket.socket() as asking:
            # Apache writes the file `pid` only after it has bound the port.
            return (root / "pid").exists() and asking.connect_ex(("127.0.0.1", port)) == 0

    wait_until(lambda: server.poll() is not None or answers(), "Apache")
    return server.poll() is None


@real
async def test_a_repository_is_imported(store: Store, served: str, tmp_path: Path) -> None:
    place = Place(store, served, tmp_path / "data")
    row = await place.done("/svn")
    assert (row["status"], row["vcs"], row["error_message"]) == ("complete", "subversion", None)
    assert (row["commit_count"], row["authors_count"]) == (6, 2)
    refs = git(place.made, "for-each-ref", "--format=%(refname)", "refs/heads", "refs/tags")
    assert refs.splitlines() == ["refs/heads/quiet", "refs/heads/trunk", "refs/tags/v1"]
    assert git(place.made, "symbolic-ref", "HEAD") == "refs/heads/trunk"
    names = git(place.made, "ls-tree", "-r", "--name-only", "trunk")
    assert names.splitlines() == ["0.txt", "1.txt", "2.txt"]
    place.rename("bob", name="Bob", email="bob@tower.example")
    await place.work()
    assert place.log()[1:] == ["Bob <bob@tower.example>"] * 3
    # This URL is a part of the repository, without branches and tags.
    row = await place.done("/svn/trunk")
    assert (row["status"], row["commit_count"]) == ("complete", 4)
    assert place.left() == []


@real
async def test_an_import_from_subversion_asks_for_a_password(
    store: Store, served: str, tmp_path: Path
) -> None:
    place = Place(store, served, tmp_path / "data")
    assert (await place.done("/locked"))["status"] == "detection_needs_auth"
    place.restart(username="ada", password="wrong")
    assert (await place.work())["status"] == "auth_failed"
    place.restart(password=PASSWORD)
    assert (await place.work())["status"] == "complete"


@real
async def test_another_url_than_a_subversion_repository_fails(
    store: Store, served: str, tmp_path: Path
) -> None:
    place = Place(store, served, tmp_path / "data")
    row = await place.done("/nothing", vcs="subversion")
    assert (row["status"], row["failed_step"]) == ("error", "importing")
    assert row["error_message"].startswith("git: ")


@pytest.fixture
def pretended(tmp_path: Path) -> Iterator[GitSite]:
    """A server whose responses name Subversion, although it has none."""
    with git_site(tmp_path / "site") as site:
        site.root.mkdir()
        site.subversion = True
        yield site


async def test_git_svn_is_not_installed(
    store: Store, pretended: GitSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def failing(*command: str, **how: object) -> bytes:
        raise CommandFailed("git", 1, ["git: 'svn' is not a git command"])

    monkeypatch.setattr("worker.imports.steps.run", failing)
    row = await Place(store, pretended.url, tmp_path / "data").done("/bells")
    assert (row["status"], row["vcs"], row["failed_step"]) == ("error", "subversion", "importing")
    message = "subversion repositories need the program git-svn, which is not installed"
    assert row["error_message"] == message
