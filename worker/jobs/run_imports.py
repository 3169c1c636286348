"""The job that runs the requested imports, several at a time.

It also cleans up after imports that were interrupted.
"""

import asyncio
import logging
from collections.abc import Collection
from typing import TYPE_CHECKING

from store import Connection, Store
from store.imports import import_rounds
from store.repositories import repositories
from worker.http.callback_guard import make_guard
from worker.http.client import GuardedClient
from worker.http.guard import Resolver
from worker.http.transport import Transport
from worker.imports.directories import ImportDirectories, remove_tree
from worker.imports.uninterrupted import in_thread
from worker.publishing import EventEmitter
from worker.settings import WorkerSettings

if TYPE_CHECKING:
    from worker.imports.import_round import ImportContext, ImportPace

log = logging.getLogger("tocsin.worker")


async def run_imports(
    store: Store,
    settings: WorkerSettings,
    emit: EventEmitter,
    *,
    pace: "ImportPace | None" = None,
    resolver: Resolver | None = None,
) -> None:
    """Run all imports, the oldest first, including the ones requested meanwhile.

    `resolver` replaces the system's.
    """
    # Imported here, because most workers import no repository.
    from worker.imports.import_round import ImportContext, ImportPace

    guard = make_guard(settings, resolver)
    transport = Transport(guard)
    client = GuardedClient(guard, transport)
    context = ImportContext(store, settings, guard, client, emit, pace or ImportPace())
    try:
        await _run_all(context)
    finally:
        await client.close()
        await transport.close()
        guard.close()


async def _run_all(context: "ImportContext") -> None:
    from worker.imports.import_round import ImportRound

    store, most = context.store, context.settings.imports_at_once
    running: dict[asyncio.Task[None], int] = {}
    try:
        while True:
            busy = [*running.values()]
            if len(busy) < most and await store.read(import_rounds.is_due, busy):
                row = await store.write(import_rounds.claim, busy)
                if row is not None:
                    # The claimed import may have been interrupted before. Its old folder is
                    # abandoned.
                    await clean_up(store, context.settings, busy)
                    running[asyncio.ensure_future(ImportRound(context, row)())] = row["repo_id"]
                continue
            if not running:
                # A program that outlived a killed worker may have written files since the last
                # time.
                await clean_up(store, context.settings)
                return
            for task in (await asyncio.wait(running, timeout=context.pace.poll))[0]:
                del running[task]
                task.result()
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def clean_up(store: Store, settings: WorkerSettings, busy: Collection[int] = ()) -> None:
    """Remove the folders of finished imports and of deleted repositories.

    The folders of repositories in `busy` stay, because their imports still work in them.
    """
    places = ImportDirectories(settings.data_dir)
    # The folders are listed before the rounds are read. A round is stored before its folder is
    # made, so no folder of a running import can be removed.
    unfinished = await asyncio.to_thread(places.unfinished)
    rounds = await store.read(import_rounds.rounds)
    swept = await in_thread(places.sweep, unfinished, rounds, busy)
    stores = [one for one in await asyncio.to_thread(places.stores) if one not in busy]
    for repo_id in await store.read(_gone, stores) if stores else ():
        await in_thread(remove_tree, places.store(repo_id))
        swept += 1
    if swept:
        log.info("removed %d abandoned folders of imports", swept)


def _gone(db: Connection, repo_ids: list[int]) -> list[int]:
    there = repositories.of(db, repo_ids)
    return [repo_id for repo_id in repo_ids if repo_id not in there]
