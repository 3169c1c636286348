"""Fetching with `git svn`. The program reaches the network only through a proxy of the worker."""

import re
import shutil
import sys
from collections.abc import Sequence

from worker.http.endpoint import SOURCES
from worker.http.guard import Guard
from worker.imports.directories import write_private_file
from worker.imports.git import PASSWORD, USER, CommandFailed, Remote
from worker.imports.git_objects import IMPORTED_REFS, lines_of
from worker.imports.probe import ImportProblem
from worker.imports.proxy import USER as TO_PROXY
from worker.imports.proxy import ImportProxy, proxy_to
from worker.imports.steps import ROOT, ImportSteps
from worker.imports.tunnel import SCHEME, environment
from worker.imports.uninterrupted import in_thread

PREFIX = "refs/remotes/svn/"
TRUNKS = ("trunk", "git-svn")
BRANCH = "refs/heads/trunk"
REVISION = re.compile(r"r\d+ = ")
DENIED = (
    "Authentication failed",
    "Authentication error",
    "SASL authentication error",
    "Authorization failed",
    "E170001",
    "E215004",
)
# The program that answers git svn's questions for name and password. The answers are in its
# environment, and so on no command line and in no file.
ASKED = (
    "#!/bin/sh",
    f'case "$1" in Username*) printf "%s\\n" "${USER}" ;; *) printf "%s\\n" "${PASSWORD}" ;; esac',
)

# A module that Perl loads into git svn. A server names the root of its repository, and git svn
# would connect to that, whatever address or file it is.
MODULE = "TocsinOneServer"
ONE_SERVER = (
    f"package {MODULE};",
    "my $known;",
    "INIT {",
    "    no warnings 'redefine';",
    "    my $connect = \\&Git::SVN::Ra::new;",
    "    *Git::SVN::Ra::new = sub {",
    "        my ($server) = Git::SVN::Utils::canonicalize_url($_[1]) =~ m{^([^:]*://[^/]*)};",
    "        $known = $server unless defined $known;",
    "        goto &$connect if $server eq $known;",
    '        print STDERR "fatal: the root of the repository is not on its server\\n";',
    # git svn would catch an exception and go on.
    "        exit 1;",
    "    };",
    "}",
    "1;",
)


class SubversionFetcher:
    """The fetch of a Subversion repository with git svn."""

    def __init__(self, steps: ImportSteps, guard: Guard, remote: Remote) -> None:
        self._steps = steps
        self._guard = guard
        self._remote = remote
        self._endpoint = guard.endpoint(remote.url, SOURCES)
        self._folder = steps.home / "svn"
        self._tunnel: dict[str, str] = {}
        self._count = 0

    async def fetch(self, has_trunk: bool | None) -> str:
        """Fetch everything to the steps' `source.git`. Return the default branch.

        If `has_trunk`, fetch trunk, branches and tags. If it is None, find out whether there is a
        trunk. Without one, the repository is a single branch. Raises ImportProblem.
        """
        write_private_file(self._steps.home / f"{MODULE}.pm", ONE_SERVER)
        try:
            await self._git("svn", "--version")
        except CommandFailed:
            raise ImportProblem(
                "error", "subversion repositories need the program git-svn, which is not installed"
            ) from None
        async with proxy_to(self._guard, self._endpoint) as proxy:
            try:
                self._configure(proxy)
                await self._all(has_trunk)
            except CommandFailed as error:
                said = [line.replace(f"{SCHEME}://", "svn://") for line in error.said]
                shown = CommandFailed(error.program, error.code, said)
                raise proxy.explain(shown, DENIED) from None
        await self._rename()
        return BRANCH

    async def _all(self, has_trunk: bool | None) -> None:
        if has_trunk is not False:
            await self._fetch("--stdlayout")
            if has_trunk or await self._git_here("for-each-ref", f"{PREFIX}trunk"):
                return
            # Without a trunk, the whole repository is one branch.
            await in_thread(shutil.rmtree, self._steps.source)
            self._count = 0
        await self._fetch()

    def _configure(self, proxy: ImportProxy) -> None:
        self._folder.mkdir(mode=0o700)
        write_private_file(self._folder / "servers", self._settings(proxy))
        tunnel = f'tocsin = "{sys.executable}" -m worker.imports.tunnel'
        config = ("[auth]", "store-auth-creds = no", "[tunnels]", tunnel)
        write_private_file(self._folder / "config", config)
        write_private_file(self._steps.home / "asked", ASKED, mode=0o700)
        # Subversion does not use a proxy for its own protocol. It runs a program instead.
        host, port = self._endpoint.host, self._endpoint.port
        place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._tunnel = environment(proxy.port, TO_PROXY, proxy.token, place)

    async def _fetch(self, *layout: str) -> None:
        await self._steps.run("git", "init", "-q", "--bare", str(self._steps.source))
        config = f"--config-dir={self._folder}"
        command = ("svn", "init", config, "--no-metadata", "--prefix=svn/", *layout)
        url = self._remote.url
        if self._endpoint.scheme == "svn":
            url = url.replace("svn", SCHEME, 1)
        await self._git(*command, "--", url)
        await self._git("svn", "fetch", config, "--quiet")

    async def _git(self, *command: str) -> None:
        remote = self._remote
        more = {
            "GIT_ASKPASS": str(self._steps.home / "asked"),
            USER: remote.username or "",
            PASSWORD: remote.password or "",
            "PERL5LIB": str(self._steps.home),
            "PERL5OPT": f"-M{MODULE}",
            "PYTHONPATH": ROOT,
            "PYTHONDONTWRITEBYTECODE": "1",
            **self._tunnel,
        }
        git = ("git", f"--git-dir={self._steps.source}", *command)
        await self._steps.run(*git, remote=remote, more=more, on_line=self._on_line, merged=True)

    def _settings(self, proxy: ImportProxy) -> Sequence[str]:
        return [
            "[global]",
            "http-proxy-host = 127.0.0.1",
            f"http-proxy-port = {proxy.port}",
            f"http-proxy-username = {TO_PROXY}",
            f"http-proxy-password = {proxy.token}",
            "store-passwords = no",
        ]

    def _on_line(self, line: str) -> None:
        if REVISION.match(line):
            self._count += 1
            self._steps.report(commit_count=self._count)

    async def _rename(self) -> None:
        """Give branches and tags their names in git."""
        form = "--format=%(refname) %(objectname)"
        said = await self._git_here("for-each-ref", form, PREFIX)
        lines = []
        for line in lines_of(said.decode()):
            name, _, oid = line.removeprefix(PREFIX).rpartition(" ")
            place = "heads/trunk" if name in TRUNKS else f"heads/{name}"
            if name.startswith("tags/"):
                place = name
            lines.append(f"update {IMPORTED_REFS}{place} {oid}\n")
        await self._git_here("update-ref", "--stdin", stdin="".join(lines).encode())

    async def _git_here(self, *command: str, stdin: bytes | None = None) -> bytes:
        git = ("git", f"--git-dir={self._steps.source}", *command)
        return await self._steps.run(*git, stdin=stdin)
