"""Finds out what is at a URL, by asking there as git, Mercurial and Subversion do; each request
goes through the guard, and so does each place that one is sent on to.
"""

import asyncio
import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import unescape
from urllib.parse import quote, unquote, urljoin

from worker.http.addresses import Refused
from worker.http.client import GuardedClient, Reply, RequestFailed
from worker.http.endpoint import SOURCES, WEB, Endpoint
from worker.http.guard import Guard
from worker.imports.git import Remote

REQUEST_TIMEOUT = 30.0
MOST_PAGE = 1024 * 1024
MOST_HOPS = 3
MOST_CHOICES = 50
AT_ONCE = 4
GIT = "/info/refs?service=git-upload-pack"
SMART = "application/x-git-upload-pack-advertisement"
DUMB = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?\t")
MERCURIAL = "application/mercurial-"
SUBVERSION = "subversion.tigris.org"
LINK = re.compile(r"""href\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']+))""", re.IGNORECASE)
DENIED = (401, 403)
MOVED = (301, 302, 303, 307, 308)


class ImportProblem(Exception):
    """An import cannot go on: with this status, and this message for whoever asked for it."""

    def __init__(self, status: str, message: str | None = None) -> None:
        super().__init__(status, message)
        self.status, self.message = status, message


class MultipleProjects(Exception):
    """There are several projects of which one has to be chosen."""

    def __init__(self, choices: list[dict[str, str]]) -> None:
        super().__init__(len(choices))
        self.choices = choices


@dataclass(frozen=True, slots=True)
class DetectedRepository:
    """What is at a URL, and where that has led to."""

    vcs: str
    url: str
    project: str | None = None


