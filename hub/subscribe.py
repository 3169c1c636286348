"""`POST /hub`: subscriptions to a repository's events, in the manner of PubSubHubbub."""

import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from hub import access, auditing, hook_events
from hub.access import on_repo
from hub.answers import Answer
from hub.auth import Caller
from hub.call import Call, Work
from hub.context import Context, House
from hub.entry import Cost, enter
from hub.errors import Rejected
from hub.forms import read_form
from hub.limits import WRITE
from hub.resolve import find_repository
from store import Connection, Row, hooks
from store.errors import Invalid
from store.event_names import EVERY, NAMES, OWN

DESCRIPTION = """Subscribe to events of a repository, or unsubscribe

Form fields, urlencoded or multipart: `hub.mode` (subscribe or unsubscribe), `hub.topic` (a URL \
whose path ends with /{owner}/{repo}/events/{event}, on any host; with .json, or with the header \
Accept: application/json, deliveries are raw JSON, otherwise a form with the field payload), \
`hub.callback`, and `hub.secret` (at most 1024 bytes). The answer is 204.

Subscribing again changes the hook in place: it is the repository's one with this callback. \
A secret that is left out stays, an empty one removes it. Unsubscribing from what is not \
subscribed is no error."""

ACCESS = on_repo("webhooks", "write", role="admin", scopes=("write:repo_hook", "repo"))
TOPIC = re.compile(r"(?:/[^/]+)*/([^/]+)/([^/]+)/events/([^/]+?)(\.json)?")
COST = Cost(points=WRITE)
MODES = ("subscribe", "unsubscribe")
MOST_SECRET, MOST_URL = 1024, 2048


@dataclass(slots=True)
class Wish:
    """What a request asks for. `secret` None leaves the one there is."""

    mode: str
    topic: str
    owner: str
    repo: str
    event: str
    json: bool
    callback: str
    secret: str | None


def subscribe(house: House) -> Work:
    """The endpoint's work.

    The repository's absence (422) and its privacy (404) are told apart, as in the interface this
    follows.
    """

    async def work(call: Call) -> Answer:
        caller, _ = await house.store.read(enter, house, call, ACCESS, COST, None)
        assert caller is not None, "this access is nobody's without a name"
        call.told = caller.headers(ACCESS.accepted)
        wish = await _wish(house, call)
        await house.store.read(_topic, caller, wish)
        if wish.mode == "subscribe":
            await house.judge_callback(wish.callback)
        await house.store.write(_grant, house, call, wish)
        return Answer(204)

    async def answered(call: Call) -> Answer:
        try:
            return await work(call)
        except Invalid as error:
            # Here the message itself says what is wrong, in place of "Validation Failed".
            raise Rejected(str(error)) from None

    return answered


async def _wish(house: House, call: Call) -> Wish:
    body = await house.intake.read(call.headers, call.receive, house.settings.max_body_bytes)
    house.intake.give_back(len(body))
    fields = await read_form(call.scope, body)
    for name in ("hub.mode", "hub.topic", "hub.callback"):
        if not fields.get(name):
            raise Rejected(f"{name} is missing")
    accept = call.headers.get(b"accept", b"").decode("latin-1")
    return _checked(fields, as_json="application/json" in accept.lower())


def _checked(fields: dict[str, str], *, as_json: bool) -> Wish:
    mode, topic, callback = (fields[f"hub.{name}"] for name in ("mode", "topic", "callback"))
    secret = fields.get("hub.secret")
    if mode not in MODES:
        raise Rejected(f'Invalid hub.mode: "{mode[:100]}": subscribe or unsubscribe')
    if len(callback) > MOST_URL:
        raise Rejected(f"hub.callback is longer than {MOST_URL} characters")
    if secret is not None and len(secret.encode()) > MOST_SECRET:
        raise Rejected(f"hub.secret is longer than {MOST_SECRET} bytes")
    owner, repo, event, suffix = _parts(topic)
    if event != EVERY and event not in NAMES | OWN:
        raise Rejected(f'Invalid event: "{event[:100]}"')
    return Wish(mode, topic, owner, repo, event, as_json or suffix, callback, secret)


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


def _topic(db: Connection, caller: Caller, wish: Wish) -> Row:
    """The repository of the topic, once the caller may administer its hooks."""
    repo = find_repository(db, wish.owner, wish.repo)
    if repo is None:
        raise Rejected(f'No repository found for hub.topic: "{wish.topic}"')
    access.check(db, ACCESS, caller, repo)
    return repo


def _grant(db: Connection, house: House, call: Call, wish: Wish) -> None:
    caller, _ = enter(db, house, call, ACCESS, COST, None)
    assert caller is not None, "this access is nobody's without a name"
    repo = _topic(db, caller, wish)
    ctx = Context(db, house.urls, caller, hook_events.EMITS)
    hook = hooks.by_url(db, repo["id"], wish.callback, wish.event)
    if wish.mode == "unsubscribe":
        if hook is not None:
            _remove(ctx, repo, hook, wish.event)
    elif hook is None:
        hook = _create(db, repo, wish)
        hook_events.ping(ctx, repo, hook)
    else:
        _change(db, hook, wish)
    auditing.record(
        db,
        house,
        call,
        f"hub/{wish.mode}",
        auditing.actor_of(house, call, caller),
        204,
        target=f"/{repo['full_name']}/events/{wish.event}",
        fields=() if wish.secret is None else ("hub.secret",),
        ids=auditing.ids_of({"repo": repo}, hook),
    )


def _create(db: Connection, repo: Row, wish: Wish) -> Row:
    return hooks.create(
        db,
        repo["id"],
        url=wish.callback,
        events=[wish.event],
        content_type="json" if wish.json else "form",
        secret=wish.secret,
    )


def _change(db: Connection, hook: Row, wish: Wish) -> None:
    kept = {} if wish.secret is None else {"secret": wish.secret}
    hooks.update(
        db,
        hook,
        events=[*hook["events"], wish.event],
        content_type="json" if wish.json else "form",
        active=True,
        **kept,
    )


def _remove(ctx: Context, repo: Row, hook: Row, event: str) -> None:
    left = [name for name in hook["events"] if name != event]
    if len(left) == len(hook["events"]):
        if EVERY in left:
            raise Rejected('The hook receives every event: unsubscribe it from "*"')
    elif left:
        hooks.update(ctx.db, hook, events=left)
    else:
        hook_events.delete(ctx, repo, hook)
