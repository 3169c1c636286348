"""The worker's part of the settings."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from store.delivery.hook_options import Retries
from store.errors import Invalid
from store.settings import DataSettings, ImportSettings, UsageSettings, WebSubSettings

DAY = 86_400


# All commands read the settings, and few have a topic or a time in them: their modules wait.


def _topic(text: str) -> str:
    from store.registry.republish_runs import parse_pattern

    try:
        return parse_pattern(text).topic
    except Invalid as error:
        raise ValueError(str(error)) from None


def _cron(text: str) -> str:
    from worker.scheduler.triggers import validate_cron

    return validate_cron(text)


Topic = Annotated[str, AfterValidator(_topic)]
"""owner/repo/events/event, where each may be `*`."""
Cron = Annotated[str, AfterValidator(_cron)]
"""Five fields of cron: minute, hour, day of the month, month, day of the week, in UTC."""


class WorkerSettings(WebSubSettings, ImportSettings, UsageSettings, DataSettings):
    """How deliveries are made, and how long their record is kept."""

    retries: Retries = Field(
        [0, 5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400],
        description="seconds before each attempt, counted from the one before; the first is 0",
    )
    jitter: float = Field(
        0.2, ge=0, le=1, description="each delay varies by up to this share, up or down"
    )
    timeout: float = Field(
        10.0,
        gt=0,
        le=120,
        description="seconds for one attempt in all: resolve, connect, TLS, headers and body",
    )
    concurrency: int = Field(
        32, ge=1, le=1000, description="requests in flight at once to one hook"
    )
    max_in_flight: int = Field(
        1000, ge=1, le=20_000, description="requests in flight at once to all of them"
    )
    max_in_flight_per_host: int = Field(
        64,
        ge=1,
        le=20_000,
        description="requests in flight at once to one host, over all hooks: names, ports and "
        "hooks that lead to the same address count together",
    )
    rate: float | None = Field(
        None, gt=0, description="deliveries a second to one hook at most; unset: no limit"
    )
    breaker: int = Field(
        10, ge=0, description="failures in a row after which an endpoint rests; 0: never"
    )
    disable_after: float = Field(
        5 * DAY, ge=0, description="seconds of failing after which a hook is disabled; 0: never"
    )
    header_prefixes: list[Annotated[str, Field(pattern=r"^X-[A-Za-z0-9-]{1,40}-$")]] = Field(
        ["X-Service-", "X-GitHub-"],
        max_length=4,
        description="prefixes under which a delivery's headers are sent, each a full set",
    )
    user_agent: str = Field(
        "GitHub-Hookshot/tocsin",
        pattern=r"^[!-~]+( [!-~]+)*$",
        description="User-Agent of deliveries; receivers for that platform check its beginning",
    )
    allow_networks: list[str] = Field(
        [],
        description="networks (CIDR) that callbacks may be in although they are not public",
    )
    callback_ports: str = Field(
        "80,443,1024-65535",
        description="ports that callbacks may use; those browsers refuse are refused even so",
    )
    keep_attempts: float = Field(
        30 * DAY, gt=0, description="seconds for which the record of attempts is kept"
    )
    keep_bodies: float = Field(
        7 * DAY, gt=0, description="seconds for which the events' bodies are kept"
    )
    keep_audit: float = Field(
        400 * DAY,
        ge=0,
        description="seconds for which entries of the audit log are kept; 0: for ever",
    )
    prune_at: Cron = Field(
        "*/10 * * * *",
        description="when what is kept no longer is let go of: minute, hour, day of the month, "
        "month and day of the week as in cron, in UTC",
    )
    replay_rate: float = Field(
        200,
        gt=0,
        le=100_000,
        description="deliveries a second that replays asked for in the dashboard make at most",
    )
    republish_at: Cron | None = Field(
        None,
        description="when the present state of things is published once more, as events marked so; "
        "times as above; unset: never",
    )
    republish_topics: list[Topic] = Field(
        ["*/*/events/*"],
        description="of which topics that is then: owner/repo/events/event, with * for anything",
    )
    republish_rate: int = Field(
        100, ge=1, le=10_000, description="events a second at most that are published once more"
    )
    reports_at: Cron = Field(
        "10 0 * * *",
        description="when reports of the assistant's usage are made, of the days that are over and "
        "have something new; times as above",
    )
    reflect: bool = Field(
        True,
        description="whether ingested events change what the API shows: issues, labels, ...",
    )
    websub_signature: Literal["sha1", "sha256", "sha384", "sha512"] = Field(
        "sha256", description="how content is signed for WebSub subscribers that have a secret"
    )
    websub_max_topic_bytes: int = Field(
        1024 * 1024,
        ge=1024,
        description="size in bytes of a topic that is fetched from where it is hosted",
    )
    imports_at_once: int = Field(
        2, ge=1, le=16, description="repositories that are imported at the same time"
    )
    import_timeout: float = Field(
        6 * 3600, gt=0, description="seconds that an import may take, from its beginning to its end"
    )
    import_max_bytes: int = Field(
        10 * 1024**3,
        ge=1024,
        description="bytes on disk that an import may take while it is under way",
    )
