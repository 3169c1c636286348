"""The settings of the hub."""

import ipaddress
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from hub.admin_settings import AdminSettings
from hub.http import plain_urls, topic_patterns
from hub.openid_settings import OpenIDSettings
from hub.rate_limit_settings import RateLimitSettings
from hub.server_settings import ServerSettings
from store.mail.settings import MailSettings
from store.settings import DataSettings, ImportSettings, UsageSettings, WebSubSettings

DAY = 86_400
# Paths that the hub serves beside the API, which begins at the path of base_url.
PAGES = ("/ui", "/metrics", "/docs", "/healthz", "/readyz", "/reference")
WORDS = ("service", "assistant", "devenv")


class HubSettings(
    AdminSettings,
    ServerSettings,
    RateLimitSettings,
    OpenIDSettings,
    WebSubSettings,
    ImportSettings,
    UsageSettings,
    MailSettings,
    DataSettings,
):
    """The hub's address, its public URLs and its limits."""

    host: str = Field("127.0.0.1", description="address on which the hub listens")
    port: int = Field(
        8765,
        ge=0,
        le=65_535,
        description="port on which the hub listens; 0: any free port",
    )
    tls_certificate: Path | None = Field(
        None,
        description="file (PEM) with the certificate and its intermediate certificates, for "
        "serving HTTPS; unset: HTTP, as behind a proxy",
    )
    tls_key: Path | None = Field(
        None, description="file (PEM) with the certificate's key; unset: it is in `tls_certificate`"
    )
    tls_key_password: Path | None = Field(
        None, description="file with the key's password, if the key is encrypted"
    )
    base_url: str | None = Field(
        None,
        description="root URL of the API as clients use it, `https://forge.example/api/v3`: all "
        "links begin with it, and its path is the prefix of the API's paths; by default "
        "`http://HOST:PORT`, or `https://` with `tls_certificate`",
    )
    documentation_url: str | None = Field(
        None,
        description="beginning of `documentation_url` in errors; by default `docs` under "
        "`base_url`, a page that the hub serves",
    )
    max_event_bytes: int = Field(
        25 * 1024 * 1024,
        ge=1024,
        description="maximum size of an event, or of a batch of events or of usage, in bytes; a "
        "larger one is rejected with 413",
    )
    max_batch_lines: int = Field(
        10_000,
        ge=1,
        le=100_000,
        description="maximum number of events, or of lines of usage, in a batch; a larger one is "
        "rejected with 413",
    )
    max_body_bytes: int = Field(
        1024 * 1024,
        ge=1024,
        description="maximum size of any other request's body, in bytes; a larger one is rejected "
        "with 413. A few operations that take long lists or outputs, such as check runs, allow 4 "
        "or 8 times as much",
    )
    max_held_bytes: int = Field(
        128 * 1024 * 1024,
        ge=1024,
        description="maximum size of all bodies being received, in bytes; beyond it: 503. The "
        "client whose unfinished bodies take the most makes room for the others",
    )
    body_timeout: float = Field(
        60.0,
        gt=0,
        description="seconds in which a request's body must arrive; a slower request is rejected "
        "with 408",
    )
    trusted_proxies: list[str] = Field(
        [],
        description="networks (CIDR) of proxies whose X-Forwarded-For is trusted; for all other "
        "connections the client is the address of the connection",
    )
    require_user_agent: bool = Field(
        True,
        description="whether the API rejects requests without a User-Agent, as the platform does",
    )
    hooks_per_event: int = Field(
        20,
        ge=0,
        description="maximum number of hooks of one repository, organization or app for the same "
        "event, as on the platform, and of one host's WebSub subscriptions to the same topic; 0: "
        "no limit",
    )
    vocabulary: dict[str, str] = Field(
        {},
        description="another platform's words for `service` (headers, media types), `assistant` "
        "and `devenv` (paths, scopes), for clients that were written for that platform",
    )

    ui: bool = Field(True, description="whether the hub serves the dashboard at `/ui`")
    ui_idle: int = Field(
        8 * 3600,
        ge=60,
        le=366 * DAY,
        description="seconds of inactivity after which a user must sign in to the dashboard again; "
        "after seven days everybody must",
    )

    websub_min_lease: int = Field(
        3600,
        ge=1,
        le=30 * DAY,
        description="minimum lease of a WebSub subscription, in seconds",
    )
    websub_default_lease: int = Field(
        10 * DAY,
        ge=1,
        le=30 * DAY,
        description="lease of a WebSub subscription that asks for none, in seconds",
    )
    websub_max_lease: int = Field(
        30 * DAY,
        ge=1,
        le=30 * DAY,
        description="maximum lease of a WebSub subscription, in seconds",
    )
    websub_requests_per_host: int = Field(
        60,
        ge=1,
        description="WebSub requests per minute for one callback host; older requests that still "
        "wait for verification count too",
    )
    websub_requests_per_client: int = Field(
        60,
        ge=1,
        description="WebSub requests per minute from one address; older requests that still wait "
        "for verification count too",
    )
    websub_topics: list[str] = Field(
        [],
        description="topics on other sites that the WebSub hub fetches and distributes when they "
        "are published: `https://blog.example/*`, where `*` stands for any text; "
        "`http://blog.example:*/*` stands for all topics there, on any port in the URL",
    )

    @model_validator(mode="after")
    def _leases_are_in_order(self) -> Self:
        if not self.websub_min_lease <= self.websub_default_lease <= self.websub_max_lease:
            raise ValueError(
                "websub_min_lease, websub_default_lease and websub_max_lease must not decrease"
            )
        return self

    @model_validator(mode="after")
    def _key_has_a_certificate(self) -> Self:
        if self.tls_certificate is None and (self.tls_key or self.tls_key_password):
            raise ValueError("tls_key and tls_key_password require tls_certificate")
        return self

    @field_validator("websub_topics")
    @classmethod
    def _are_topics(cls, value: list[str]) -> list[str]:
        for pattern in value:
            topic_patterns.check(pattern)
        return value

    @field_validator("trusted_proxies")
    @classmethod
    def _are_networks(cls, value: list[str]) -> list[str]:
        for network in value:
            ipaddress.ip_network(network)
        return value

    @field_validator("vocabulary")
    @classmethod
    def _are_words(cls, value: dict[str, str]) -> dict[str, str]:
        for word, other in value.items():
            if word not in WORDS:
                raise ValueError(f"{word} is not a word to replace: {', '.join(WORDS)}")
            if not other.isascii() or not other.isalpha() or not other.islower():
                raise ValueError(f"{other} must consist of the letters a to z")
        return value

    @field_validator("base_url", "documentation_url")
    @classmethod
    def _is_url(cls, value: str | None) -> str | None:
        return None if value is None else plain_urls.read(value)

    @field_validator("base_url")
    @classmethod
    def _is_no_page(cls, value: str | None) -> str | None:
        path = urlsplit(value or "").path
        if path in PAGES or path.startswith("/ui/"):
            raise ValueError(f"must not end in {path}, where the hub serves a page")
        return value

    @model_validator(mode="after")
    def _events_fit(self) -> Self:
        if self.max_held_bytes < self.max_event_bytes:
            raise ValueError("max_held_bytes must be at least max_event_bytes")
        return self

    def root(self) -> str:
        """Return the API's root, without a slash at its end."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        scheme = "http" if self.tls_certificate is None else "https"
        return self.base_url or f"{scheme}://{host}:{self.port}"

    def documentation(self) -> str:
        """Return the beginning of `documentation_url` in errors."""
        return self.documentation_url or f"{self.root()}/docs"
