"""The endpoint that accepts usage of the assistant: per line, one user's usage on one day."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Annotated, Any, NotRequired

from annotated_types import Ge, Le, MaxLen, MinLen
from pydantic import Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from hub.auth.credentials import Caller
from hub.auth.enterprise_access import on_enterprise
from hub.auth.source_signatures import SourceVerifier, speaks_for
from hub.http.body import read_object
from hub.http.errors import Forbidden, HubError, Rejected, Unsupported
from hub.http.forms import kind_of
from hub.http.ndjson import read, reject
from hub.http.response import Response, json_response
from hub.ingest.batch_endpoint import NDJSON, BatchEndpoint
from hub.ingest.rejections import Rejections
from hub.rest.context import Services
from hub.rest.request import Request
from hub.rest.validation import messages_of
from store import Connection, Row
from store.assistant import usage, usage_days, usage_lookup
from store.assistant.usage import MOST, UsageRecord
from store.clock import SECOND
from store.enterprises import enterprises
from store.errors import Missing

DESCRIPTION = """Report usage of the assistant

The body (Content-Type: application/x-ndjson) is a batch, one JSON object per line. Each has \
enterprise, organization, user and day (YYYY-MM-DD, in UTC); optionally repository (owner/name), \
team, editor, language and model; and the counts: suggestions, acceptances, lines (of code that \
were accepted) and chats. It may say whether the user was active, or engaged (accepted something, \
or chatted); by default this follows from the counts. All names must be known here. A line has at \
most 16 KB. It replaces an earlier one with the same user, day, organization, repository, team, \
editor, language and model, so a batch may be sent again. If one line is bad, nothing is stored, \
and the response (400, 422) lists each bad line by its number, from 1. Otherwise it is 202 \
{"accepted", "changed"}: the number of lines, and of rows that are new or different.

