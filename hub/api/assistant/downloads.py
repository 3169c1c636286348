"""Downloads of report files. If another machine made the report, the file is first created here."""

import asyncio
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

from starlette.responses import FileResponse
from starlette.types import Receive, Scope, Send

from hub.api.assistant.report_links import REFUSED, followed
from hub.http.conditional import date
from hub.http.errors import Forbidden
from hub.http.response import Header, Response, header
from hub.ingest.batch_endpoint import NDJSON
from hub.rest.context import Services
from hub.rest.request import Request
from store import Row
from store.assistant import report_files, reports, usage_days
from store.enterprises import enterprises
from store.errors import Unavailable

DESCRIPTION = """Download a report

The target of a report's `download_links`: lines of JSON. The link needs no other credentials. It \
expires after report_link_seconds (a setting). 403 if it has expired or was altered. Parts of the \
file can be requested (Range, If-Range)."""

MOST_SEEN = 10_000
RANGE = rb" *(?:\d{1,18}-\d{0,18}|-\d{1,18}) *"
RANGES = re.compile(rb"bytes=" + RANGE + rb"(?:," + RANGE + rb")*")


class FileAnswer(Response):
    """A file, or the requested parts of it."""

    __slots__ = ("_path",)

    def __init__(self, path: Path, headers: list[Header]) -> None:
        super().__init__(200, headers=headers)
        self._path = path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.decode(): value.decode("latin-1") for name, value in self.headers}
        response = FileResponse(self._path, headers=headers, media_type=NDJSON[0])
        asked = [line for line in scope["headers"] if line[0] != b"range" or _is_range(line[1])]
        await response({**scope, "headers": asked}, receive, send)


def _is_range(value: bytes) -> bool:
    """Return whether a Range header is valid. An invalid one must be ignored (RFC 9110, 14.2)."""
    if RANGES.fullmatch(value) is None:
        return False
    spans = (one.strip().split(b"-") for one in value.removeprefix(b"bytes=").split(b","))
    return all(not first or not last or int(first) <= int(last) for first, last in spans)


class Downloads:
    """The endpoint for report files: GET /reports/{report_id}."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._one_at_a_time = asyncio.Lock()
        self._seen: set[tuple[int, str]] = set()

    async def report(self, request: Request) -> Response:
        """Return the file that a link leads to."""
        store, number = self._services.store, request.values["report_id"]
        row = await store.read(followed, number, request.query)
        enterprise = await store.read(enterprises.get, row["enterprise_id"])
        assert enterprise is not None, "its reports go with it"
        path = report_files.path(self._services.settings.data_dir, row["id"])
        if not await asyncio.to_thread(self._is_known, path, row):
            async with self._one_at_a_time:
                await asyncio.to_thread(self._prepare, path, row)
        return FileAnswer(path, _headers(row, _name(enterprise, row)))

    def _is_known(self, path: Path, row: Row) -> bool:
        """Return whether the file exists and its content was checked before."""
        return (row["id"], row["digest"]) in self._seen and report_files.size(path) == row["size"]

    def _prepare(self, path: Path, row: Row) -> None:
        """Create the file if it is missing or wrong. Then delete the files of deleted reports.

        A file with its name may come from the database before a restore. Only a worker's machine
        deletes files when reports are deleted, and this one may have no worker.
        """
        if self._is_known(path, row):
            return
        store, data_dir = self._services.store, self._services.settings.data_dir
        try:
            if report_files.digest(path) != row["digest"]:
                report_files.folder(data_dir)
                report_files.restore(path, self._parts(row))
                gone = store.read_sync(reports.unknown, report_files.ids(data_dir))
                report_files.remove(data_dir, gone)
        except OSError as error:
            raise Unavailable(f"the report {path} cannot be written: {error.strerror}") from error
        if len(self._seen) >= MOST_SEEN:
            self._seen.clear()
        self._seen.add((row["id"], row["digest"]))

    def _parts(self, row: Row) -> Iterator[bytes]:
        number, digest = 0, hashlib.sha256()
        while (part := self._services.store.read_sync(reports.part, row["id"], number)) is not None:
            digest.update(part)
            yield part
            number += 1
        if digest.hexdigest() != row["digest"]:
            # The report has been deleted meanwhile.
            raise Forbidden(REFUSED)


def _name(enterprise: Row, row: Row) -> str:
    return f"{enterprise['slug']}-{row['kind']}-{usage_days.iso(row['last_day'])}.ndjson"


def _headers(row: Row, name: str) -> list[Header]:
    return [
        header("ETag", f'"{row["digest"]}"'),
        (b"last-modified", date(row["made_at"])),
        header("Content-Disposition", f'attachment; filename="{name}"'),
        header("Cache-Control", "private"),
    ]
