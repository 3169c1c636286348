"""`POST /hub`: subscriptions to a repository's events, like PubSubHubbub's."""

import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from hub.auth import hook_rights, repository_access
from hub.auth.credentials import Caller
from hub.auth.rate_limits import WRITE
from hub.http.accept import Accept
from hub.http.body import apart
from hub.http.errors import Rejected
from hub.http.forms import URLENCODED, read_form
from hub.http.response import Response
from hub.ingest import hook_events, subscription
from hub.ingest.subscription import MOST_URL, Subscription
from hub.rest import auditing
from hub.rest.authenticate import RequestCost, authorize_request
from hub.rest.context import Context, Services
from hub.rest.request import Request
from store import Connection, Row
from store.errors import Invalid, Missing
from store.repositories import repository_names

DESCRIPTION = """Subscribe to events of a repository, or unsubscribe

The form is urlencoded or multipart. Its fields are `hub.mode` (subscribe or unsubscribe), \
`hub.topic`, `hub.callback`, and `hub.secret` (at most 1024 bytes). The response is 204.

`hub.topic` is a URL whose path ends with /{owner}/{repo}/events/{event}, on any host. If it ends \
with .json, or if the request has the header Accept: application/json, deliveries are raw JSON. \
Otherwise a delivery is a form with the field payload.

If the repository has a hook with this callback and this event already, subscribing changes that \
hook. Its format and secret count for all its events. A secret that is left out stays; an empty \
one removes it. A hook with this callback, format and secret gets the event too. Otherwise there \
is a new hook. Unsubscribing from an event without a subscription is no error. A repository that \
the token may not see gets the same response as one that does not exist: 422."""

ACCESS = hook_rights.WRITE
TOPIC = re.compile(r"(?:/[^/]+)*/([^/]+)/([^/]+)/events/([^/]+?)(\.json)?")
COST = RequestCost(points=WRITE)
JSON = "application/json"
MODES = ("subscribe", "unsubscribe")


@dataclass(slots=True)
class SubscriptionRequest:
    """A parsed request: `mode` is subscribe or unsubscribe, and `topic` is the URL as sent."""

    mode: str
    topic: str
    owner: str
    repo: str
    wanted: Subscription


async def subscribe(services: Services, request: Request) -> Response:
    """Answer POST /hub. A repository that the caller may not see is treated as missing."""
    try:
        return await _subscribe(services, request)
    except Invalid as error:
        # The response gives the message itself instead of "Validation Failed".
        raise Rejected(str(error)) from None


async def _subscribe(services: Services, request: Request) -> Response:
    caller, _ = await services.store.read(authorize_request, services, request, ACCESS, COST, None)
    assert caller is not None, "this access requires a token"
    wish = await _read_request(services, request)
    await services.store.read(_topic, caller, wish)
    if wish.mode == "subscribe":
        await services.validate_callback(wish.wanted.callback)
    await services.store.write(_grant, services, request, wish)
    return Response(204)


async def _read_request(services: Services, request: Request) -> SubscriptionRequest:
    most = services.settings.max_body_bytes
    body = await services.body_reader.read_and_release(request, most)
    fields = await apart(body, read_form, body, request.scope)
    mode = fields.get("hub.mode")
    if mode and mode not in MODES:
        raise Rejected(f'Invalid hub.mode: "{mode[:100]}": subscribe or unsubscribe')
    for name in ("hub.mode", "hub.topic", "hub.callback"):
        if not fields.get(name):
            raise Rejected(f"{name} is missing")
    return _checked(fields, as_json=_wants_json(request.accept))


def _wants_json(accept: str) -> bool:
    """Return whether the header names JSON and does not prefer the form, which is the default."""
    asked = Accept(accept)
    as_json, as_form = asked.explicit(JSON), asked.explicit(URLENCODED)
    if as_json is None or not as_json.weight:
        return False
    return as_form is None or as_json.weight >= as_form.weight


def _checked(fields: dict[str, str], *, as_json: bool) -> SubscriptionRequest:
    mode, topic, callback = (fields[f"hub.{name}"] for name in ("mode", "topic", "callback"))
    owner, repo, event, suffix = _parts(topic)
    wanted = Subscription(event, callback, as_json or suffix, fields.get("hub.secret"))
    subscription.check(wanted)
    return SubscriptionRequest(mode, topic, owner, repo, wanted)


def _parts(topic: str) -> tuple[str, str, str, bool]:
    try:
        found = TOPIC.fullmatch(urlsplit(topic).path) if len(topic) <= MOST_URL else None
    except ValueError:
        found = None
    if found is None:
        raise Rejected(
            f'Invalid hub.topic: "{topic[:200]}":'
            " its path must be /{owner}/{repo}/events/{event}"
        )
    return unquote(found[1]), unquote(found[2]), unquote(found[3]), found[4] is not None


def _topic(db: Connection, caller: Caller, wish: SubscriptionRequest) -> Row:
    """Return the topic's repository, after a check that the caller may administer its hooks.

    Raises Rejected if it does not exist or may not be seen.
    """
    try:
        repo = repository_names.find(db, wish.owner, wish.repo)
        if repo is None:
            raise Missing("repository")
        repository_access.check(db, ACCESS, caller, repo)
    except Missing:
        raise Rejected(f'No repository found for hub.topic: "{wish.topic}"') from None
    return repo


def _grant(db: Connection, services: Services, request: Request, wish: SubscriptionRequest) -> None:
    caller, _ = authorize_request(db, services, request, ACCESS, COST, None)
    assert caller is not None, "this access requires a token"
    repo = _topic(db, caller, wish)
    ctx = Context(db, services.urls, caller, hook_events.EMITS)
    if wish.mode == "unsubscribe":
        hook = subscription.unsubscribe(ctx, repo, wish.wanted)
    else:
        hook = subscription.subscribe(ctx, repo, wish.wanted, services.settings.hooks_per_event)
    auditing.record(
        db,
        services,
        request,
        f"hub/{wish.mode}",
        auditing.actor_of(services, request, caller),
        204,
        target=f"/{repo['full_name']}/events/{wish.wanted.event}",
        fields=() if wish.wanted.secret is None else ("hub.secret",),
        ids=auditing.ids_of({"repo": repo}, hook),
    )
