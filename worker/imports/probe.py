"""Detection of the repository at a URL, by asking as git, Mercurial and Subversion do.

Each request and each redirect goes through the guard.
"""

import asyncio
import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from html import unescape
from itertools import islice
from urllib.parse import quote, unquote, urljoin

from worker.http.addresses import Refused
from worker.http.client import FetchedResponse, GuardedClient, RequestFailed
from worker.http.endpoint import SOURCES, WEB, Endpoint
from worker.http.guard import Guard
from worker.imports.git import Remote

REQUEST_TIMEOUT = 30.0
MOST_PAGE = 1024 * 1024
MOST_HOPS = 3
MOST_CHOICES = 50
# The links of a page that are looked at. A page may hold a hundred thousand, or a huge one.
MOST_LINKS = 2000
LONGEST_LINK = 4096
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
    """An import cannot continue. The status and message are for the user."""

    def __init__(self, status: str, message: str | None = None) -> None:
        super().__init__(status, message)
        self.status, self.message = status, message


class MultipleProjects(Exception):
    """Several projects were found, and the user has to choose one."""

    def __init__(self, choices: list[dict[str, str]]) -> None:
        super().__init__(len(choices))
        self.choices = choices


@dataclass(frozen=True, slots=True)
class DetectedRepository:
    """A detected repository, with the URL after redirects.

    `project` is its path below the requested URL, if it was found there.
    """

    vcs: str
    url: str
    project: str | None = None


@dataclass(frozen=True, slots=True)
class Probe:
    """A client that asks servers for repositories, with username and password if given."""

    guard: Guard
    client: GuardedClient
    username: str | None = None
    password: str | None = field(default=None, repr=False)

    @property
    def has_credentials(self) -> bool:
        """Return whether there is a username or password."""
        return bool(self.username or self.password)

    async def detect(self, url: str) -> DetectedRepository:
        """Return the repository at a URL, or the only project below it.

        Raises MultipleProjects if there are several, and ImportProblem if there is none.
        """
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
        """Return the git repository at a URL, or None."""
        reply, last = await self._request("GET", url.rstrip("/") + GIT)
        kind = reply.header("content-type") or ""
        if reply.status != 200 or not (kind.startswith(SMART) or DUMB.match(reply.body)):
            return None
        return DetectedRepository("git", last.removesuffix(GIT)) if last.endswith(GIT) else None

    async def mercurial(self, url: str) -> DetectedRepository | None:
        """Return the Mercurial repository at a URL, or None."""
        reply, last = await self._request("GET", url + "?cmd=capabilities")
        kind = reply.header("content-type") or ""
        there = reply.status == 200 and kind.startswith(MERCURIAL)
        return DetectedRepository("mercurial", last.partition("?")[0]) if there else None

    async def subversion(self, url: str) -> DetectedRepository | None:
        """Return the Subversion repository at a URL, or None."""
        reply, last = await self._request("OPTIONS", url)
        said = reply.headers.get("dav", "")
        there = reply.status in (200, 204) and SUBVERSION in said
        return DetectedRepository("subversion", last) if there else None

    async def is_there(self, url: str) -> bool:
        """Return whether a GET request to the URL is answered with 200."""
        reply, _ = await self._request("GET", url)
        return reply.status == 200

    async def _below(self, url: str) -> list[DetectedRepository]:
        """Return the git repositories below the URL that the page there links to."""
        reply, last = await self._request("GET", url.rstrip("/") + "/")
        if reply.status != 200:
            return []
        names = links_below(reply.body.decode("utf-8", "replace"), last)
        turn = asyncio.Semaphore(AT_ONCE)

        async def ask(name: str) -> DetectedRepository | None:
            async with turn:
                try:
                    found = await self.git(within(url, name))
                except ImportProblem:
                    return None
                return None if found is None else replace(found, project=name)

        return [found for found in await asyncio.gather(*map(ask, names)) if found is not None]

    async def _request(self, method: str, url: str) -> tuple[FetchedResponse, str]:
        """Return the reply, and the URL that it came from.

        Raises ImportProblem if there is no reply, or if the server denies access.
        """
        asked = self._endpoint(url)
        for _ in range(MOST_HOPS + 1):
            endpoint = self._endpoint(url)
            reply = await self._reply(method, endpoint, known=_is_known(endpoint, asked))
            if reply.status in DENIED:
                raise ImportProblem(
                    "auth_failed" if self.has_credentials else "detection_needs_auth"
                )
            place = reply.header("location")
            if reply.status not in MOVED or place is None:
                return reply, url
            url = urljoin(url, place).partition("#")[0]
        raise ImportProblem("error", "the URL redirects without end")

    async def _reply(self, method: str, endpoint: Endpoint, *, known: bool) -> FetchedResponse:
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
            raise ImportProblem("error", f"the request to {endpoint.host} failed: {error}")
        return reply

    def _headers(self, *, known: bool) -> dict[str, str]:
        # Some servers show repositories only to clients that identify as git.
        headers = {"User-Agent": "git/2 (tocsin)"}
        if known and self.has_credentials:
            pair = f"{self.username or ''}:{self.password or ''}".encode()
            headers["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
        return headers

    def _endpoint(self, url: str, schemes: Sequence[str] = WEB) -> Endpoint:
        try:
            return self.guard.endpoint(url, schemes)
        except Refused as error:
            raise ImportProblem("error", str(error)) from None

    async def remote(self, url: str, *, asked: str) -> Remote:
        """Return how git reaches a URL: at the addresses that are judged now.

        `asked` is the URL that the user gave. Credentials are only for its server. Raises
        ImportProblem.
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
    """Return whether the credentials were given for this endpoint's server."""
    same = (endpoint.scheme, endpoint.port) == (asked.scheme, asked.port)
    return endpoint.host == asked.host and (same or endpoint.scheme == "https")


def is_svn(url: str) -> bool:
    """Return whether the URL is for Subversion's own protocol."""
    return url[:6].lower() == "svn://"


def within(url: str, project: str) -> str:
    """Return the URL of a project below another. Raises ImportProblem if it would be elsewhere."""
    parts = project.strip("/").split("/")
    if any(part in ("", ".", "..") for part in parts):
        raise ImportProblem("error", f"{project!a} names no project below the URL")
    return "/".join([url.rstrip("/"), *(quote(part, safe="~+") for part in parts)])


def links_below(page: str, url: str) -> list[str]:
    """Return the paths of the links on a page that lead below it."""
    found: dict[str, None] = {}
    links = dict.fromkeys("".join(groups) for groups in LINK.findall(page))
    for link in islice(links, MOST_LINKS):
        if len(link) > LONGEST_LINK:
            continue
        place = urljoin(url, unescape(link)).partition("#")[0]
        rest = unquote(place.removeprefix(url)).strip("/")
        if place.startswith(url) and rest and "?" not in rest and ".." not in rest:
            found[rest] = None
        if len(found) == MOST_CHOICES:
            break
    return [*found]


def _choice(found: DetectedRepository) -> dict[str, str]:
    name = found.project or ""
    return {"vcs": found.vcs, "tfvc_project": name, "human_name": f"{name} ({found.vcs})"}
