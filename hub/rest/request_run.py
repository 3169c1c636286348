"""A request in a transaction, and what its handler receives from it."""

from collections.abc import Callable
from typing import Any, NamedTuple

from hub.auth.quotas import RateStatus
from hub.http.response import TypedReply
from hub.http.routing import path_of
from hub.rest import auditing
from hub.rest.authenticate import Principal, subject_of
from hub.rest.context import Context, Services
from hub.rest.cursors import Cursors
from hub.rest.operation import Operation
from hub.rest.request import Request
from hub.rest.validation import read_query
from hub.rest.versions import DEFAULT
from store import Connection


class RequestRun(NamedTuple):
    """A request in a transaction. Each time the transaction is run, it is another run."""

    db: Connection
    services: Services
    operation: Operation
    request: Request
    who: Principal
    found: dict[str, Any]
    """The rows that the path names, by argument."""

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the handler beside its context."""
        operation, query = self.operation, self.request.query
        given: dict[str, Any] = {} if operation.body is None else {"body": self.request.body}
        if operation.query is not None:
            given["query"] = read_query(operation.query, query)
        if operation.pages is not None:
            cursors = Cursors(self.db.vault, operation.id)
            given["page"] = operation.pages(query, cursors, *operation.per_page)
        return given | {
            name: one for name, one in self.found.items() if name in operation.arguments
        }

    def context(self) -> Context:
        services, request = self.services, self.request
        return Context(
            self.db,
            services.urls,
            self.who.caller,
            self.operation.emits,
            self.who.app,
            request.version or DEFAULT,
            request.media,
            words=services.vocabulary,
            rate_status=self._rate_status(),
            address=lambda: services.clients.address(request.scope),
            link_seconds=services.settings.report_link_seconds,
            hooks_per_event=services.settings.hooks_per_event,
            last_try=request.last_try,
            pull_queue=services.pull_queue,
        )

    def _rate_status(self) -> Callable[[], list[RateStatus]] | None:
        limits = self.services.limits
        if limits is None:
            return None
        return lambda: limits.statuses(self.db, subject_of(self.services, self.request, self.who))

    def changed_at(self, context: Context) -> int | None:
        """Return when the content last changed, or None if the handler does not know it.

        It is no earlier than the last change of a row in the path: the repository may have got
        another default branch, or another repository the name.
        """
        if context.last_modified is None:
            return None
        rows = [row for row in self.found.values() if isinstance(row, dict)]
        return max([context.last_modified, *(row.get("updated_at") or 0 for row in rows)])

    def record(self, content: Any, status: int) -> None:
        """Write the request to the audit log. `content` is what its handler has returned."""
        shown = content.body if isinstance(content, TypedReply) else content
        auditing.record(
            self.db,
            self.services,
            self.request,
            self.operation.id,
            auditing.actor_of(self.services, self.request, *self.who),
            status,
            fields=auditing.changed(self.request.body, self.operation.fields),
            ids=auditing.ids_of(self.found, shown),
        )

    @property
    def page_url(self) -> str:
        """Return the URL of the list that the request asks for, without a query."""
        path = path_of(self.request.scope)
        if "owner" in self.request.values:
            # Links stay valid when a repository gets another name.
            return self.services.urls.repository_by_id(self.found["repo"]["id"], path)
        return self.services.urls.path(path)
