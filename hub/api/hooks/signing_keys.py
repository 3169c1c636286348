"""The keys that sign a hook's deliveries as `v1a`, and the public address of their public parts."""

from typing import Annotated

from annotated_types import Ge, Le, MaxLen
from pydantic import with_config
from typing_extensions import TypedDict

from hub.api.hooks.hook_access import READ_HOOK, WRITE_HOOK, HookOperations
from hub.http.cors import ORIGIN
from hub.http.response import Response, json_response
from hub.rest import serializers
from hub.rest.context import Context, Services
from hub.rest.request import Request
from hub.rest.urls import Urls
from hub.rest.validation import Text
from store import Row
from store.clock import SECOND, iso
from store.crypto import ed25519
from store.errors import Missing
from store.hooks import hooks
from store.hooks import signing_keys as keys

hook_ops = HookOperations()
ops = hook_ops.group

KEY_SET = """Get the public keys of a webhook

A JSON Web Key Set (RFC 7517) with the Ed25519 keys that sign the hook's deliveries as v1a. It \
needs no credentials. While a key is rotated, the set has two keys, the new one first."""
# Receivers keep the set for so many seconds, which is less than any useful overlap.
MAX_AGE = 300
CACHED = (b"cache-control", f"public, max-age={MAX_AGE}".encode())


class SigningKeyItem(TypedDict):
    """A public key. A former key signs until `ends_at`."""

    public_key: str
    jwk: dict[str, str]
    created_at: str
    ends_at: str | None


class SigningKeys(TypedDict):
    """A hook's keys, the present one first. The URL has them as a JSON Web Key Set."""

    keys_url: str | None
    keys: list[SigningKeyItem]


@with_config({"extra": "forbid"})
class NewSigningKey(TypedDict, total=False):
    """A new key: `whsk_` and base64, or a random one. `overlap` is in seconds."""

    private_key: Annotated[Text, MaxLen(200)]
    overlap: Annotated[int, Ge(0), Le(keys.MOST_OVERLAP // SECOND)]


@hook_ops("GET /keys", READ_HOOK)
def get_webhook_signing_keys(ctx: Context, hook: Row) -> SigningKeys:
    """Get the signing keys of a webhook

    Public keys only. A hook without the signature v1a has no key.
    """
    return _serialize(ctx, hook)


@hook_ops("POST /keys", WRITE_HOOK, status=201)
def rotate_webhook_signing_key(ctx: Context, hook: Row, body: NewSigningKey) -> SigningKeys:
    """Rotate the signing key of a webhook

    The former key also signs for `overlap` seconds more, by default a day. A private key that is
    given may have 32 bytes, or 64 with its public key.
    """
    overlap = body.get("overlap", keys.OVERLAP // SECOND) * SECOND
    keys.rotate(ctx.db, hook, body.get("private_key"), overlap)
    return _serialize(ctx, hooks.by_id(ctx.db, hook["id"]) or hook)


@hook_ops("DELETE /keys/former", WRITE_HOOK)
def end_webhook_signing_key_overlap(ctx: Context, hook: Row) -> None:
    """End the overlap of a webhook's signing keys

    From now on, the present key alone signs.
    """
    keys.end_overlap(ctx.db, hook)


def _serialize(ctx: Context, hook: Row) -> SigningKeys:
    return {
        "keys_url": url_of(ctx.urls, hook),
        "keys": [_item(row) for row in keys.public_keys(ctx.db, hook["id"])],
    }


def url_of(urls: Urls, hook: Row) -> str | None:
    """Return the address of a hook's public keys. Return None if it has no key."""
    if hook["key_set"] is None:
        return None
    return f"{urls.origin}/.well-known/webhook-keys/{hook['key_set']}"


def _item(row: Row) -> SigningKeyItem:
    public = keys.public_bytes(row)
    return {
        "public_key": ed25519.write_public(public),
        "jwk": ed25519.jwk(public),
        "created_at": iso(row["created_at"]),
        "ends_at": serializers.time(row["ends_at"]),
    }


async def key_set(services: Services, request: Request) -> Response:
    """Answer GET /.well-known/webhook-keys/{key_set}."""
    name = request.values["key_set"]
    # Some database engines reject a text with a NUL.
    rows = None if "\0" in name else await services.store.read(keys.key_set, name)
    if rows is None:
        raise Missing("key set")
    found = [ed25519.jwk(keys.public_bytes(row)) for row in rows]
    return json_response(200, {"keys": found}, (CACHED, ORIGIN))
