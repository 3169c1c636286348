"""Fetching with hg. The program reaches the network only through a proxy of the worker."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from worker.http.guard import Guard
from worker.imports.directories import write_private_file
from worker.imports.git import CommandFailed, Remote
from worker.imports.probe import ImportProblem
from worker.imports.proxy import USER, ImportProxy, proxy_to
from worker.imports.steps import RESOLVED, ImportSteps
from worker.imports.uninterrupted import in_thread

# Ranges of the progress in percent: first hg receives these, then git converts the rest.
RECEIVED = {"changesets": (0, 20), "manifests": (20, 40), "files": (40, 50)}
TAKEN = 50
RECEIVING = re.compile(r"(changesets|manifests|files) (\d+)/(\d+)")
TAKING = re.compile(r"exported (\d+) of (\d+)")
DENIED = ("authorization failed", "authorization required", "HTTP Error 401", "HTTP Error 403")
BRANCH = "refs/heads/default"
EXTENSION = Path(__file__).with_name("hg_web.py").resolve()


class MercurialFetcher:
    """The fetch of a Mercurial repository with hg."""

    def __init__(self, steps: ImportSteps, guard: Guard, remote: Remote) -> None:
        self._steps = steps
        self._guard = guard
        self._remote = remote

    async def fetch(self) -> str | None:
        """Fetch everything to the steps' `source.git`. Return the default branch. Raises
        ImportProblem.
        """
        if shutil.which("hg") is None:
            raise ImportProblem(
                "error", "mercurial repositories need the program hg, which is not installed"
            )
        home = self._steps.home
        async with proxy_to(self._guard, self._guard.endpoint(self._remote.url)) as proxy:
            write_private_file(home / "hgrc", self._settings(proxy))
            try:
                await self._hg("clone", "--noupdate", "--", self._remote.url, "source.hg")
            except CommandFailed as error:
                raise proxy.explain(error, DENIED) from None
            finally:
                (home / "hgrc").unlink()
        await self._steps.take_over("hg_to_git", home / "source.hg", on_line=self._taking)
        # It has a file for each path of the history.
        await in_thread(shutil.rmtree, home / "source.hg")
        return BRANCH

    async def _hg(self, *command: str) -> None:
        remote = self._remote
        # hg reads both from standard input if the server asks for them. In a name in its settings
        # it would expand `$HOME` and `~`.
        answers = f"{remote.username or ''}\n{remote.password or ''}\n".encode() * 3
        more = {"HGRCPATH": str(self._steps.home / "hgrc"), "HGENCODING": "UTF-8"}
        await self._steps.run("hg", *command, stdin=answers, more=more, on_line=self._receiving)

    def _settings(self, proxy: ImportProxy) -> Sequence[str]:
        named = self._remote.username or self._remote.password
        return [
            "[ui]",
            f"interactive = {'yes' if named else 'no'}",
            "nontty = yes",
            # Bundles are often on another server, which the proxy refuses.
            "clonebundles = no",
            "[extensions]",
            f"tocsin = {EXTENSION}",
            "tocsin:required = yes",
            "[progress]",
            "assume-tty = yes",
            "delay = 0",
            "format = topic number",
            "[http_proxy]",
            f"host = 127.0.0.1:{proxy.port}",
            f"user = {USER}",
            f"passwd = {proxy.token}",
            "always = yes",
        ]

    def _receiving(self, line: str) -> None:
        if found := RECEIVING.search(line):
            begin, end = RECEIVED[found[1]]
            part = (end - begin) * int(found[2]) // max(1, int(found[3]))
            self._steps.report(import_percent=min(begin + part, end))

    def _taking(self, line: str) -> None:
        if found := TAKING.search(line):
            part = (RESOLVED - TAKEN) * int(found[1]) // max(1, int(found[2]))
            self._steps.report(import_percent=TAKEN + part)
