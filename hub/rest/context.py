"""The services shared by all endpoints, and the context that each handler receives."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from hub.auth.authentications import Authentications
from hub.auth.credentials import Caller
from hub.auth.passwords import Passwords
from hub.auth.quotas import RateStatus
from hub.auth.rate_limits import RateLimits
from hub.http.body import BodyReader
from hub.http.body_memory import BodyMemory
from hub.http.client_address import UNKNOWN_ADDRESS, ClientAddresses
from hub.http.errors import WriteRequired
from hub.http.media import PLAIN, Media
from hub.rest import event_payloads, serializers
from hub.rest.event_payloads import EventData
from hub.rest.fetching.long_polls import Ending, LongPolls
from hub.rest.fetching.pull_queue import PullQueue
from hub.rest.metrics import HubMetrics
from hub.rest.urls import Urls
from hub.rest.versions import DEFAULT
from hub.rest.vocabulary import Vocabulary
from hub.settings import HubSettings
from store import Connection, Row, Store
from store.accounts import accounts
from store.database.store import READERS
from store.delivery import incoming, outbox
from store.errors import Invalid
from store.hooks import pull_urls
from store.hooks.trial import TrialAnswer, TrialRequest
from store.tracing import Tracer

P = ParamSpec("P")
T = TypeVar("T")
CallbackValidator = Callable[[str], Awaitable[None]]
# So many reads that compute for long leave threads of the store to others.
MOST_COMPUTING = READERS // 2


class Trials(Protocol):
    """An object that builds and sends single requests outside the queue."""

    def build(self, trial: TrialRequest) -> TrialAnswer:
        """Return the request without sending it."""
        ...

    async def send(self, trial: TrialRequest) -> TrialAnswer:
        """Send the request and return the answer. Raises Busy if too many are under way."""
        ...


@dataclass(slots=True)
class Services:
    """The objects that every endpoint works with. `create_app` makes them once."""

    store: Store
    settings: HubSettings
    callback_validator: CallbackValidator
    metrics: HubMetrics = field(default_factory=HubMetrics)
    trials: Trials | None = None
    """None if this process cannot send requests."""
    pull_queue: PullQueue | None = None
    """None if this process cannot build deliveries."""
    ending: Ending = lambda: False
    tracer: Tracer | None = None
    """None if no spans are exported."""
    polls: LongPolls = field(init=False)
    urls: Urls = field(init=False)
    documentation: str = field(init=False)
    """The beginning of every `documentation_url` in errors."""
    body_reader: BodyReader = field(init=False)
    limits: RateLimits | None = field(init=False)
    """None if rate limiting is off."""
    passwords: Passwords = field(init=False)
    authentications: Authentications = field(init=False)
    clients: ClientAddresses = field(init=False)
    vocabulary: Vocabulary = field(init=False)
    _computing: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        settings = self.settings
        self.polls = LongPolls(self.store, self.ending)
        self.urls = Urls(settings.root())
        self.documentation = settings.documentation()
        self.limits = RateLimits(self.store, settings) if settings.rate_limiting else None
        self.passwords = Passwords(self.store, settings)
        self.authentications = Authentications(self.store)
        self.clients = ClientAddresses(settings.trusted_proxies)
        memory = BodyMemory(settings.max_held_bytes, self.clients)
        self.body_reader = BodyReader(memory, settings.body_timeout)
        self.vocabulary = Vocabulary(settings.vocabulary, settings.root())
        self._computing = asyncio.Semaphore(MOST_COMPUTING)

    async def close(self) -> None:
        """Close the background work and write what is still to be stored."""
        await self.authentications.close()
        if self.limits is not None:
            await self.limits.close()

    async def compute(
        self, function: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a function that only reads and computes for long. It never runs on the event loop."""

        def work(db: Connection) -> T:
            db.require_thread()
            return function(db, *args, **kwargs)

        async with self._computing:
            return await self.store.read(work)

    async def validate_callback(self, url: str) -> None:
        """Check that a hook may deliver to this URL. Raises Invalid with the reason if not.

        Nothing is sent to the URL of a pull hook, so only its name is checked.
        """
        if pull_urls.is_pull(url):
            pull_urls.check(url)
            return
        try:
            await self.callback_validator(url)
        except Invalid as error:
            raise Invalid(str(error), field="url", code="custom", resource="Hook") from None


