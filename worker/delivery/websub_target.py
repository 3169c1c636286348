"""A WebSub subscription ready for sending.

Its requests carry the topic's content, and none of the headers of hooks except the one that marks
republished events.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hmac import digest

from store import Connection
from store.delivery.websub import websub
from store.delivery.websub.websub_topics import FEEDS, Topic
from store.errors import Unusable
from store.formats.formats import Rendered
from worker.delivery.payload import Payload
from worker.delivery.payload_cache import PayloadCache
from worker.delivery.policy import policy_for
from worker.delivery.target import REPUBLISHED, Target
from worker.http.addresses import Refused
from worker.http.endpoint import first_lines
from worker.http.guard import Guard
from worker.http.transport import USER_AGENT
from worker.settings import WorkerSettings

# Failed attempts do not end a subscription. Only its lease does.
OPTIONS = {"disable_after": 0}


# Without `repr=False`, it would get a repr of its own, with the secret.
@dataclass(slots=True, repr=False)
class WebSubTarget(Target):
    """The destination of a topic's content for one subscriber, until the lease ends."""

    topic: Topic | None = None
    hub: str = ""
    method: str = "sha256"

    def is_receiver(self, url: str, version: int) -> bool:
        """Return whether the subscription was not renewed since it had this version.

        A subscriber that subscribes again asks for content from then on.
        """
        return self.version == version

    def accepts(self, name: str, *, asked: bool) -> bool:
        """Return whether content may still be sent there."""
        return self.active

    async def payload(
        self, cache: PayloadCache, event_id: int, ahead: Callable[[], Iterable[int]] = tuple
    ) -> Payload | None:
        """Return the topic's content as of this event. Return None if there is none to send."""
        topic = self.topic
        if topic is not None and topic.key in FEEDS:
            return await cache.feed(event_id, topic, self.hub)
        found = await cache.get(event_id, ahead)
        return found if found is not None and found.is_published else None

    def head(
        self,
        payload: Payload,
        rendered: Rendered,
        timestamp: int,
        *,
        new_first: bool = False,
        signed: bool = True,
    ) -> str:
        """Return the whole head of a request. It is always signed."""
        assert self.topic is not None
        body = rendered.body
        lines = [
            self.static_head,
            f"Content-Type: {payload.media}\r\n",
            f'Link: <{self.hub}>; rel="hub", <{self.topic.self_url}>; rel="self"\r\n',
            f"Content-Length: {len(body)}\r\n",
        ]
        if payload.republished:
            lines.append(REPUBLISHED)
        if self.secret is not None:
            signature = digest(self.secret.encode(), body, self.method).hex()
            lines.append(f"X-Hub-Signature: {self.method}={signature}\r\n")
        return "".join([*lines, "\r\n"])


def load_websub_target(
    db: Connection, hook_id: int, settings: WorkerSettings, guard: Guard
) -> WebSubTarget | None:
    """Read the subscription with this hook id in the queue. Return None if it was deleted."""
    row = websub.by_hook(db, hook_id)
    if row is None:
        return None
    endpoint, secret, refusal = None, None, ""
    try:
        secret = websub.secret_of(db, row)
        endpoint = guard.endpoint(row["callback"])
    except Refused as error:
        refusal = f"guard: {error}"
    except Unusable as error:
        refusal = f"secret: {error}"
    return WebSubTarget(
        version=row["version"],
        repo_id=row["repo_id"],
        url=row["callback"],
        active=settings.websub and row["ended_at"] is None,
        deleted=False,
        paused=False,
        content_type="json",
        verify_tls=True,
        policy=policy_for(settings, OPTIONS),
        endpoint=endpoint,
        refusal=refusal,
        secret=secret,
        prefixes=(),
        static_head="\r\n".join([*first_lines("POST", endpoint, USER_AGENT, row["callback"]), ""]),
        ends_at=row["lease_ends_at"],
        reread_at=row["lease_ends_at"],
        held_until=row["held_until"] or 0,
        topic=Topic(row["repo_id"], row["topic_key"], row["self_url"]),
        hub=row["hub"],
        method=settings.websub_signature,
        # Anybody may subscribe to a topic, and the trace context is not for everybody.
        propagates=False,
    )
