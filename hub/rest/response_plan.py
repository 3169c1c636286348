"""The parts of an operation's responses that never change, computed once."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from hub.auth.rate_limits import READ, WRITE
from hub.http import conditional
from hub.http.error_headings import operation_place
from hub.http.media import accepts_text
from hub.http.response import TEXT, Header, Response, TypedReply, header, json_response
from hub.rest.authenticate import RequestCost
from hub.rest.context import Services
from hub.rest.middleware import API
from hub.rest.operation import Deprecation, Operation
from hub.rest.versions import Cut, cuts, trim
from store.clock import parse


class ResponsePlan(NamedTuple):
    """An operation, and the constant parts of its responses."""

    operation: Operation
    cost: RequestCost
    cuts: Mapping[str, Cut]
    link: str
    """The content of its Link header, apart from pages."""

    def forms(self, accept: str) -> tuple[str, ...] | None:
        """Return the media type parameters to choose among; None if the answer is plain text."""
        is_text = self.operation.answer is str and accepts_text(accept)
        return None if is_text else self.operation.media


def plan_of(services: Services, operation: Operation) -> tuple[ResponsePlan, tuple[Header, ...]]:
    """Return an operation's plan, and the headers of all its responses, including errors."""
    headers = API
    link = ""
    if operation.deprecated is not None:
        headers += _deprecation(operation.deprecated)
        link = _deprecation_link(services, operation.deprecated, operation_place(operation.id))
    points = operation.points
    if points is None:
        points = WRITE if operation.writes else READ
    plan = ResponsePlan(
        operation,
        RequestCost(operation.category, points, operation.created),
        cuts(operation.answer),
        link,
    )
    return plan, headers


def _deprecation(deprecated: Deprecation) -> tuple[Header, ...]:
    return (
        (b"deprecation", conditional.date(parse(deprecated.since))),
        (b"sunset", conditional.date(parse(deprecated.sunset))),
    )


def _deprecation_link(services: Services, deprecated: Deprecation, reference: str) -> str:
    url = services.documentation + reference
    link = f'<{url}>; rel="deprecation"; type="text/html"'
    if deprecated.successor is not None:
        path = deprecated.successor.rpartition(" ")[2]
        link += f', <{services.urls.root}{path}>; rel="alternate"'
    return link


def response_of(plan: ResponsePlan, content: Any, version: str) -> Response:
    """Return the response for a handler's result, cut to this version of the API."""
    status = plan.operation.status
    headers: list[Header] = []
    if isinstance(content, TypedReply):
        status = content.status
        headers = [header(name, value) for name, value in content.headers.items()]
        content = content.body
    if isinstance(content, bytes):
        return Response(status, content, headers)
    if content is None:
        return Response(status, headers=headers)
    if isinstance(content, str):
        return Response(status, content.encode(), [TEXT, *headers])
    if version in plan.cuts:
        content = trim(content, plan.cuts[version])
    if status == 201 and isinstance(content, dict) and "url" in content:
        headers.append(header("Location", content["url"]))
    return json_response(status, content, headers)
