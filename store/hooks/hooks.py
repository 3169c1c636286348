"""Hooks: the receivers of the events of a repository, an organization, an app, or of everything."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from store.database.connection import Connection, Row
from store.errors import Invalid, Missing
from store.hooks import (
    hook_limit,
    hook_ordering,
    hook_secrets,
    hook_subscriptions,
    option_columns,
    signing_keys,
)
from store.hooks.hook_targets import TARGETS, HookTarget, as_target, organization, target_of

COLUMNS = (
    f"id, {TARGETS}, url, content_type, secret, insecure_ssl, active, events, options,"
    " disabled_reason, failing_since, version, created_at, updated_at, previous_secret,"
    " previous_until, secret_taken, held_until, paused_at, key_set,"
    " option_secrets, certificate_ends_at, pause_reason, handshake, handshake_rate, oauth_app_id,"
    " off_since"
)
# The indexes on URLs have this many characters of them.
INDEXED = 500
CHANGEABLE = frozenset(
    {"url", "events", "content_type", "secret", "overlap", "insecure_ssl", "active", "options"}
)


def decode_row(row: Row) -> Row:
    """Decode the JSON columns `events` and `options` of a row."""
    row["events"] = json.loads(row["events"])
    row["options"] = json.loads(row["options"])
    return row


def secret_of(db: Connection, hook: Row) -> str | None:
    """Return the hook's secret, decrypted, or None. Its row has the sealed secret."""
    return None if hook["secret"] is None else db.vault.open(hook["secret"])


def create(
    db: Connection,
    target: HookTarget | int,
    *,
    url: str,
    events: Iterable[str],
    content_type: str = "form",
    secret: str | None = None,
    insecure_ssl: bool = False,
    active: bool = True,
    options: dict[str, Any] | None = None,
    most: int = 0,
    oauth_app_id: int | None = None,
) -> Row:
    """Create a hook of a target. A number is the id of a repository.

    `most` limits the target's hooks that one event may have (0: no limit). `oauth_app_id` is
    the OAuth application whose token creates the hook. Raises Invalid if an event is unknown or
    does not fit the target, if the hook would repeat another one, or if an event has `most` hooks
    already.
    """
    target = as_target(target)
    chosen = hook_subscriptions.check_events(events, target.kind)
    _refuse_duplicate(db, target, url, content_type, chosen, but=0)
    hook_limit.check(db, target, chosen, most)
    row = db.required(
        f"INSERT INTO hook ({TARGETS}, url, content_type, secret, insecure_ssl, active,"
        " events, options, option_secrets, certificate_ends_at, handshake, handshake_rate, filter,"
        " pull, oauth_app_id, created_at, updated_at)"
        " VALUES (:repo_id, :org_id, :app_id, :url, :content_type, :secret, :insecure_ssl,"
        " :active, :events, :options, :option_secrets, :certificate_ends_at, :handshake,"
        " :handshake_rate, :filter, :pull, :oauth_app_id, :now, :now)"
        f" RETURNING {COLUMNS}",
        **target.columns,
        url=url,
        content_type=content_type,
        secret=db.vault.seal(secret) if secret else None,
        insecure_ssl=int(insecure_ssl),
        active=int(active),
        events=json.dumps(chosen),
        **option_columns.columns(db, target.kind, None, options or {}, url),
        oauth_app_id=oauth_app_id,
    )
    return _synced(db, decode_row(row))


def _with_key(db: Connection, hook: Row) -> Row:
    """Create the hook's signing key if its options need one. Return the hook."""
    if signing_keys.is_wanted(hook["options"]):
        hook["key_set"] = signing_keys.ensure(db, hook["id"], hook["key_set"])
    return hook


def lock_target(db: Connection, target: HookTarget) -> None:
    """Lock the target's hooks until the transaction ends.

    So no two hubs create the same hook.
    """
    db.alone(f"hooks of {target.kind} {target.id}")


def _refuse_duplicate(
    db: Connection,
    target: HookTarget,
    url: str,
    content_type: str,
    events: Sequence[str],
    *,
    but: int,
) -> None:
    rows = [
        row
        for row in of_url(db, target, url)
        if row["content_type"] == content_type and row["id"] != but
    ]
    if any(set(row["events"]) & set(events) for row in rows):
        where = "the whole installation" if target.kind == "system" else f"this {target.kind}"
        raise Invalid(
            f"Hook already exists on {where}", field="config", code="custom", resource="Hook"
        )


def of_url(db: Connection, target: HookTarget | int, url: str) -> list[Row]:
    """Return the target's hooks with this URL, oldest first. A number is the id of a repository.

    The target's hooks stay locked until this transaction ends, so that the caller can create or
    update one.
    """
    target = as_target(target)
    lock_target(db, target)
    # A condition on the whole URL would keep SQLite from using the index on its beginning.
    rows = db.all(
        f"SELECT {COLUMNS} FROM hook WHERE {target.condition}"
        f" AND substr(url, 1, {INDEXED}) = :beginning AND deleted_at IS NULL ORDER BY id",
        target_id=target.id,
        beginning=url[:INDEXED],
    )
    return [decode_row(row) for row in rows if row["url"] == url]


def _synced(db: Connection, hook: Row) -> Row:
    """Update the key, the ordering and the subscriptions to match the hook. Return the hook."""
    hook_ordering.configure(db, hook)
    return hook_subscriptions.sync(db, _with_key(db, hook))


