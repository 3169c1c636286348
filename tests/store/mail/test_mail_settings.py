"""The settings for mail: what they require of each other, and where the password comes from."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from store.errors import Unusable
from store.mail.settings import MailSettings, password_of, port_of

SERVER: dict[str, Any] = {"mail_host": "mail.example", "mail_from": "tocsin@forge.example"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"mail_host": "mail.example"}, "mail_host requires mail_from"),
        (SERVER | {"mail_user": "u"}, "mail_user requires mail_password"),
        (
            SERVER | {"mail_user": "u", "mail_password": "p", "mail_security": "none"},
            "otherwise the network sees the password",
        ),
        (SERVER | {"mail_from": "nobody"}, "it has no @"),
        (SERVER | {"mail_from": "a@b.example\nBcc: c@d.example"}, "mail_from"),
        (SERVER | {"mail_host": "mail.example\r\nQUIT"}, "mail_host"),
        (SERVER | {"mail_port": 0}, "mail_port"),
    ],
)
def test_settings_that_do_not_fit_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        MailSettings(**given)


def test_the_port_follows_the_encryption() -> None:
    for security, port in (("starttls", 587), ("tls", 465), ("none", 25)):
        assert port_of(MailSettings(**SERVER, mail_security=security)) == port
    assert port_of(MailSettings(**SERVER, mail_port=2525)) == 2525


def test_the_password_comes_from_a_setting_or_a_file(tmp_path: Path) -> None:
    assert password_of(MailSettings(**SERVER)) is None
    signed = SERVER | {"mail_user": "u"}
    assert password_of(MailSettings(**signed, mail_password="p")) == "p"
    path = tmp_path / "password"
    path.write_text("q\n")
    found = MailSettings(**signed, mail_password_file=path)
    assert password_of(found) == "q"
    path.unlink()
    with pytest.raises(Unusable, match="mail_password_file: cannot read"):
        password_of(found)


def test_a_server_on_this_machine_may_get_the_password_unencrypted() -> None:
    given = SERVER | {"mail_host": "localhost", "mail_security": "none"}
    assert MailSettings(**given, mail_user="u", mail_password="p").mail_user == "u"
