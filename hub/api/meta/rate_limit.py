"""Rate limit status (group 22)."""

from typing import Annotated, NotRequired, cast

from typing_extensions import TypedDict

from hub.auth.access import public
from hub.auth.quotas import RateStatus
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.versions import UntilVersion
from store.errors import Missing

ops = OperationGroup("rate-limit")


class RateLimit(TypedDict):
    limit: int
    used: int
    remaining: int
    reset: int


class RateLimitResources(TypedDict):
    core: RateLimit
    search: RateLimit
    code_search: RateLimit
    graphql: RateLimit
    integration_manifest: RateLimit
    dependency_snapshots: RateLimit
    dependency_sbom: RateLimit
    code_scanning_upload: RateLimit
    actions_runner_registration: RateLimit
    scim: RateLimit
    code_scanning_autofix: RateLimit
    source_import: RateLimit


class RateLimitOverview(TypedDict):
    """The rate limits. `rate` equals `resources.core`."""

    resources: RateLimitResources
    rate: NotRequired[Annotated[RateLimit, UntilVersion("2026-03-10")]]


@ops("GET /rate_limit", public(), category="", points=0, conditional=False, errors=(404,))
def get(ctx: Context) -> RateLimitOverview:
    """Get rate limit status for the authenticated user

    This request does not count against any limit. 404 if the server enforces no limits.
    """
    if ctx.rate_status is None:
        raise Missing("rate limits")
    found = {status.resource: serialize(status) for status in ctx.rate_status()}
    resources = cast("RateLimitResources", found)
    return {"resources": resources, "rate": resources["core"]}


def serialize(status: RateStatus) -> RateLimit:
    return {
        "limit": status.limit,
        "used": min(status.used, status.limit),
        "remaining": status.remaining,
        "reset": status.reset,
    }
