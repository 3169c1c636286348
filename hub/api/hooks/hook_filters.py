"""Dry runs of hooks' filters."""

from typing import Annotated, Any

from annotated_types import Ge, Le, MaxLen
from pydantic import with_config
from typing_extensions import TypedDict

from hub.api.hooks.hook_access import READ_HOOK, HookOperations
from hub.rest.context import Context
from hub.rest.validation import Text
from store import Connection, Row
from store.delivery import events, filtering
from store.delivery.event_targets import concerns
from store.errors import Invalid
from store.filters.dry_run import TermResult
from store.hooks.hook_options import Filter
from store.hooks.hook_targets import target_of

hook_ops = HookOperations()
ops = hook_ops.group


@with_config({"extra": "forbid"})
class FilterTest(TypedDict, total=False):
    """A stored event (`event_id`), or an event's name, action and payload.

    `filter` is tested in place of the hook's own filter.
    """

    filter: Filter
    event_id: Annotated[int, Ge(1), Le(2**63 - 1)]
    event: Annotated[Text, MaxLen(100)]
    action: Annotated[Text, MaxLen(100)]
    payload: dict[str, Any]


class FilterTerm(TypedDict):
    """A condition, and the values found at its path: none if the path is missing.

    An expression in CEL has the operator `cel`, no path, and its result in place of the values.
    `error` says why it has no result.
    """

    path: str
    operator: str
    expected: Any
    found: list[Any]
    error: str | None


class FilterVerdict(TypedDict):
    matches: bool
    matched: list[FilterTerm]
    failed: list[FilterTerm]


@hook_ops("POST /filter/tests", READ_HOOK, status=200, computes=True)
def test_webhook_filter(ctx: Context, hook: Row, body: FilterTest) -> FilterVerdict:
    """Test the filter of a webhook

    Says whether an event would be delivered, and which conditions of the filter it satisfies.
    Nothing is sent or stored. The event is a stored one of the repository or the organization, or a
    payload with the name of an event.
    """
    filter_ = filtering.filter_of(hook, body.get("filter"))
    verdict = filtering.test(filter_, _document(ctx.db, hook, body))
    return {
        "matches": verdict.matches,
        "matched": [_term(one) for one in verdict.matched],
        "failed": [_term(one) for one in verdict.failed],
    }


def _document(db: Connection, hook: Row, body: FilterTest) -> filtering.Document:
    if ("event_id" in body) == ("payload" in body):
        raise Invalid("give either event_id or payload", field="event_id", resource="Hook")
    if "payload" in body:
        name = body.get("event") or filtering.usual_event(hook)
        return filtering.pasted(name, body.get("action"), body["payload"])
    return stored_document(db, hook, body["event_id"])


def stored_document(db: Connection, hook: Row, event_id: int) -> filtering.Document:
    """Return a stored event of a hook's target as filters describe it, and as the hook gets it.

    Raises Invalid if there is none, or if its payload is no longer kept.
    """
    event, target = events.get(db, event_id), target_of(hook)
    its = event is not None and concerns(db, event, target)
    found = filtering.stored_for(db, hook, event_id) if its else None
    if found is None:
        raise Invalid(
            f"the {target.kind} has no event {event_id} whose payload is kept",
            field="event_id",
            resource="Hook",
        )
    return found


def _term(result: TermResult) -> FilterTerm:
    return {
        "path": result.path,
        "operator": result.operator,
        "expected": result.expected,
        "found": result.found,
        "error": result.error,
    }
