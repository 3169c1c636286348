"""An SMTP server on this machine, whose answers a test chooses."""

import asyncio
import contextlib
import email
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.policy import default
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session
from anyio.from_thread import start_blocking_portal
from local_server import stop_accepting, turns

USER, PASSWORD = "tocsin", "a password of the server"
OK = "250 OK"


@dataclass
class SmtpSite:
    """A server that keeps the mails that it accepts. If an answer is None, it closes the
    connection.
    """

    port: int = 0
    mails: list[EmailMessage] = field(default_factory=list)
    receivers: list[str] = field(default_factory=list)
    senders: list[str] = field(default_factory=list)
    signed_in: list[str] = field(default_factory=list)
    connections: int = 0
    encrypted: list[bool] = field(default_factory=list)
    rcpt: Callable[[str], str] = lambda address: OK
    data: Callable[[EmailMessage], str | None] = lambda mail: OK

    async def handle_RCPT(  # noqa: N802 - aiosmtpd looks for this name
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        answer = self.rcpt(address)
        if answer == OK:
            envelope.rcpt_tos.append(address)
        return answer

    async def handle_DATA(  # noqa: N802 - aiosmtpd looks for this name
        self, server: SMTP, session: Session, envelope: Envelope
    ) -> str:
        assert isinstance(envelope.content, bytes)
        mail = email.message_from_bytes(envelope.content, policy=default)
        assert isinstance(mail, EmailMessage)
        answer = self.data(mail)
        if answer is None:
            assert isinstance(server.transport, asyncio.WriteTransport)
            server.transport.abort()
            return "421 lost"
        if answer == OK:
            self.mails.append(mail)
            self.receivers += envelope.rcpt_tos
            self.senders.append(str(envelope.mail_from))
            self.encrypted.append(session.ssl is not None)
        return answer

    def authenticate(
        self, server: SMTP, session: Session, envelope: Envelope, mechanism: str, given: Any
    ) -> AuthResult:
        assert isinstance(given, LoginPassword)
        self.signed_in.append(given.login.decode())
        right = given == LoginPassword(USER.encode(), PASSWORD.encode())
        return AuthResult(success=right, handled=False)


@contextlib.asynccontextmanager
async def smtp_site(
    tls: ssl.SSLContext | None = None, *, implicit: bool = False, auth: bool = False
) -> AsyncIterator[SmtpSite]:
    """Run a server. With `tls`, it requires STARTTLS, or TLS from the beginning if `implicit`."""
    site = SmtpSite()
    servers: list[SMTP] = []

    def protocol() -> SMTP:
        site.connections += 1
        servers.append(
            SMTP(
                site,
                hostname="localhost",
                enable_SMTPUTF8=True,
                tls_context=None if implicit else tls,
                require_starttls=tls is not None and not implicit,
                authenticator=site.authenticate if auth else None,
                auth_required=auth,
                loop=asyncio.get_running_loop(),
            )
        )
        return servers[-1]

    server = await asyncio.get_running_loop().create_server(
        protocol, "127.0.0.1", 0, ssl=tls if implicit else None
    )
    site.port = server.sockets[0].getsockname()[1]
    try:
        yield site
    finally:
        await stop_accepting(server)
        for one in servers:
            if isinstance(one.transport, asyncio.WriteTransport):
                one.transport.abort()
        await turns()


@contextlib.contextmanager
def smtp_site_in_thread() -> Iterator[SmtpSite]:
    """Run a server without encryption in a thread, for programs that block the test's thread."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(smtp_site()) as site,
    ):
        yield site
