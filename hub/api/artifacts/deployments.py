"""What operations on deployments have in common: which of them can be recorded, and telling."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hub.api.artifacts import artifact_serializers
from hub.api.artifacts.artifact_serializers import DeploymentEntry, DeploymentError
from hub.auth.organization_access import on_org
from hub.auth.viewing import viewer_of
from hub.http.errors import Forbidden, NotFound
from hub.rest.context import Context
from store import Row
from store.accounts.viewers import RepositoryViewer
from store.artifacts import artifacts
from store.artifacts.artifacts import ArtifactSource, Cause
from store.artifacts.deployment_records import Deployment
from store.errors import Invalid, Missing

PERMISSION = "artifact_metadata"
# What an artifact is worth, its repository is: of private ones `public_repo` shows nothing.
SCOPES, PUBLIC_SCOPES = ("repo",), ("public_repo",)
READ = on_org(PERMISSION, "read", scopes=SCOPES, public_scopes=PUBLIC_SCOPES)
WRITE = on_org(PERMISSION, "write", scopes=SCOPES, public_scopes=PUBLIC_SCOPES)
CLUSTER = re.compile(r"[a-zA-Z0-9._-]{1,128}")
RESOURCE = "Deployment"
REASONS = {
    "not_found": "no repository of the organization is known for it",
    "unauthorized": "you may not push to its repository",
}
EVENTS = ("deployment_record.created", "deployment_record.updated")


@dataclass(frozen=True, slots=True)
class Sorted:
    """Deployments that can be recorded, and those that cannot by their place in the request."""

    good: list[Deployment]
    bad: dict[int, DeploymentError]

    @property
    def errors(self) -> list[DeploymentError]:
        """The latter, in their order."""
        return [*self.bad.values()]


def viewer(ctx: Context) -> RepositoryViewer:
    """Who asks."""
    return viewer_of(ctx.caller, PERMISSION)


def checked_cluster(name: str) -> str:
    """The name of a cluster in a path. Invalid for what is none."""
    if not CLUSTER.fullmatch(name):
        raise Invalid(
            "a cluster is called by 1 to 128 letters, digits, '.', '-' or '_'",
            field="cluster",
            resource=RESOURCE,
        )
    return name


def digest_in_path(given: str) -> str:
    """A digest in a path. Missing for what is none."""
    try:
        return artifacts.normal_digest(given)
    except ValueError:
        raise Missing("digest") from None


def source_of(ctx: Context, org: Row, digest: str, named: str | None) -> ArtifactSource:
    """From which repository one artifact is. Absent, Forbidden."""
    (found,) = artifacts.sources(ctx.db, org, viewer(ctx), [(digest, named)])
    if not isinstance(found, ArtifactSource):
        raise _refusal(found, "github_repository")
    return found


def sorted_out(ctx: Context, org: Row, entries: Sequence[DeploymentEntry]) -> Sorted:
    """Which of these can be recorded. Invalid where two have the same name."""
    _check_names(entries)
    wanted = [(entry["digest"], entry.get("github_repository")) for entry in entries]
    found = Sorted([], {})
    for number, source in enumerate(artifacts.sources(ctx.db, org, viewer(ctx), wanted)):
        entry = entries[number]
        if isinstance(source, ArtifactSource):
            found.good.append(deployment(entry, source))
        else:
            shown = artifact_serializers.shown_entry(entry)
            found.bad[number] = {"cause": source, "deployment": shown}
    return found


def refuse(found: Sorted) -> None:
    """Absent or Forbidden, for the first that cannot be recorded."""
    for number, error in found.bad.items():
        raise _refusal(error["cause"], f"deployments[{number}]")


def deployment(entry: Mapping[str, Any], source: ArtifactSource) -> Deployment:
    """As the store takes it."""
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


def tell(ctx: Context, rows: Iterable[Row]) -> None:
    """Tell of the records that are new or have changed."""
    changed = [row for row in rows if row["change"]]
    for change in ("created", "updated"):
        some = [row for row in changed if row["change"] == change]
        if some:
            told = artifact_serializers.told(ctx.urls, ctx.db, some)
            ctx.emit_all(f"deployment_record.{change}", told)


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
                f"deployments[{number}]: the deployment_name {name!r} is there twice",
                field="deployments",
                resource=RESOURCE,
            )
        seen.add(name)
