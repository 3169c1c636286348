"""Targets from the store: a hook's row, with its URL parsed, its secret decrypted and its fixed
headers written.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

from store import Connection, Row
from store.delivery import leases
from store.endpoint_access.handshake import is_wanted
from store.errors import Unusable
from store.formats import batches
from store.formats.cloudevents import PREFIX
from store.formats.formats import PLATFORM, media_type
from store.hook_state.hook_health import last_rest
from store.hooks import hooks, option_secrets, pull_urls, signing_keys
from store.hooks.hook_options import SIGNATURES
from store.hooks.hook_ordering import is_stopped
from store.hooks.hook_targets import target_of
from store.hooks.signing_keys import SigningKey
from worker.delivery.policy import Policy, policy_for
from worker.delivery.target import Target
from worker.endpoint_access.access import access_for
from worker.endpoint_access.handshake import MINUTE, origin_lines, origin_of
from worker.endpoint_access.tls_choice import tls_choice
from worker.http.addresses import Refused
from worker.http.endpoint import Endpoint, first_lines
from worker.http.guard import Guard
from worker.http.tls_contexts import TlsChoice
from worker.settings import WorkerSettings
from worker.signing.secret_rotation import current_overlap
from worker.signing.signatures import DeliverySignatures, signatures_from

CONTENT_TYPES = {"json": "application/json", "form": "application/x-www-form-urlencoded"}


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
    target = make_target(row, secret, endpoint, refusal, settings, signatures, db.now)
    if row["handshake_rate"] is not None:
        target.policy = _shared(target.policy, row["handshake_rate"], leases.live(db))
    if row["failing_since"] is not None and endpoint_of is not None:
        target.failing, target.rest = True, last_rest(db, row)
    return target


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
    verify = not row["insecure_ssl"]
    verify_tls: TlsChoice = verify
    ends_at, misconfigured = row["certificate_ends_at"], ""
    if endpoint is not None:
        verify_tls, misconfigured = tls_choice(row["options"], ends_at, now, verify=verify)
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
        or is_stopped(row)
        or _is_withheld(row),
        content_type=row["content_type"],
        verify_tls=verify_tls,
        misconfigured=misconfigured,
        reread_at=None if misconfigured else ends_at,
        policy=policy_for(settings, row["options"]),
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


def _shared(policy: Policy, granted: int, workers: int) -> Policy:
    """Return the policy with this worker's share of the requests a minute that were granted."""
    sharers = max(workers, 1)
    rate = granted / MINUTE / sharers
    return replace(policy, rate=min(rate, policy.rate or rate), sharers=sharers)


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


def _is_withheld(row: Row) -> bool:
    """Return whether the receiver fetches the hook's deliveries, and the hook is not deleted."""
    return pull_urls.is_pull(row["url"]) and row["deleted_at"] is None


def _static_head(row: Row, endpoint: Endpoint | None, settings: WorkerSettings) -> str:
    lines = first_lines("POST", endpoint, settings.user_agent, row["url"])
    lines.append(f"Content-Type: {_media(row)}")
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