Signed by a source, as events are, or sent with a token. Role in the enterprise: billing_manager. \
Permission: enterprise_assistant_metrics (write). Scopes: manage_billing:assistant or \
admin:enterprise."""

ACCESS = on_enterprise(
    "enterprise_assistant_metrics",
    "write",
    role="billing_manager",
    scopes=("manage_billing:assistant", "admin:enterprise"),
)
RESOURCE = "Usage"
# More than the escaped names take. The interpreter does nothing else while a line is parsed.
LONGEST_LINE = 16 * 1024
Plain = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f]*$")]
Login = Annotated[Plain, MinLen(1), MaxLen(100)]
Name = Annotated[Plain, MaxLen(100)]
Count = Annotated[int, Ge(0), Le(MOST)]


class Counted(TypedDict):
    """A line. Null means the same as leaving the member out."""

    enterprise: Login
    organization: Login
    user: Login
    day: date
    repository: NotRequired[Annotated[Plain, MaxLen(300)] | None]
    team: NotRequired[Login | None]
    editor: NotRequired[Name | None]
    language: NotRequired[Name | None]
    model: NotRequired[Name | None]
    suggestions: NotRequired[Count]
    acceptances: NotRequired[Count]
    lines: NotRequired[Count]
    chats: NotRequired[Count]
    active: NotRequired[bool | None]
    engaged: NotRequired[bool | None]


@cache
def _validator() -> TypeAdapter[Counted]:
    return TypeAdapter(Counted)


@dataclass(frozen=True, slots=True)
class UsageLine:
    """A parsed line; its names are in lower case."""

    number: int
    said: Counted
    enterprise: str
    organization: str
    user: str
    day: int
    repository: tuple[str, str] | None
    team: tuple[str, str] | None


@dataclass(frozen=True, slots=True)
class UsageNames:
    """The rows and ids that names stand for. An enterprise may be an error instead."""

    enterprises: dict[str, Row | HubError]
    organizations: dict[tuple[str, str], int]
    users: dict[str, int]
    repositories: dict[tuple[str, str], int]
    teams: dict[tuple[str, str], int]


class UsageEndpoint:
    """The endpoint for usage: POST /usage."""

    def __init__(self, services: Services) -> None:
        self._services = services
        sources, rejections = SourceVerifier(services.store), Rejections(services)
        self._endpoint = BatchEndpoint(services, sources, rejections, "usage", self._keep)

    async def take(self, request: Request) -> Response:
        """Return the response to a batch. Raises Unsupported for another Content-Type."""
        if kind_of(request.headers.get(b"content-type", b"")) not in NDJSON:
            raise Unsupported(f"Usage must be sent as lines of JSON: Content-Type: {NDJSON[0]}")
        return await self._endpoint.take(request)

    async def _keep(
        self, request: Request, body: bytes, caller: Caller | None, source: Row | None
    ) -> Response:
        services = self._services
        now, settings = services.store.clock.now(), services.settings
        first = usage_days.of_moment(now - round(settings.keep_usage * SECOND)) + 1
        days = range(max(first, usage_days.BEGAN), usage_days.of_moment(now) + 1)

        def one(number: int, text: bytes) -> UsageLine:
            return _line(number, text, days)

        lines = await asyncio.to_thread(read, body, settings.max_batch_lines, RESOURCE, one)
        places = await services.store.read(_places, lines, caller)
        reject(RESOURCE, _wrong(lines, places, source))
        rows = [_row(line, places) for line in lines]
        changed = await services.store.write(usage.record, rows)
        return json_response(202, {"accepted": len(lines), "changed": changed})


def _line(number: int, text: bytes, days: range) -> UsageLine:
    if len(text) > LONGEST_LINE:
        raise Rejected(f"it is longer than {LONGEST_LINE} bytes")
    _check_members(read_object(text))
    try:
        said = _validator().validate_json(text, strict=True)
    except ValidationError as error:
        raise Rejected(" ".join(messages_of(error))) from None
    day = usage_days.number(said["day"])
    if day not in days:
        span = f"{usage_days.iso(days.start)} to {usage_days.iso(days.stop - 1)}"
        raise Rejected(f"usage is accepted for days from {span}")
    organization = said["organization"].lower()
    return UsageLine(
        number,
        said,
        said["enterprise"].lower(),
        organization,
        said["user"].lower(),
        day,
        _repository(said.get("repository"), organization),
        (organization, said["team"] or "") if said.get("team") else None,
    )


def _check_members(content: dict[str, Any]) -> None:
    # pydantic copies the content for each of its errors.
    for name, value in content.items():
        if name not in Counted.__annotations__:
            raise Rejected(f'"{name}" is not a permitted key.')
        if isinstance(value, dict | list):
            raise Rejected(f"For '{name}': Input should be no object or array.")


def _repository(name: str | None, organization: str) -> tuple[str, str] | None:
    if not name:
        return None
    owner, _, bare = name.lower().partition("/")
    if owner != organization:
        raise Rejected("the repository must belong to the organization: owner/name")
    return owner, bare


def _places(db: Connection, lines: list[UsageLine], caller: Caller | None) -> UsageNames:
    return UsageNames(
        {slug: _enterprise(db, slug, caller) for slug in {line.enterprise for line in lines}},
        usage_lookup.organizations(db, ((line.enterprise, line.organization) for line in lines)),
        usage_lookup.users(db, (line.user for line in lines)),
        usage_lookup.repositories(db, (line.repository for line in lines if line.repository)),
        usage_lookup.teams(db, (line.team for line in lines if line.team)),
    )


def _enterprise(db: Connection, slug: str, caller: Caller | None) -> Row | HubError:
    """Return the enterprise, or the error that rejects usage for it."""
    row = enterprises.by_slug(db, slug)
    try:
        if row is None:
            raise Missing("enterprise")
        if caller is not None:
            ACCESS.see(db, caller, row)
    except Missing:
        return _no_enterprise(slug)
    except Forbidden as error:
        return error
    if row["usage_metrics"] == "disabled":
        return Rejected(f'The usage metrics policy of "{slug}" is disabled')
    return row


def _no_enterprise(slug: str) -> Rejected:
    """Return the error for an enterprise that does not exist for the caller."""
    return Rejected(f'No enterprise found: "{slug}"')


def _wrong(
    lines: Iterable[UsageLine], places: UsageNames, source: Row | None
) -> Iterable[tuple[int, HubError]]:
    for line in lines:
        error = _error(line, places, source)
        if error is not None:
            yield line.number, error


def _error(line: UsageLine, places: UsageNames, source: Row | None) -> HubError | None:
    organization = places.organizations.get((line.enterprise, line.organization))
    if source is not None and source["owner_id"] is not None:
        # A limited source must not learn about enterprises and organizations of others.
        if not speaks_for(source, line.organization):
            return Rejected(f"source {source['name']} may not send data for {line.organization}")
        if organization is None:
            return _no_enterprise(line.enterprise)
    enterprise = places.enterprises[line.enterprise]
    if isinstance(enterprise, HubError):
        return enterprise
    if organization is None:
        return Rejected(f'No organization of the enterprise found: "{line.organization}"')
    if line.user not in places.users:
        return Rejected(f'No user found: "{line.user}"')
    if line.repository is not None and line.repository not in places.repositories:
        return Rejected(f'No repository found: "{"/".join(line.repository)}"')
    if line.team is not None and line.team not in places.teams:
        return Rejected(f'No team of the organization found: "{line.team[1]}"')
    return None


def _row(line: UsageLine, places: UsageNames) -> UsageRecord:
    enterprise: Any = places.enterprises[line.enterprise]
    said = line.said
    counts = {name: said.get(name, 0) for name in ("suggestions", "acceptances", "lines", "chats")}
    active, engaged = said.get("active"), said.get("engaged")
    follows = bool(said.get("acceptances") or said.get("chats"))
    return UsageRecord(
        enterprise["id"],
        places.organizations[line.enterprise, line.organization],
        places.users[line.user],
        line.day,
        repo_id=places.repositories[line.repository] if line.repository else 0,
        team_id=places.teams[line.team] if line.team else 0,
        editor=said.get("editor") or "",
        language=said.get("language") or "",
        model=said.get("model") or "",
        **counts,  # type: ignore[arg-type]
        active=any(counts.values()) if active is None else active,
        engaged=follows if engaged is None else engaged,
    )
