"""A Git server over HTTP on loopback: with git's smart or dumb protocol, a password, slow responses
or redirects.
"""

import atexit
import base64
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_DATE": "1700000000 +0100",
    "GIT_COMMITTER_DATE": "1700000000 +0100",
}


def git(folder: Path, *command: str, given: bytes = b"", **who: str) -> str:
    """Run git in a folder, and return its output. `who` is added to its environment."""
    ran = subprocess.run(
        ["git", *command], cwd=folder, input=given, capture_output=True, env=ENVIRONMENT | who
    )
    assert ran.returncode == 0, ran.stderr.decode()
    return ran.stdout.decode("utf-8", "replace").strip()


def person(name: str, email: str) -> dict[str, str]:
    """The environment that names the author and committer of commits."""
    return {
        f"GIT_{role}_{what}": text
        for role in ("AUTHOR", "COMMITTER")
        for what, text in (("NAME", name), ("EMAIL", email))
    }


ADA = person("Ada", "ada@tower.example")
BOB = person("Bob Ölm", "bob@tower.example")


class GitSite:
    """Bare repositories in a folder, at `{url}/NAME.git`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.password: str | None = None
        """The password of the user `ada`, or None if requests need no password."""
        self.dumb = False
        self.subversion = False
        """Whether its responses to OPTIONS name Subversion."""
        self.moved: dict[str, str] = {}
        """The beginnings of paths, each with the beginning of the URL to which it redirects."""
        self.trap: str | None = None
        """The beginning of the URL to which git's own requests are redirected. Requests of tocsin
        are answered as usual.
        """
        self.pause = 0.0
        """Seconds between two parts of a large response."""
        self.seen: list[tuple[str, str, str | None]] = []
        """Method, path and Authorization of each request."""
        self.url = ""

    def repository(self, name: str, stream: bytes, *settings: str) -> Path:
        """Create a bare repository from a stream for `git fast-import`. Return its path.

        `settings` are options of git, as in `-c name=value`.
        """
        path = self.root / f"{name}.git"
        path.mkdir(parents=True)
        git(path, "init", "-q", "--bare", "-b", "main")
        git(path, *settings, "fast-import", "--quiet", given=stream)
        git(path, "update-server-info")
        return path

    def bells(self) -> None:
        """Add the repository `bells` from `stream()`. It is a copy, because git takes longer."""
        shutil.copytree(_bells(), self.root / "bells.git")

    def lets_in(self, given: str | None) -> bool:
        wanted = base64.b64encode(f"ada:{self.password}".encode()).decode()
        return self.password is None or given == f"Basic {wanted}"


@cache
def _bells() -> Path:
    root = Path(tempfile.mkdtemp(prefix="tocsin-git-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    return GitSite(root).repository("bells", stream())


class Handler(SimpleHTTPRequestHandler):
    site: GitSite
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_OPTIONS(self) -> None:
        self._answer()

    def _answer(self) -> None:
        site, given = self.site, self.headers.get("Authorization")
        site.seen.append((self.command, self.path, given))
        for begin, place in site.moved.items():
            if self.path.startswith(begin):
                return self._say(302, {"Location": place + self.path.removeprefix(begin)})
        if site.trap is not None and "tocsin" not in self.headers["User-Agent"]:
            return self._say(302, {"Location": site.trap + self.path})
        if not site.lets_in(given):
            return self._say(401, {"WWW-Authenticate": 'Basic realm="git"'})
        if site.subversion and self.command == "OPTIONS":
            return self._say(200, {"DAV": "http://subversion.tigris.org/xmlns/dav/svn/depth"})
        if site.dumb or ".git" not in self.path:
            if self.command != "GET":
                return self._say(405)
            return super().do_GET()
        return self._by_git()

    def _say(
        self, status: int, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _by_git(self) -> None:
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        environment = ENVIRONMENT | {
            "GIT_PROJECT_ROOT": str(self.site.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": unquote(parts.path),
            "QUERY_STRING": parts.query,
            "CONTENT_TYPE": self.headers.get("Content-Type") or "",
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding") or "",
            "GIT_PROTOCOL": self.headers.get("Git-Protocol") or "",
        }
        ran = subprocess.run(
            ["git", "http-backend"], input=body, capture_output=True, env=environment
        )
        head, _, content = ran.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().splitlines())
        self.send_response(int(headers.pop("Status", "200").split()[0]))
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self._write(content)

    def _write(self, content: bytes) -> None:
        step = max(1, len(content) // 40) if self.site.pause and len(content) > 10_000 else 1 << 30
        for first in range(0, len(content), step):
            try:
                self.wfile.write(content[first : first + step])
            except OSError:
                return
            time.sleep(self.site.pause)

    def translate_path(self, path: str) -> str:
        return str(self.site.root / unquote(urlsplit(path).path).strip("/"))

    def log_message(self, *args: Any) -> None:
        pass


@contextmanager
def git_site(root: Path) -> Iterator[GitSite]:
    """Serve the repositories in a folder for the length of the block."""
    site = GitSite(root)
    handler = type("SiteHandler", (Handler,), {"site": site})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    site.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def stream(commits: int = 3, size: int = 100, branch: str = "main") -> bytes:
    """A stream for `git fast-import`: commits by Ada and Bob in turn, each with a file of about
    `size` bytes. It also has the branch quiet, the plain tag v0 and the annotated tag v1.
    """
    parts = []
    for at in range(1, commits + 1):
        name, email = ("Ada", "ada@tower.example") if at % 2 else ("Bob Ölm", "bob@tower.example")
        who = f"{name} <{email}> {1_700_000_000 + at} +0100"
        content = os.urandom(size) if size > 1000 else f"{at}".encode() * size
        parts.append(
            f"commit refs/heads/{branch}\nmark :{at}\nauthor {who}\ncommitter {who}\n".encode()
            + f"data 6\nRing {at % 10}\n".encode()
            + (f"from :{at - 1}\n".encode() if at > 1 else b"")
            + f"M 100644 inline bells/{at}.txt\ndata {len(content)}\n".encode()
            + content
            + b"\n"
        )
    parts.append(b"reset refs/heads/quiet\nfrom :1\n\nreset refs/tags/v0\nfrom :1\n\n")
    parts.append(f"tag v1\nfrom :{commits}\n".encode())
    parts.append(b"tagger Ada <ada@tower.example> 1700000000 +0000\ndata 3\nOne\n")
    return b"".join(parts)
