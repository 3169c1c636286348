"""What handlers are given: the open transaction, who asks, and ways to link and to emit."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from hub import emitting, shapes
from hub.auth import Caller
from hub.body import Intake
from hub.client import NOWHERE, Clients
from hub.emitting import Told
from hub.errors import WriteNeeded
from hub.limits import Limits
from hub.measures import HubMeasures
from hub.media import PLAIN, Media
from hub.passwords import Passwords
from hub.quotas import Status
from hub.settings import HubSettings
from hub.urls import Urls
from hub.versions import DEFAULT
from hub.vocabulary import Vocabulary
from store import Connection, Row, Store, accounts, events, own_events
from store.errors import Invalid

Judge = Callable[[str], Awaitable[None]]


@dataclass(slots=True)
class House:
    """What every endpoint works with; made once, in `create_app`."""

    store: Store
    settings: HubSettings
    judge: Judge
    measures: HubMeasures = field(default_factory=HubMeasures)
    urls: Urls = field(init=False)
    documentation: str = field(init=False)
    """What `documentation_url` in errors begins with."""
    intake: Intake = field(init=False)
    limits: Limits | None = field(init=False)
    """None where there are none."""
    passwords: Passwords = field(init=False)
    clients: Clients = field(init=False)
    vocabulary: Vocabulary = field(init=False)

    def __post_init__(self) -> None:
        settings = self.settings
        self.urls = Urls(settings.root())
        self.documentation = settings.documentation()
        self.intake = Intake(settings.max_held_bytes, settings.body_timeout)
        self.limits = Limits(self.store, settings) if settings.rate_limiting else None
        self.passwords = Passwords(self.store, settings)
        self.clients = Clients(settings.trusted_proxies)
        self.vocabulary = Vocabulary(settings.vocabulary, settings.root())

    async def close(self) -> None:
        """Write what is to be remembered."""
        if self.limits is not None:
            await self.limits.close()

    async def judge_callback(self, url: str) -> None:
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
    standing: Callable[[], list[Status]] | None = None
    """Tells where the caller stands with the rate limits, where there are any."""
    address: Callable[[], str] = lambda: NOWHERE
    """Tells where the request comes from, as `hub.client` has it."""
    writes: bool = True
    """Whether something can be written."""
    link_seconds: int = 3600
    """For how long a link to a file can be followed."""

    @property
    def now(self) -> int:
        """The transaction's time, in microseconds."""
        return self.db.now

    def to_write(self) -> None:
        """Go on where something can be written: a handler that only reads is run again there."""
        if not self.writes:
            raise WriteNeeded

    def emit(
        self, event: str, repo: Row | None, *, only_hook: int | None = None, **payload: Any
    ) -> events.Receipt:
        """Write `name` or `name.action` as an event of the repository, or of none, sent by the
        caller unless the payload says by whom.

        With `only_hook` it goes to that hook alone, subscribed or not.
        """
        ((repo_id, content),) = self._payloads(event, [(repo, payload)])
        name, _, action = event.partition(".")
        return own_events.emit(self.db, name, action or None, repo_id, content, only_hook=only_hook)

    def emit_all(self, event: str, told: Sequence[Told]) -> None:
        """The same of many changes, with as few statements as of one."""
        name, _, action = event.partition(".")
        own_events.emit_all(self.db, name, action or None, self._payloads(event, told))

    def _payloads(self, event: str, told: Sequence[Told]) -> list[tuple[int, dict[str, Any]]]:
        assert event in self.emits, f"{event} is not in the declaration's emits"
        sender = self._sender()
        spoken = [(repo, {"sender": sender} | payload) for repo, payload in told]
        return emitting.payloads(self.urls, self.words, self.db, spoken)

    def _sender(self) -> shapes.SimpleUser | None:
        account = accounts.get(self.db, self.caller.account_id) if self.caller else None
        return None if account is None else shapes.simple_user(self.urls, account)
