"""Hooks: what a repository's events are delivered to, however the hook was made."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from store.database.connection import ENDLESS, Connection, Row, json_array
from store.delivery import hook_limit, hook_secrets
from store.delivery.event_names import HUB_EVENTS, PLATFORM_EVENTS, WILDCARD
from store.errors import Invalid, Missing

COLUMNS = (
    "id, repo_id, url, content_type, secret, insecure_ssl, active, events, options,"
    " disabled_reason, failing_since, version, created_at, updated_at, previous_secret,"
    " previous_until, secret_taken"
)
CHANGEABLE = frozenset(
    {"url", "events", "content_type", "secret", "overlap", "insecure_ssl", "active", "options"}
)


def decode_row(row: Row) -> Row:
    """A row as it was read, with events and options as they are meant."""
    row["events"] = json.loads(row["events"])
    row["options"] = json.loads(row["options"])
    return row


def secret_of(db: Connection, hook: Row) -> str | None:
    """The hook's secret, opened; its row carries it sealed."""
    return None if hook["secret"] is None else db.vault.open(hook["secret"])


def check_events(events: Iterable[str]) -> list[str]:
    """The events without repetitions. Invalid for none, or one that no event is called."""
    chosen = list(dict.fromkeys(events))
    if not chosen:
        raise Invalid("a hook needs at least one event", field="events", resource="Hook")
    for name in chosen:
        if name != WILDCARD and name not in PLATFORM_EVENTS | HUB_EVENTS:
            raise Invalid(f'Invalid event: "{name}"', field="events", resource="Hook")
    return chosen


def create(
    db: Connection,
    repo_id: int,
    *,
    url: str,
    events: Iterable[str],
    content_type: str = "form",
    secret: str | None = None,
    insecure_ssl: bool = False,
    active: bool = True,
    options: dict[str, Any] | None = None,
    most: int = 0,
) -> Row:
    """Make a hook. Invalid for unknown events, where it would repeat another one, or where one of
    its events has as many hooks as it may: `most`; 0 for no limit.
    """
    chosen = check_events(events)
    _refuse_duplicate(db, repo_id, url, content_type, chosen, but=0)
    hook_limit.check(db, repo_id, chosen, most)
    row = db.one(
        "INSERT INTO hook (repo_id, url, content_type, secret, insecure_ssl, active, events,"
        " options, created_at, updated_at) VALUES (:repo_id, :url, :content_type, :secret,"
        f" :insecure_ssl, :active, :events, :options, :now, :now) RETURNING {COLUMNS}",
        repo_id=repo_id,
        url=url,
        content_type=content_type,
        secret=db.vault.seal(secret) if secret else None,
        insecure_ssl=int(insecure_ssl),
        active=int(active),
        events=json.dumps(chosen),
        options=json.dumps(options or {}),
        now=db.now,
    )
    assert row is not None
    return _sync_subscriptions(db, decode_row(row))


def _lock_repository(db: Connection, repo_id: int) -> None:
    """Of several hubs that are to make the same hook, one makes it."""
    db.alone(f"hooks of {repo_id}")


def _refuse_duplicate(
    db: Connection, repo_id: int, url: str, content_type: str, events: Sequence[str], *, but: int
) -> None:
    _lock_repository(db, repo_id)
    rows = db.all(
        "SELECT events FROM hook WHERE repo_id = :repo_id AND url = :url AND deleted_at IS NULL"
        " AND content_type = :content_type AND id <> :but",
        repo_id=repo_id,
        url=url,
        content_type=content_type,
        but=but,
    )
    if any(set(json.loads(row["events"])) & set(events) for row in rows):
        raise Invalid(
            "Hook already exists on this repository", field="config", code="custom", resource="Hook"
        )


def _sync_subscriptions(db: Connection, hook: Row) -> Row:
    """Bring the subscriptions in line with the hook, and return it."""
    db.execute("DELETE FROM subscription WHERE hook_id = :id", id=hook["id"])
    if hook["active"]:
        every = WILDCARD in hook["events"]
        wanted = [name for name in hook["events"] if not every or name not in PLATFORM_EVENTS]
        db.insert_many(
            "subscription",
            "repo_id, event, hook_id",
            [(hook["repo_id"], name, hook["id"]) for name in wanted],
        )
    return hook


def get(db: Connection, repo_id: int, hook_id: int) -> Row | None:
    """The repository's hook with this id."""
    row = db.one(
        f"SELECT {COLUMNS} FROM hook WHERE id = :id AND repo_id = :repo_id AND deleted_at IS NULL",
        id=hook_id,
        repo_id=repo_id,
    )
    return None if row is None else decode_row(row)


def by_id(db: Connection, hook_id: int) -> Row | None:
    """The hook with this id, deleted or not (`deleted_at`): for its deliveries."""
    row = db.one(f"SELECT {COLUMNS}, deleted_at FROM hook WHERE id = :id", id=hook_id)
    return None if row is None else decode_row(row)


def by_url(db: Connection, repo_id: int, url: str, event: str | None = None) -> Row | None:
    """The repository's hook with this URL; of several the one with `event`, or else the oldest.

    For making or changing it: until this transaction ends nobody else does.
    """
    _lock_repository(db, repo_id)
    rows = db.all(
        f"SELECT {COLUMNS} FROM hook WHERE repo_id = :repo_id AND url = :url"
        " AND deleted_at IS NULL ORDER BY id",
        repo_id=repo_id,
        url=url,
    )
    found = [decode_row(row) for row in rows]
    return next((row for row in found if event in row["events"]), found[0] if found else None)


