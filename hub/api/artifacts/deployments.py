"""Shared parts of the operations on deployments: access, selection of valid entries, events."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hub.api.artifacts import artifact_serializers
from hub.api.artifacts.artifact_serializers import DeploymentEntry, DeploymentError
from hub.auth.organization_access import OrCollaborator
from hub.auth.viewing import viewer_of
from hub.http.errors import Forbidden, NotFound
from hub.rest.context import Context
from store import Row
from store.accounts.viewers import RepositoryViewer
from store.artifacts import artifacts, deployment_records
from store.artifacts.artifacts import ArtifactSource, Cause
from store.artifacts.deployment_records import Deployment, DeploymentPlace
from store.errors import Invalid, Missing

PERMISSION = "artifact_metadata"
# An artifact is as private as its repository: `public_repo` shows none of private repositories.
SCOPES, PUBLIC_SCOPES = ("repo",), ("public_repo",)
# The right to push to its repository decides, and who has it need not be a member.
READ, WRITE = (
    OrCollaborator(permissions=((PERMISSION, level),), scopes=SCOPES, public_scopes=PUBLIC_SCOPES)
    for level in ("read", "write")
)
CLUSTER = re.compile(r"[a-zA-Z0-9._-]{1,128}")
RESOURCE = "Deployment"
REASONS = {
    "not_found": "no repository of the organization is known for it",
    "unauthorized": "you may not push to its repository, or not see the record that it replaces",
}
EVENTS = ("deployment_record.created", "deployment_record.updated")


@dataclass(frozen=True, slots=True)
class CheckedDeployments:
    """Deployments that can be recorded, and errors for the others by their index in the request."""

    good: list[Deployment]
    bad: dict[int, DeploymentError]

    @property
    def errors(self) -> list[DeploymentError]:
        """Return the errors in the order of the request."""
        return [*self.bad.values()]


def viewer(ctx: Context) -> RepositoryViewer:
    """Return the caller as a viewer of repositories with artifacts."""
    return viewer_of(ctx.caller, PERMISSION)


def place_in(cluster: str, body: Mapping[str, Any]) -> DeploymentPlace:
    """Return the place of deployments in a cluster. Raises Invalid if its name is malformed."""
    if not CLUSTER.fullmatch(cluster):
        raise Invalid(
            "a cluster's name consists of 1 to 128 letters, digits, '.', '-' or '_'",
            field="cluster",
            resource=RESOURCE,
        )
    return DeploymentPlace(
        body["logical_environment"], body.get("physical_environment", ""), cluster
    )


def digest_in_path(given: str) -> str:
    """Return a digest in a path in its normal form. Raises Missing if it is malformed."""
    try:
        return artifacts.normal_digest(given)
    except ValueError:
        raise Missing("digest") from None


def source_of(ctx: Context, org: Row, digest: str, named: str | None) -> ArtifactSource:
    """Return the repository of an artifact. Raises NotFound or Forbidden if it cannot be used."""
    (found,) = artifacts.sources(ctx.db, org, viewer(ctx), [(digest, named)])
    if not isinstance(found, ArtifactSource):
        raise _refusal(found, "github_repository")
    return found


def check_replaced(ctx: Context, org: Row, place: DeploymentPlace, name: str) -> None:
    """Raise Forbidden if the caller may not see the record with this name in this place."""
    # Another hub may be recording it.
    artifacts.lock(ctx.db, org["id"])
    if deployment_records.hidden_names(ctx.db, org["id"], place, [name], viewer(ctx)):
        raise _refusal("unauthorized", "deployment_name")


def sorted_out(
    ctx: Context, org: Row, place: DeploymentPlace, entries: Sequence[DeploymentEntry]
) -> CheckedDeployments:
    """Divide deployments into those that can be recorded and the others.

    Raises Invalid if two have the same name.
    """
    _check_names(entries)
    wanted = [(entry["digest"], entry.get("github_repository")) for entry in entries]
    names = [entry["deployment_name"] for entry in entries]
    # Another hub may be recording some of them.
    artifacts.lock(ctx.db, org["id"])
    hidden = deployment_records.hidden_names(ctx.db, org["id"], place, names, viewer(ctx))
    found = CheckedDeployments([], {})
    for number, source in enumerate(artifacts.sources(ctx.db, org, viewer(ctx), wanted)):
        entry = entries[number]
        if isinstance(source, ArtifactSource) and entry["deployment_name"] in hidden:
            source = "unauthorized"
        if isinstance(source, ArtifactSource):
            found.good.append(deployment(entry, source))
        else:
            shown = artifact_serializers.failed_entry(entry)
            found.bad[number] = {"cause": source, "deployment": shown}
    return found


def refuse(found: CheckedDeployments) -> None:
    """Raise NotFound or Forbidden for the first deployment that cannot be recorded, if any."""
    for number, error in found.bad.items():
        raise _refusal(error["cause"], f"deployments[{number}]")


def deployment(entry: Mapping[str, Any], source: ArtifactSource) -> Deployment:
    """Return a deployment in the form that the store accepts."""
    risks = entry.get("runtime_risks")
    return Deployment(
        source.repo_id,
        source.attestation_id,
        entry["name"],
        entry["digest"],
        entry.get("version") or None,
        entry.get("status", "deployed"),
        entry["deployment_name"],
        entry.get("tags"),
        None if risks is None else [*risks],
    )


def emit_records(ctx: Context, rows: Iterable[Row]) -> None:
    """Emit events for the records that are new or have changed."""
    changed = [row for row in rows if row["change"]]
    for change in ("created", "updated"):
        some = [row for row in changed if row["change"] == change]
        if some:
            event_data = artifact_serializers.event_data(ctx.urls, ctx.db, some)
            ctx.emit_all(f"deployment_record.{change}", event_data)


def _refusal(cause: Cause, field: str) -> NotFound | Forbidden:
    code = "missing" if cause == "not_found" else "custom"
    reason = REASONS[cause]
    detail = {"resource": RESOURCE, "field": field, "code": code, "message": reason}
    if cause == "not_found":
        return NotFound("Not Found", [detail])
    return Forbidden("Must have push access to Repository.", [detail])


def _check_names(entries: Sequence[DeploymentEntry]) -> None:
    seen: set[str] = set()
    for number, entry in enumerate(entries):
        name = entry["deployment_name"]
        if name in seen:
            raise Invalid(
                f"deployments[{number}]: the deployment_name {name!r} occurs twice",
                field="deployments",
                resource=RESOURCE,
            )
        seen.add(name)
