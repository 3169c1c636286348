"""A hook made ready for sending: its address parsed, its secret opened, its headers written."""

from dataclasses import dataclass

from store import Connection, Row
from store.delivery import hooks
from store.errors import Unusable
from worker.delivery.payload_cache import Payload, PayloadCache
from worker.delivery.policy import Policy, policy_for
from worker.delivery.secret_rotation import SecretOverlap, current_overlap
from worker.delivery.sign import Signer
from worker.http.addresses import Refused
from worker.http.endpoint import Endpoint
from worker.http.guard import Guard
from worker.settings import WorkerSettings

CONTENT_TYPES = {"json": "application/json", "form": "application/x-www-form-urlencoded"}
MASK = "********"
REPUBLISHED = "X-Hub-Republished: true\r\n"


@dataclass(slots=True)
class Target:
    """Where a hook's deliveries go, and how. `endpoint` is None when nothing may be sent there:
    `refusal` says why, as "stage: message".
    """

    version: int
    repo_id: int
    url: str
    active: bool
    deleted: bool
    content_type: str
    verify_tls: bool
    policy: Policy
    endpoint: Endpoint | None
    refusal: str
    secret: str | None
    prefixes: tuple[str, ...]
    standing: str
    """The part of the request's head that is the same for all of the hook's deliveries."""
    signer: Signer | None = None
    ends_at: int | None = None
    """When (microseconds) nothing is sent any more."""
    overlap: SecretOverlap | None = None

    def __repr__(self) -> str:
        return f"Target({self.url!r}, version={self.version})"

    def over(self, now: int) -> bool:
        """Whether its time has ended by this moment."""
        return self.ends_at is not None and self.ends_at <= now

    def accepts(self, name: str, *, asked: bool) -> bool:
        """Whether an event of this name may still go there; `asked`: a person wants it sent."""
        if self.deleted:
            return name == "meta"
        return self.active or asked or name == "ping"

    async def content(self, contents: PayloadCache, event_id: int) -> Payload | None:
        """What an event is delivered as; None where it is no longer kept."""
        return await contents.get(event_id)

    def head(
        self, content: Payload, body: bytes, timestamp: int, *, new_first: bool = False
    ) -> str:
        """The whole head of a request. `timestamp` is in seconds; `new_first`: of two secrets the
        new one signs first.
        """
        name, guid = content.name, content.guid
        lines = [self.standing]
        lines += [f"{x}Event: {name}\r\n{x}Delivery: {guid}\r\n" for x in self.prefixes]
        lines.append(
            f"webhook-id: {guid}\r\nwebhook-timestamp: {timestamp}\r\n"
            f"Content-Length: {len(body)}\r\n"
        )
        if content.republished:
            lines.append(REPUBLISHED)
        if self.signer is not None:
            lines.append(self._signatures(self.signer, guid, body, timestamp, new_first))
        lines.append("\r\n")
        return "".join(lines)

    def _signatures(
        self, signer: Signer, guid: str, body: bytes, timestamp: int, new_first: bool
    ) -> str:
        if self.overlap is not None and self.overlap.is_active(timestamp):
            return self.overlap.signatures(signer, guid, body, timestamp, new_first=new_first)
        sha1, sha256 = signer.hub(body)
        standard = signer.standard(guid, timestamp, body)
        return (
            f"X-Hub-Signature: {sha1}\r\nX-Hub-Signature-256: {sha256}\r\n"
            f"webhook-signature: {standard}\r\n"
        )

    def heir_of(self, before: "Target | None") -> "Target":
        """This, with what was learned of the receiver when the hook was as it was before."""
        if self.overlap is not None and before is not None:
            self.overlap = self.overlap.heir_of(before.overlap)
        return self

    def mask(self, text: str) -> str:
        """The text without the hook's secrets, which a receiver may send back."""
        for secret in (self.secret, self.overlap and self.overlap.secret):
            text = text.replace(secret, MASK) if secret else text
        return text


def load_target(
    db: Connection, hook_id: int, settings: WorkerSettings, guard: Guard
) -> Target | None:
    """The hook as it is now; None if it is gone with its repository."""
    row = hooks.by_id(db, hook_id)
    if row is None:
        return None
    endpoint, secret, refusal = None, None, ""
    try:
        secret = hooks.secret_of(db, row)
        endpoint = guard.endpoint(row["url"])
    except Refused as error:
        refusal = f"guard: {error}"
    except Unusable as error:
        refusal = f"secret: {error}"
    target = Target(
        version=row["version"],
        repo_id=row["repo_id"],
        url=row["url"],
        active=bool(row["active"]),
        deleted=row["deleted_at"] is not None,
        content_type=row["content_type"],
        verify_tls=not row["insecure_ssl"],
        policy=policy_for(settings, row["options"]),
        endpoint=endpoint,
        refusal=refusal,
        secret=secret,
        prefixes=tuple(settings.header_prefixes),
        standing=_static_head(row, endpoint, settings),
    )
    if secret is not None:
        target.signer = Signer(secret)
        target.overlap = current_overlap(db, row)
    return target


def _static_head(row: Row, endpoint: Endpoint | None, settings: WorkerSettings) -> str:
    # What is refused is recorded as it would have been sent.
    lines = [f"POST {row['url'] if endpoint is None else endpoint.target} HTTP/1.1"]
    if endpoint is not None:
        lines.append(f"Host: {endpoint.authority}")
    lines += [
        f"User-Agent: {settings.user_agent}",
        "Accept: */*",
        f"Content-Type: {CONTENT_TYPES[row['content_type']]}",
    ]
    for prefix in settings.header_prefixes:
        lines += [
            f"{prefix}Hook-ID: {row['id']}",
            f"{prefix}Hook-Installation-Target-Type: repository",
            f"{prefix}Hook-Installation-Target-ID: {row['repo_id']}",
        ]
    return "\r\n".join(lines) + "\r\n"
