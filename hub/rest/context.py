"""What handlers are given: the open transaction, who asks, and ways to link and to emit."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from hub.auth.authentications import Authentications
from hub.auth.credentials import Caller
from hub.auth.passwords import Passwords
from hub.auth.quotas import RateStatus
from hub.auth.rate_limits import RateLimits
from hub.http.body import BodyReader
from hub.http.client_address import UNKNOWN_ADDRESS, ClientAddresses
from hub.http.errors import WriteRequired
from hub.http.media import PLAIN, Media
from hub.rest import event_payloads, serializers
from hub.rest.event_payloads import EventData
from hub.rest.metrics import HubMetrics
from hub.rest.urls import Urls
from hub.rest.versions import DEFAULT
from hub.rest.vocabulary import Vocabulary
from hub.settings import HubSettings
from store import Connection, Row, Store
from store.accounts import accounts
from store.delivery import events, outbox
from store.errors import Invalid

CallbackValidator = Callable[[str], Awaitable[None]]


@dataclass(slots=True)
class Services:
    """What every endpoint works with; made once, in `create_app`."""

    store: Store
    settings: HubSettings
    judge: CallbackValidator
    measures: HubMetrics = field(default_factory=HubMetrics)
    urls: Urls = field(init=False)
    documentation: str = field(init=False)
    """What `documentation_url` in errors begins with."""
    intake: BodyReader = field(init=False)
    limits: RateLimits | None = field(init=False)
    """None where there are none."""
    passwords: Passwords = field(init=False)
    authentications: Authentications = field(init=False)
    clients: ClientAddresses = field(init=False)
    vocabulary: Vocabulary = field(init=False)

    def __post_init__(self) -> None:
        settings = self.settings
        self.urls = Urls(settings.root())
        self.documentation = settings.documentation()
        self.intake = BodyReader(settings.max_held_bytes, settings.body_timeout)
        self.limits = RateLimits(self.store, settings) if settings.rate_limiting else None
        self.passwords = Passwords(self.store, settings)
        self.authentications = Authentications(self.store)
        self.clients = ClientAddresses(settings.trusted_proxies)
        self.vocabulary = Vocabulary(settings.vocabulary, settings.root())

    async def close(self) -> None:
        """Write what is to be remembered."""
        await self.authentications.close()
        if self.limits is not None:
            await self.limits.close()

    async def validate_callback(self, url: str) -> None:
        """Invalid, with the judge's reason, where a hook may not deliver to this URL."""
        try:
            await self.judge(url)
        except Invalid as error:
            raise Invalid(str(error), field="url", code="custom", resource="Hook") from None


@dataclass(slots=True)
class Context:
    """One run of a handler in its transaction."""

    db: Connection
    urls: Urls
    caller: Caller | None
    """Who asks: a user, in person or by a token."""
    emits: tuple[str, ...] = ()
    app: Row | None = None
    """The application that asks, where access is `as_app`."""
    version: str = DEFAULT
    """Of the API, as the answer has to be."""
    media: Media = PLAIN
    """What form of answer is asked for."""
    last_modified: int | None = None
    """For the handler to set: when what it answers with changed last, in microseconds."""

    words: Vocabulary | None = None
    standing: Callable[[], list[RateStatus]] | None = None
    """Tells where the caller stands with the rate limits, where there are any."""
    address: Callable[[], str] = lambda: UNKNOWN_ADDRESS
    """Tells where the request comes from, as `hub.http.client_address` has it."""
    writes: bool = True
    """Whether something can be written."""
    link_seconds: int = 3600
    """For how long a link to a file can be followed."""
    hooks_per_event: int = 0
    """How many hooks of a repository may be for the same event; 0: no limit."""

    @property
    def now(self) -> int:
        """The transaction's time, in microseconds."""
        return self.db.now

    def require_write(self) -> None:
        """Go on where something can be written: a handler that only reads is run again there."""
        if not self.writes:
            raise WriteRequired

    def emit(
        self, event: str, repo: Row | None, *, only_hook: int | None = None, **payload: Any
    ) -> events.Receipt:
        """Write `name` or `name.action` as an event of the repository, or of none, sent by the
        caller unless the payload says by whom.

        With `only_hook` it goes to that hook alone, subscribed or not.
        """
        ((repo_id, content),) = self._payloads(event, [(repo, payload)])
        name, _, action = event.partition(".")
        return outbox.emit(self.db, name, action or None, repo_id, content, only_hook=only_hook)

    def emit_all(self, event: str, told: Sequence[EventData]) -> None:
        """The same of many changes, with as few statements as of one."""
        name, _, action = event.partition(".")
        outbox.emit_many(self.db, name, action or None, self._payloads(event, told))

    def _payloads(self, event: str, told: Sequence[EventData]) -> list[tuple[int, dict[str, Any]]]:
        assert event in self.emits, f"{event} is not in the declaration's emits"
        sender = self._sender()
        spoken = [(repo, {"sender": sender} | payload) for repo, payload in told]
        return event_payloads.payloads(self.urls, self.words, self.db, spoken)

    def _sender(self) -> serializers.SimpleUser | None:
        account = accounts.get(self.db, self.caller.account_id) if self.caller else None
        return None if account is None else serializers.simple_user(self.urls, account)
