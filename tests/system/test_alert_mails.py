"""Alert mails survive a kill of the daemon that sends them, and their link unsubscribes."""

from pathlib import Path

import httpx
from daemon import Daemon, Site
from ports import free_port
from smtp_site import OK, smtp_site
from waiting import PATIENCE, until

from store import Connection
from store.accounts import accounts, emails
from store.delivery import events
from store.delivery.incoming import IncomingEvent
from store.hooks import hooks
from store.mail import outbox, receivers
from store.repositories import repositories

# Retry mails and check for alerts almost at once, to keep the test short.
QUICK = (
    "store.mail.outbox.FIRST_DELAY = 0.2; import worker.jobs.check_alerts;"
    " worker.jobs.check_alerts.INTERVAL = 0.5"
)


def fail(db: Connection) -> int:
    """Create a hook of ada's whose delivery fails. Return its id."""
    ada, repo = accounts.by_login(db, "ada"), repositories.find(db, "ada", "engine")
    assert ada is not None
    assert repo is not None
    emails.add(db, ada["id"], ["ada@tower.example"], verified=True)
    url = f"http://127.0.0.1:{free_port()}/"
    hook = hooks.create(db, repo["id"], url=url, events=["push"])
    events.accept_all(db, [IncomingEvent(repo["id"], "g", repo["id"], "push", b"{}")])
    return int(hook["id"])


async def test_a_mail_survives_a_kill_and_its_link_unsubscribes(tmp_path: Path) -> None:
    site = Site(tmp_path / "data")

    def outcomes() -> list[str]:
        with site.looking() as store:
            return [row["outcome"] for row in store.read_sync(outbox.list_recent, 9)]

    try:
        async with smtp_site() as post:

            async def serve() -> Daemon:
                return await site.serve(
                    patch=QUICK,
                    TOCSIN_BREAKER="1",
                    TOCSIN_MAIL_HOST="127.0.0.1",
                    TOCSIN_MAIL_PORT=str(post.port),
                    TOCSIN_MAIL_SECURITY="none",
                    TOCSIN_MAIL_FROM="tocsin@tower.example",
                    TOCSIN_MAIL_WINDOW="0",
                    TOCSIN_MAIL_TIMEOUT="2",
                )

            daemon = await serve()

            def accept(mail: object) -> str:
                # The server accepts the first mail, and the daemon never learns of it.
                if not post.mails:
                    daemon.process.kill()
                return OK

            post.data = accept
            with site.opened() as store:
                hook_id = store.write_sync(fail)
            await until(lambda: post.mails, "the first mail")
            await daemon.process.wait()
            assert outcomes() == [None]
            await serve()
            await until(lambda: outcomes() == ["sent"], "the record that it was sent")
            assert len(post.mails) >= 2
            assert len({mail["Message-ID"] for mail in post.mails}) == 1
            assert set(post.receivers) == {"ada@tower.example"}
            link = str(post.mails[0]["List-Unsubscribe"]).strip("<>")
            async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE) as client:
                answer = await client.post(link, data={"List-Unsubscribe": "One-Click"})
            assert answer.status_code == 200
            with site.opened() as store:
                assert store.read_sync(receivers.of_hook, hook_id) == []
    finally:
        await site.close()
