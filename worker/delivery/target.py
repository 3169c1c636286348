"""A hook ready for sending: its URL parsed, its secret decrypted, its headers written."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from store import Connection, Row
from store.endpoint_access.handshake import PENDING, is_wanted
from store.endpoint_access.secret_parts import MASK
from store.errors import Unusable
from store.formats import batches
from store.formats.cloudevents import PREFIX
from store.formats.formats import PLATFORM, Rendered, media_type
from store.hooks import hooks, option_secrets, pull_urls, signing_keys
from store.hooks.hook_options import SIGNATURES
from store.hooks.hook_ordering import is_ordered
from store.hooks.hook_targets import target_of
from store.hooks.signing_keys import SigningKey
from store.trace_context import TraceContext
from worker.delivery.payload_cache import Payload, PayloadCache
from worker.delivery.policy import Policy, policy_for
from worker.endpoint_access.access import EndpointAccess, access_for
from worker.endpoint_access.handshake import (
    MINUTE,
    HandshakeRequest,
    origin_lines,
    origin_of,
)
from worker.endpoint_access.tls_choice import tls_choice
from worker.http.addresses import Refused
from worker.http.endpoint import Endpoint
from worker.http.guard import Guard
from worker.http.tls_contexts import TlsChoice
from worker.settings import WorkerSettings
from worker.signing.secret_rotation import SecretOverlap, current_overlap
from worker.signing.signatures import UNSIGNED, DeliverySignatures, signatures_from

CONTENT_TYPES = {"json": "application/json", "form": "application/x-www-form-urlencoded"}
REPUBLISHED = "X-Hub-Republished: true\r\n"


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
    reread_at: int | None = None
    """The time (microseconds) at which the hook must be read again."""
    ends_at: int | None = None
    """The time (microseconds) at which the target ends. Nothing is sent from then on."""
    held_until: int = 0
    """The time (microseconds) before which the receiver asked for nothing."""
    pulled: bool = False
    """Whether the receiver fetches its deliveries. Then there is no endpoint, and no refusal."""
    app_id: int | None = None
    """The app to which the hook belongs, or None."""
    propagates: bool = True
    """Whether the receiver gets the trace context of events."""

    def __repr__(self) -> str:
        return f"Target({self.url!r}, version={self.version})"

    def outdated(self, now: int) -> bool:
        """Return whether the hook must be read again at this time (microseconds)."""
        return self.reread_at is not None and self.reread_at <= now

    def over(self, now: int) -> bool:
        """Return whether the target has ended by this time (microseconds)."""
        return self.ends_at is not None and self.ends_at <= now

    def accepts(self, name: str, *, asked: bool) -> bool:
        """Return whether an event of this name may be sent there.

        `asked` says whether a person requested the delivery.
        """
        if self.deleted:
            return name == "meta" and not self.pulled
        return self.active or asked or name == "ping"

    async def payload(self, cache: PayloadCache, event_id: int) -> Payload | None:
        """Return the payload of an event for this target. Return None if there is none to send."""
        if self.app_id is not None:
            return await cache.of_app(event_id, self.app_id)
        return await cache.get(event_id)

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

    @property
    def overlap(self) -> SecretOverlap | None:
        """Return the former secret while it may still sign."""
        return self.signatures.overlap

    def inherit_from(self, before: "Target | None") -> "Target":
        """Return this target, with the knowledge about the receiver from before the hook was read
        again.
        """
        if self.overlap is not None and before is not None:
            self.signatures.overlap = self.overlap.inherit_from(before.overlap)
        return self

    def with_handshake(self, state: str | None, origin: str, user_agent: str) -> "Target":
        """Return this target, with the request for the receiver's consent if that is pending."""
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
        for secret in (self.secret, self.overlap and self.overlap.secret):
            text = text.replace(secret, MASK) if secret else text
        return text if self.access is None else self.access.mask(text)


def load_target(
    db: Connection, hook_id: int, settings: WorkerSettings, guard: Guard
) -> Target | None:
    """Read the hook as it is now. Return None if it was deleted with its repository."""
    return _load(db, hook_id, settings, guard.endpoint)


def load_fetched_target(db: Connection, hook_id: int, settings: WorkerSettings) -> Target | None:
    """Read a hook for deliveries that its receiver fetches: nothing is sent to its URL."""
    return _load(db, hook_id, settings, None)


def _load(
    db: Connection,
    hook_id: int,
    settings: WorkerSettings,
    endpoint_of: Callable[[str], Endpoint] | None,
) -> Target | None:
    row = hooks.by_id(db, hook_id)
    if row is None:
        return None
    endpoint, secret, refusal = None, None, ""
    signatures = DeliverySignatures()
    try:
        secret = hooks.secret_of(db, row)
        signatures = _signatures(db, row, secret)
        row["options"] = option_secrets.revealed(db, row)
        if endpoint_of is not None and not pull_urls.is_pull(row["url"]):
            endpoint = endpoint_of(row["url"])
    except Refused as error:
        refusal = f"guard: {error}"
    except Unusable as error:
        refusal = f"secret: {error}"
    return make_target(row, secret, endpoint, refusal, settings, signatures, db.now)