@dataclass(frozen=True, slots=True)
class Probe:
    """Asks as somebody, who need not have a name."""

    guard: Guard
    client: GuardedClient
    username: str | None = None
    password: str | None = None

    @property
    def named(self) -> bool:
        """Whether there is a name or password to ask with."""
        return bool(self.username or self.password)

    async def detect(self, url: str) -> DetectedRepository:
        """What is at a URL, or the one project below it. Problem, Several."""
        if is_svn(url):
            return DetectedRepository("subversion", url)
        found = await self.git(url) or await self.mercurial(url) or await self.subversion(url)
        if found is not None:
            return found
        below = await self._below(url)
        if len(below) > 1:
            raise MultipleProjects([_choice(one) for one in below])
        if not below:
            raise ImportProblem("detection_found_nothing")
        return below[0]

    async def git(self, url: str) -> DetectedRepository | None:
        """The git repository there, or None."""
        reply, last = await self._request("GET", url.rstrip("/") + GIT)
        kind = reply.header("content-type") or ""
        if reply.status != 200 or not (kind.startswith(SMART) or DUMB.match(reply.body)):
            return None
        return DetectedRepository("git", last.removesuffix(GIT)) if last.endswith(GIT) else None

    async def mercurial(self, url: str) -> DetectedRepository | None:
        """The Mercurial repository there, or None."""
        reply, last = await self._request("GET", url + "?cmd=capabilities")
        kind = reply.header("content-type") or ""
        there = reply.status == 200 and kind.startswith(MERCURIAL)
        return DetectedRepository("mercurial", last.partition("?")[0]) if there else None

    async def subversion(self, url: str) -> DetectedRepository | None:
        """The Subversion repository there, or None."""
        reply, last = await self._request("OPTIONS", url)
        said = reply.headers.get("dav", "")
        there = reply.status in (200, 204) and SUBVERSION in said
        return DetectedRepository("subversion", last) if there else None

    async def is_there(self, url: str) -> bool:
        """Whether there is anything."""
        reply, _ = await self._request("GET", url)
        return reply.status == 200

    async def _below(self, url: str) -> list[DetectedRepository]:
        """The git repositories that a page at the URL leads to, below it."""
        reply, last = await self._request("GET", url.rstrip("/") + "/")
        if reply.status != 200:
            return []
        names = _names(reply.body.decode("utf-8", "replace"), last)
        turn = asyncio.Semaphore(AT_ONCE)

        async def ask(name: str) -> DetectedRepository | None:
            async with turn:
                try:
                    found = await self.git(within(url, name))
                except ImportProblem:
                    return None
                return None if found is None else replace(found, project=name)

        return [found for found in await asyncio.gather(*map(ask, names)) if found is not None]

    async def _request(self, method: str, url: str) -> tuple[Reply, str]:
        """The reply, and the URL that it came from. ImportProblem if there is none, or if it asks
        for a name.
        """
        asked = self._endpoint(url)
        for _ in range(MOST_HOPS + 1):
            endpoint = self._endpoint(url)
            reply = await self._reply(method, endpoint, known=_is_known(endpoint, asked))
            if reply.status in DENIED:
                raise ImportProblem("auth_failed" if self.named else "detection_needs_auth")
            place = reply.header("location")
            if reply.status not in MOVED or place is None:
                return reply, url
            url = urljoin(url, place).partition("#")[0]
        raise ImportProblem("error", "it leads from one place to the next without end")

    async def _reply(self, method: str, endpoint: Endpoint, *, known: bool) -> Reply:
        try:
            reply = await self.client.request(
                method,
                endpoint,
                headers=self._headers(known=known),
                deadline=REQUEST_TIMEOUT,
                max_bytes=MOST_PAGE,
            )
            error = reply.error
        except RequestFailed as failed:
            error = str(failed)
        if error is not None:
            raise ImportProblem("error", f"{endpoint.host} cannot be asked: {error}")
        return reply

    def _headers(self, *, known: bool) -> dict[str, str]:
        # Some servers show repositories only to clients that say that they are git.
        headers = {"User-Agent": "git/2 (tocsin)"}
        if known and self.named:
            pair = f"{self.username or ''}:{self.password or ''}".encode()
            headers["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
        return headers

    def _endpoint(self, url: str, schemes: Sequence[str] = WEB) -> Endpoint:
        try:
            return self.guard.endpoint(url, schemes)
        except Refused as error:
            raise ImportProblem("error", str(error)) from None

    async def remote(self, url: str, *, asked: str) -> Remote:
        """How git is to get at a URL, which `asked` has led to: at the addresses that are judged
        now. Problem.
        """
        endpoint = self._endpoint(url, SOURCES)
        try:
            addresses = await self.guard.resolve(endpoint)
        except Refused as error:
            raise ImportProblem("error", str(error)) from None
        except OSError as error:
            raise ImportProblem(
                "error", f"{endpoint.host} is not found: {error.strerror}"
            ) from None
        resolved = ""
        if addresses != [endpoint.host]:
            listed = ",".join(f"[{one}]" if ":" in one else one for one in addresses)
            resolved = f"{endpoint.host}:{endpoint.port}:{listed}"
        plain = f"{endpoint.scheme}://{endpoint.authority}{endpoint.target}"
        if not _is_known(endpoint, self._endpoint(asked, SOURCES)):
            return Remote(plain, resolved)
        return Remote(plain, resolved, self.username, self.password)


def _is_known(endpoint: Endpoint, asked: Endpoint) -> bool:
    """Whether it is for this place that name and password were given."""
    same = (endpoint.scheme, endpoint.port) == (asked.scheme, asked.port)
    return endpoint.host == asked.host and (same or endpoint.scheme == "https")


def is_svn(url: str) -> bool:
    """Whether it is of a server that speaks Subversion's own protocol, and nothing else."""
    return url[:6].lower() == "svn://"


def within(url: str, project: str) -> str:
    """The URL of a project below another. Problem for one that would be elsewhere."""
    parts = project.strip("/").split("/")
    if any(part in ("", ".", "..") for part in parts):
        raise ImportProblem("error", f"{project!a} names no project below the URL")
    return "/".join([url.rstrip("/"), *(quote(part, safe="~+") for part in parts)])


def _names(page: str, url: str) -> list[str]:
    """What a page leads to that is below it."""
    found: dict[str, None] = {}
    for groups in LINK.findall(page):
        place = urljoin(url, unescape("".join(groups))).partition("#")[0]
        rest = unquote(place.removeprefix(url)).strip("/")
        if place.startswith(url) and rest and "?" not in rest and ".." not in rest:
            found[rest] = None
    return [*found][:MOST_CHOICES]


def _choice(found: DetectedRepository) -> dict[str, str]:
    name = found.project or ""
    return {"vcs": found.vcs, "tfvc_project": name, "human_name": f"{name} ({found.vcs})"}
