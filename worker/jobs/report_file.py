"""A report while it is written to the disk and to the store, in parts."""

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import IO

from store import Store
from store.assistant import report_files, reports
from store.assistant.reports import PART, ReportPart


class ReportDraft:
    """A report whose lines go to `file` and, in parts of `part_bytes`, to the store."""

    def __init__(
        self, store: Store, report_id: int, file: IO[bytes], part_bytes: int = PART
    ) -> None:
        self._part_bytes = part_bytes
        self.report_id = report_id
        self._store = store
        self._file = file
        self._digest = hashlib.sha256()
        self._waiting = bytearray()
        self._parts = 0
        self._lines = 0
        self._size = 0

    async def add(self, lines: Iterable[bytes]) -> None:
        await asyncio.to_thread(self._take, lines)
        while len(self._waiting) >= self._part_bytes:
            await self._put(self._part_bytes)

    def _take(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            self._waiting += line
            self._lines += 1

    async def _put(self, many: int) -> None:
        part = bytes(self._waiting[:many])
        del self._waiting[:many]
        await asyncio.to_thread(self._write, part)
        await self._store.write(reports.put_part, self.report_id, self._parts, part)
        self._parts += 1

    def _write(self, part: bytes) -> None:
        self._digest.update(part)
        self._size += len(part)
        self._file.write(part)

    async def end(self) -> ReportPart:
        """Write the rest. Return the size and digest of the whole report."""
        if self._waiting:
            await self._put(len(self._waiting))
        return ReportPart(self.report_id, self._lines, self._size, self._digest.hexdigest())


@contextlib.asynccontextmanager
async def open_drafts(
    store: Store, data_dir: Path, started: dict[str, int], part_bytes: int = PART
) -> AsyncIterator[dict[str, ReportDraft]]:
    """Open a draft of each report in `begun`, by kind.

    When the block ends, the files are in place. If it fails, there is no file.
    """
    report_files.folder(data_dir)
    with contextlib.ExitStack() as stack:
        yield {
            kind: ReportDraft(
                store,
                report_id,
                stack.enter_context(report_files.write(report_files.path(data_dir, report_id))),
                part_bytes,
            )
            for kind, report_id in started.items()
        }
