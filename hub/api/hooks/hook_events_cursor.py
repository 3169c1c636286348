"""The events of a hook, for receivers that catch up after they missed deliveries."""

from collections.abc import Mapping
from typing import Any, ClassVar

import orjson
from typing_extensions import TypedDict

from hub.api.hooks.hook_access import READ_HOOK, HookOperations
from hub.http.numbers import natural
from hub.rest.context import Context
from hub.rest.paging import UncountedPaging
from store import Row
from store.clock import iso
from store.pull import event_cursor

hook_ops = HookOperations()
ops = hook_ops.group


class AfterPaging(UncountedPaging):
    """A page of rows with ids greater than `after`. It links to the next page only."""

    PARAMETERS: ClassVar[dict[str, dict[str, Any]]] = {
        "after": {"type": "integer", "minimum": 0, "default": 0}
    }

    def _read(self, query: Mapping[str, str]) -> None:
        self.after = natural(query.get("after", "")) or 0

    def continue_after(self, after: int | None) -> None:
        """Link to the page after this id. None is the last page."""
        if after is not None:
            self._links["next"] = {"after": after}


class HookEvent(TypedDict):
    """An event of a hook, and the state of its latest delivery. `payload` is null once deleted."""

    id: int
    guid: str
    event: str
    action: str | None
    repository_id: int | None
    received_at: str
    state: str
    payload: Any


@hook_ops("GET /events", READ_HOOK)
def list_webhook_events(ctx: Context, hook: Row, page: AfterPaging) -> list[HookEvent]:
    """List events for a webhook

    The oldest first, beginning after the event with the id `after`. Reading changes nothing. A page
    may have fewer events than `per_page`, or none: follow the link to the next page while there is
    one, and continue later after the last id that you have seen.
    """
    found = event_cursor.page(ctx.db, hook, page.after, page.limit)
    page.continue_after(found.next_after)
    return [_serialize(row) for row in found.rows]


def _serialize(row: Row) -> HookEvent:
    return {
        "id": row["id"],
        "guid": row["guid"],
        "event": row["name"],
        "action": row["action"],
        "repository_id": row["repo_id"] or None,
        "received_at": iso(row["received_at"]),
        "state": row["state"],
        "payload": None if row["body"] is None else orjson.Fragment(row["body"]),
    }