def page(db: Connection, repo_id: int, *, limit: int, offset: int = 0) -> list[Row]:
    """A page of the repository's hooks, oldest first."""
    rows = db.all(
        f"SELECT {COLUMNS} FROM hook WHERE repo_id = :repo_id AND deleted_at IS NULL"
        " ORDER BY id LIMIT :limit OFFSET :offset",
        repo_id=repo_id,
        limit=limit,
        offset=offset,
    )
    return [decode_row(row) for row in rows]


def every(db: Connection) -> list[Row]:
    """Every hook with its `repository` as owner/name, oldest first."""
    named = ", ".join(f"h.{column}" for column in COLUMNS.split(", "))
    rows = db.all(
        f"SELECT {named}, a.login || '/' || r.name AS repository FROM hook h"
        " JOIN repository r ON r.id = h.repo_id JOIN account a ON a.id = r.owner_id"
        " WHERE h.deleted_at IS NULL ORDER BY h.id"
    )
    return [decode_row(row) for row in rows]


def count(db: Connection, repo_id: int, most: int = ENDLESS) -> int:
    """How many hooks the repository has, counted to `most`."""
    found: int = db.value(
        "SELECT count(*) FROM (SELECT id FROM hook WHERE repo_id = :repo_id"
        " AND deleted_at IS NULL LIMIT :most) AS f",
        repo_id=repo_id,
        most=most,
    )
    return found


def update(db: Connection, hook: Row, *, most: int = 0, **changes: Any) -> Row:
    """Change what is given of: url, events, content_type, secret, insecure_ssl, active, options;
    `overlap` is for how long the former secret still signs (`hook_secrets.after`), `most` is as
    for `create`.

    Activating a hook forgets why it was disabled. Invalid as for `create`; Missing for one that
    was deleted meanwhile.
    """
    assert changes.keys() <= CHANGEABLE, changes.keys()
    hook = _reload(db, hook)
    wanted = {**hook, **changes}
    events = check_events(wanted["events"])
    _refuse_duplicate(
        db, hook["repo_id"], wanted["url"], wanted["content_type"], events, but=hook["id"]
    )
    hook_limit.check(db, hook["repo_id"], events, most, before=hook["events"], but=hook["id"])
    revived = wanted["active"] and not hook["active"]
    row = db.one(
        "UPDATE hook SET url = :url, content_type = :content_type, secret = :secret,"
        " previous_secret = :previous_secret, previous_until = :previous_until,"
        " secret_taken = CASE WHEN previous_secret = :previous_secret THEN secret_taken ELSE 0 END,"
        " insecure_ssl = :insecure_ssl, active = :active, events = :events, options = :options,"
        " disabled_reason = :disabled_reason, failing_since = :failing_since,"
        f" version = version + 1, updated_at = :now WHERE id = :id RETURNING {COLUMNS}",
        id=hook["id"],
        url=wanted["url"],
        content_type=wanted["content_type"],
        **hook_secrets.rotated_columns(db, hook, changes),
        insecure_ssl=int(wanted["insecure_ssl"]),
        active=int(wanted["active"]),
        events=json.dumps(events),
        options=json.dumps(wanted["options"]),
        disabled_reason=None if revived else hook["disabled_reason"],
        failing_since=None if revived else hook["failing_since"],
        now=db.now,
    )
    assert row is not None
    _notify_changed(db, hook["id"])
    return _sync_subscriptions(db, decode_row(row))


def _reload(db: Connection, hook: Row) -> Row:
    """The hook once more, for another hub may have changed it since it was read."""
    _lock_repository(db, hook["repo_id"])
    found = get(db, hook["repo_id"], hook["id"])
    if found is None:
        raise Missing(f"there is no hook {hook['id']}")
    return found


def _notify_changed(db: Connection, hook_id: int) -> None:
    """Let the worker know that what it has in hand for this hook was taken before a change."""
    courier = db.courier
    db.after_commit(lambda: courier.wake([hook_id]))


def disable(db: Connection, hook_id: int, reason: str) -> None:
    """Switch a hook off for a reason that its owner can read."""
    db.execute(
        "UPDATE hook SET active = 0, disabled_reason = :reason, version = version + 1,"
        " updated_at = :now WHERE id = :id AND active = 1",
        id=hook_id,
        reason=reason,
        now=db.now,
    )
    db.execute("DELETE FROM subscription WHERE hook_id = :id", id=hook_id)
    _notify_changed(db, hook_id)


def delete(db: Connection, hook: Row) -> None:
    """End a hook. Its row stays for what is still on its way, until retention takes both."""
    db.execute("DELETE FROM subscription WHERE hook_id = :id", id=hook["id"])
    db.execute(
        "UPDATE hook SET deleted_at = :now, active = 0, version = version + 1 WHERE id = :id",
        id=hook["id"],
        now=db.now,
    )
    _notify_changed(db, hook["id"])


def last_responses(db: Connection, hook_ids: Iterable[int]) -> dict[int, Row]:
    """For each hook that was ever tried: `status_code` and `error` of its latest attempt."""
    rows = db.all(
        "SELECT a.hook_id, a.status_code, a.error FROM"
        f" {db.each('hooks', hook_id='integer')} AS w JOIN attempt a ON a.id ="
        " (SELECT max(x.id) FROM attempt x WHERE x.hook_id = w.hook_id)",
        hooks=json_array(hook_ids),
    )
    return {row["hook_id"]: row for row in rows}
