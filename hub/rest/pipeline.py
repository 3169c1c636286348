"""The steps that every request of an operation passes, in this order. They are nowhere else.

Authentication -> rate limits (403) -> API version (400) -> required credentials (401) -> media type
(406, 415) -> path parameters to rows (404, 410, 301) -> permissions (403) -> query and body (400,
422) -> handler -> response (304 if the client has it already).

A request that changes something is first checked in a read transaction, so that a rejection does
not wait for the writer. It is checked again in the transaction of the change. A PATCH, a PUT or a
DELETE first locks what its path names, and so it sees the changes of earlier requests.
"""

from collections.abc import Callable, Mapping
from typing import Any

from hub.auth.quotas import RateStatus
from hub.http import conditional
from hub.http.conditional import SettledTime
from hub.http.error_headings import operation_place
from hub.http.errors import WriteRequired
from hub.http.media import accepts_text
from hub.http.response import Header, Response, TypedReply, header, set_media_type
from hub.http.routing import Endpoint, path_of
from hub.rest import auditing, redirects, resolve
from hub.rest.authenticate import Principal, authenticate_request, authorize_request, subject_of
from hub.rest.context import Context, Services
from hub.rest.cursors import Cursors
from hub.rest.fetching.long_polls import NothingYet
from hub.rest.middleware import wrap
from hub.rest.operation import Operation
from hub.rest.paging import Paging, link_header
from hub.rest.request import Request
from hub.rest.resolve import GoneOrMoved
from hub.rest.response_plan import ResponsePlan, plan_of, response_of
from hub.rest.validation import read_body, read_query, require_body
from hub.rest.versions import DEFAULT
from store import Connection, Row
from store.errors import Gone, Missing

PRIVATE: Header = (b"cache-control", b"private, max-age=60, s-maxage=60")
PUBLIC: Header = (b"cache-control", b"public, max-age=60, s-maxage=60")
FRESH: Header = (b"cache-control", b"no-cache")
CHANGING = ("DELETE", "PATCH", "PUT")


def operation_endpoint(services: Services, operation: Operation) -> Endpoint:
    plan, headers = plan_of(services, operation)

    async def work(request: Request) -> Response:
        return await _respond(services, plan, request)

    return wrap(services, work, operation_place(operation.id), headers=headers, door="api")


async def _respond(services: Services, plan: ResponsePlan, request: Request) -> Response:
    operation = plan.operation
    if operation.access.credentials == "password":
        await authenticate_request(services, request)
    if operation.writes:
        _, found = await services.store.read(_admit, services, plan, request)
        await _prepare(services, operation, request)
        if operation.computes:
            answer, who, _ = await services.compute(_respond_in, services, plan, request, False)
        elif operation.waits is None:
            answer, who, _ = await services.store.write(
                _change, services, plan, request, _lock_of(operation, found)
            )
        else:
            answer, who = await _respond_later(services, plan, request, found)
        _note(services, who)
        return answer
    try:
        answer, who, last_modified = await services.store.read_of(
            operation.id, _respond_in, services, plan, request, False
        )
    except WriteRequired:
        answer, who, last_modified = await services.store.write(
            _respond_in, services, plan, request, True
        )
    _note(services, who)
    if not operation.conditional:
        answer.headers.append(FRESH)
    elif answer.status == 200:
        answer.headers.append(PUBLIC if who == (None, None) else PRIVATE)
        unchanged = conditional.apply_conditions(answer, request.headers, last_modified)
        if unchanged and services.limits is not None and request.rate_charge is not None:
            services.limits.refund(request.rate_charge)
    return answer


