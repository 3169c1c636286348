"""The store's part of the settings."""

import re
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from store.errors import Unusable
from store.named_file import read_file

LOOPBACK = ("127.0.0.1", "::1", "localhost")
"""The hosts that are this machine: a connection to them needs no encryption."""

LONGEST = 100 * 366 * 86_400
"""The largest number of seconds of a setting. A time that far from now can still be written."""
LARGEST = 10**12
"""The largest whole number of a setting, such as a number of bytes."""

# `sslpassword` decrypts the key of the client's certificate.
PASSWORD = re.compile(r"([?&](?:ssl)?password=)[^&]+")
REDACTED = re.compile(r":\.\.\.(?=@)|(?<=[?&])(?:ssl)?password=\.\.\.&?")


def redact_url(url: str) -> str:
    """Return the URL of a database with `...` in place of its passwords."""
    scheme, separator, rest = url.partition("://") if "://" in url else ("", "", url)
    login, at, place = rest.rpartition("@")
    name, colon, password = login.partition(":")
    login = f"{name}{colon}..." if password else login
    place = PASSWORD.sub(r"\1...", place)
    return f"{scheme}{separator}{login}{at}{place}"


def without_password(url: str) -> str:
    """Return the URL of a database without passwords. The driver can find one in ~/.pgpass."""
    return REDACTED.sub("", redact_url(url))


def read_secret(setting: str, path: Path) -> str:
    """Return the secret in the file of a setting, without the white space around it.

    Raises Unusable, which names the setting, if the file cannot be read or holds no secret.
    """
    try:
        secret = read_file(path).decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not a text"
        raise Unusable(f"{setting}: cannot read {path}: {why}") from None
    if not secret:
        raise Unusable(f"{setting}: {path} is empty")
    return secret


def _has_bool(value: Any) -> bool:
    """Return whether a value, or one in a table, is true or false."""
    each = value.values() if isinstance(value, dict) else value
    return any(
        isinstance(one, bool) for one in (each if isinstance(value, dict | list) else [value])
    )


class SettingsPart(BaseModel):
    """Settings that become part of all settings. Its validator is made when it is used alone."""

    model_config = ConfigDict(defer_build=True)

    @field_validator("*", mode="before")
    @classmethod
    def _fits(cls, value: Any, info: ValidationInfo) -> Any:
        annotation = cls.model_fields[str(info.field_name)].annotation
        types = {annotation, *get_args(annotation)}
        if value == "" and Path in types:
            # It would mean the current directory.
            raise ValueError("must not be empty")
        if _has_bool(value) and types & {int, float} and bool not in types:
            # It would mean 0 or 1.
            raise ValueError("must be a number, not true or false")
        return value

    @field_validator("*")
    @classmethod
    def _is_bounded(cls, value: Any) -> Any:
        for number in value.values() if isinstance(value, dict) else [value]:
            if isinstance(number, float) and not abs(number) <= LONGEST:
                raise ValueError(f"must be a number of at most {LONGEST}")
            if isinstance(number, int) and abs(number) > LARGEST:
                raise ValueError(f"must be at most {LARGEST}")
        return value


class WebSubSettings(SettingsPart):
    """WebSub settings that hub and worker must share."""

    websub: bool = Field(
        False,
        description="whether topics can be subscribed to with WebSub, at `/hub/websub`",
    )


class ImportSettings(SettingsPart):
    """Import settings that hub and worker must share."""

    imports: bool = Field(
        True,
        description="whether repositories can be imported from elsewhere; otherwise those "
        "operations answer 410",
    )


class DataSettings(SettingsPart):
    """The location of files."""

    data_dir: Path = Field(
        Path("tocsin-data"),
        description="directory of the database, the key, the sockets, imported repositories, "
        "reports and backups",
    )


DAY = 86_400


class UsageSettings(SettingsPart):
    """Settings for the assistant's usage and its reports, which hub and worker must share."""

    keep_usage: float = Field(
        366 * DAY,
        ge=30 * DAY,
        description="seconds for which usage of the assistant is accepted and kept; what is "
        "reported stays in the reports",
    )
    keep_reports: float = Field(
        366 * DAY, ge=DAY, description="seconds for which reports of usage are kept"
    )
    report_link_seconds: int = Field(
        3600,
        ge=60,
        le=7 * DAY,
        description="seconds for which a link to a report can be followed",
    )


class StoreSettings(DataSettings):
    """The location of data."""

    store: str = Field(
        "sqlite",
        description="the database: `sqlite` (in `data_dir`), `sqlite:///path/to/file`, or "
        "`postgresql://...` with the extra `postgres`",
    )
    key_file: Path | None = Field(
        None,
        description="file with the keys that encrypt stored secrets, one Fernet key a line, newest "
        "first; by default `secret.key` in `data_dir`, made at the first start",
    )
