"""Check runs (group 12): results of apps about commits. Only a run's app can write it."""

from collections.abc import Sequence
from typing import Annotated, Literal

from annotated_types import Ge, Le, MaxLen
from typing_extensions import TypedDict

from hub.api.checks import check_run_rules, check_serializers
from hub.api.checks.check_run_rules import CheckRunChange, NewCheckRun
from hub.api.checks.check_serializers import CheckRun
from hub.auth.repository_access import on_repo
from hub.http.errors import Forbidden
from hub.rest import commit_lookup
from hub.rest.context import Context
from hub.rest.group import OperationGroup
from hub.rest.paging import NumberedPaging
from hub.rest.resolve import text
from hub.rest.serializers import EmptyObject, row_serializer
from hub.rest.urls import Urls
from hub.rest.validation import Digits, Text
from store import Connection, Row
from store.accounts import apps
from store.checks import check_annotations, check_runs, check_suites
from store.checks.check_runs import CheckRunFilter
from store.delivery.outbox import SnapshotEvent
from store.errors import Invalid
from store.repositories import refs

ops = OperationGroup(
    "checks", check_run_id=check_runs.get, check_suite_id=check_suites.get, ref=text
)

OF_APPS = ("app_user", "installation")
READ = on_repo("checks", "read").or_anyone()
WRITE = on_repo("checks", "write", role="write", kinds=OF_APPS)
ASK = on_repo("checks", "write", role="write", kinds=("fine_grained", *OF_APPS))


class CheckRunQuery(TypedDict, total=False):
    """A filter of check runs. `latest` means the newest run of each name in each suite."""

    check_name: Annotated[Text, MaxLen(255)]
    status: Literal["queued", "in_progress", "completed"]
    filter: Literal["latest", "all"]


class CommitFilter(CheckRunQuery, total=False):
    app_id: Annotated[int, Ge(0), Le(2**63 - 1), Digits]


class CheckRuns(TypedDict):
    total_count: int
    check_runs: list[CheckRun]


class CheckAnnotation(TypedDict):
    path: str
    blob_href: str
    start_line: int
    end_line: int
    start_column: int | None
    end_column: int | None
    annotation_level: str | None
    title: str | None
    message: str | None
    raw_details: str | None


@ops(
    "POST /repos/{owner}/{repo}/check-runs",
    WRITE,
    status=201,
    bodies=8,
    emits=(
        "check_suite.requested",
        "check_run.created",
        "check_run.completed",
        "check_suite.completed",
    ),
)
def create(ctx: Context, repo: Row, body: NewCheckRun) -> CheckRun:
    """Create a check run

    The run belongs to the token's app and to the app's suite for the commit, which is created if
    needed. A suite keeps the 1000 newest runs of each name.
    """
    app = _app(ctx)
    sha = check_run_rules.sha_of(body)
    fields = check_run_rules.created(body, app, ctx.now)
    branch = refs.branch_at(ctx.db, repo["id"], sha)
    suite, made = check_suites.of_app(ctx.db, repo["id"], sha, app["id"], branch)
    if made:
        shown = check_serializers.event_suite(ctx.urls, ctx.db, repo, suite)
        ctx.emit("check_suite.requested", repo, check_suite=shown)
    run = check_runs.create(ctx.db, suite, fields)
    completed = ("check_run.completed",) if run["conclusion"] else ()
    return _written(ctx, repo, run, body, "check_run.created", *completed)


@ops("GET /repos/{owner}/{repo}/check-runs/{check_run_id}", READ)
def get(ctx: Context, repo: Row, check_run: Row) -> CheckRun:
    """Get a check run"""
    return check_serializers.check_run(ctx.urls, ctx.db, repo, check_run)


@ops(
    "PATCH /repos/{owner}/{repo}/check-runs/{check_run_id}",
    WRITE,
    bodies=8,
    emits=("check_run.completed", "check_suite.completed"),
)
def update(ctx: Context, repo: Row, check_run: Row, body: CheckRunChange) -> CheckRun:
    """Update a check run

    403 if the run belongs to another app. A status other than `completed` restarts the run and
    removes its conclusion.
    """
    app = _app(ctx)
    if check_run["app_id"] != app["id"]:
        raise Forbidden(
            f"Invalid app_id `{app['id']}` - check run can only be modified by the app that"
            " created it."
        )
    fields = check_run_rules.changed(body, check_run, ctx.now)
    run = check_runs.update(ctx.db, check_run, fields)
    concluded = check_run_rules.concludes(body, check_run)
    return _written(ctx, repo, run, body, *(("check_run.completed",) if concluded else ()))


@ops("GET /repos/{owner}/{repo}/check-runs/{check_run_id}/annotations", READ)
def list_annotations(
    ctx: Context, repo: Row, check_run: Row, page: NumberedPaging
) -> list[CheckAnnotation]:
    """List check run annotations

    In the order in which they were added. Annotations of the platform's own runs are not known
    here.
    """
    page.total = 0 if check_run["reflected"] else check_run["annotations"]
    rows = check_annotations.page(ctx.db, check_run["id"], **page.bounds)
    return [_annotation(ctx, repo, check_run["head_sha"], row) for row in rows]


