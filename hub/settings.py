"""The hub's part of the settings."""

from urllib.parse import urlsplit

from pydantic import BaseModel, Field, field_validator


class HubSettings(BaseModel):
    """Where the hub listens, what it calls itself, and what it takes."""

    host: str = Field("127.0.0.1", description="address on which the hub listens")
    port: int = Field(8765, ge=0, le=65_535, description="port on which the hub listens")
    base_url: str | None = Field(
        None,
        description="root of the API as its clients write it, `https://forge.example/api/v3`: all "
        "links begin with it and its path is the prefix of the API's paths; by default "
        "`http://HOST:PORT`",
    )
    documentation_url: str | None = Field(
        None,
        description="what `documentation_url` in errors begins with; by default `docs` under "
        "`base_url`, a page that the hub serves",
    )
    max_event_bytes: int = Field(
        25 * 1024 * 1024,
        ge=1024,
        description="size of an event, and of a batch of events, in bytes",
    )
    max_batch_lines: int = Field(
        10_000, ge=1, le=100_000, description="how many events one batch may hold"
    )
    max_body_bytes: int = Field(
        1024 * 1024, ge=1024, description="size of any other request's body in bytes"
    )
    max_held_bytes: int = Field(
        256 * 1024 * 1024,
        ge=1024,
        description="size in bytes of all bodies that are being received; more is refused with 503",
    )
    body_timeout: float = Field(
        60.0, gt=0, description="seconds in which a request's body has to be there"
    )

    @field_validator("base_url", "documentation_url")
    @classmethod
    def _is_url(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("must be an http or https URL")
        if parts.query or parts.fragment:
            raise ValueError("must have no query and no fragment")
        return value.rstrip("/")

    def root(self) -> str:
        """The API's root, without a slash at its end."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return self.base_url or f"http://{host}:{self.port}"

    def documentation(self) -> str:
        """What `documentation_url` in errors begins with."""
        return self.documentation_url or f"{self.root()}/docs"
