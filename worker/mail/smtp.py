"""A connection to the SMTP server of the settings, and its answers as errors of three kinds."""

import asyncio
import contextlib
import ssl
from email.errors import MessageError
from email.message import EmailMessage
from types import TracebackType
from typing import Self

from aiosmtplib import (
    SMTP,
    SMTPException,
    SMTPNotSupported,
    SMTPRecipientsRefused,
    SMTPResponseException,
    SMTPSenderRefused,
    SMTPServerDisconnected,
)

from store.mail.settings import MailSettings, password_of, port_of
from worker.http.tls_contexts import verifying_context
from worker.mail.errors import Delayed, MailRejected, ServerUnusable

# The server closes the connection after this status (RFC 5321, section 3.8).
CLOSING = 421
PERMANENT = 500


class SmtpConnection:
    """A connection that is open within `async with`.

    Raises ServerUnusable if it cannot be opened, and Unusable if a file of the settings is wrong.
    """

    def __init__(self, settings: MailSettings) -> None:
        self._settings = settings
        self._timeout = settings.mail_timeout

    async def __aenter__(self) -> Self:
        # Reading the machine's authorities takes long.
        self._smtp = await asyncio.to_thread(_client, self._settings)
        try:
            async with asyncio.timeout(self._timeout):
                await self._smtp.connect()
        except (SMTPException, OSError, ValueError) as error:
            self._smtp.close()
            raise ServerUnusable(describe(error)) from None
        except BaseException:
            self._smtp.close()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            with contextlib.suppress(SMTPException, OSError):
                async with asyncio.timeout(self._timeout):
                    await self._smtp.quit()
        self._smtp.close()

    async def send(self, message: EmailMessage) -> None:
        """Send a mail by its headers. Raises MailRejected, Delayed or ServerUnusable."""
        try:
            async with asyncio.timeout(self._timeout):
                await self._smtp.send_message(message)
        except SMTPRecipientsRefused as error:
            raise _typed(error.recipients[0]) from None
        except SMTPSenderRefused as error:
            raise ServerUnusable(describe(error)) from None
        except SMTPResponseException as error:
            raise _typed(error) from None
        except (SMTPNotSupported, ValueError, MessageError) as error:
            raise MailRejected(describe(error)) from None
        except (SMTPException, OSError) as error:
            raise ServerUnusable(describe(error)) from None


def _typed(error: SMTPResponseException) -> Exception:
    text = describe(error)
    if error.code in (CLOSING, -1):
        return ServerUnusable(text)
    return MailRejected(text) if error.code >= PERMANENT else Delayed(text)


def describe(error: BaseException) -> str:
    """Return an error as one line of printable text, without the name of a receiver."""
    if isinstance(error, SMTPResponseException):
        found = f"{error.code} {error.message}"
    elif isinstance(error, SMTPServerDisconnected):
        found = "the server closed the connection"
    elif isinstance(error, TimeoutError):
        found = "the server did not answer in time"
    else:
        found = str(error) or type(error).__name__
    return "".join(char if char.isprintable() else " " for char in found)


def _client(settings: MailSettings) -> SMTP:
    secure = settings.mail_security
    return SMTP(
        hostname=settings.mail_host,
        port=port_of(settings),
        username=settings.mail_user,
        password=password_of(settings),
        timeout=settings.mail_timeout,
        use_tls=secure == "tls",
        start_tls=secure == "starttls",
        tls_context=None if secure == "none" else _tls(settings),
    )


def _tls(settings: MailSettings) -> ssl.SSLContext:
    try:
        return verifying_context(cafile=None if settings.mail_ca is None else str(settings.mail_ca))
    except (OSError, ssl.SSLError) as error:
        raise ServerUnusable(f"mail_ca: {describe(error)}") from None
