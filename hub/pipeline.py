"""What happens to every request, in order; the only place where those steps live.

For an operation: who asks (401) -> path into rows (404) -> may they (403) -> query and body
(400, 422) -> handler -> answer. What changes something is let in by a read, so that nobody waits
for the writer in order to be refused, and once more in the transaction of the change.
"""

import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from starlette.types import Receive, Scope, Send

from hub import auth, resolve
from hub.answers import Answer, Header, Reply, header, json_answer
from hub.auth import Caller
from hub.context import Context, House
from hub.errors import ClientGone, Unauthenticated, error_answer
from hub.operation import Operation
from hub.paging import Cursor, Page, link_header
from hub.routing import Endpoint, path_of
from hub.validation import read_body, read_query
from store import Connection


@dataclass(slots=True)
class Call:
    """One request on its way. `told` are headers that its answer carries, whatever it is."""

    scope: Scope
    receive: Receive
    values: Mapping[str, str]
    headers: dict[bytes, bytes] = field(init=False)
    told: list[Header] = field(default_factory=list)
    body: Any = None

    def __post_init__(self) -> None:
        self.headers = dict(self.scope["headers"])

    @property
    def query(self) -> dict[str, str]:
        """Query parameters; of one that is repeated, the last."""
        return dict(parse_qsl(self.scope["query_string"].decode("latin-1"), keep_blank_values=True))


Work = Callable[[Call], Awaitable[Answer]]


def endpoint(house: House, work: Work, reference: str = "") -> Endpoint:
    """Where requests meet `work`: whatever goes wrong in it is answered as the API's errors are.

    `reference` is the operation's place in the documentation.
    """
    documented = house.settings.documentation() + reference

    async def run(scope: Scope, receive: Receive, send: Send, values: Mapping[str, str]) -> None:
        call = Call(scope, receive, values)
        try:
            answer = await work(call)
        except ClientGone:
            return
        except Exception as error:  # the one place that answers for all of them
            request_id = str(uuid.uuid4())
            answer = error_answer(error, documented, request_id)
            answer.headers.append(header("X-Service-Request-Id", request_id))
        answer.headers += call.told
        await answer(scope, receive, send)

    return run


def operation_endpoint(house: House, operation: Operation) -> Endpoint:
    """Where an operation's requests arrive."""

    async def work(call: Call) -> Answer:
        return await _respond(house, operation, call)

    return endpoint(house, work, f"#{operation.id}")


async def _respond(house: House, operation: Operation, call: Call) -> Answer:
    token = auth.token_of(call.headers)
    if token is None and not operation.access.anyone:
        raise Unauthenticated("Requires authentication")
    if not operation.writes:
        return await house.store.read(_perform, house, operation, call, token)
    await house.store.read(_admit, operation, call, token)
    await _prepare(house, operation, call)
    return await house.store.write(_perform, house, operation, call, token)


async def _prepare(house: House, operation: Operation, call: Call) -> None:
    # What has no body may be sent one; it is left unread.
    if operation.body is not None:
        raw = await house.intake.read(call.headers, call.receive, house.settings.max_body_bytes)
        house.intake.give_back(len(raw))
        call.body = read_body(operation.body, raw, only_object=operation.only_object)
    if operation.before is not None:
        await operation.before(house, call.body)


def _admit(
    db: Connection, operation: Operation, call: Call, token: str | None
) -> tuple[Caller | None, dict[str, Any]]:
    """Who asks, and what the path names; the first of it is what access is given to."""
    caller = None if token is None else auth.authenticate(db, token)
    access = operation.access
    call.told = caller.headers(access.accepted) if caller else []
    found: dict[str, Any] = {}
    access.enter(db, caller, call.values, None)
    owner = caller.account if caller is not None and access.owned else None
    first = resolve.take(db, operation.steps[:1], call.values, found, owner)
    if first is not None:
        access.see(db, caller, first)
    resolve.take(db, operation.steps[1:], call.values, found, first)
    return caller, found


def _perform(
    db: Connection, house: House, operation: Operation, call: Call, token: str | None
) -> Answer:
    caller, found = _admit(db, operation, call, token)
    query = call.query
    given: dict[str, Any] = {} if operation.body is None else {"body": call.body}
    if operation.query is not None:
        given["query"] = read_query(operation.query, query)
    pages = None if operation.pages is None else operation.pages(query, *operation.per_page)
    if pages is not None:
        given["page"] = pages
    context = Context(db, house.urls, caller, operation.emits)
    given |= {name: value for name, value in found.items() if name in operation.arguments}
    content = operation.function(context, **given)
    return _answer(operation, content, _link(house, call, query, pages))


def _link(
    house: House, call: Call, query: Mapping[str, str], pages: Page | Cursor | None
) -> list[Header]:
    if pages is None:
        return []
    url = house.urls.path(path_of(call.scope))
    link = link_header(url, query, pages)
    return [] if link is None else [header("Link", link)]


def _answer(operation: Operation, content: Any, headers: list[Header]) -> Answer:
    status = operation.status
    if isinstance(content, Reply):
        status = content.status
        headers += [header(name, value) for name, value in content.headers.items()]
        content = content.body
    if isinstance(content, bytes):
        return Answer(status, content, headers)
    if content is None:
        return Answer(status, headers=headers)
    if status == 201 and isinstance(content, dict) and "url" in content:
        headers.append(header("Location", content["url"]))
    return json_answer(status, content, headers)
