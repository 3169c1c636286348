"""The settings of the worker."""

from hashlib import sha256
from importlib.metadata import version
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, field_validator

from store.errors import Invalid
from store.hooks.retries import Retries
from store.mail.settings import MailSettings
from store.settings import DataSettings, ImportSettings, UsageSettings, WebSubSettings

DAY = 86_400
EVERY_TOPIC = "*/*/events/*"
# The platform's has seven hexadecimal digits of its version, and receivers check the form.
USER_AGENT = f"GitHub-Hookshot/{sha256(version('tocsin').encode()).hexdigest()[:7]}"
PRUNE_AT, REPORTS_AT = "*/10 * * * *", "10 0 * * *"


# The parsers are imported when they are needed. All commands read the settings, and few settings
# contain a topic or a time.


def _topic(text: str) -> str:
    if text == EVERY_TOPIC:
        return text
    from store.registry.republish_runs import parse_pattern

    try:
        return parse_pattern(text).topic
    except Invalid as error:
        raise ValueError(str(error)) from None


def _cron(text: str) -> str:
    if text in (PRUNE_AT, REPORTS_AT):
        return text
    from worker.scheduler.triggers import validate_cron

    return validate_cron(text)


Topic = Annotated[str, AfterValidator(_topic)]
"""A topic pattern `owner/repo/events/event`, in which each part may be `*`."""
Cron = Annotated[str, AfterValidator(_cron)]
"""A schedule in five fields of cron, in UTC: minute, hour, day of the month, month, day of the
week.
"""


