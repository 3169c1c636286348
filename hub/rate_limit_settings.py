"""The settings of the API's rate limits, and of the limits of wrong passwords and tokens."""

from typing import Any

from pydantic import Field, field_validator

from store.settings import SettingsPart

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


YEAR = 366 * 86_400


class RateLimitSettings(SettingsPart):
    """How many requests a caller may make, and how many wrong credentials are accepted."""

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
        le=YEAR,
        description="length of the period in which wrong passwords and wrong tokens are counted, "
        "in seconds; after it, the count begins again at 0",
    )

    @field_validator("rate_limits", "rate_limits_anonymous", "rate_windows")
    @classmethod
    def _are_categories(cls, value: dict[str, int]) -> dict[str, int]:
        for name, number in value.items():
            if name not in RATE_LIMITS:
                raise ValueError(f"{name} is not a category: {', '.join(RATE_LIMITS)}")
            if number < 0:
                raise ValueError(f"{name} must not be negative")
        return value

    @field_validator("rate_windows")
    @classmethod
    def _last_some_time(cls, value: dict[str, int]) -> dict[str, int]:
        for name, seconds in value.items():
            if seconds == 0:
                raise ValueError(f"{name} must last at least 1 second")
            if seconds > YEAR:
                raise ValueError(f"{name} must last at most {YEAR} seconds")
        return value

    @field_validator("rate_limits", "rate_limits_anonymous", "rate_windows", mode="after")
    @classmethod
    def _over_defaults(cls, value: dict[str, int], info: Any) -> dict[str, int]:
        defaults: dict[str, int] = cls.model_fields[info.field_name].default
        return defaults | value