async def _respond_later(
    services: Services, plan: ResponsePlan, request: Request, found: Mapping[str, Any]
) -> tuple[Response, Principal]:
    """Call the handler at each wake-up until it has something to answer, or the time is over."""
    assert plan.operation.waits is not None, "the caller has checked it"
    hook_id, seconds = plan.operation.waits(found, request.body)
    async with services.polls.waiting(hook_id, request.receive, seconds) as poll:
        while True:
            request.last_try = poll.over
            answer, who, _ = await services.store.write(_perform, services, plan, request, True)
            if not isinstance(answer, NothingYet):
                return answer, who
            # A receiver that waits must not use up its account's concurrent requests.
            if services.limits is not None:
                services.limits.end(request.rate_charge)
            await poll.wait(answer.next_at)


def _note(services: Services, who: Principal) -> None:
    if who.caller is not None:
        services.authentications.note(who.caller.account_id)


async def _prepare(services: Services, operation: Operation, request: Request) -> None:
    # An operation without a declared body ignores one that is sent.
    if operation.body is not None:
        most = operation.bodies * services.settings.max_body_bytes
        raw = await services.body_reader.read_and_release(request, most)
        raw = services.vocabulary.translate_request(raw)
        if operation.needs_body:
            require_body(raw)
        request.body = read_body(operation.body, raw, limit=most, only_object=operation.only_object)
    if operation.before is not None:
        await operation.before(services, request.body)


def _admit(
    db: Connection, services: Services, plan: ResponsePlan, request: Request
) -> tuple[Principal, dict[str, Any]]:
    """Authorize the request and load what its path names. The first row decides about access."""
    operation = plan.operation
    needed = operation.access
    request.response_headers = [] if operation.deprecated is None else [header("Link", plan.link)]
    forms = _forms(operation, request.accept)
    who = authorize_request(db, services, request, needed, plan.cost, forms)
    caller = who.caller
    if request.version not in operation.versions:
        raise Missing("operation")
    if operation.setting is not None and not getattr(services.settings, operation.setting):
        raise Gone(f"This operation is gone: the setting {operation.setting} of this server is off")
    needed.enter(db, caller, request.values, who.app)
    found: dict[str, Any] = {}
    first = _before_handler(db, services, operation, request, who, found)
    if first is not None:
        needed.see(db, caller, first)
    try:
        last = resolve.resolve_path(db, operation.steps[1:], request.values, found, first)
    except GoneOrMoved as error:
        raise redirects.gone_or_moved(db, services, operation, request, who, error) from None
    if first is not None and last is not None:
        needed.reach(db, caller, first, last)
    return who, found


def _forms(operation: Operation, accept: str) -> tuple[str, ...] | None:
    """Return the media type parameters to choose among; None if the answer is plain text."""
    return None if operation.answer is str and accepts_text(accept) else operation.media


def _before_handler(
    db: Connection,
    services: Services,
    operation: Operation,
    request: Request,
    who: Principal,
    found: dict[str, Any],
) -> Row | None:
    caller = who.caller
    owner = caller.account if caller is not None and operation.access.owned else who.app
    try:
        first = resolve.resolve_path(db, operation.steps[:1], request.values, found, owner)
    except Missing:
        redirects.follow_rename(db, services, operation, request, who)
        raise
    # If the first step finds no row, `first` is still the app, which access does not check.
    return None if first is who.app else first


def _lock_of(operation: Operation, found: Mapping[str, Any]) -> str:
    """Return the name of the lock for a path. All paths to the same row have the same."""
    rows = [row.get("id") if isinstance(row, dict) else row for row in found.values()]
    return f"requests to {operation.path} {rows}".lower()


def _change(
    db: Connection, services: Services, plan: ResponsePlan, request: Request, lock: str
) -> tuple[Response, Principal, SettledTime | None]:
    if plan.operation.method in CHANGING:
        # Two hubs would otherwise read the same row, and report one change twice, or lose one.
        db.alone(lock)
    return _respond_in(db, services, plan, request, True)


