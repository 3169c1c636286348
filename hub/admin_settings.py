"""The settings of what is for administrators: who sees it, and where."""

import re
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field, SecretStr, field_validator

LEAST_TOKEN = 16


class AdminSettings(BaseModel):
    """Metrics, health and reference: where they are, and for whom."""

    admin_bind: str | None = Field(
        None,
        description="where `/metrics` and the details of health are served, apart from the API: "
        "`127.0.0.1:9186`, `[::1]:9186` or `unix:/path`; by default beside the API, and by a "
        "worker alone nowhere",
    )
    admin_access: Literal["local", "token", "anybody"] = Field(
        "local",
        description="who sees them: whoever comes from this machine, and not through a proxy, or "
        "has a token (`local`); only who has one (`token`); `anybody`. A token is `admin_token` or "
        "a site administrator's with the scope `read:enterprise`",
    )
    admin_token: SecretStr | None = Field(
        None, description="a token for them, of at least 16 characters"
    )
    admin_token_file: Path | None = Field(
        None, description="a file that holds such a token, as a credential of the service manager"
    )
    api_reference: Literal["public", "users", "admin", "off"] = Field(
        "users",
        description="who sees `/openapi.json` and `/reference`: everybody, who has any token, who "
        "sees the metrics, nobody",
    )
    ready_lag: float = Field(
        60.0,
        ge=0,
        description="seconds for which deliveries may wait for a worker before `/readyz` says that "
        "it is not ready; 0: for ever",
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
    """The socket's path, or host and port, that `admin_bind` names. ValueError for neither."""
    if text.startswith("unix:/"):
        return Path(text.removeprefix("unix:"))
    found = re.fullmatch(r"(?:\[([0-9a-fA-F:.]+)\]|([^\s:/\[\]]+)):(\d{1,5})", text)
    if found is None or int(found[3]) > 65_535:
        raise ValueError("must be host:port, [address]:port or unix:/path")
    return found[1] or found[2], int(found[3])
