"""The connection to an SMTP server: encryption, signing in, and the server's refusals."""

from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from certificates import Authority
from ports import free_port
from smtp_site import PASSWORD, USER, smtp_site

from store.errors import Unusable
from worker.mail.errors import Delayed, MailRejected, ServerUnusable
from worker.mail.smtp import SmtpConnection
from worker.settings import WorkerSettings


def settings(port: int, **changed: Any) -> WorkerSettings:
    given: dict[str, Any] = {
        "mail_host": "localhost",
        "mail_port": port,
        "mail_security": "none",
        "mail_from": "tocsin@forge.example",
    }
    return WorkerSettings(**given | changed)


def message() -> EmailMessage:
    found = EmailMessage()
    found["From"], found["To"] = "tocsin@forge.example", "octo@people.example"
    found["Subject"] = "a hook fails"
    found.set_content("text")
    return found


async def send(wanted: WorkerSettings) -> None:
    async with SmtpConnection(wanted) as connection:
        await connection.send(message())


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    made = Authority()
    (tmp_path / "ca.pem").write_text(made.pem)
    return made


@pytest.mark.parametrize("security", ["starttls", "tls"])
async def test_mails_are_encrypted_and_signed_in(
    authority: Authority, tmp_path: Path, security: str
) -> None:
    secret = tmp_path / "password"
    secret.write_text(f"{PASSWORD}\n")
    tls = authority.server(tmp_path, asks=False)
    starts = security == "starttls"
    async with smtp_site(tls, implicit=not starts, auth=starts) as site:
        signed = {"mail_user": USER, "mail_password_file": secret} if starts else {}
        await send(
            settings(site.port, mail_security=security, mail_ca=tmp_path / "ca.pem", **signed)
        )
    assert site.receivers == ["octo@people.example"]
    assert site.encrypted == ([True] if starts else [False])
    assert site.signed_in == ([USER] if starts else [])


async def test_a_newer_python_refuses_no_server_of_a_private_authority(
    authority: Authority, tmp_path: Path, strict_python: None
) -> None:
    async with smtp_site(authority.server(tmp_path, asks=False), implicit=True) as site:
        await send(settings(site.port, mail_security="tls", mail_ca=tmp_path / "ca.pem"))
    assert site.encrypted == [False]
    assert site.receivers == ["octo@people.example"]


@pytest.mark.parametrize("security", ["starttls", "tls"])
async def test_a_certificate_of_another_authority_is_refused(
    authority: Authority, tmp_path: Path, security: str
) -> None:
    tls = Authority("Somebody Else").server(tmp_path, asks=False)
    async with smtp_site(tls, implicit=security == "tls") as site:
        wanted = settings(site.port, mail_security=security, mail_ca=tmp_path / "ca.pem")
        with pytest.raises(ServerUnusable, match=r"(?i)certificate verify failed"):
            await send(wanted)
    assert site.mails == []


async def test_a_server_without_starttls_gets_nothing(tmp_path: Path) -> None:
    async with smtp_site() as site:
        with pytest.raises(ServerUnusable, match="STARTTLS"):
            await send(settings(site.port, mail_security="starttls"))
    assert site.mails == []


async def test_a_wrong_password_is_no_fault_of_the_mail(
    authority: Authority, tmp_path: Path
) -> None:
    tls = authority.server(tmp_path, asks=False)
    async with smtp_site(tls, auth=True) as site:
        wanted = settings(
            site.port,
            mail_security="starttls",
            mail_ca=tmp_path / "ca.pem",
            mail_user=USER,
            mail_password="not that one",
        )
        with pytest.raises(ServerUnusable, match=r"^535 ") as found:
            await send(wanted)
    assert "not that one" not in str(found.value)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ("550 5.1.1 no such mailbox", MailRejected),
        ("451 4.7.1 greylisted, come back later", Delayed),
        ("421 4.3.2 closing", ServerUnusable),
    ],
)
async def test_answers_about_the_receiver_and_the_content(
    answer: str, error: type[Exception]
) -> None:
    async with smtp_site() as site:
        site.rcpt = lambda address: answer
        with pytest.raises(error, match=f"^{answer}$"):
            await send(settings(site.port))
        site.rcpt = lambda address: "250 OK"
        site.data = lambda mail: answer
        with pytest.raises(error, match=f"^{answer}$"):
            await send(settings(site.port))
    assert site.mails == []


async def test_a_broken_connection_is_an_error(tmp_path: Path) -> None:
    async with smtp_site() as site:
        site.data = lambda mail: None
        with pytest.raises(ServerUnusable, match=r"closed|lost"):
            await send(settings(site.port))
    with pytest.raises(ServerUnusable, match=r"refused|connect"):
        await send(settings(free_port()))


async def test_unreadable_files_are_reported(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    with pytest.raises(ServerUnusable, match="mail_ca"):
        await send(settings(1, mail_security="tls", mail_ca=missing))
    with pytest.raises(Unusable, match="mail_password_file: cannot read"):
        await send(settings(1, mail_user=USER, mail_password_file=missing))


async def test_a_silent_server_is_left_after_the_timeout() -> None:
    import asyncio

    from local_server import listening

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with listening(silent) as port:
        with pytest.raises(ServerUnusable, match=r"in time|[Tt]imed out"):
            await send(settings(port, mail_timeout=0.05))
