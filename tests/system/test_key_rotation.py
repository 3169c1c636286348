"""A rotation of the encryption key during deliveries loses nothing, even if it is killed."""

import asyncio
import hmac
import random
from pathlib import Path
from typing import Any

from daemon import Poster, Site, ledger, said, tocsin
from waiting import until

from store import Connection
from store.crypto import key_file
from store.crypto.vault import open_vault
from store.delivery import attempts
from store.hooks import hook_queries, hooks
from store.repositories import repositories

HOOKS = 1_500
KILLS = 2


def many_secrets(db: Connection) -> None:
    repo = repositories.find(db, "ada", "engine")
    assert repo is not None
    for number in range(HOOKS):
        hooks.create(
            db,
            repo["id"],
            url=f"http://127.0.0.1:1/{number}",
            events=["star"],
            secret=f"hush-{number}",
        )


def keys(site: Site) -> list[key_file.Key]:
    return key_file.read_keys(site.folder / "secret.key")


def opened_by_the_first(path: Path, sealed: list[bytes]) -> list[str]:
    vault = open_vault(path, create=False)
    assert all(vault.sealed_with_current_key(one) for one in sealed)
    return [vault.open(one) for one in sealed]


def delivered_as(site: Site, secret: bytes) -> int:
    """Check that every attempt was signed with this secret and got a 200. Return their number."""

    def read(db: Connection) -> list[Any]:
        return [attempts.get(db, 1, row["id"]) for row in attempts.page(db, 1, limit=100_000)]

    with site.opened() as store:
        rows = store.read_sync(read)
    for row in rows:
        signed = hmac.digest(secret, row["event_body"], "sha256").hex()
        assert row["request_headers"]["X-Hub-Signature-256"] == f"sha256={signed}"
        assert row["status_code"] == 200, row["error"]
    return len(rows)


async def test_a_rotation_that_is_killed_beside_a_daemon_loses_nothing(site: Site) -> None:
    async with ledger() as receiver:
        site.hook(receiver)
        with site.opened() as store:
            store.write_sync(many_secrets)
        (old,) = keys(site)
        daemon = await site.serve()
        poster = Poster(site, 100_000, connections=1)
        posting = asyncio.create_task(poster.post())
        for _ in range(KILLS):
            process = await tocsin(site.folder, "key", "rotate")
            await until(lambda known=old: keys(site)[0] != known, "a new first key")
            await asyncio.sleep(random.random() * 0.05)
            process.kill()
            await process.communicate()
            if len(keys(site)) == 1:
                (old,) = keys(site)
        assert "deleted the key" in await said(site.folder, "key", "rotate")
        await until(lambda: len(receiver.got) > 50, "deliveries")
        known = len(poster.accepted)
        await until(lambda: len(poster.accepted) > known + 50, "events after the rotation")
        posting.cancel()
        assert await daemon.end() == 0
    assert len(keys(site)) == 1
    with site.opened() as store:
        rows = store.read_sync(hook_queries.every)
    secrets = opened_by_the_first(site.folder / "secret.key", [row["secret"] for row in rows])
    assert secrets == ["s", *(f"hush-{number}" for number in range(HOOKS))]
    assert delivered_as(site, b"s") > 50
    assert (await said(site.folder, "audit", "verify")).strip()
