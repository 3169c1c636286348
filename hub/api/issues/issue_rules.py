"""Rules of changes of issues and pull requests: who may change what, and what names stand for."""

from collections.abc import Iterable, Sequence
from typing import Annotated

from annotated_types import Ge, Le, MaxLen, MinLen
from pydantic import Field
from typing_extensions import TypedDict

from hub.api.issues import issue_part_serializers
from hub.auth.repository_access import on_repo
from hub.http.errors import Forbidden
from hub.rest.context import Context
from hub.rest.interaction_check import check_archived
from hub.rest.validation import Text
from store import Connection, Row
from store.errors import Gone, Invalid
from store.issues import issue_changes, issues, labels, milestones
from store.repositories import assignable, repositories, repository_details

MOST_LABELS, MOST_ASSIGNEES = 100, 10

ISSUES = on_repo("issues", "read").or_anyone()
READ = ISSUES.or_has("pull_requests", "read")
"""For what pull requests have, too."""
WRITE = on_repo("issues", "write", role="triage", public_scopes=("public_repo",)).or_has(
    "pull_requests", "write"
)
MANAGE = on_repo("issues", "write", role="write", public_scopes=("public_repo",)).or_has(
    "pull_requests", "write"
)
"""For locks, and for the labels and milestones of the repository itself."""
LABEL_CREATED = "label.created"

Title = Annotated[Text, MaxLen(256)]
Body = Annotated[Text, MaxLen(65_536)]
LabelName = Annotated[Text, MinLen(1), MaxLen(255), Field(pattern=r"\S")]
Login = Annotated[Text, MinLen(1), MaxLen(200)]
Logins = Annotated[list[Login], MaxLen(MOST_ASSIGNEES)]
MilestoneNumber = (
    Annotated[int, Ge(0), Le(2**63 - 1)] | Annotated[str, Field(pattern="^[0-9]{0,18}$")] | None
)
"""The number of a milestone, also in a text. An empty text and null stand for none."""


class NamedLabel(TypedDict):
    name: LabelName


LabelNames = Annotated[list[LabelName | NamedLabel], MaxLen(MOST_LABELS)]


def may(ctx: Context, repo: Row, role: str) -> bool:
    """Return whether the caller has a role in the repository."""
    role_of_caller = repositories.role_of(ctx.db, repo, ctx.required_caller.account)
    return repositories.at_least(role_of_caller, role)


def check_enabled(db: Connection, repo_id: int) -> None:
    """Check that a repository has issues. Raises Gone if they are switched off."""
    if not repository_details.has_issues(db, repo_id):
        raise Gone("Issues are disabled for this repo")


def find_issue(db: Connection, repo_id: int, number: int) -> Row | None:
    """Return the issue or pull request with this number, or None.

    Raises Gone for an issue in a repository whose issues are switched off.
    """
    row = issues.get(db, repo_id, number)
    if row is not None and not row["is_pull"] and row["moved_to"] is None:
        check_enabled(db, repo_id)
    return row


def opened(ctx: Context, repo: Row, issue: Row) -> Row:
    """Lock an issue against concurrent changes, and return its row as it is then.

    Raises Forbidden in an archived repository.
    """
    check_archived(repo)
    return issue_changes.lock(ctx.db, issue)


def check_title(title: str | None, resource: str = "Issue") -> None:
    """Check that a title is not blank. Raises Invalid."""
    if title is None or not title.strip():
        raise Invalid(
            "title can't be blank", field="title", code="missing_field", resource=resource
        )


def named_labels(ctx: Context, repo: Row, given: Iterable[str | NamedLabel]) -> list[Row]:
    """Return the labels with these names. Unknown ones are created, and emitted.

    Raises Forbidden for an unknown label if the caller may not write.
    """
    names = [one if isinstance(one, str) else one["name"] for one in given]
    wanted = {name.lower(): name for name in names}
    known = labels.by_names(ctx.db, repo["id"], wanted)
    # In a fixed order, so that two requests that create the same labels do not block each other.
    missing = [wanted[key] for key in sorted(wanted.keys() - known.keys())]
    if missing and not may(ctx, repo, "write"):
        raise Forbidden(f"Must have push access to create the label {missing[0]!r}.")
    for name in missing:
        row = labels.create(ctx.db, repo["id"], name)
        shown = issue_part_serializers.label(ctx.urls, repo, row)
        ctx.emit(LABEL_CREATED, repo, label=shown)
        known[name.lower()] = row
    return [known[key] for key in wanted]


def check_labels(found: Sequence[int]) -> None:
    """Check that an issue does not get too many labels. Raises Invalid."""
    if len(found) > MOST_LABELS:
        raise Invalid(
            f"An issue can have at most {MOST_LABELS} labels.", field="labels", resource="Issue"
        )


def found_milestone(ctx: Context, repo: Row, number: MilestoneNumber) -> Row | None:
    """Return the milestone with this number. Raises Invalid for an unknown one."""
    if number is None or number == "":
        return None
    row = milestones.get(ctx.db, repo["id"], int(number))
    if row is None:
        raise Invalid(f"there is no milestone {number}", field="milestone", resource="Issue")
    return row


def assignable_ids(ctx: Context, repo: Row, logins: Sequence[str]) -> list[int]:
    """Return the accounts with these logins. Raises Invalid if one cannot be assigned."""
    found = assignable.among(ctx.db, repo, logins)
    for login in logins:
        if login.lower() not in found:
            raise Invalid(
                f"{login!r} cannot be assigned to issues of this repository",
                field="assignees",
                resource="Issue",
            )
    return [found[login.lower()]["id"] for login in logins]


def check_assignees(found: Sequence[int]) -> None:
    """Check that an issue does not get too many assignees. Raises Invalid."""
    if len(found) > MOST_ASSIGNEES:
        raise Invalid(
            f"An issue can have at most {MOST_ASSIGNEES} assignees.",
            field="assignees",
            resource="Issue",
        )
