"""Devenv secrets of a repository (group 14), sealed with its public key and never shown again."""

from collections.abc import Sequence
from typing import Annotated, Literal, NotRequired

from annotated_types import MaxLen
from pydantic import StringConstraints
from typing_extensions import TypedDict

from hub.auth.repository_access import on_repo
from hub.http.response import TypedReply
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.organization_serializers import OrganizationSimple
from hub.rest.paging import NumberedPaging
from hub.rest.repository_serializers import DetailedRepository
from hub.rest.resolve import text
from hub.rest.serializers import EmptyObject, SimpleUser
from hub.rest.urls import Urls
from hub.rest.validation import Text
from store import Connection, Row
from store.clock import iso
from store.delivery.outbox import SnapshotEvent
from store.devenvs import devenv_keys, devenv_secrets
from store.errors import Invalid, existing

ops = OperationGroup("devenvs", secret_name=text)

READ = on_repo("devenv_secrets", "write", role="write")
WRITE = on_repo("devenv_secrets", "write", role="admin")
# A sealed box is 48 bytes longer than its content, and base64 needs four characters for three
# bytes.
MOST_CHARACTERS = (devenv_secrets.MOST_BYTES + 48 + 2) // 3 * 4
BASE64 = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$"


class DevenvSecret(TypedDict):
    name: str
    created_at: str
    updated_at: str
    visibility: Literal["all"]


class DevenvSecrets(TypedDict):
    total_count: int
    secrets: list[DevenvSecret]


class DevenvPublicKey(TypedDict):
    """The public key. `key` is in base64, for libsodium's sealed boxes."""

    key_id: str
    key: str


class SealedSecret(TypedDict, total=False):
    """A sealed value. Both members are required."""

    encrypted_value: Annotated[str, StringConstraints(pattern=BASE64), MaxLen(MOST_CHARACTERS)]
    key_id: Annotated[Text, MaxLen(100)]


class DevenvSecretEvent(TypedDict):
    action: Literal["created", "updated", "deleted"]
    secret: DevenvSecret
    repository: DetailedRepository
    organization: NotRequired[OrganizationSimple]
    sender: SimpleUser | None


ops.declare_events(devenv_secret=DevenvSecretEvent)


@ops("GET /repos/{owner}/{repo}/devenvs/secrets", READ)
def list_repo_secrets(ctx: Context, repo: Row, page: NumberedPaging) -> DevenvSecrets:
    """List repository secrets

    Sorted by name, without their values.
    """
    page.total = devenv_secrets.count(ctx.db, repo["id"])
    rows = devenv_secrets.page(ctx.db, repo["id"], **page.bounds)
    return {"total_count": page.total, "secrets": [_serialize(row) for row in rows]}


@ops("GET /repos/{owner}/{repo}/devenvs/secrets/public-key", READ)
def get_repo_public_key(ctx: Context, repo: Row) -> DevenvPublicKey:
    """Get a repository public key

    The key with which secrets must be sealed. It is created by the first request and never changes.
    """
    row = devenv_keys.get(ctx.db, repo["id"])
    if row is None:
        ctx.require_write()
        row = devenv_keys.make(ctx.db, repo["id"])
    return {"key_id": row["key_id"], "key": row["public_key"]}


@ops("GET /repos/{owner}/{repo}/devenvs/secrets/{secret_name}", READ)
def get_repo_secret(ctx: Context, repo: Row, secret_name: str) -> DevenvSecret:
    """Get a repository secret

    The value is not included.
    """
    row = _found(ctx, repo, secret_name)
    ctx.last_modified = row["updated_at"]
    return _serialize(row)


@ops(
    "PUT /repos/{owner}/{repo}/devenvs/secrets/{secret_name}",
    WRITE,
    status=201,
    also=(204,),
    emits=("devenv_secret.created", "devenv_secret.updated"),
)
def create_or_update_repo_secret(
    ctx: Context, repo: Row, secret_name: str, body: SealedSecret
) -> EmptyObject | TypedReply:
    """Create or update a repository secret

    Responds with 201 if the secret is new, otherwise with 204. The value must be sealed with the
    repository's public key. It is opened here to verify that.
    """
    for field in ("encrypted_value", "key_id"):
        if field not in body:
            raise Invalid(
                f"{field} is required", field=field, code="missing_field", resource="DevenvSecret"
            )
    value = devenv_keys.private_key(ctx.db, repo["id"], body["key_id"], body["encrypted_value"])
    made = devenv_secrets.put(ctx.db, repo["id"], secret_name, value)
    row = _found(ctx, repo, secret_name)
    ctx.emit(f"devenv_secret.{'created' if made else 'updated'}", repo, secret=_serialize(row))
    return {} if made else TypedReply(204)


@ops(
    "DELETE /repos/{owner}/{repo}/devenvs/secrets/{secret_name}",
    WRITE,
    emits=("devenv_secret.deleted",),
)
def delete_repo_secret(ctx: Context, repo: Row, secret_name: str) -> None:
    """Delete a repository secret"""
    row = _found(ctx, repo, secret_name)
    devenv_secrets.delete(ctx.db, row)
    ctx.emit("devenv_secret.deleted", repo, secret=_serialize(row))


def _found(ctx: Context, repo: Row, name: str) -> Row:
    return existing(devenv_secrets.get(ctx.db, repo["id"], name), "secret")


def _serialize(row: Row) -> DevenvSecret:
    return {
        "name": row["name"],
        "created_at": iso(row["created_at"]),
        "updated_at": iso(row["updated_at"]),
        "visibility": "all",
    }


def _snapshot(urls: Urls, db: Connection, repo: Row, rows: Sequence[Row]) -> list[SnapshotEvent]:
    return [
        SnapshotEvent("devenv_secret.updated", repo["id"], {"secret": _serialize(row)})
        for row in rows
    ]


ops.declare_snapshots(devenv_secret=_snapshot)
