"""The hub's part of the settings."""

import ipaddress
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from hub.admin_settings import AdminSettings
from hub.http import topic_patterns
from hub.server_settings import ServerSettings
from store.settings import DataSettings, ImportSettings, UsageSettings, WebSubSettings

# Requests an hour, or in the window of RATE_WINDOWS. Source: the platform's published numbers.
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
    AdminSettings, ServerSettings, WebSubSettings, ImportSettings, UsageSettings, DataSettings
):
    """Where the hub listens, what it calls itself, and what it takes."""

    host: str = Field("127.0.0.1", description="address on which the hub listens")
    port: int = Field(8765, ge=0, le=65_535, description="port on which the hub listens")
    tls_certificate: Path | None = Field(
        None,
        description="file (PEM) with the certificate, and those between it and the authority's, "
        "for serving HTTPS; unset: HTTP, as behind a proxy",
    )
    tls_key: Path | None = Field(
        None, description="file (PEM) with its key; unset: it is in `tls_certificate`, too"
    )
    tls_key_password: Path | None = Field(
        None, description="file with the key's password, where it is encrypted"
    )
    base_url: str | None = Field(
        None,
        description="root of the API as its clients write it, `https://forge.example/api/v3`: all "
        "links begin with it and its path is the prefix of the API's paths; by default "
        "`http://HOST:PORT`, or `https://` with `tls_certificate`",
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
        128 * 1024 * 1024,
        ge=1024,
        description="size in bytes of all bodies that are being received; more is refused with 503",
    )
    body_timeout: float = Field(
        60.0, gt=0, description="seconds in which a request's body has to be there"
    )
    trusted_proxies: list[str] = Field(
        [],
        description="networks (CIDR) of proxies whose X-Forwarded-For is believed; otherwise the "
        "client is who the connection is with",
    )
    require_user_agent: bool = Field(
        True, description="whether the API refuses requests without a User-Agent, as the platform"
    )
    rate_limiting: bool = Field(True, description="whether the API's rate limits are enforced")
    rate_limits: dict[str, int] = Field(
        RATE_LIMITS,
        description="requests in each category's window, for a user, an installation or an "
        "application; what is not named keeps its default",
    )
    rate_limits_anonymous: dict[str, int] = Field(
        ANONYMOUS_LIMITS,
        description="the same for an address without credentials; what is not named here is as "
        "in `rate_limits`",
    )
    rate_windows: dict[str, int] = Field(
        RATE_WINDOWS, description="seconds of a category's window; what is not named has an hour"
    )
    points_per_minute: int = Field(
        900, ge=1, description="points a minute for one caller: 1 for reading, 5 for changing"
    )
    most_concurrent: int = Field(
        100, ge=1, description="requests at work at once for one caller, in each hub"
    )
    content_per_minute: int = Field(
        80, ge=0, description="requests a minute for one caller that notify others of new content"
    )
    content_per_hour: int = Field(500, ge=0, description="the same in an hour")
    failed_logins: int = Field(
        10, ge=1, description="passwords that may be wrong for one user before more are refused"
    )
    failed_logins_address: int = Field(
        50, ge=1, description="passwords that may be wrong from one address before more are refused"
    )
    failed_tokens: int = Field(
        100,
        ge=1,
        description="tokens that may be wrong from one address before the answer is 403 and not "
        "401; good ones are let in all the same",
    )
    failed_login_seconds: int = Field(
        900, ge=1, description="seconds after which failed logins are forgotten"
    )
    hooks_per_event: int = Field(
        20,
        ge=0,
        description="hooks of one repository that may be for the same event, as on the platform, "
        "and subscriptions of one host to the same topic by WebSub; 0: no limit",
    )
    vocabulary: dict[str, str] = Field(
        {},
        description="words of another platform for `service` (headers, media types), `assistant` "
        "and `devenv` (paths, scopes), for clients that were written for it",
    )

    ui: bool = Field(True, description="whether the hub serves the dashboard at `/ui`")
    ui_idle: int = Field(
        8 * 3600,
        ge=60,
        description="seconds after which the dashboard asks who did not use it to sign in again; "
        "after seven days it asks everybody",
    )

    websub_min_lease: int = Field(
        3600,
        ge=1,
        le=30 * DAY,
        description="seconds for which a WebSub subscription is granted at least",
    )
    websub_default_lease: int = Field(
        10 * DAY, ge=1, le=30 * DAY, description="the same where the subscriber says nothing of it"
    )
    websub_max_lease: int = Field(30 * DAY, ge=1, le=30 * DAY, description="the same at most")
    websub_requests_per_host: int = Field(
        60,
        ge=1,
        description="WebSub requests a minute for callbacks on one host, beside those that wait",
    )
    websub_requests_per_client: int = Field(
        60, ge=1, description="WebSub requests a minute from one address, beside those that wait"
    )
    websub_topics: list[str] = Field(
        [],
        description="topics hosted elsewhere that the WebSub hub fetches and distributes when they "
        "are published: `https://blog.example/*`, with `*` for anything; `http://blog.example:*/*` "
        "is all that is there on any port that is named",
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
            raise ValueError("tls_key and tls_key_password are of no use without tls_certificate")
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
                raise ValueError(f"{name} is no category: {', '.join(RATE_LIMITS)}")
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
                raise ValueError(f"{word} is no word to replace: {', '.join(WORDS)}")
            if not other.isascii() or not other.isalpha() or not other.islower():
                raise ValueError(f"{other} must be of the letters a to z")
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
        """The API's root, without a slash at its end."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        scheme = "http" if self.tls_certificate is None else "https"
        return self.base_url or f"{scheme}://{host}:{self.port}"

    def documentation(self) -> str:
        """What `documentation_url` in errors begins with."""
        return self.documentation_url or f"{self.root()}/docs"
