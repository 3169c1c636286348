"""Delivery options of one hook, which take precedence over the settings."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from store.endpoint_access import static_headers
from store.endpoint_access.client_tls import ClientTls
from store.endpoint_access.oauth2 import ClientCredentials
from store.filters import payload_filter
from store.formats.formats import Format
from store.hooks import json_pointer
from store.hooks.batch_options import Batch
from store.hooks.retries import Retries

SIGNATURES = ("sha256", "sha1", "v1")
"""The signatures that a hook gets if it does not ask for others."""


def _each_once(names: list[str]) -> list[str]:
    return list(dict.fromkeys(names))


Signatures = Annotated[
    list[Literal["sha256", "sha1", "v1", "v1a"]],
    Field(min_length=1, max_length=8),
    AfterValidator(_each_once),
]
"""The platform's HMAC-SHA256 and HMAC-SHA1, and Standard Webhooks with the secret or a key."""


TypePrefix = Annotated[str, Field(max_length=100, pattern=r"^[a-z0-9]+([.-][a-z0-9]+)*$")]
"""The beginning of the types of CloudEvents, such as a domain in reverse order."""


def _usable_filter(source: dict[str, Any]) -> dict[str, Any]:
    payload_filter.check(source)
    return source


Filter = Annotated[dict[str, Any], AfterValidator(_usable_filter)]
"""Conditions on an event, or an expression in CEL: see store.filters."""


StaticHeaders = Annotated[dict[str, str], AfterValidator(static_headers.check)]
"""Header lines by name. Secret values are stored apart: see store.endpoint_access."""


class PathOrdering(BaseModel):
    """An order for each value of a member of the payload."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    path: Annotated[str, AfterValidator(json_pointer.check)] = Field(
        description="JSON Pointer (RFC 6901) to the member, such as /pull_request/id"
    )


class DeliveryOptions(BaseModel):
    """A hook's options. An option that is null or left out has the default below, or else follows
    the settings. Times are seconds.
    """

    model_config = ConfigDict(extra="forbid", defer_build=True)

    retries: Retries | None = Field(None, description="delay before each attempt; the first is 0")
    timeout: Annotated[float, Field(gt=0, le=120)] | None = Field(
        None, description="one deadline for resolve, connect, TLS, headers and body"
    )
    concurrency: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        None, description="requests in flight at once, from each worker"
    )
    rate: Annotated[float, Field(gt=0, le=100_000)] | None = Field(
        None, description="requests a second at most, from each worker"
    )
    disable_after: Annotated[float, Field(ge=0, le=365 * 86_400)] | None = Field(
        None, description="a hook that fails for this long is disabled; 0 never disables it"
    )
    breaker: Annotated[int, Field(ge=0, le=1000)] | None = Field(
        None, description="failures in a row that open the circuit breaker; 0 never opens it"
    )
    filter: Filter | None = Field(
        None,
        description="conditions on an event, or an expression in CEL; others are not delivered",
    )
    signatures: Signatures | None = Field(
        None,
        description="the signatures to send; v1a is made with a key of the hook; sha256, sha1"
        " and v1 by default",
    )
    format: Format | None = Field(None, description="the form of the body; platform by default")
    type_prefix: TypePrefix | None = Field(
        None, description="how the types of CloudEvents begin, such as com.github"
    )
    batch: Batch | None = Field(
        None, description="limits for several deliveries in one request; one by one by default"
    )
    ordering: Literal["none", "hook", "repository"] | PathOrdering | None = Field(
        None, description="which deliveries are sent one after the other; none by default"
    )
    on_exhausted: Literal["skip", "block"] | None = Field(
        None,
        description="with an ordering: whether the next delivery follows one that died, or waits"
        " for an operator; skip by default",
    )
    max_block: Annotated[float, Field(gt=0, le=30 * 86_400)] | None = Field(
        None,
        description="with an ordering: how long one delivery is retried while others wait for it;"
        " 3600 by default",
    )
    propagate: Literal["always", "never"] | None = Field(
        None,
        description="whether the receiver gets the trace context of events; always by default",
    )
    headers: StaticHeaders | None = Field(
        None,
        repr=False,
        description="headers of each request; values of headers such as Authorization are secret,"
        " and asterisks mean the stored value",
    )
    tls: ClientTls | None = Field(
        None, repr=False, description="client certificate and certificate authorities"
    )
    oauth2: ClientCredentials | None = Field(
        None, repr=False, description="client credentials for an access token in each request"
    )
    handshake: Literal["none", "cloudevents"] | None = Field(
        None,
        description="whether the receiver must consent first, as the webhooks of CloudEvents say;"
        " none by default",
    )
    expire_idle: Annotated[float, Field(ge=60, le=30 * 86_400)] | None = Field(
        None,
        description="a pull hook is removed if no program has fetched deliveries for this long;"
        " never by default",
    )
