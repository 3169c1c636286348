"""The settings for alerts by mail, which hub and worker share."""

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, SecretStr, field_validator, model_validator

from store.settings import LOOPBACK, SettingsPart, read_secret

PORTS = {"starttls": 587, "tls": 465, "none": 25}
HOUR = 3600


class MailSettings(SettingsPart):
    """The SMTP server, and how many mails are sent."""

    mail_host: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9_.:-]{1,253}$",
        description="name or address of the SMTP server that takes alerts for the owners of hooks "
        "(needs the extra `mail`); unset: no mail is sent",
    )
    mail_port: int | None = Field(
        None,
        ge=1,
        le=65_535,
        description="the server's port; by default 587 for `starttls`, 465 for `tls` and 25 for "
        "`none`",
    )
    mail_security: Literal["starttls", "tls", "none"] = Field(
        "starttls",
        description="how the connection is encrypted: after a greeting (`starttls`), from its "
        "beginning (`tls`), or not at all (`none`). An encrypted connection is used only if the "
        "server's certificate is valid",
    )
    mail_ca: Path | None = Field(
        None,
        description="file (PEM) with the authorities that may have issued the server's "
        "certificate; by default the machine's",
    )
    mail_user: str | None = Field(
        None,
        min_length=1,
        description="name for signing in to the server; unset: no sign-in. With it, "
        "`mail_security` can be `none` only for a server on this machine",
    )
    mail_password: SecretStr | None = Field(
        None,
        description="password for signing in to the server; with `mail_user`, this or "
        "`mail_password_file` is required",
    )
    mail_password_file: Path | None = Field(
        None,
        description="a file with that password, e.g. a systemd credential; it replaces "
        "`mail_password`",
    )
    mail_from: str | None = Field(
        None, description="address that mails come from; required with `mail_host`"
    )
    mail_timeout: float = Field(
        30.0, gt=0, le=300, description="seconds for connecting, and for sending each mail"
    )
    mail_window: float = Field(
        300.0,
        ge=0,
        le=24 * HOUR,
        description="seconds for which an alert waits for others; all of them become one mail to "
        "each receiver",
    )
    mail_per_hour: int = Field(
        6,
        ge=1,
        le=1000,
        description="mails an hour to one receiver at most; later alerts wait and become one mail",
    )
    mail_per_hour_total: int = Field(
        500,
        ge=1,
        le=100_000,
        description="mails an hour to all receivers at most; later alerts wait",
    )

    @field_validator("mail_from")
    @classmethod
    def _is_address(cls, value: str | None) -> str | None:
        if value is None:
            return None
        # All commands read the settings, and few settings have an address.
        from store.accounts.email_address import normalize

        try:
            return normalize(value)
        except ValueError as error:
            raise ValueError(f"{value!r} is not an address: {error}") from None

    @model_validator(mode="after")
    def _server_is_complete(self) -> Self:
        if self.mail_host is not None and self.mail_from is None:
            raise ValueError("mail_host requires mail_from")
        if self.mail_user is not None:
            if self.mail_password is None and self.mail_password_file is None:
                raise ValueError("mail_user requires mail_password or mail_password_file")
            if self.mail_security == "none" and self.mail_host not in LOOPBACK:
                raise ValueError(
                    "mail_user requires mail_security starttls or tls, unless the server is on "
                    "this machine: otherwise the network sees the password"
                )
        return self


def port_of(settings: MailSettings) -> int:
    return settings.mail_port or PORTS[settings.mail_security]


def password_of(settings: MailSettings) -> str | None:
    """Return the password for the SMTP server, or None. Raises Unusable if its file has none."""
    if settings.mail_user is None:
        return None
    if settings.mail_password_file is not None:
        return read_secret("mail_password_file", settings.mail_password_file)
    secret = settings.mail_password
    return None if secret is None else secret.get_secret_value()
