"""Fetching with `git svn`, which sees the network through a proxy of ours alone."""

import re
from collections.abc import Sequence

from worker.guard import Guard
from worker.import_git import PASSWORD, USER, Failed, Remote, run
from worker.import_objects import IMPORTED
from worker.import_places import write_privately
from worker.import_probe import Problem
from worker.import_proxy import USER as TO_PROXY
from worker.import_proxy import Proxy, proxy_to
from worker.import_steps import Steps

PREFIX = "refs/remotes/svn/"
TRUNKS = ("trunk", "git-svn")
BRANCH = "refs/heads/trunk"
REVISION = re.compile(r"r\d+ = ")
DENIED = ("Authentication failed", "Authorization failed", "E170001", "E215004")
# What git svn asks for a name or a password; they are on no command line, and in no file.
ASKED = (
    "#!/bin/sh",
    f'case "$1" in Username*) printf "%s\\n" "${USER}" ;; *) printf "%s\\n" "${PASSWORD}" ;; esac',
)


class Subversion:
    """Fetches with git svn."""

    def __init__(self, steps: Steps, guard: Guard, remote: Remote) -> None:
        self._steps = steps
        self._guard = guard
        self._remote = remote
        self._count = 0

    async def fetch(self, has_trunk: bool) -> str:
        """Have it all in the source of the steps, with branches and tags where it `has_trunk`;
        returns the default branch. Problem.
        """
        try:
            await self._git("svn", "--version")
        except Failed:
            raise Problem(
                "error", "subversion repositories need the program git-svn, which is not here"
            ) from None
        await run("git", "init", "-q", "--bare", str(self._steps.source), home=self._steps.home)
        async with proxy_to(self._guard, self._guard.endpoint(self._remote.url)) as proxy:
            try:
                await self._through(proxy, has_trunk)
            except Failed as error:
                raise self._problem(error, proxy) from None
        await self._rename()
        return BRANCH

    async def _through(self, proxy: Proxy, has_trunk: bool) -> None:
        folder = self._steps.home / "svn"
        folder.mkdir(mode=0o700)
        write_privately(folder / "servers", self._settings(proxy))
        write_privately(folder / "config", ("[auth]", "store-auth-creds = no"))
        write_privately(self._steps.home / "asked", ASKED, mode=0o700)
        layout = ("--stdlayout",) if has_trunk else ()
        config = f"--config-dir={folder}"
        command = ("svn", "init", config, "--no-metadata", "--prefix=svn/", *layout)
        await self._git(*command, "--", self._remote.url)
        await self._git("svn", "fetch", config, "--quiet")

    async def _git(self, *command: str) -> None:
        remote = self._remote
        more = {
            "GIT_ASKPASS": str(self._steps.home / "asked"),
            USER: remote.username or "",
            PASSWORD: remote.password or "",
        }
        git = ("git", f"--git-dir={self._steps.source}", *command)
        await run(
            *git, home=self._steps.home, remote=remote, more=more, heard=self._heard, merged=True
        )

    def _settings(self, proxy: Proxy) -> Sequence[str]:
        return [
            "[global]",
            "http-proxy-host = 127.0.0.1",
            f"http-proxy-port = {proxy.port}",
            f"http-proxy-username = {TO_PROXY}",
            f"http-proxy-password = {proxy.token}",
            "store-passwords = no",
        ]

    def _heard(self, line: str) -> None:
        if REVISION.match(line):
            self._count += 1
            self._steps.tell(commit_count=self._count)

    async def _rename(self) -> None:
        """Have branches and tags be called as in git."""
        git = ("git", f"--git-dir={self._steps.source}")
        form = "--format=%(refname) %(objectname)"
        said = await run(*git, "for-each-ref", form, PREFIX, home=self._steps.home)
        lines = []
        for line in said.decode().splitlines():
            name, _, oid = line.removeprefix(PREFIX).rpartition(" ")
            place = "heads/trunk" if name in TRUNKS else f"heads/{name}"
            if name.startswith("tags/"):
                place = name
            lines.append(f"update {IMPORTED}{place} {oid}\n")
        given = "".join(lines).encode()
        await run(*git, "update-ref", "--stdin", home=self._steps.home, given=given)

    def _problem(self, error: Failed, proxy: Proxy) -> Exception:
        if proxy.refused is not None:
            return Problem("error", proxy.refused)
        denied = any(sign in line for line in error.said for sign in DENIED)
        return Problem("auth_failed") if denied else error
