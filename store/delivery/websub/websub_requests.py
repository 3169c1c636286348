"""WebSub requests: those that wait for the verification of their intent, and denials to send."""

from dataclasses import dataclass, field

from store.clock import DAY, MINUTE, SECOND
from store.database.connection import Connection, Row, json_array
from store.delivery.websub import websub
from store.delivery.websub.websub_topics import Topic, subscription_key
from store.errors import Busy, Invalid

COLUMNS = (
    "id, mode, key, repo_id, topic_key, topic, self_url, hub, callback, secret, lease_seconds,"
    " verify_token, reason, host, client, created_at, due_at, tries"
)
# The time for which a worker holds a claimed request. After it, another worker may claim it.
HELD = 2 * MINUTE
# The delays before the retries if the callback could not be reached.
AGAIN = (10 * SECOND, 60 * SECOND)
COUNTED = MINUTE
# The time for which a request waits without the setting `websub`.
WAITING = DAY
MOST_WAITING = 20_000
DUE = "done_at IS NULL AND due_at <= :now AND taken_until <= :now"
SWITCHED_OFF = "not sent: the setting websub is off"
NOT_PUBLIC = "there is no such public topic"


class RequestRateExceeded(Busy):
    """Too many requests for one callback's host, or from one client."""


@dataclass(slots=True)
class WebSubRequest:
    """A request to subscribe or to unsubscribe.

    `topic` is the URL as the subscriber wrote it, `of` is the topic that it names, and `client` is
    the address from which the request came.
    """

    mode: str
    topic: str
    of: Topic
    hub: str
    callback: str
    secret: str | None = field(repr=False)
    lease_seconds: int
    verify_token: str | None = field(repr=False)
    host: str
    client: str


def create(
    db: Connection, wish: WebSubRequest, per_host: int, per_client: int, per_topic: int = 0
) -> int:
    """Store a request until its intent is verified. Return its id.

    If a limit of requests in a minute is exceeded, `per_host` or `per_client`, raise
    RequestRateExceeded; older requests that still wait count, too. If too many requests wait
    altogether, raise Busy. If the callback's host already has `per_topic` subscriptions to the
    topic, raise Invalid (0: no limit).
    """
    db.alone("websub")
    _check_rate(db, wish, per_host, per_client)
    if per_topic and wish.mode == "subscribe":
        _refuse_crowd(db, wish, per_topic)
    public = wish.mode == "unsubscribe" or websub.is_public(db, wish.of.repo_id)
    made = db.number(
        "INSERT INTO websub_request (mode, key, repo_id, topic_key, topic, self_url, hub, callback,"
        " secret, lease_seconds, verify_token, reason, host, client, created_at, due_at)"
        " VALUES (:mode, :key, :repo_id, :topic_key, :topic, :self_url, :hub, :callback, :secret,"
        " :lease_seconds, :verify_token, :reason, :host, :client, :now, :now) RETURNING id",
        mode=wish.mode if public else "denied",
        key=subscription_key(wish.of, wish.callback),
        repo_id=wish.of.repo_id,
        topic_key=wish.of.key,
        topic=wish.topic,
        self_url=wish.of.self_url,
        hub=wish.hub,
        callback=wish.callback,
        secret=db.vault.seal(wish.secret) if wish.secret else None,
        lease_seconds=wish.lease_seconds,
        verify_token=db.vault.seal(wish.verify_token) if wish.verify_token else None,
        reason=None if public else NOT_PUBLIC,
        host=wish.host,
        client=wish.client,
    )
    websub.notify_worker(db)
    return made


def _check_rate(db: Connection, wish: WebSubRequest, per_host: int, per_client: int) -> None:
    for column, value, most in (("host", wish.host, per_host), ("client", wish.client, per_client)):
        counted = db.value(
            f"SELECT count(*) FROM websub_request WHERE {column} = :value"
            " AND (created_at > :since OR done_at IS NULL)",
            value=value,
            since=db.now - COUNTED,
        )
        if counted >= most:
            whose = "for this callback's host" if column == "host" else "from this address"
            raise RequestRateExceeded(
                f"more than {most} requests {whose} in a minute: try again in a minute"
            )
    waiting = db.value("SELECT count(*) FROM websub_request WHERE done_at IS NULL")
    if waiting >= MOST_WAITING:
        raise Busy("too many requests wait to be verified; try again later")