def get(db: Connection, target: HookTarget | int, hook_id: int) -> Row | None:
    """Return the target's hook with this id, or None. A number is the id of a repository."""
    target = as_target(target)
    row = db.one(
        f"SELECT {COLUMNS} FROM hook WHERE id = :id AND {target.condition} AND deleted_at IS NULL",
        id=hook_id,
        target_id=target.id,
    )
    return None if row is None else decode_row(row)


def get_of_organization(db: Connection, organization_id: int, hook_id: int) -> Row | None:
    """Return the organization's hook with this id, or None."""
    return get(db, organization(organization_id), hook_id)


def by_id(db: Connection, hook_id: int) -> Row | None:
    """Return the hook with this id, deleted or not, or None. Deliveries need deleted hooks."""
    row = db.one(f"SELECT {COLUMNS}, deleted_at FROM hook WHERE id = :id", id=hook_id)
    return None if row is None else decode_row(row)


def by_url(db: Connection, target: HookTarget | int, url: str) -> Row | None:
    """Return the target's oldest hook with this URL, or None. It locks the hooks as `of_url`."""
    return next(iter(of_url(db, target, url)), None)


def update(db: Connection, hook: Row, *, most: int = 0, **changes: Any) -> Row:
    """Update a hook. `changes` may have any of CHANGEABLE.

    `overlap` is how long the former secret still signs (see `hook_secrets.rotated_columns`). `most`
    is as in `create`. Activating a hook clears the reason for which it was disabled. A new URL has
    not failed yet. Raises Invalid as `create` does, and Missing if the hook was deleted meanwhile.
    """
    assert changes.keys() <= CHANGEABLE, changes.keys()
    target = target_of(hook)
    hook = lock(db, hook)
    wanted = {**hook, **changes}
    events = hook_subscriptions.check_events(wanted["events"], target.kind, hook["events"])
    if target.kind == "app" and {*events} != {*hook["events"]}:
        raise Invalid(
            "the hook of an app has the app's events: change the app",
            field="events",
            resource="Hook",
        )
    _refuse_duplicate(db, target, wanted["url"], wanted["content_type"], events, but=hook["id"])
    hook_limit.check(db, target, events, most, before=hook["events"], but=hook["id"])
    # A hook that was paused because it could not be used goes on with other options.
    mended = hook["pause_reason"] is not None and "options" in changes
    revived = (wanted["active"] and not hook["active"]) or mended
    begins_anew = revived or wanted["url"] != hook["url"]
    # While a hook is off, it shows how long the receiver had failed for which it was disabled.
    healthy = revived or (begins_anew and wanted["active"])
    row = db.required(
        "UPDATE hook SET url = :url, content_type = :content_type, secret = :secret,"
        " previous_secret = :previous_secret, previous_until = :previous_until,"
        " secret_taken = CASE WHEN previous_secret = :previous_secret THEN secret_taken ELSE 0 END,"
        " insecure_ssl = :insecure_ssl, active = :active, off_since = :off_since,"
        " events = :events, options = :options,"
        " option_secrets = :option_secrets, filter = :filter, pull = :pull,"
        " certificate_ends_at = :certificate_ends_at, paused_at = :paused_at,"
        " pause_reason = :pause_reason, handshake = :handshake, handshake_rate = :handshake_rate,"
        " disabled_reason = :disabled_reason, failing_since = :failing_since,"
        " held_until = :held_until,"
        " resting_until = CASE WHEN :begins_anew = 1 THEN NULL ELSE resting_until END,"
        f" version = version + 1, updated_at = :now WHERE id = :id RETURNING {COLUMNS}",
        id=hook["id"],
        url=wanted["url"],
        content_type=wanted["content_type"],
        **hook_secrets.rotated_columns(db, hook, changes),
        insecure_ssl=int(wanted["insecure_ssl"]),
        active=int(wanted["active"]),
        off_since=None if wanted["active"] else db.now if hook["active"] else hook["off_since"],
        events=json.dumps(events),
        **option_columns.changed(db, target.kind, hook, changes),
        disabled_reason=None if revived else hook["disabled_reason"],
        failing_since=None if healthy else hook["failing_since"],
        held_until=None if begins_anew else hook["held_until"],
        begins_anew=int(begins_anew),
        paused_at=None if mended else hook["paused_at"],
        pause_reason=None if mended else hook["pause_reason"],
    )
    notify_changed(db, hook["id"])
    return _synced(db, decode_row(row))


def lock(db: Connection, hook: Row) -> Row:
    """Lock the hook until the transaction ends. Return it as it is now.

    Whatever reads a hook and then writes what it read must lock it first, because other hubs and
    workers change hooks too. Raises Missing if the hook was deleted meanwhile.
    """
    lock_target(db, target_of(hook))
    hook_ordering.lock(db, [hook["id"]])
    row = db.one(
        f"SELECT {COLUMNS} FROM hook WHERE id = :id AND deleted_at IS NULL{db.for_change}",
        id=hook["id"],
    )
    if row is None:
        raise Missing(f"there is no hook {hook['id']}")
    return decode_row(row)


def notify_changed(db: Connection, hook_id: int) -> None:
    """Notify the worker that its copy of this hook is outdated."""
    db.wake_after_commit([hook_id])


def disable(db: Connection, hook_id: int, reason: str) -> None:
    """Disable a hook, for a reason that its owner can read."""
    hook_ordering.stop(db, hook_id)
    hook = db.one(
        "UPDATE hook SET active = 0, disabled_reason = :reason, version = version + 1,"
        f" updated_at = :now WHERE id = :id AND active = 1 RETURNING id, {TARGETS}",
        id=hook_id,
        reason=reason,
    )
    if hook is not None:
        hook_subscriptions.remove(db, hook)
    notify_changed(db, hook_id)