@dataclass(slots=True)
class Context:
    """The context of one handler call in its transaction."""

    db: Connection
    urls: Urls
    caller: Caller | None
    """The authenticated user or installation; None for an application or an anonymous request."""
    emits: tuple[str, ...] = ()
    app: Row | None = None
    """The authenticated application, where access is `as_app` or `as_integration`."""
    version: str = DEFAULT
    """The API version of the response."""
    media: Media = PLAIN
    """The form of response that the client asked for."""
    last_modified: int | None = None
    """When the content last changed, in microseconds; set by the handler."""

    words: Vocabulary | None = None
    rate_status: Callable[[], list[RateStatus]] | None = None
    """Returns the caller's rate limit status. None if rate limiting is off."""
    address: Callable[[], str] = lambda: UNKNOWN_ADDRESS
    """Returns the client's address as `hub.http.client_address` defines it."""
    writes: bool = True
    """Whether the transaction can write."""
    link_seconds: int = 3600
    """Lifetime of a link to a file, in seconds."""
    hooks_per_event: int = 0
    """How many hooks of a repository may subscribe to one event; 0 means no limit."""
    last_try: bool = True
    """Whether a handler that may return NothingYet has to answer now."""
    pull_queue: PullQueue | None = None
    """The deliveries of pull hooks. None if this process cannot build deliveries."""

    @property
    def now(self) -> int:
        """Return the transaction's time, in microseconds."""
        return self.db.now

    @property
    def required_caller(self) -> Caller:
        """Return the caller of an operation that requires a user or an installation."""
        assert self.caller is not None, "this access requires a token"
        return self.caller

    @property
    def required_app(self) -> Row:
        """Return the app of an operation that requires one."""
        assert self.app is not None, "access is as_app or as_integration"
        return self.app

    def require_write(self) -> None:
        """Require a transaction that can write.

        A handler of a GET is first run in a read transaction. If it calls this there, WriteRequired
        makes the pipeline run it again in a write transaction.
        """
        if not self.writes:
            raise WriteRequired

    def emit(
        self,
        event: str,
        repo: Row | None,
        *,
        only_hook: int | None = None,
        also_hook: int | None = None,
        **payload: Any,
    ) -> incoming.Receipt:
        """Store `name` or `name.action` as an event of the repository, or of none.

        The payload's sender is the caller unless the payload names another. With `only_hook` the
        event goes to that hook alone, whether subscribed or not. With `also_hook` it goes to that
        hook and to the hooks that are subscribed.
        """
        ((repo_id, content),) = self._payloads(event, [(repo, payload)])
        name, _, action = event.partition(".")
        return outbox.emit(
            self.db,
            name,
            action or None,
            repo_id,
            content,
            only_hook=only_hook,
            also_hook=also_hook,
        )

    def emit_all(self, event: str, data: Sequence[EventData], *, sent: bool = True) -> None:
        """Store one event for each change, with as few statements as for a single one.

        Without `sent`, the caller has not caused the changes, and the payloads get no sender.
        """
        name, _, action = event.partition(".")
        outbox.emit_many(self.db, name, action or None, self._payloads(event, data, sent))

    def _payloads(
        self, event: str, data: Sequence[EventData], sent: bool = True
    ) -> list[tuple[int, dict[str, Any]]]:
        assert event in self.emits, f"{event} is not in the declaration's emits"
        by = {"sender": self._sender()} if sent else {}
        spoken = [(repo, by | payload) for repo, payload in data]
        return event_payloads.payloads(self.urls, self.words, self.db, spoken)

    def _sender(self) -> serializers.SimpleUser | None:
        account = accounts.get(self.db, self.caller.account_id) if self.caller else None
        return None if account is None else serializers.simple_user(self.urls, account)