class WorkerSettings(WebSubSettings, ImportSettings, UsageSettings, MailSettings, DataSettings):
    """The settings for deliveries and for how long records are kept."""

    retries: Retries = Field(
        [0, 5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400],
        description="seconds before each attempt, counted from the end of the previous one, for 30 "
        "attempts at most; the first is 0. If the last attempt fails, the delivery is dead. A hook "
        "can have its own value",
    )
    jitter: float = Field(
        0.2, ge=0, le=1, description="share by which each delay varies at most, up or down"
    )
    timeout: float = Field(
        10.0,
        gt=0,
        le=120,
        description="seconds for one whole attempt: resolve, connect, TLS, headers and body. A "
        "hook can have its own value",
    )
    concurrency: int = Field(
        32,
        ge=1,
        le=1000,
        description="requests in flight to one hook at most, from each worker. A hook can have "
        "its own value",
    )
    max_in_flight: int = Field(
        1000,
        ge=1,
        le=20_000,
        description="requests in flight to all hooks at most, from each worker",
    )
    max_in_flight_per_host: int = Field(
        64,
        ge=1,
        le=20_000,
        description="requests in flight to one host at most, from each worker, over all hooks: "
        "names, ports and hooks with the same address share the limit",
    )
    senders: int | None = Field(
        None,
        ge=0,
        le=64,
        description="processes that sign and send deliveries under load, beside this one; 0: none; "
        "unset: one less than the processors, and 4 at most",
    )
    rate: float | None = Field(
        None,
        gt=0,
        description="requests a second to one hook at most, from each worker; unset: no limit. A "
        "hook can have its own value",
    )
    breaker: int = Field(
        10,
        ge=0,
        description="failures in a row that open a hook's circuit breaker; 0: never. A hook can "
        "have its own value",
    )
    max_retry_after: float = Field(
        DAY,
        ge=0,
        description="seconds for which a receiver's Retry-After holds a hook back at most; 0: "
        "Retry-After is ignored",
    )
    disable_after: float = Field(
        5 * DAY,
        ge=0,
        description="seconds of failing without a success after which a hook is disabled; 0: "
        "never, except at the receiver's request, such as 410. A hook can have its own value",
    )
    alert_backlog: int = Field(
        10_000,
        ge=0,
        le=100_000,
        description="number of due deliveries that opens the alert `backlog.high`; below half of "
        "that number it ends; 0: never",
    )
    header_prefixes: list[Annotated[str, Field(pattern=r"^X-[A-Za-z0-9-]{1,40}-$")]] = Field(
        ["X-Service-", "X-GitHub-"],
        max_length=4,
        description="prefixes of the headers that say what a delivery is, such as `Event`, "
        "`Delivery` and `Hook-ID`; each of these headers is sent once with each prefix",
    )

    @field_validator("header_prefixes")
    @classmethod
    def _are_distinct(cls, value: list[str]) -> list[str]:
        known = [prefix.lower() for prefix in value]
        for prefix, name in zip(value, known, strict=True):
            if known.count(name) > 1:
                raise ValueError(f"{prefix} is given twice")
        return value

    user_agent: str = Field(
        USER_AGENT,
        pattern=r"^[!-~]+( [!-~]+)*$",
        description="User-Agent of deliveries; receivers for the platform check its beginning",
    )
    request_origin: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9_.-]{1,253}$",
        description="DNS name by which receivers know this hub in handshakes of CloudEvents; by "
        "default the machine's name",
    )
    allow_networks: list[str] = Field(
        [],
        description="networks (CIDR) that callbacks, token endpoints, imports and fetched WebSub "
        "topics may use although they are not public",
    )
    callback_ports: str = Field(
        "80,443,1024-65535",
        description="ports that callbacks, token endpoints, imports and fetched WebSub topics may "
        "use; ports that browsers refuse are always refused",
    )
    keep_attempts: float = Field(
        30 * DAY,
        gt=0,
        description="seconds for which the records of attempts, deliveries and events are kept, "
        "of alerts that are over, and of mails. Waiting deliveries and their events stay longer, "
        "without the records of older attempts",
    )
    keep_bodies: float = Field(
        7 * DAY,
        gt=0,
        description="seconds for which the events' bodies are kept; bodies of waiting deliveries "
        "stay longer",
    )
    keep_audit: float = Field(
        400 * DAY,
        ge=0,
        description="seconds for which entries of the audit log are kept; 0: forever",
    )
    prune_at: Cron = Field(
        PRUNE_AT,
        description="when records past their retention are removed, as in cron and in UTC: "
        "minute, hour, day of the month, month, day of the week",
    )
    text_index: bool = Field(
        False,
        description="whether the texts of payloads and answers are indexed in the background, so "
        "that the dashboard's search for a text gets further; if it is off, the index is deleted",
    )
    replay_rate: float = Field(
        200,
        gt=0,
        le=100_000,
        description="deliveries a second at most for replays that the dashboard requests",
    )
    republish_at: Cron | None = Field(
        None,
        description="when the present state is published again, as events marked as republished; "
        "five fields as in `prune_at`; unset: never",
    )
    republish_topics: list[Topic] = Field(
        [EVERY_TOPIC],
        description="topics that are published at `republish_at`: `owner/repo/events/event`, with "
        "`*` for anything",
    )
    republish_rate: int = Field(
        100, ge=1, le=10_000, description="events a second at most that are published again"
    )
    reports_at: Cron = Field(
        REPORTS_AT,
        description="when reports of the assistant's usage are made, for past days with new "
        "usage; five fields as in `prune_at`",
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
        description="maximum size in bytes of the content that the hub fetches from a topic on "
        "another site; larger content is not distributed",
    )
    imports_at_once: int = Field(
        2, ge=1, le=16, description="repositories that are imported at the same time"
    )
    import_timeout: float = Field(
        6 * 3600,
        gt=0,
        description="seconds that a whole import may take; then it fails",
    )
    import_max_bytes: int = Field(
        10 * 1024**3,
        ge=1024,
        description="bytes on disk that a running import may use; beyond it, the import fails",
    )
    import_max_memory: int = Field(
        4 * 1024**3,
        ge=256 * 1024**2,
        description="bytes of memory, as address space, that each program of an import may use; "
        "beyond it, the import fails",
    )