def make_target(
    row: Row,
    secret: str | None,
    endpoint: Endpoint | None,
    refusal: str,
    settings: WorkerSettings,
    signatures: DeliverySignatures,
    now: int,
) -> Target:
    """Return the target for a hook's row and its decrypted secret.

    `refusal` is why nothing may be sent, if `endpoint` is None. `now` is in microseconds.
    """
    verify_tls: TlsChoice = not row["insecure_ssl"]
    ends_at, misconfigured = row["certificate_ends_at"], ""
    if endpoint is not None and row["options"].get("tls"):
        verify_tls, misconfigured = tls_choice(
            row["options"], ends_at, now, verify=not row["insecure_ssl"]
        )
        if misconfigured:
            endpoint, refusal = None, f"configuration: {misconfigured}"
    return Target(
        version=row["version"],
        repo_id=row["repo_id"],
        url=row["url"],
        active=bool(row["active"]),
        deleted=row["deleted_at"] is not None,
        paused=row["paused_at"] is not None
        or bool(misconfigured)
        or _is_stopped(row)
        or _is_withheld(row),
        content_type=row["content_type"],
        verify_tls=verify_tls,
        misconfigured=misconfigured,
        reread_at=None if misconfigured else ends_at,
        policy=_policy(row, settings),
        endpoint=endpoint,
        refusal=refusal,
        secret=secret,
        prefixes=tuple(settings.header_prefixes),
        static_head=_static_head(row, endpoint, settings),
        signatures=signatures,
        format=row["options"].get("format", PLATFORM),
        type_prefix=row["options"].get("type_prefix", PREFIX),
        held_until=row["held_until"] or 0,
        access=access_for(row["options"]),
        app_id=row["app_id"],
        pulled=pull_urls.is_pull(row["url"]),
        propagates=row["options"].get("propagate") != "never",
    ).with_handshake(row["handshake"], origin_of(settings), settings.user_agent)


def _policy(row: Row, settings: WorkerSettings) -> Policy:
    policy, granted = policy_for(settings, row["options"]), row["handshake_rate"]
    if granted is None:
        return policy
    rate = granted / MINUTE
    return replace(policy, rate=rate if policy.rate is None else min(rate, policy.rate))


def _signatures(db: Connection, row: Row, secret: str | None) -> DeliverySignatures:
    keys = signing_keys.wanted_keys(db, row["id"], row["options"])
    found = signatures_of(row["options"], secret, keys)
    if secret is not None:
        found.overlap = current_overlap(db, row)
    return found


def signatures_of(
    options: Row, secret: str | None, keys: Iterable[SigningKey]
) -> DeliverySignatures:
    """Return the signatures for which a hook's options ask, by its secret and its keys."""
    seeds = tuple((key.seed, key.until) for key in keys)
    return signatures_from((secret, seeds, tuple(options.get("signatures") or SIGNATURES)))


def _media(row: Row) -> str:
    format_ = row["options"].get("format", PLATFORM)
    if row["options"].get("batch") is not None:
        return batches.media_type(format_)
    return CONTENT_TYPES[row["content_type"]] if format_ == PLATFORM else media_type(format_)


def _is_stopped(row: Row) -> bool:
    """Return whether the hook is inactive and keeps its deliveries, because they are ordered."""
    inactive = not row["active"] and row["deleted_at"] is None
    return inactive and is_ordered(row["options"])


def _is_withheld(row: Row) -> bool:
    """Return whether its receiver fetches the deliveries, and is still there."""
    return pull_urls.is_pull(row["url"]) and row["deleted_at"] is None


def _static_head(row: Row, endpoint: Endpoint | None, settings: WorkerSettings) -> str:
    # A refused request is recorded as it would have been sent.
    lines = [f"POST {row['url'] if endpoint is None else endpoint.target} HTTP/1.1"]
    if endpoint is not None:
        lines.append(f"Host: {endpoint.authority}")
    lines += [
        f"User-Agent: {settings.user_agent}",
        "Accept: */*",
        f"Content-Type: {_media(row)}",
    ]
    if is_wanted(row["options"]):
        lines += origin_lines(origin_of(settings))
    target = target_of(row)
    for prefix in settings.header_prefixes:
        lines += [
            f"{prefix}Hook-ID: {row['id']}",
            f"{prefix}Hook-Installation-Target-Type: {target.type}",
            f"{prefix}Hook-Installation-Target-ID: {target.id}",
        ]
    return "\r\n".join(lines) + "\r\n"
