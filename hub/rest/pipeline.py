"""The steps that every request of an operation passes, in this order. They are nowhere else.

Authentication -> rate limits (403) -> API version (400) -> required credentials (401) -> media type
(406, 415) -> path parameters to rows (404, 410, 301) -> permissions (403) -> query and body (400,
422) -> handler -> response (304 if the client has it already).

A request that changes something is first checked in a read transaction, so that a rejection does
not wait for the writer. It is checked again in the transaction of the change. A PATCH, a PUT or a
DELETE first locks what its path names, and so it sees the changes of earlier requests.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from hub.http import conditional
from hub.http.conditional import SettledTime
from hub.http.error_headings import operation_place
from hub.http.errors import WriteRequired
from hub.http.response import Header, Response, header, set_media_type
from hub.http.routing import Endpoint
from hub.rest import redirects, resolve
from hub.rest.authenticate import Principal, authenticate_request, authorize_request
from hub.rest.context import Services
from hub.rest.fetching.long_polls import NothingYet
from hub.rest.middleware import wrap
from hub.rest.operation import Operation
from hub.rest.paging import link_header
from hub.rest.request import Request
from hub.rest.request_run import RequestRun
from hub.rest.resolve import GoneOrMoved
from hub.rest.response_plan import ResponsePlan, plan_of, response_of
from hub.rest.validation import read_body, require_body
from hub.rest.versions import DEFAULT
from store import Connection, Row
from store.errors import Gone, Missing

PRIVATE: Header = (b"cache-control", b"private, max-age=60, s-maxage=60")
PUBLIC: Header = (b"cache-control", b"public, max-age=60, s-maxage=60")
FRESH: Header = (b"cache-control", b"no-cache")
CHANGING = ("DELETE", "PATCH", "PUT")


class RunResult(NamedTuple):
    """The response to a request, who has made it, and when the content last changed."""

    answer: Response
    who: Principal
    last_modified: SettledTime | None


def operation_endpoint(services: Services, operation: Operation) -> Endpoint:
    plan, headers = plan_of(services, operation)

    async def work(request: Request) -> Response:
        return await _respond(services, plan, request)

    return wrap(services, work, operation_place(operation.id), headers=headers, door="api")


async def _respond(services: Services, plan: ResponsePlan, request: Request) -> Response:
    operation = plan.operation
    if operation.access.credentials == "password":
        await authenticate_request(services, request)
    respond = _respond_to_change if operation.writes else _respond_to_read
    result = await respond(services, plan, request)
    if result.who.caller is not None:
        services.authentications.note(result.who.caller.account_id)
    if not operation.writes:
        _add_cache_headers(services, operation, request, result)
    return result.answer


async def _respond_to_change(services: Services, plan: ResponsePlan, request: Request) -> RunResult:
    operation = plan.operation
    found = await services.store.read(_check, services, plan, request)
    await _prepare(services, operation, request)
    if operation.computes:
        return await services.compute(_respond_in, services, plan, request, False)
    if operation.waits is not None:
        return await _respond_later(services, plan, request, *operation.waits(found, request.body))
    lock = _lock_of(operation, found)
    return await services.store.write(_change, services, plan, request, lock)


async def _respond_to_read(services: Services, plan: ResponsePlan, request: Request) -> RunResult:
    try:
        return await services.store.read_of(
            plan.operation.id, _respond_in, services, plan, request, False
        )
    except WriteRequired:
        return await services.store.write(_respond_in, services, plan, request, True)


def _add_cache_headers(
    services: Services, operation: Operation, request: Request, result: RunResult
) -> None:
    answer, who, last_modified = result
    if not operation.conditional:
        answer.headers.append(FRESH)
    elif answer.status == 200:
        answer.headers.append(PUBLIC if who == (None, None) else PRIVATE)
        unchanged = conditional.apply_conditions(answer, request.headers, last_modified)
        if unchanged and services.limits is not None and request.rate_charge is not None:
            services.limits.refund(request.rate_charge)


async def _respond_later(
    services: Services, plan: ResponsePlan, request: Request, hook_id: int, seconds: float
) -> RunResult:
    """Call the handler at each wake-up until it has something to answer, or the time is over."""
    async with services.polls.waiting(hook_id, request.receive, seconds) as poll:
        while True:
            request.last_try = poll.over
            result = await services.store.write(_perform, services, plan, request, True)
            if not isinstance(result, NothingYet):
                return result
            # A receiver that waits must not use up its account's concurrent requests.
            if services.limits is not None:
                services.limits.end(request.rate_charge)
            await poll.wait(result.next_at)


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


def _check(
    db: Connection, services: Services, plan: ResponsePlan, request: Request
) -> Mapping[str, Any]:
    """Admit the request. Return what its path names."""
    return _admit(db, services, plan, request).found


def _admit(db: Connection, services: Services, plan: ResponsePlan, request: Request) -> RequestRun:
    """Authorize the request and load what its path names. The first row decides about access."""
    operation = plan.operation
    needed = operation.access
    request.response_headers = [] if operation.deprecated is None else [header("Link", plan.link)]
    who = authorize_request(db, services, request, needed, plan.cost, plan.forms(request.accept))
    if request.version not in operation.versions:
        raise Missing("operation")
    if operation.setting is not None and not getattr(services.settings, operation.setting):
        raise Gone(f"This operation is gone: the setting {operation.setting} of this server is off")
    needed.enter(db, who.caller, request.values, who.app)
    run = RequestRun(db, services, operation, request, who, {})
    first = _find_first(run)
    if first is not None:
        run = _on_owner(run, first)
        needed.see(db, run.who.caller, first)
    try:
        last = resolve.resolve_path(db, operation.steps[1:], request.values, run.found, first)
    except GoneOrMoved as error:
        raise redirects.gone_or_moved(db, services, operation, request, who, error) from None
    if first is not None and last is not None:
        needed.reach(db, run.who.caller, first, last)
    return run


def _on_owner(run: RequestRun, first: Row) -> RequestRun:
    """Return the run with the caller's rights on the account of the path's first row."""
    who, owner_id = run.who, run.operation.access.owner_of(first)
    if who.caller is None or owner_id is None:
        return run
    return run._replace(who=who._replace(caller=who.caller.within(run.db, owner_id)))


def _find_first(run: RequestRun) -> Row | None:
    """Find what the path names first. Return it if access has to check it."""
    db, services, operation, request, who, found = run
    owner = who.caller.account if who.caller is not None and operation.access.owned else who.app
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
) -> RunResult:
    if plan.operation.method in CHANGING:
        # Two hubs would otherwise read the same row, and report one change twice, or lose one.
        db.alone(lock)
    return _respond_in(db, services, plan, request, True)


def _respond_in(
    db: Connection, services: Services, plan: ResponsePlan, request: Request, writes: bool
) -> RunResult:
    result = _perform(db, services, plan, request, writes)
    assert not isinstance(result, NothingYet), "the declaration says for how long it waits"
    return result


def _perform(
    db: Connection, services: Services, plan: ResponsePlan, request: Request, writes: bool
) -> RunResult | NothingYet:
    run = _admit(db, services, plan, request)
    operation, query = plan.operation, request.query
    given = run.arguments()
    context = run.context()
    context.writes = writes
    content = operation.function(context, **given)
    if isinstance(content, NothingYet):
        return content
    answer = response_of(plan, content, request.version or DEFAULT)
    if operation.audited:
        run.record(content, answer.status)
    form = request.media.param
    if operation.family is not None and form in operation.media and services.vocabulary.names_forms:
        set_media_type(answer, operation.family, form)
    if operation.pages is not None:
        _add_links(run, answer, link_header(run.page_url, query, given["page"]))
    return RunResult(answer, run.who, conditional.settled(run.changed_at(context), db.now))


def _add_links(run: RequestRun, answer: Response, link: str | None) -> None:
    if link is None:
        return
    request = run.request
    # Some clients read only one Link header.
    links = [value.decode() for name, value in request.response_headers if name == b"link"]
    request.response_headers = [one for one in request.response_headers if one[0] != b"link"]
    answer.headers.append(header("Link", ", ".join([link, *links])))