def _respond_in(
    db: Connection, services: Services, plan: ResponsePlan, request: Request, writes: bool
) -> tuple[Response, Principal, SettledTime | None]:
    answer, who, last_modified = _perform(db, services, plan, request, writes)
    assert not isinstance(answer, NothingYet), "the declaration says for how long it waits"
    return answer, who, last_modified


def _perform(
    db: Connection, services: Services, plan: ResponsePlan, request: Request, writes: bool
) -> tuple[Response | NothingYet, Principal, SettledTime | None]:
    operation = plan.operation
    who, found = _admit(db, services, plan, request)
    query = request.query
    given: dict[str, Any] = {} if operation.body is None else {"body": request.body}
    if operation.query is not None:
        given["query"] = read_query(operation.query, query)
    pages = None
    if operation.pages is not None:
        cursors = Cursors(db.vault, operation.id)
        given["page"] = pages = operation.pages(query, cursors, *operation.per_page)
    given |= {name: value for name, value in found.items() if name in operation.arguments}
    context = _context(db, services, operation, request, who)
    context.writes = writes
    content = operation.function(context, **given)
    if isinstance(content, NothingYet):
        return content, who, None
    answer = response_of(plan, content, request.version or DEFAULT)
    if operation.audited:
        _record(db, services, operation, request, who, found, content, answer.status)
    form = request.media.param
    if operation.family is not None and form in operation.media and services.vocabulary.names_forms:
        set_media_type(answer, operation.family, form)
    if pages is not None:
        _add_links(services, request, found, query, pages, answer)
    return answer, who, conditional.settled(_changed_at(context, found), db.now)


def _changed_at(context: Context, found: Mapping[str, Any]) -> int | None:
    """Return when the content last changed, or None if the handler does not know it.

    It is no earlier than the last change of a row in the path: the repository may have got another
    default branch, or another repository the name.
    """
    if context.last_modified is None:
        return None
    rows = [row for row in found.values() if isinstance(row, dict)]
    return max([context.last_modified, *(row.get("updated_at") or 0 for row in rows)])


def _record(
    db: Connection,
    services: Services,
    operation: Operation,
    request: Request,
    who: Principal,
    found: dict[str, Any],
    content: Any,
    status: int,
) -> None:
    auditing.record(
        db,
        services,
        request,
        operation.id,
        auditing.actor_of(services, request, *who),
        status,
        fields=auditing.changed(request.body, operation.fields),
        ids=auditing.ids_of(found, content.body if isinstance(content, TypedReply) else content),
    )


def _context(
    db: Connection, services: Services, operation: Operation, request: Request, who: Principal
) -> Context:
    return Context(
        db,
        services.urls,
        who.caller,
        operation.emits,
        who.app,
        request.version or DEFAULT,
        request.media,
        words=services.vocabulary,
        rate_status=_rate_status(db, services, request, who),
        address=lambda: services.clients.address(request.scope),
        link_seconds=services.settings.report_link_seconds,
        hooks_per_event=services.settings.hooks_per_event,
        last_try=request.last_try,
        pull_queue=services.pull_queue,
    )


def _rate_status(
    db: Connection, services: Services, request: Request, who: Principal
) -> Callable[[], list[RateStatus]] | None:
    limits = services.limits
    if limits is None:
        return None
    return lambda: limits.statuses(db, subject_of(services, request, who))


def _add_links(
    services: Services,
    request: Request,
    found: Mapping[str, Any],
    query: Mapping[str, str],
    pages: Paging,
    answer: Response,
) -> None:
    url = services.urls.path(path_of(request.scope))
    if "owner" in request.values:
        # Links stay valid when a repository gets another name.
        url = services.urls.repository_by_id(found["repo"]["id"], path_of(request.scope))
    link = link_header(url, query, pages)
    if link is None:
        return
    # Some clients read only one Link header.
    links = [value.decode() for name, value in request.response_headers if name == b"link"]
    request.response_headers = [one for one in request.response_headers if one[0] != b"link"]
    answer.headers.append(header("Link", ", ".join([link, *links])))
