"""The settings of the hub."""

import ipaddress
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from hub.admin_settings import AdminSettings
from hub.http import topic_patterns
from hub.openid_settings import OpenIDSettings
from hub.server_settings import ServerSettings
from store.mail.settings import MailSettings
from store.settings import DataSettings, ImportSettings, UsageSettings, WebSubSettings

# Requests per hour, or per window of RATE_WINDOWS. Source: the platform's published numbers.
RATE_LIMITS = {
    "core": 5_000,
    "search": 30,
    "code_search": 10,
    "graphql": 5_000,
    "integration_manifest": 5_000,
    "dependency_snapshots": 100,
    "dependency_sbom": 100,
    "code_scanning_upload": 500,
    "actions_runner_registration": 10_000,
    "scim": 15_000,
    "code_scanning_autofix": 10,
    "source_import": 100,
}
ANONYMOUS_LIMITS = {"core": 60, "search": 10, "graphql": 0}
RATE_WINDOWS = {
    "search": 60,
    "code_search": 60,
    "dependency_snapshots": 60,
    "dependency_sbom": 60,
    "code_scanning_autofix": 60,
    "source_import": 60,
}
DAY = 86_400
WORDS = ("service", "assistant", "devenv")


class HubSettings(
    AdminSettings,
    ServerSettings,
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
        description="maximum size of all bodies being received, in bytes; beyond it: 503",
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
    rate_limiting: bool = Field(
        True,
        description="whether the API's rate limits are enforced: the settings from `rate_limits` "
        "to `content_per_hour`, and `failed_tokens`",
    )
    rate_limits: dict[str, int] = Field(
        RATE_LIMITS,
        description="requests per window, by category, for a user, an installation or an "
        "application; 0: none; categories that are not named keep their defaults",
    )
    rate_limits_anonymous: dict[str, int] = Field(
        ANONYMOUS_LIMITS,
        description="requests per window, by category, for an address without credentials; 0: "
        "none. A category that is not named keeps its default here or, if it has none, is as in "
        "`rate_limits`",
    )
    rate_windows: dict[str, int] = Field(
        RATE_WINDOWS,
        description="length of each category's window, in seconds. A category that is not named "
        "keeps its default here or, if it has none, has an hour",
    )
    points_per_minute: int = Field(
        900, ge=1, description="points per minute for one caller: a read costs 1, a write 5"
    )
    most_concurrent: int = Field(
        100, ge=1, description="concurrent requests of one caller, in each hub"
    )
    content_per_minute: int = Field(
        80,
        ge=0,
        description="requests per minute of one caller that create content and notify others; 0: "
        "none",
    )
    content_per_hour: int = Field(
        500,
        ge=0,
        description="requests per hour of one caller that create content and notify others; 0: "
        "none",
    )
    failed_logins: int = Field(
        10, ge=1, description="wrong passwords for one user after which more attempts are rejected"
    )
    failed_logins_address: int = Field(
        50,
        ge=1,
        description="wrong passwords from one address after which more attempts are rejected",
    )
    failed_tokens: int = Field(
        100,
        ge=1,
        description="wrong tokens from one address after which the response is 403 instead of "
        "401; valid tokens are still accepted",
    )
    failed_login_seconds: int = Field(
        900,
        ge=1,
        description="length of the period in which wrong passwords and wrong tokens are counted, "
        "in seconds; after it, the count begins again at 0",
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

    @field_validator("rate_limits", "rate_limits_anonymous", "rate_windows")
    @classmethod
    def _are_categories(cls, value: dict[str, int]) -> dict[str, int]:
        for name, number in value.items():
            if name not in RATE_LIMITS:
                raise ValueError(f"{name} is not a category: {', '.join(RATE_LIMITS)}")
            if number < 0:
                raise ValueError(f"{name} must not be negative")
        return value

    @field_validator("rate_limits", "rate_limits_anonymous", "rate_windows", mode="after")
    @classmethod
    def _over_defaults(cls, value: dict[str, int], info: Any) -> dict[str, int]:
        defaults: dict[str, int] = cls.model_fields[info.field_name].default
        return defaults | value

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
        if value is None:
            return None
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("must be an http or https URL")
        if parts.query or parts.fragment:
            raise ValueError("must have no query and no fragment")
        return value.rstrip("/")

    def root(self) -> str:
        """Return the API's root, without a slash at its end."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        scheme = "http" if self.tls_certificate is None else "https"
        return self.base_url or f"{scheme}://{host}:{self.port}"

    def documentation(self) -> str:
        """Return the beginning of `documentation_url` in errors."""
        return self.documentation_url or f"{self.root()}/docs"
