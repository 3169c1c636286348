"""A hook ready for sending: its URL parsed, its secret decrypted, its headers written."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from store.clock import Clock
from store.endpoint_access.handshake import GRANTED, PENDING
from store.endpoint_access.secret_parts import MASK
from store.formats.cloudevents import PREFIX
from store.formats.formats import PLATFORM, Rendered
from store.hook_state.hook_health import Cooldown
from store.trace_context import TraceContext
from worker.delivery.payload import Payload
from worker.delivery.payload_cache import PayloadCache
from worker.delivery.policy import Policy
from worker.endpoint_access.access import EndpointAccess
from worker.endpoint_access.handshake import HandshakeRequest
from worker.endpoint_access.masking import REPLACEMENT, masked, masked_end
from worker.http.answer import ExchangeResult
from worker.http.endpoint import Endpoint
from worker.http.tls_contexts import TlsChoice
from worker.signing.signatures import UNSIGNED, DeliverySignatures

REPUBLISHED = "X-Hub-Republished: true\r\n"
# Headers of answers that may hold the receiver's credentials. Their values are masked.
SENSITIVE_HEADERS = ("set-cookie", "set-cookie2", "authorization", "proxy-authorization", "cookie")


@dataclass(slots=True)
class Target:
    """The destination of a hook's deliveries, with all that a request needs.

    If nothing may be sent there, `endpoint` is None and `refusal` says why, as "stage: message".
    """

    version: int
    repo_id: int | None
    """The only repository whose events it gets, or None."""
    url: str
    active: bool
    deleted: bool
    paused: bool
    content_type: str
    verify_tls: TlsChoice
    policy: Policy
    endpoint: Endpoint | None
    refusal: str
    secret: str | None
    prefixes: tuple[str, ...]
    static_head: str
    """The part of the request's head that is the same for all of the hook's deliveries."""
    format: str = PLATFORM
    type_prefix: str = PREFIX
    signatures: DeliverySignatures = field(default_factory=DeliverySignatures)
    access: EndpointAccess | None = None
    """Static headers, a client certificate and an OAuth 2.0 token, or None."""
    misconfigured: str = ""
    """Why the hook itself cannot be used, or an empty text. Then nothing is sent."""
    handshake: HandshakeRequest | None = None
    """The request for the receiver's consent, if it has to be made first."""
    consented: bool = True
    """Whether the receiver has consented, or need not."""
    reread_at: int | None = None
    """The time (microseconds) at which the hook must be read again."""
    ends_at: int | None = None
    """The time (microseconds) at which the target ends. Nothing is sent from then on."""
    held_until: int = 0
    """The time (microseconds) before which the receiver asked for nothing."""
    failing: bool = False
    """Whether the latest deliveries failed, when the hook was read."""
    rest: Cooldown | None = None
    """The last rest of a failing hook, or None if its circuit breaker did not open."""
    pulled: bool = False
    """Whether the receiver fetches its deliveries. Then there is no endpoint, and no refusal."""
    app_id: int | None = None
    """The app to which the hook belongs, or None."""
    propagates: bool = True
    """Whether the receiver gets the trace context of events."""

    def __repr__(self) -> str:
        return f"Target({self.url!r}, version={self.version})"

    def fail_handshake(self, error: str) -> None:
        """Let attempts fail, because the handshake got no answer. The next one asks once more."""
        self.endpoint, self.refusal = None, f"handshake: no answer: {self.mask(error)}"
        self.reread_at = 0

    @property
    def unanswered(self) -> bool:
        """Return whether the handshake got no answer."""
        return self.handshake is not None and self.endpoint is None

    def is_outdated(self, clock: Clock) -> bool:
        """Return whether the hook must be read again by now."""
        # Few hooks have such a time, so the clock is rarely read.
        return self.reread_at is not None and self.reread_at <= clock.now()

    def over(self, now: int) -> bool:
        """Return whether the target has ended by this time (microseconds)."""
        return self.ends_at is not None and self.ends_at <= now

    def is_receiver(self, url: str, version: int) -> bool:
        """Return whether the receiver of this version of the hook, with this URL, is the target's.

        An answer of another receiver, or its pause, says nothing about this one.
        """
        return self.url == url

    def is_suspended(self, clock: Clock) -> bool:
        """Return whether the hook is paused, or its receiver asked for nothing before a time to
        come.
        """
        # Nearly no hook is held back, so the clock is rarely read.
        if not (self.paused or self.held_until):
            return False
        return self.paused or self.held_until > clock.now()

    def accepts(self, name: str, *, asked: bool) -> bool:
        """Return whether an event of this name may be sent there.

        `asked` says whether a person requested the delivery. An inactive hook gets only pings and
        requested deliveries. A deleted hook gets only `meta`, and nothing if it is a pull hook, or
        if its receiver has not consented: it is asked no more.
        """
        if self.deleted:
            return name == "meta" and not self.pulled and self.consented
        return self.active or asked or name == "ping"

    async def payload(
        self, cache: PayloadCache, event_id: int, ahead: Callable[[], Iterable[int]] = tuple
    ) -> Payload | None:
        """Return the payload of an event for this target. Return None if there is none to send.

        `ahead` returns the events that come next.
        """
        found = (
            await cache.get(event_id, ahead)
            if self.app_id is None
            else await cache.of_app(event_id, self.app_id, ahead)
        )
        if found is not None and self.format != PLATFORM:
            await cache.add_repository(found)
        elif found is not None and self.content_type == "form":
            await cache.add_form(found)
        return found

    @property
    def lacking(self) -> str:
        """Return the reason why there is no payload to send."""
        if self.app_id is None:
            return "the payload is no longer kept"
        return "the app is not installed there, or the payload is no longer kept"

    def render(self, payload: Payload, now: int) -> Rendered:
        """Return the body for this target, with its header lines. `now` is in microseconds."""
        if self.format == PLATFORM:
            return Rendered(payload.body_as(self.content_type))
        return payload.rendered(self.format, self.type_prefix, now, traced=self.propagates)

    def head(
        self,
        payload: Payload,
        rendered: Rendered,
        timestamp: int,
        *,
        new_first: bool = False,
        signed: bool = True,
    ) -> str:
        """Return the whole head of a request.

        `timestamp` is in seconds. If `new_first`, the newer of two secrets signs first. If not
        `signed`, the mark UNSIGNED stands in the place of the signatures.
        """
        name, guid, body = payload.name, payload.guid, rendered.body
        lines = [self.static_head]
        lines += [f"{x}Event: {name}\r\n{x}Delivery: {guid}\r\n" for x in self.prefixes]
        lines.append(
            f"webhook-id: {guid}\r\nwebhook-timestamp: {timestamp}\r\n"
            f"Content-Length: {len(body)}\r\n{rendered.headers}"
        )
        if payload.republished:
            lines.append(REPUBLISHED)
        if signed:
            lines.append(self.signatures.headers(guid, body, timestamp, new_first=new_first))
        else:
            lines.append(UNSIGNED)
        lines.append("\r\n")
        return "".join(lines)

    def with_trace(self, head: str, trace: TraceContext) -> str:
        """Return the head of a request with the trace context, if the receiver may have it."""
        return f"{head[:-2]}{trace.lines()}\r\n" if self.propagates else head

    def inherit_from(self, before: "Target | None") -> "Target":
        """Return this target, with the knowledge about the receiver from before the hook was read
        again.
        """
        overlap = self.signatures.overlap
        if overlap is not None and before is not None:
            self.signatures.overlap = overlap.inherit_from(before.signatures.overlap)
        return self

    def with_handshake(self, state: str | None, origin: str, user_agent: str) -> "Target":
        """Return this target, with the request for the receiver's consent if that is pending."""
        self.consented = state in (None, GRANTED)
        if state == PENDING and self.endpoint is not None and not (self.deleted or self.paused):
            self.handshake = HandshakeRequest(
                self.endpoint,
                self.verify_tls,
                self.access,
                self.policy.rate,
                self.policy.timeout,
                origin,
                user_agent,
            )
        return self

    def mask(self, text: str) -> str:
        """Return the text without the hook's secrets, because a receiver may send them back."""
        return masked(text, self._secrets())

    def _secrets(self) -> list[str]:
        overlap = self.signatures.overlap
        own = [one for one in (self.secret, overlap and overlap.secret) if one]
        return own if self.access is None else [*self.access.masked_texts(), *own]

    def readable_body(self, answer: ExchangeResult) -> str:
        """Return the body of an answer as text, without the hook's secrets."""
        if not answer.body:
            return ""
        text = self.readable(answer.body)
        is_cut = answer.truncated or answer.error is not None
        return masked_end(text, self._secrets()) if is_cut else text

    def readable(self, received: bytes) -> str:
        """Return received bytes as text, without the hook's secrets."""
        return self.mask(received.decode("utf-8", "replace").replace("\0", REPLACEMENT))

    def readable_head(self, head: bytes) -> str:
        """Return the headers of an answer, without the hook's secrets and the receiver's."""
        text = self.readable(head)
        lowered = text.lower()
        if "cookie" not in lowered and "authorization" not in lowered:
            return text
        return "\r\n".join(_masked(line) for line in text.split("\r\n"))


def _masked(line: str) -> str:
    name, colon, _ = line.partition(":")
    return f"{name}: {MASK}" if colon and name.strip().lower() in SENSITIVE_HEADERS else line