@ops(
    "POST /repos/{owner}/{repo}/check-runs/{check_run_id}/rerequest",
    ASK,
    status=201,
    errors=(422,),
    emits=("check_run.rerequested",),
)
def rerequest_run(ctx: Context, repo: Row, check_run: Row) -> EmptyObject:
    """Rerequest a check run

    Notifies the app. The run stays as it is until the app gives it a status or a conclusion, or
    creates a new one; meanwhile its suite is queued. 403 if the caller is another app; 422 if the
    run has not completed or belongs to no app here.
    """
    if ctx.required_caller.app_id not in (None, check_run["app_id"]):
        raise Forbidden("This check run belongs to another app.")
    if check_run["app_id"] is None or check_run["status"] != "completed":
        raise Invalid("This check run is not rerequestable")
    check_runs.ask_again(ctx.db, check_run)
    suite, _ = check_suites.roll_up(ctx.db, check_run["suite_id"])
    shown = check_serializers.check_run(ctx.urls, ctx.db, repo, check_run)
    whole = check_serializers.event_suite(ctx.urls, ctx.db, repo, suite)
    ctx.emit("check_run.rerequested", repo, check_run={**shown, "check_suite": whole})
    return {}


@ops("GET /repos/{owner}/{repo}/check-suites/{check_suite_id}/check-runs", READ)
def list_for_suite(
    ctx: Context, repo: Row, check_suite: Row, page: NumberedPaging, query: CheckRunQuery
) -> CheckRuns:
    """List check runs in a check suite

    Newest first.
    """
    return _listed(ctx, repo, [check_suite["id"]], page, query)


@ops("GET /repos/{owner}/{repo}/commits/{ref}/check-runs", READ, errors=(422,))
def list_for_ref(
    ctx: Context, repo: Row, ref: str, page: NumberedPaging, query: CommitFilter
) -> CheckRuns:
    """List check runs for a Git reference

    Lists the runs on the commit that `ref` stands for: a full SHA, a branch (`main`, `heads/main`)
    or a tag (`v1`, `tags/v1`). Newest first. 422 for an unknown name.
    """
    sha = commit_lookup.find_commit(ctx.db, repo, ref)
    suites = check_suites.of_commit(ctx.db, repo["id"], sha, app_number=query.get("app_id"))
    return _listed(ctx, repo, suites, page, query)


def _app(ctx: Context) -> Row:
    """Return the app that the token belongs to. Raises Forbidden without one."""
    app_id = ctx.required_caller.app_id
    app = None if app_id is None else apps.get(ctx.db, app_id)
    if app is None:
        raise Forbidden("You must authenticate via an app: this token belongs to none.")
    return app


def _written(
    ctx: Context, repo: Row, run: Row, body: NewCheckRun | CheckRunChange, *events: str
) -> CheckRun:
    """Add the run's annotations, emit the events and return the run.

    If the run completes its suite, `check_suite.completed` is emitted too.
    """
    added = check_run_rules.annotations_of(body)
    check_annotations.append(ctx.db, run["id"], added)
    run["annotations"] += len(added)
    suite, ended = check_suites.roll_up(ctx.db, run["suite_id"])
    shown = check_serializers.check_run(ctx.urls, ctx.db, repo, run)
    whole = check_serializers.event_suite(ctx.urls, ctx.db, repo, suite)
    for event in events:
        ctx.emit(event, repo, check_run={**shown, "check_suite": whole})
    if ended:
        ctx.emit("check_suite.completed", repo, check_suite=whole)
    return shown


_serialize = row_serializer(CheckAnnotation, "blob_href", "annotation_level")


def _annotation(ctx: Context, repo: Row, sha: str, row: Row) -> CheckAnnotation:
    page = ctx.urls.file_page(repo, sha, row["path"])
    return _serialize(row, blob_href=page, annotation_level=row["level"])


def _listed(
    ctx: Context, repo: Row, suites: list[int], page: NumberedPaging, query: CheckRunQuery
) -> CheckRuns:
    chosen = CheckRunFilter(
        query.get("check_name"),
        query.get("status"),
        query.get("filter", "latest") == "latest",
    )
    page.total = check_runs.count(ctx.db, suites, chosen)
    rows = check_runs.page(ctx.db, suites, chosen, **page.bounds)
    return {
        "total_count": page.total,
        "check_runs": check_serializers.check_runs(ctx.urls, ctx.db, repo, rows),
    }


def _suite(urls: Urls, db: Connection, repo: Row, rows: Sequence[Row]) -> list[SnapshotEvent]:
    shown = check_serializers.event_suites(urls, db, repo, rows)
    return [
        SnapshotEvent(_how("check_suite", row), repo["id"], {"check_suite": shown[row["id"]]})
        for row in rows
    ]


def _run(urls: Urls, db: Connection, repo: Row, rows: Sequence[Row]) -> list[SnapshotEvent]:
    suites = check_suites.of(db, {row["suite_id"] for row in rows})
    whole = check_serializers.event_suites(urls, db, repo, suites)
    shown = check_serializers.check_runs(urls, db, repo, rows)
    return [
        SnapshotEvent(
            _how("check_run", row),
            repo["id"],
            {"check_run": {**one, "check_suite": whole[row["suite_id"]]}},
        )
        for row, one in zip(rows, shown, strict=True)
    ]


def _how(name: str, row: Row) -> str:
    """Return the name of the platform's event that reports the present status."""
    begun = "created" if name == "check_run" else "requested"
    return f"{name}.{'completed' if row['status'] == 'completed' else begun}"


ops.declare_snapshots(check_suite=_suite, check_run=_run)
