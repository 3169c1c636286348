"""The job that makes mails of alerts, and sends them."""

import logging
from email.message import EmailMessage

from store import Connection, Row, Store
from store.clock import SECOND, earliest
from store.errors import Busy, Unavailable, Unusable
from store.mail import notices, outbox
from store.mail.notices import MailLimits
from worker.delivery.metrics import WorkerMetrics
from worker.mail.errors import Delayed, MailRejected, ServerUnusable
from worker.mail.smtp import SmtpConnection
from worker.publishing import MailComposer
from worker.settings import WorkerSettings

log = logging.getLogger("tocsin.worker")

# Mails that one run sends at most. The next run goes on.
BATCH = 100


def next_due(db: Connection) -> int | None:
    """Return when the next mail is to be made or sent, or None."""
    return earliest(notices.next_due(db), outbox.next_due(db))


class MailSender:
    """Makes and sends mails by these settings."""

    def __init__(
        self,
        store: Store,
        settings: WorkerSettings,
        compose: MailComposer,
        metrics: WorkerMetrics,
    ) -> None:
        self._store, self._settings = store, settings
        self._compose, self._mails = compose, metrics.mails
        self._limits = MailLimits(settings.mail_per_hour, settings.mail_per_hour_total)

    async def run(self) -> None:
        """Make the mails that are due, and send them. If the server cannot be used, they wait."""
        while await self._store.write(notices.make_mails, self._limits):
            pass
        if overdue := await self._store.write(outbox.fail_overdue):
            self._mails.add("failed", many=overdue)
            log.warning("%d mails are dropped: %s", overdue, outbox.OVERDUE)
        rows = await self._store.read(outbox.list_due, BATCH)
        if not rows:
            return
        try:
            async with SmtpConnection(self._settings) as connection:
                for row in rows:
                    await self._send(connection, row)
        except (ServerUnusable, Unusable) as error:
            postponed, failed = await self._store.write(outbox.postpone_due, str(error))
            self._mails.add("delayed", many=postponed)
            self._mails.add("failed", many=failed)
            log.warning("the SMTP server cannot be used, mails wait: %s", error)

    async def _send(self, connection: SmtpConnection, row: Row) -> None:
        """Send a mail and record the outcome. Raises ServerUnusable if others cannot be sent."""
        # The attempt is counted first. While this process sends the mail, no other one may begin.
        hold = round(2 * self._settings.mail_timeout * SECOND)
        mail = await self._store.write(notices.claim, row, hold)
        if mail is None:
            return
        try:
            message = await self._store.read(self._composed, mail)
            if message is None:
                # Its last alert went after the claim. The next claim deletes the mail.
                return
            await connection.send(message)
        except (Delayed, ServerUnusable) as error:
            again = await self._store.write(outbox.record_error, row, str(error))
            self._count(row, "delayed" if again else "failed", str(error))
            if isinstance(error, ServerUnusable):
                raise
        except MailRejected as error:
            await self._store.write(outbox.record_failed, row["id"], str(error))
            self._count(row, "failed", str(error))
        else:
            await self._store.write(outbox.record_sent, row["id"])
            self._mails.add("sent")

    def _composed(self, db: Connection, row: Row) -> EmailMessage | None:
        """Return the message, or None without alerts. Raises MailRejected if composing fails."""
        try:
            return self._compose(db, row)
        except (Busy, Unavailable, Unusable):
            raise
        except Exception as error:
            # One mail that cannot be written must not keep back the others.
            log.exception("mail %d cannot be composed", row["id"])
            raise MailRejected(f"it cannot be composed: {type(error).__name__}") from None

    def _count(self, row: Row, outcome: str, reason: str) -> None:
        self._mails.add(outcome)
        log.warning("mail %d is %s: %s", row["id"], outcome, reason)
