"""The settings for administrators' access to metrics, health and the API's description."""

import re
from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, field_validator

from store.errors import Unusable
from store.settings import SettingsPart, read_secret

LEAST_TOKEN = 16


class AdminSettings(SettingsPart):
    """Where metrics, health and API reference are served, and to whom."""

    admin_bind: str | None = Field(
        None,
        description="where `/metrics` and the details of health are served, apart from the API: "
        "`127.0.0.1:9186`, `[::1]:9186` or `unix:/path`; by default they are served with the API, "
        "and by a worker alone not at all",
    )
    admin_access: Literal["local", "token", "anybody"] = Field(
        "local",
        description="who can see `/metrics` and the details of health: requests that come "
        "directly from this machine or have a token (`local`); only requests with a token "
        "(`token`); `anybody`. The token is `admin_token`, or a site administrator's with the "
        "scope `read:enterprise`. Without `admin_bind`, `local` means `token` if "
        "`trusted_proxies` is set, or if the host in `base_url` is neither `localhost` nor a "
        "loopback address",
    )
    admin_token: SecretStr | None = Field(
        None, description="the administrators' token, at least 16 characters long"
    )
    admin_token_file: Path | None = Field(
        None,
        description="a file with the administrators' token, e.g. a systemd credential; it "
        "replaces `admin_token`",
    )
    api_reference: Literal["public", "users", "admin", "off"] = Field(
        "users",
        description="who can see `/openapi.json` and `/reference`: everybody (`public`), "
        "everybody with any valid token and administrators (`users`), only administrators "
        "(`admin`) or nobody (`off`)",
    )
    ready_lag: float = Field(
        60.0,
        ge=0,
        description="seconds that deliveries may wait for a worker before `/readyz` reports that "
        "the process is not ready; 0: no limit",
    )
    access_log: bool = Field(False, description="whether each request is logged")

    @field_validator("admin_bind")
    @classmethod
    def _is_place(cls, value: str | None) -> str | None:
        if value is not None:
            place(value)
        return value

    @field_validator("admin_token")
    @classmethod
    def _is_long(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and len(value.get_secret_value()) < LEAST_TOKEN:
            raise ValueError(f"must have at least {LEAST_TOKEN} characters")
        return value


def place(text: str) -> Path | tuple[str, int]:
    """Parse `admin_bind`: a socket's path, or host and port.

    Raises ValueError for anything else.
    """
    if text.startswith("unix:/"):
        return Path(text.removeprefix("unix:"))
    found = re.fullmatch(r"(?:\[([0-9a-fA-F:.]+)\]|([^\s:/\[\]]+)):(\d{1,5})", text)
    if found is None or int(found[3]) > 65_535:
        raise ValueError("must be host:port, [address]:port or unix:/path")
    return found[1] or found[2], int(found[3])


def token_of(settings: AdminSettings) -> str | None:
    """Return the administrators' token, or None.

    Raises Unusable if its file cannot be read, or holds no usable token.
    """
    path = settings.admin_token_file
    if path is None:
        return None if settings.admin_token is None else settings.admin_token.get_secret_value()
    token = read_secret("admin_token_file", path)
    if len(token) < LEAST_TOKEN:
        raise Unusable(f"admin_token_file: {path} holds fewer than {LEAST_TOKEN} characters")
    return token
