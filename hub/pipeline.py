"""What happens to every request of an operation, in order; the only place where those steps live.

Who asks -> what it costs (403 beyond a limit) -> which version (400) -> nobody,
where somebody is needed (401) -> form of the answer (406, 415) -> path into rows (404, 410, 301) ->
may they (403) -> query and body (400, 422) -> handler -> answer (304 where the client has it).

What changes something is let in by a read, so that nobody waits for the writer in order to be
refused, and once more in the transaction of the change.
"""

from collections.abc import Callable, Mapping
from typing import Any

from hub import auditing, conditional, elsewhere, resolve
from hub.answers import Answer, Header, Reply, header, in_form
from hub.call import Call
from hub.context import Context, House
from hub.endpoint import endpoint
from hub.entry import Who, enter, meet, subject_of
from hub.errors import WriteNeeded
from hub.operation import Operation
from hub.paging import Pages, link_header
from hub.plan import Plan, answer_of, plan_of
from hub.quotas import Status
from hub.resolve import Left
from hub.routing import Endpoint, path_of
from hub.validation import read_body, read_query
from hub.versions import DEFAULT
from store import Connection, Row
from store.errors import Gone, Missing

PRIVATE: Header = (b"cache-control", b"private, max-age=60, s-maxage=60")
PUBLIC: Header = (b"cache-control", b"public, max-age=60, s-maxage=60")
FRESH: Header = (b"cache-control", b"no-cache")


def operation_endpoint(house: House, operation: Operation) -> Endpoint:
    """Where an operation's requests arrive."""
    plan, told = plan_of(house, operation)

    async def work(call: Call) -> Answer:
        return await _respond(house, plan, call)

    return endpoint(house, work, f"#{operation.id}", told=told, door="api")


async def _respond(house: House, plan: Plan, call: Call) -> Answer:
    operation = plan.operation
    if operation.access.credentials == "password":
        await meet(house, call)
    if operation.writes:
        await house.store.read(_admit, house, plan, call)
        await _prepare(house, operation, call)
        answer, _, _ = await house.store.write(_perform, house, plan, call, True)
        return answer
    try:
        answer, who, last_modified = await house.store.read(_perform, house, plan, call, False)
    except WriteNeeded:
        answer, who, last_modified = await house.store.write(_perform, house, plan, call, True)
    if not operation.conditional:
        answer.headers.append(FRESH)
    elif answer.status == 200:
        answer.headers.append(PUBLIC if who == (None, None) else PRIVATE)
        unchanged = conditional.applied(answer, call.headers, last_modified)
        if unchanged and house.limits is not None and call.ticket is not None:
            house.limits.refund(call.ticket)
    return answer


async def _prepare(house: House, operation: Operation, call: Call) -> None:
    # What has no body may be sent one; it is left unread.
    if operation.body is not None:
        most = operation.bodies * house.settings.max_body_bytes
        raw = await house.intake.read(call.headers, call.receive, most)
        house.intake.give_back(len(raw))
        raw = house.vocabulary.inward(raw)
        call.body = read_body(operation.body, raw, only_object=operation.only_object)
    if operation.before is not None:
        await operation.before(house, call.body)


def _admit(db: Connection, house: House, plan: Plan, call: Call) -> tuple[Who, dict[str, Any]]:
    """Who asks, and what the path names; the first of it is what access is given to."""
    operation = plan.operation
    needed = operation.access
    call.told = [] if operation.deprecated is None else [header("Link", plan.link)]
    who = enter(db, house, call, needed, plan.cost, operation.media)
    caller = who.caller
    if caller is not None:
        call.told += caller.headers(needed.accepted) or [plan.permissions]
    if call.version not in operation.versions:
        raise Missing("operation")
    if operation.setting is not None and not getattr(house.settings, operation.setting):
        raise Gone(f"This is gone: the setting {operation.setting} of this server is off")
    needed.enter(db, caller, call.values, who.app)
    found: dict[str, Any] = {}
    first = _first(db, house, operation, call, who, found)
    if first is not None:
        needed.see(db, caller, first)
    try:
        last = resolve.take(db, operation.steps[1:], call.values, found, first)
    except Left as error:
        raise elsewhere.left(db, house, operation, call, who, error) from None
    if first is not None and last is not None:
        needed.reach(db, caller, first, last)
    return who, found


def _first(
    db: Connection,
    house: House,
    operation: Operation,
    call: Call,
    who: Who,
    found: dict[str, Any],
) -> Row | None:
    caller = who.caller
    owner = caller.account if caller is not None and operation.access.owned else None
    try:
        return resolve.take(db, operation.steps[:1], call.values, found, owner)
    except Missing:
        elsewhere.follow(db, house, operation, call, who)
        raise


def _perform(
    db: Connection, house: House, plan: Plan, call: Call, writes: bool
) -> tuple[Answer, Who, int | None]:
    who, found = _admit(db, house, plan, call)
    operation = plan.operation
    query = call.query
    given: dict[str, Any] = {} if operation.body is None else {"body": call.body}
    if operation.query is not None:
        given["query"] = read_query(operation.query, query)
    pages = None if operation.pages is None else operation.pages(query, *operation.per_page)
    if pages is not None:
        given["page"] = pages
    given |= {name: value for name, value in found.items() if name in operation.arguments}
    context = _context(db, house, operation, call, who)
    context.writes = writes
    content = operation.function(context, **given)
    answer = answer_of(plan, content, call.version or DEFAULT)
    if operation.audited:
        _record(db, house, operation, call, who, found, content, answer.status)
    if operation.family and call.media.param is not None:
        in_form(answer, operation.family, call.media.param)
    if pages is not None:
        _add_links(house, call, query, pages, answer)
    return answer, who, context.last_modified


def _record(
    db: Connection,
    house: House,
    operation: Operation,
    call: Call,
    who: Who,
    found: dict[str, Any],
    content: Any,
    status: int,
) -> None:
    auditing.record(
        db,
        house,
        call,
        operation.id,
        auditing.actor_of(house, call, *who),
        status,
        fields=auditing.changed(call.body, operation.fields),
        ids=auditing.ids_of(found, content.body if isinstance(content, Reply) else content),
    )


def _context(db: Connection, house: House, operation: Operation, call: Call, who: Who) -> Context:
    return Context(
        db,
        house.urls,
        who.caller,
        operation.emits,
        who.app,
        call.version or DEFAULT,
        call.media,
        words=house.vocabulary,
        standing=_standing(db, house, call, who),
        address=lambda: house.clients.address(call.scope),
        link_seconds=house.settings.report_link_seconds,
    )


def _standing(
    db: Connection, house: House, call: Call, who: Who
) -> Callable[[], list[Status]] | None:
    limits = house.limits
    if limits is None:
        return None
    return lambda: limits.statuses(db, subject_of(house, call, who))


def _add_links(
    house: House, call: Call, query: Mapping[str, str], pages: Pages, answer: Answer
) -> None:
    url = house.urls.path(path_of(call.scope))
    link = link_header(url, query, pages)
    if link is None:
        return
    # One Link header, for those who read only one.
    told = [value.decode() for name, value in call.told if name == b"link"]
    call.told = [one for one in call.told if one[0] != b"link"]
    answer.headers.append(header("Link", ", ".join([link, *told])))
