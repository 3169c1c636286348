"""What answers of an operation have that is the same every time, and so is worked out once."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from hub import conditional
from hub.answers import Answer, Header, Reply, header, json_answer
from hub.context import House
from hub.endpoint import API
from hub.entry import Cost
from hub.limits import READ, WRITE
from hub.operation import Deprecation, Operation
from hub.versions import Cut, cuts, trimmed
from store.clock import parse


class Plan(NamedTuple):
    """An operation, and what its answers need that is the same every time."""

    operation: Operation
    cost: Cost
    permissions: Header
    cuts: Mapping[str, Cut]
    link: str
    """What its Link header holds beside pages."""


def plan_of(house: House, operation: Operation) -> tuple[Plan, tuple[Header, ...]]:
    """An operation's, and what goes with all its answers, those of errors too."""
    told = API
    link = ""
    if operation.deprecated is not None:
        told += _deprecation(operation.deprecated)
        link = _going(house, operation.deprecated, f"#{operation.id}")
    points = WRITE if operation.writes else READ
    held = "; ".join(f"{name}={level}" for name, level in operation.access.permissions)
    plan = Plan(
        operation,
        Cost(operation.category, points, operation.created),
        header("X-Accepted-Service-Permissions", held or "allows_permissionless_access=true"),
        cuts(operation.answer),
        link,
    )
    return plan, told


def _deprecation(deprecated: Deprecation) -> tuple[Header, ...]:
    told = [(b"deprecation", conditional.date(parse(deprecated.since)))]
    if deprecated.sunset is not None:
        told.append((b"sunset", conditional.date(parse(deprecated.sunset))))
    return tuple(told)


def _going(house: House, deprecated: Deprecation, reference: str) -> str:
    url = house.documentation + reference
    link = f'<{url}>; rel="deprecation"; type="text/html"'
    if deprecated.successor is not None:
        path = deprecated.successor.rpartition(" ")[2]
        link += f', <{house.urls.root}{path}>; rel="alternate"'
    return link


def answer_of(plan: Plan, content: Any, version: str) -> Answer:
    """What a handler returned, as this version of the API has it."""
    status = plan.operation.status
    headers: list[Header] = []
    if isinstance(content, Reply):
        status = content.status
        headers = [header(name, value) for name, value in content.headers.items()]
        content = content.body
    if isinstance(content, bytes):
        return Answer(status, content, headers)
    if content is None:
        return Answer(status, headers=headers)
    if version in plan.cuts:
        content = trimmed(content, plan.cuts[version])
    if status == 201 and isinstance(content, dict) and "url" in content:
        headers.append(header("Location", content["url"]))
    return json_answer(status, content, headers)
