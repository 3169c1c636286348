"""Reports of an enterprise's usage of the assistant (group 24)."""

from typing import Annotated

from pydantic import BeforeValidator, WithJsonSchema
from typing_extensions import TypedDict

from hub.api.assistant.report_links import link
from hub.auth.enterprise_access import on_enterprise
from hub.http.errors import Forbidden
from hub.http.response import TypedReply
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from store import Row
from store.assistant import reports, usage_days
from store.enterprises import enterprises
from store.errors import existing

ops = OperationGroup("assistant", enterprise=enterprises.by_slug)

READ = on_enterprise(
    "enterprise_assistant_metrics",
    "read",
    role="billing_manager",
    scopes=("manage_billing:assistant", "read:enterprise"),
).or_permitted()
REPORTS = "/enterprises/{enterprise}/assistant/metrics/reports"
OFF = "The usage metrics policy of the enterprise is not enabled everywhere."


def _day(text: object) -> int:
    try:
        return usage_days.of_iso(str(text))
    except ValueError:
        raise ValueError("not a day such as 2026-11-20") from None


class DayQuery(TypedDict):
    day: Annotated[int, BeforeValidator(_day), WithJsonSchema({"type": "string", "format": "date"})]


Link = Annotated[str, WithJsonSchema({"type": "string", "format": "uri"})]
Day = Annotated[str, WithJsonSchema({"type": "string", "format": "date"})]


class DayReport(TypedDict):
    """Links to the report of a day. They expire after a while."""

    download_links: list[Link]
    report_day: Day


class WindowReport(TypedDict):
    """Links to the report of 28 days, the last of which is the latest reported day."""

    download_links: list[Link]
    report_start_day: Day
    report_end_day: Day


@ops(f"GET {REPORTS}/enterprise-1-day", READ, conditional=False)
def assistant_enterprise_one_day_usage_metrics(
    ctx: Context, enterprise: Row, query: DayQuery
) -> DayReport:
    """Get assistant enterprise usage metrics for a specific day

    404 for days before 2025-10-10, for days more than a year ago, and for days without usage.
    """
    return _of_day(ctx, enterprise, "enterprise-1-day", query)


@ops(f"GET {REPORTS}/enterprise-28-day/latest", READ, conditional=False)
def assistant_enterprise_usage_metrics(ctx: Context, enterprise: Row) -> WindowReport:
    """Get assistant enterprise usage metrics

    For the 28 days up to the latest reported day. 404 if there is none.
    """
    return _latest(ctx, enterprise, "enterprise-28-day")


@ops(f"GET {REPORTS}/repos-1-day", READ, also=(204,), conditional=False)
def assistant_enterprise_repos_one_day_report(
    ctx: Context, enterprise: Row, query: DayQuery
) -> DayReport | TypedReply:
    """Get assistant usage metrics by repository for a specific day

    204 for days without usage in repositories, whatever the reason.
    """
    _check_policy(enterprise)
    row = _found(ctx, enterprise, "repos-1-day", query)
    return TypedReply(204) if row is None or not row["lines"] else _serialize(ctx, row)


@ops(f"GET {REPORTS}/user-teams-1-day", READ, conditional=False)
def assistant_enterprise_user_teams_one_day_report(
    ctx: Context, enterprise: Row, query: DayQuery
) -> DayReport:
    """Get assistant usage metrics by user and team for a specific day

    Usage without a team counts for each team of the organization that the user belonged to when the
    report was made.
    """
    return _of_day(ctx, enterprise, "user-teams-1-day", query)


@ops(f"GET {REPORTS}/users-1-day", READ, conditional=False)
def assistant_users_one_day_usage_metrics(
    ctx: Context, enterprise: Row, query: DayQuery
) -> DayReport:
    """Get assistant usage metrics by user for a specific day"""
    return _of_day(ctx, enterprise, "users-1-day", query)


@ops(f"GET {REPORTS}/users-28-day/latest", READ, conditional=False)
def assistant_users_usage_metrics(ctx: Context, enterprise: Row) -> WindowReport:
    """Get assistant usage metrics by user"""
    return _latest(ctx, enterprise, "users-28-day")


def _of_day(ctx: Context, enterprise: Row, kind: str, query: DayQuery) -> DayReport:
    _check_policy(enterprise)
    return _serialize(ctx, existing(_found(ctx, enterprise, kind, query), "report"))


def _check_policy(enterprise: Row) -> None:
    if enterprise["usage_metrics"] != "enabled":
        raise Forbidden(OFF)


def _found(ctx: Context, enterprise: Row, kind: str, query: DayQuery) -> Row | None:
    if not usage_days.is_reported(query["day"], ctx.now):
        return None
    return reports.of_day(ctx.db, enterprise["id"], kind, query["day"])


def _serialize(ctx: Context, row: Row) -> DayReport:
    return {"download_links": [_link(ctx, row)], "report_day": usage_days.iso(row["last_day"])}


def _latest(ctx: Context, enterprise: Row, kind: str) -> WindowReport:
    _check_policy(enterprise)
    row = existing(reports.latest(ctx.db, enterprise["id"], kind), "report")
    return {
        "download_links": [_link(ctx, row)],
        "report_start_day": usage_days.iso(row["first_day"]),
        "report_end_day": usage_days.iso(row["last_day"]),
    }


def _link(ctx: Context, row: Row) -> str:
    return link(ctx.db, ctx.urls, row, ctx.link_seconds)