def _refuse_crowd(db: Connection, wish: WebSubRequest, most: int) -> None:
    # Requests that wait for verification count. Each callback counts once.
    of = "repo_id = :repo_id AND topic_key = :topic_key AND host = :host AND key <> :key"
    counted = db.value(
        f"SELECT count(*) FROM (SELECT key FROM websub WHERE {of} AND ended_at IS NULL UNION"
        f" SELECT key FROM websub_request WHERE {of} AND mode = 'subscribe' AND done_at IS NULL)"
        " AS f",
        repo_id=wish.of.repo_id,
        topic_key=wish.of.key,
        host=wish.host,
        key=subscription_key(wish.of, wish.callback),
    )
    if counted >= most:
        raise Invalid(f"this topic cannot have more than {most} subscriptions of {wish.host}")


def any_due(db: Connection) -> bool:
    """Return whether a request is due and no worker holds it."""
    return db.exists(f"SELECT 1 FROM websub_request WHERE {DUE} LIMIT 1")


def claim(db: Connection, limit: int) -> list[Row]:
    """Claim due requests, due first. A claim ends by itself after HELD."""
    # In the order of their ids, SQLite would read all requests that are done.
    chosen = (
        f"SELECT id FROM websub_request WHERE {DUE} ORDER BY due_at, id"
        f" LIMIT :limit{db.skip_locked}"
    )
    rows = db.all(
        "UPDATE websub_request SET taken_until = :until, tries = tries + 1"
        f" WHERE id {db.chosen(chosen)} RETURNING {COLUMNS}",
        until=db.now + HELD,
        limit=limit,
    )
    return sorted(rows, key=lambda row: row["id"])


def verify_token_of(db: Connection, request: Row) -> str | None:
    """Return the decrypted token that the subscriber wants to get back, or None."""
    return None if request["verify_token"] is None else db.vault.open(request["verify_token"])


def complete(db: Connection, request: Row, outcome: str, verified_at: int | None = None) -> None:
    """Mark a request as done.

    If `verified_at` is given, the intent was verified by a request sent at that time, and the
    request is applied. If its topic is no longer public, the subscription is denied instead.
    """
    ended = db.execute(
        "UPDATE websub_request SET done_at = :now, outcome = :outcome, secret = NULL,"
        " verify_token = NULL WHERE id = :id AND done_at IS NULL",
        id=request["id"],
        outcome=outcome,
    )
    if not ended or verified_at is None:
        return
    if request["mode"] == "unsubscribe" or websub.is_public(db, request["repo_id"]):
        websub.apply_verified(db, request, verified_at)
    else:
        websub.notify_denied(db, [{**request, "reason": websub.PRIVATE}])


def retry_later(db: Connection, request: Row, error: str) -> bool:
    """Schedule a retry of a request that got no answer.

    After the last retry, mark it as done and return False.
    """
    if request["tries"] > len(AGAIN):
        complete(db, request, error)
        return False
    due_at = db.now + AGAIN[request["tries"] - 1]
    db.update("websub_request", request["id"], due_at=due_at, taken_until=0, outcome=error)
    return True


def end_overdue(db: Connection, before: int, limit: int) -> int:
    """End requests that were made before a time and that no worker verifies, up to `limit`.

    Return their number. It is for hubs without the setting `websub`.
    """
    chosen = (
        "SELECT x.id FROM websub_request x WHERE x.done_at IS NULL AND x.created_at < :before"
        " AND x.taken_until <= :now LIMIT :limit"
    )
    return db.execute(
        "UPDATE websub_request SET done_at = :now, outcome = :outcome, secret = NULL,"
        f" verify_token = NULL WHERE id {db.chosen(chosen)}",
        before=before,
        outcome=SWITCHED_OFF,
        limit=limit,
    )


def release(db: Connection, request_ids: list[int]) -> None:
    """Release requests that were claimed and not attempted."""
    db.execute(
        f"UPDATE websub_request SET taken_until = 0, tries = tries - 1 WHERE id {db.among('ids')}",
        ids=json_array(request_ids),
    )


def drop(db: Connection, now: int, limit: int) -> int:
    """Delete requests that are done and that no limit counts at the time `now`, up to `limit`.

    Return their number.
    """
    chosen = "SELECT x.id FROM websub_request x WHERE x.done_at < :before LIMIT :limit"
    return db.execute(
        f"DELETE FROM websub_request WHERE id {db.chosen(chosen)}",
        before=now - 2 * COUNTED,
        limit=limit,
    )


def page(db: Connection, *, limit: int) -> list[Row]:
    """Return requests, newest first, with their outcome, until `drop` deletes them."""
    return db.all(
        f"SELECT {COLUMNS}, done_at, outcome FROM websub_request ORDER BY id DESC LIMIT :limit",
        limit=limit,
    )
