"""Rows for every list of the API, in any number.

`FILL` has a line for each operation with pages. The line adds rows to the list that a client with
the headers of `operations_world.first` gets. Each row refers to another account where it can: a
query for each account would then show in the number of statements.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import bulk_enterprises
import bulk_repositories
from bulk_owners import numbers, people, repositories
from operations_world import COMMIT, Place, World

from store import Connection, Row
from store.database import upsert

# A time far after the tests' clock, so that no invitation has expired.
LATER = 2**52


@dataclass(frozen=True)
class Fill:
    """`add` inserts `n` rows into a list, which holds at most `most` rows (None: no limit).

    `path` is the list's path if the samples of the world lead to another list. A page with `fewest`
    rows is the shortest that takes the same statements as a long page.
    """

    add: Callable[[Connection, World, int], object]
    most: int | None = None
    path: str | None = None
    fewest: int = 1


def _apps(db: Connection, world: World, n: int) -> list[int]:
    first = db.value("SELECT max(id) FROM app") + 1
    columns = (
        "owner_id, kind, name, name_key, slug, url, permissions, client_id, secret_hash,"
        " created_at, updated_at"
    )
    rows = (
        (
            owner,
            "oauth",
            f"a{at}",
            f"a{at}",
            f"a{at}",
            "https://a.example/",
            "{}",
            f"a{at}",
            "",
            1,
            1,
        )
        for at, owner in enumerate(people(db, n), first)
    )
    return numbers(db, "app", columns, rows)


def grants(db: Connection, world: World, n: int) -> None:
    octo = world.octo.account["id"]
    rows = [(app, octo, 1, 1) for app in _apps(db, world, n)]
    db.insert_many("app_grant", "app_id, account_id, created_at, updated_at", rows)


def authorizations(db: Connection, world: World, n: int) -> None:
    octo = world.octo.account["id"]
    columns = (
        "account_id, kind, hash, last_eight, scopes, permissions, created_at, updated_at,"
        " by_password, app_id"
    )
    rows = [
        (octo, "oauth", f"hash-{app}", "12345678", "[]", "{}", 1, 1, 1, app)
        for app in _apps(db, world, n)
    ]
    db.insert_many("token", columns, rows)


def watchers(db: Connection, world: World, n: int) -> None:
    repo_id = world.hello.repo["id"]
    _watch(db, [(repo_id, account_id, 1, 0, db.now) for account_id in people(db, n)])


def watched_by(login: str) -> Callable[[Connection, World, int], None]:
    def add(db: Connection, world: World, n: int) -> None:
        account_id = db.value("SELECT id FROM account WHERE login = :login", login=login)
        made = repositories(db, people(db, n))
        _watch(db, [(repo_id, account_id, 1, 0, db.now) for repo_id in made])

    return add


def _watch(db: Connection, rows: list[tuple[int, ...]]) -> None:
    db.insert_many("watching", "repo_id, account_id, subscribed, ignored, created_at", rows)
    db.execute(
        "UPDATE repository SET watchers = (SELECT count(*) FROM watching w"
        " WHERE w.repo_id = repository.id AND w.subscribed = 1)"
    )


def commit_comments(db: Connection, world: World, n: int) -> None:
    columns = (
        "repo_id, commit_id, author_id, author_association, body, html, plain, created_at,"
        " updated_at"
    )
    repo_id = world.hello.repo["id"]
    rows = [(repo_id, COMMIT, who, "NONE", "x", "x", "x", 1, 1) for who in people(db, n)]
    db.insert_many("commit_comment", columns, rows)


EVENT = "repo_id, issue_id, kind, actor_id, subject_id, members, created_at, listed, shown, digest"


def issue_events(db: Connection, world: World, n: int) -> None:
    """Add events of different issues."""
    repo_id = world.hello.repo["id"]
    columns = "repo_id, number, title, state, author_id, milestone_id, created_at, updated_at"
    due = _milestones(db, repo_id, n)
    rows = [
        (repo_id, 1_000 + at, "T", "open", who, due[at], 1, 1)
        for at, who in enumerate(people(db, n))
    ]
    made = _open_issues(db, repo_id, columns, rows)
    pairs = [(issue_id, who) for issue_id, who in zip(made, people(db, n), strict=True)]
    db.insert_many("issue_assignee", "issue_id, account_id", pairs)
    events = [
        (repo_id, issue_id, "pinned", who, None, "{}", 1, 1, 1, str(issue_id))
        for issue_id, who in pairs
    ]
    db.insert_many("issue_event", EVENT, events)


def _open_issues(
    db: Connection, repo_id: int, columns: str, rows: list[tuple[Any, ...]]
) -> list[int]:
    upsert.add_counts(db, "issue_tally", "repo_id", "open_issues", {(repo_id,): len(rows)})
    return numbers(db, "issue", columns, rows)


def _milestones(db: Connection, repo_id: int, n: int) -> list[int]:
    columns = "repo_id, number, title, state, creator_id, created_at, updated_at"
    rows = [(repo_id, 1_000 + at, "T", "open", who, 1, 1) for at, who in enumerate(people(db, n))]
    return numbers(db, "milestone", columns, rows)


def milestones(db: Connection, world: World, n: int) -> None:
    _milestones(db, world.hello.repo["id"], n)


def pulls(db: Connection, world: World, n: int) -> None:
    """Add pull requests of different authors and from different repositories."""
    repo_id, who = world.hello.repo["id"], people(db, n)
    columns = "repo_id, number, title, state, author_id, is_pull, created_at, updated_at"
    rows = [(repo_id, 10_000 + at, "T", "open", one, 1, 1, 1) for at, one in enumerate(who)]
    issues = _open_issues(db, repo_id, columns, rows)
    columns = "issue_id, repo_id, head_ref, head_sha, head_repo, base_ref, base_sha, merged_by_id"
    names = _names(db, repositories(db, who))
    ends = [
        (issue_id, repo_id, "b", COMMIT, names[at], "main", COMMIT, who[at])
        for at, issue_id in enumerate(issues)
    ]
    db.insert_many("pull", columns, ends)


def _names(db: Connection, repo_ids: list[int]) -> list[str]:
    found = db.tuples(
        "SELECT a.login || '/' || r.name FROM repository r JOIN account a ON a.id = r.owner_id"
        " ORDER BY r.id DESC LIMIT :n",
        n=len(repo_ids),
    )
    return [name for (name,) in reversed(found)]


def labels(db: Connection, world: World, n: int) -> list[int]:
    repo_id = world.hello.repo["id"]
    rows = [(repo_id, f"L{at}", f"l{at}", "ededed", 1, 1) for at in range(n)]
    return numbers(db, "label", "repo_id, name, name_key, color, created_at, updated_at", rows)


def labels_of_issue(db: Connection, world: World, n: int) -> None:
    issue_id = _issue_id(db, world)
    rows = [(issue_id, label_id) for label_id in labels(db, world, n)]
    db.insert_many("issue_label", "issue_id, label_id", rows)


def assignable(db: Connection, world: World, n: int) -> None:
    repo_id = world.hello.repo["id"]
    rows = [(repo_id, account_id, "write") for account_id in people(db, n)]
    db.insert_many("collaborator", "repo_id, account_id, role", rows)


def events_of_issue(db: Connection, world: World, n: int) -> None:
    """Add events of one issue, each with another actor and assignee."""
    issue_id, repo_id = _issue_id(db, world), world.hello.repo["id"]
    rows = [
        (repo_id, issue_id, "assigned", who, None, f'{{"assignee":{who}}}', 1, 1, 1, str(who))
        for who in people(db, n)
    ]
    db.insert_many("issue_event", EVENT, rows)


def timeline(db: Connection, world: World, n: int) -> None:
    """Add comments of one issue, each by another author."""
    issue_id, repo_id = _issue_id(db, world), world.hello.repo["id"]
    authors = people(db, n)
    said = _said(db, repo_id, "comment", [(issue_id, who) for who in authors])
    rows = [
        (repo_id, issue_id, "commented", who, number, "{}", 1, 0, 1, str(number))
        for number, who in zip(said, authors, strict=True)
    ]
    db.insert_many("issue_event", EVENT, rows)


def _said(db: Connection, repo_id: int, kind: str, pairs: list[tuple[int, int]]) -> list[int]:
    """Add comments or reviews. `pairs` has the issue and the author of each."""
    columns = (
        "repo_id, issue_id, kind, number, author_id, author_association, body, details,"
        " created_at, updated_at"
    )
    rows = [
        (repo_id, issue_id, kind, 1_000 + at, who, "NONE", "x", "{}", 1, 1)
        for at, (issue_id, who) in enumerate(pairs)
    ]
    return numbers(db, "issue_comment", columns, rows)


def on_pull(kind: str) -> Callable[[Connection, World, int], None]:
    """Add reviews or comments of one pull request, each by another author."""

    def add(db: Connection, world: World, n: int) -> None:
        issue_id, repo_id = _issue_id(db, world), world.hello.repo["id"]
        _said(db, repo_id, kind, [(issue_id, who) for who in people(db, n)])

    return add


def in_review(db: Connection, world: World, n: int) -> None:
    """Add comments on lines of one review, each by another author."""
    on_pull("line")(db, world, n)
    sql = "UPDATE issue_comment SET review_number = :review WHERE kind = 'line'"
    db.execute(sql, review=world.hello.comment)


def in_repository(kind: str) -> Callable[[Connection, World, int], None]:
    """Add comments on different pull requests, each by another author."""

    def add(db: Connection, world: World, n: int) -> None:
        pulls(db, world, n)
        repo_id = world.hello.repo["id"]
        made = db.column(
            "SELECT id FROM issue WHERE repo_id = :repo_id ORDER BY id DESC LIMIT :n",
            repo_id=repo_id,
            n=n,
        )
        _said(db, repo_id, kind, [*zip(made, people(db, n), strict=True)])

    return add


def _issue_id(db: Connection, world: World) -> int:
    found: int = db.value(
        "SELECT id FROM issue WHERE repo_id = :repo_id AND number = :number",
        repo_id=world.hello.repo["id"],
        number=world.hello.issue,
    )
    return found


def field_values(db: Connection, world: World, n: int) -> None:
    issue_id, acme = _issue_id(db, world), world.acme.account["id"]
    columns = "organization_id, name, name_key, data_type, visibility, created_at, updated_at"
    rows = [(acme, f"F{at}", f"f{at}", "multi_select", "all", 1, 1) for at in range(n)]
    fields = numbers(db, "issue_field", columns, rows)
    columns = "field_id, name, name_key, color, priority, created_at, updated_at"
    options = numbers(
        db, "issue_field_option", columns, [(one, "O", "o", "red", 1, 1, 1) for one in fields]
    )
    columns = "issue_id, field_id, value, created_at, updated_at"
    values = numbers(
        db, "issue_field_value", columns, [(issue_id, one, "null", 1, 1) for one in fields]
    )
    pairs = list(zip(values, options, strict=True))
    db.insert_many("issue_field_choice", "value_id, option_id", pairs)


def annotations(db: Connection, world: World, n: int) -> None:
    run = _run(db, world.hello)
    columns = "run_id, path, start_line, end_line, level, message"
    rows = [(run["id"], f"{at}.py", at, at, "notice", "Hm") for at in range(n)]
    db.insert_many("check_annotation", columns, rows)
    db.execute(
        "UPDATE check_run SET annotations = annotations + :n WHERE id = :id", n=n, id=run["id"]
    )


def _run(db: Connection, place: Place) -> Row:
    row = db.one(
        "SELECT id, suite_id FROM check_run WHERE number = :number", number=place.check_run
    )
    assert row is not None
    return row


def check_runs(db: Connection, world: World, n: int) -> None:
    suite_id, repo_id = _run(db, world.hello)["suite_id"], world.hello.repo["id"]
    columns = (
        "number, repo_id, suite_id, name, latest, status, conclusion, title, summary, created_at,"
        " updated_at"
    )
    rows = [
        (2**40 + at, repo_id, suite_id, f"run-{at}", 1, "completed", "neutral", "T", "S", 1, 1)
        for at in range(n)
    ]
    db.insert_many("check_run", columns, rows)
    db.execute(
        "UPDATE check_tally SET runs = runs + :n WHERE suite_id = :id AND latest = 1"
        " AND status = 'completed' AND conclusion = 'neutral'",
        n=n,
        id=suite_id,
    )


def check_suites(db: Connection, world: World, n: int) -> None:
    """Add check suites of different apps for one commit."""
    repo_id = world.hello.repo["id"]
    columns = (
        "repo_id, number, head_sha, head_branch, app_id, app_number, status, conclusion,"
        " created_at, updated_at"
    )
    rows = [
        (repo_id, 2**40 + at, COMMIT, "main", app, app, "completed", "neutral", 1, 1)
        for at, app in enumerate(_apps(db, world, n))
    ]
    db.insert_many("check_suite", columns, rows)


def commit_statuses(db: Connection, world: World, n: int) -> None:
    """Add statuses of different creators for one commit."""
    repo_id = world.hello.repo["id"]
    columns = (
        "repo_id, number, sha, context, context_key, state, creator_id, created_at, updated_at"
    )
    rows = [
        (repo_id, 2**40 + at, COMMIT, f"c{at}", f"c{at}", "success", who, 1, 1)
        for at, who in enumerate(people(db, n))
    ]
    db.insert_many("commit_status", columns, rows)


def workflow_runs(db: Connection, world: World, n: int) -> None:
    """Add runs of different actors and from different repositories."""
    repo_id, who = world.hello.repo["id"], people(db, n)
    columns = "repo_id, number, name, status, workflow_number, actor_id, details, created_at"
    names, flow = _names(db, repositories(db, who)), world.hello.workflow_run
    rows = [
        (repo_id, 2**40 + at, f"run {at}", "queued", flow, one, f'{{"head_repo":"{names[at]}"}}', 1)
        for at, one in enumerate(who)
    ]
    db.insert_many("workflow_run", columns, rows)
    keys = "repo_id, workflow_number"
    upsert.add_counts(db, "workflow_run_tally", keys, "runs", {(repo_id, flow): n})


def workflow_jobs(db: Connection, world: World, n: int) -> None:
    repo_id, run_id = world.hello.repo["id"], _workflow_run(db, world.hello)
    columns = "repo_id, number, run_id, name, path, status, created_at"
    rows = [(repo_id, 2**40 + at, run_id, f"job {at}", f"job {at}", "queued", 1) for at in range(n)]
    db.insert_many("workflow_job", columns, rows)


def workflows(db: Connection, world: World, n: int) -> None:
    repo_id = world.hello.repo["id"]
    rows = [(repo_id, 2**40 + at, f"flow {at}", "a/b.yml", "b.yml", 1) for at in range(n)]
    db.insert_many("workflow", "repo_id, number, name, path, file_name, created_at", rows)


GROUP = "repo_id, name, name_key, members"


def concurrency_groups(db: Connection, world: World, n: int) -> None:
    repo_id = world.hello.repo["id"]
    run_id = _workflow_run(db, world.hello)
    rows = [(repo_id, f"g{at}", f"g{at}".encode(), 1) for at in range(n)]
    seats = "group_id, run_id, seat, waiting, since"
    groups = numbers(db, "concurrency_group", GROUP, rows)
    held = [(group_id, run_id, f"call {group_id}", 0, 1) for group_id in groups]
    db.insert_many("concurrency_member", seats, held)
    db.execute(
        "UPDATE concurrency_tally SET active = active + :n WHERE repo_id = :id", n=n, id=repo_id
    )


def groups_of_a_run(db: Connection, world: World, n: int) -> None:
    repo_id, run_id = world.hello.repo["id"], _workflow_run(db, world.hello)
    rows = [(repo_id, f"h{at}", f"h{at}".encode(), 1) for at in range(n)]
    groups = numbers(db, "concurrency_group", GROUP, rows)
    uses = [(run_id, f"h{at}".encode(), group_id) for at, group_id in enumerate(groups)]
    db.insert_many("concurrency_use", "run_id, name_key, group_id", uses)
    waiting = [(group_id, run_id, f"call {group_id}", 1, 1) for group_id in groups]
    db.insert_many("concurrency_member", "group_id, run_id, seat, waiting, since", waiting)
    db.execute(
        "UPDATE workflow_run SET groups_named = groups_named + :n WHERE id = :id", n=n, id=run_id
    )


def _workflow_run(db: Connection, place: Place) -> int:
    found: int = db.value(
        "SELECT id FROM workflow_run WHERE number = :number", number=place.workflow_run
    )
    return found


def suites_of(whose: str) -> Callable[[Connection, World, int], None]:
    columns = (
        "repo_id, owner_id, number, actor_id, before_sha, after_sha, ref, ref_name, pushed_at,"
        " result, active, evaluated, evaluations"
    )

    def suites(db: Connection, world: World, n: int) -> None:
        repo = {"hello": world.hello.repo, "acme": world.acme.repo}[whose]
        ref = ("refs/heads/main", "main", db.now, "pass", 1, 0, "[]")
        rows = [
            (repo["id"], repo["owner_id"], 10_000 + at, actor, "0", "1", *ref)
            for at, actor in enumerate(people(db, n))
        ]
        db.insert_many("rule_suite", columns, rows)

    return suites


INVITED = "repo_id, invitee_id, inviter_id, role, created_at, expires_at"


def invitations(db: Connection, world: World, n: int) -> None:
    repo_id = world.hello.repo["id"]
    rows = [(repo_id, who, who, "read", 1, LATER) for who in people(db, n)]
    db.insert_many("repository_invitation", INVITED, rows)


def own_invitations(db: Connection, world: World, n: int) -> None:
    octo, hosts = world.octo.account["id"], people(db, n)
    made = zip(repositories(db, hosts), hosts, strict=True)
    rows = [(repo_id, octo, host, "read", 1, LATER) for repo_id, host in made]
    db.insert_many("repository_invitation", INVITED, rows)


def hooks(db: Connection, world: World, n: int) -> None:
    _hooks(db, "repo_id", world.hello.repo["id"], n)


def organization_hooks(db: Connection, world: World, n: int) -> None:
    _hooks(db, "org_id", world.acme.account["id"], n)


def _hooks(db: Connection, column: str, target_id: int, n: int) -> None:
    columns = f"{column}, url, content_type, events, options, created_at, updated_at"
    rows = [
        (target_id, f"https://r{at}.example/", "json", '["push"]', "{}", 1, 1) for at in range(n)
    ]
    db.insert_many("hook", columns, rows)


def deliveries(db: Connection, world: World, n: int) -> None:
    _deliveries(db, world.hello.delivery, n)


def organization_deliveries(db: Connection, world: World, n: int) -> None:
    _deliveries(db, world.acme.delivery, n)


def app_deliveries(db: Connection, world: World, n: int) -> None:
    _deliveries(db, world.app_hooks[0][1], n)


def _deliveries(db: Connection, attempt_id: int, n: int) -> None:
    attempt = db.one("SELECT * FROM attempt WHERE id = :id", id=attempt_id)
    assert attempt is not None
    del attempt["id"]
    db.insert_many("attempt", ", ".join(attempt), [tuple(attempt.values())] * n)


def hook_events(db: Connection, world: World, n: int) -> None:
    _hook_events(db, world.hello.delivery, n)


def organization_hook_events(db: Connection, world: World, n: int) -> None:
    _hook_events(db, world.acme.delivery, n)


def _hook_events(db: Connection, attempt_id: int, n: int) -> None:
    """Copy the event of an attempt, each copy with a delivery to the same hook."""
    event = db.one(
        "SELECT e.*, a.hook_id FROM attempt a JOIN event e ON e.id = a.event_id WHERE a.id = :id",
        id=attempt_id,
    )
    assert event is not None
    hook_id, first = event.pop("hook_id"), db.value("SELECT max(id) FROM event") + 1
    del event["id"]
    rows = [tuple((event | {"guid": f"bulk-{at}"}).values()) for at in range(first, first + n)]
    ids = numbers(db, "event", ", ".join(event), rows)
    made = [(event_id, hook_id, event["repo_id"], 0, 1) for event_id in ids]
    db.insert_many("delivery", "event_id, hook_id, repo_id, state, due_at", made)


def variables(db: Connection, world: World, n: int) -> None:
    columns = "organization_id, name, value, visibility, created_at, updated_at"
    acme = world.acme.account["id"]
    rows = [(acme, f"V{at}", "x", "selected", 1, 1) for at in range(n)]
    db.insert_many("agent_variable", columns, rows)


def selected_repositories(db: Connection, world: World, n: int) -> None:
    acme = world.acme.account["id"]
    variable_id = db.value(
        "SELECT id FROM agent_variable WHERE organization_id = :acme AND name = 'REGION'", acme=acme
    )
    rows = [(variable_id, repo_id) for repo_id in repositories(db, [acme] * n)]
    db.insert_many("agent_variable_repository", "variable_id, repo_id", rows)


def secrets(db: Connection, world: World, n: int) -> None:
    columns = "repo_id, name, value, created_at, updated_at"
    repo_id = world.hello.repo["id"]
    rows = [(repo_id, f"S{at}", b"", 1, 1) for at in range(n)]
    db.insert_many("devenv_secret", columns, rows)


def emails(db: Connection, world: World, n: int) -> None:
    columns = "account_id, email, email_key, is_primary, verified, created_at"
    octo = world.octo.account["id"]
    rows = [(octo, f"{at}@x.example", f"{at}@x.example", 0, 1, 1) for at in range(n)]
    db.insert_many("email", columns, rows)


def import_authors(db: Connection, world: World, n: int) -> None:
    columns = "repo_id, digest, remote_name, remote_id, name, email"
    repo_id = world.hello.repo["id"]
    rows = [(repo_id, f"{at}", "A", f"{at}@x.example", "A", "a@x.example") for at in range(n)]
    db.insert_many("import_author", columns, rows)


def installed(db: Connection, world: World, n: int) -> None:
    """Add installations of mill on organizations that have octo as a member."""
    made, octo = people(db, n), world.octo.account["id"]
    columns = "app_id, account_id, permissions, events, every_repository, created_at, updated_at"
    rows = [(world.mill["id"], account_id, "{}", "[]", 1, 1, 1) for account_id in made]
    db.insert_many("installation", columns, rows)
    bulk_repositories.join(db, [(account_id, octo) for account_id in made], public=0)


def nothing(db: Connection, world: World, n: int) -> None:
    """Add no rows, because the list cannot grow."""


FILL: dict[str, Fill] = {
    "apps/list-installations": Fill(installed),
    "apps/list-installations-for-authenticated-user": Fill(installed),
    "apps/list-repos-accessible-to-installation": Fill(bulk_repositories.owned_by("octo")),
    "apps/list-installation-repos-for-authenticated-user": Fill(bulk_repositories.owned_by("octo")),
    "oauth-authorizations/list-grants": Fill(grants),
    "oauth-authorizations/list-authorizations": Fill(authorizations),
    "activity/list-watchers-for-repo": Fill(watchers),
    "activity/list-watched-repos-for-authenticated-user": Fill(watched_by("octo")),
    "activity/list-repos-watched-by-user": Fill(watched_by("reader")),
    "repos/list-commit-comments-for-repo": Fill(commit_comments),
    "repos/list-comments-for-commit": Fill(commit_comments),
    "issues/list-issue-field-values-for-issue": Fill(field_values, most=25),
    "issues/list-for-repo": Fill(issue_events),
    "pulls/list": Fill(pulls),
    "issues/list-comments": Fill(timeline),
    "issues/list-comments-for-repo": Fill(in_repository("comment")),
    "pulls/list-reviews": Fill(on_pull("review")),
    "pulls/list-review-comments": Fill(on_pull("line")),
    "pulls/list-comments-for-review": Fill(in_review),
    "pulls/list-review-comments-for-repo": Fill(in_repository("line")),
    "issues/list-labels-for-repo": Fill(labels),
    "issues/list-labels-on-issue": Fill(labels_of_issue),
    "issues/list-milestones": Fill(milestones),
    "issues/list-assignees": Fill(assignable),
    "issues/list-events-for-repo": Fill(issue_events),
    "issues/list-events": Fill(events_of_issue),
    "issues/list-events-for-timeline": Fill(timeline),
    "checks/list-annotations": Fill(annotations),
    "checks/list-for-suite": Fill(check_runs),
    "checks/list-for-ref": Fill(check_runs),
    "repos/list-commit-statuses-for-ref": Fill(commit_statuses),
    "repos/get-combined-status-for-ref": Fill(commit_statuses),
    "checks/list-suites-for-ref": Fill(check_suites),
    "actions/list-workflow-runs-for-repo": Fill(workflow_runs),
    "actions/list-workflow-runs": Fill(workflow_runs),
    "actions/list-jobs-for-workflow-run": Fill(workflow_jobs),
    "actions/list-jobs-for-workflow-run-attempt": Fill(workflow_jobs),
    "actions/list-repo-workflows": Fill(workflows),
    "repos/get-repo-rule-suites": Fill(suites_of("hello")),
    "repos/get-org-rule-suites": Fill(suites_of("acme")),
    "actions/list-concurrency-groups-for-repository": Fill(concurrency_groups),
    "actions/list-concurrency-groups-for-workflow-run": Fill(groups_of_a_run),
    "users/list-emails-for-authenticated-user": Fill(emails, most=100),
    "users/list-public-emails-for-authenticated-user": Fill(nothing, most=1),
    "licenses/get-all-commonly-used": Fill(nothing, most=0),
    "repos/list-invitations": Fill(invitations),
    "repos/list-invitations-for-authenticated-user": Fill(own_invitations),
    "repos/list-webhooks": Fill(hooks),
    "repos/list-webhook-deliveries": Fill(deliveries),
    # The hub reads the sizes of several events before their bodies, but not the size of one event.
    "repos/list-webhook-events": Fill(hook_events, fewest=2),
    "orgs/list-webhook-events": Fill(organization_hook_events, fewest=2),
    "orgs/list-webhooks": Fill(organization_hooks),
    "orgs/list-webhook-deliveries": Fill(organization_deliveries),
    "apps/list-webhook-deliveries": Fill(app_deliveries),
    "enterprise-teams/list": Fill(bulk_enterprises.teams),
    "enterprise-team-memberships/list": Fill(bulk_enterprises.members),
    "enterprise-team-organizations/get-assignments": Fill(bulk_enterprises.organizations),
    "assistant/list-assistant-seats": Fill(bulk_enterprises.seats),
    "orgs/list-artifact-deployment-records": Fill(bulk_enterprises.deployed),
    "orgs/list-artifact-storage-records": Fill(bulk_enterprises.stored),
    "agents/list-org-variables": Fill(variables, most=1_000),
    "agents/list-selected-repos-for-org-variable": Fill(selected_repositories, most=1_000),
    "devenvs/list-repo-secrets": Fill(secrets, most=100),
    "migrations/get-commit-authors": Fill(import_authors),
    "repos/list-for-user": Fill(bulk_repositories.owned_by("reader")),
    "repos/list-for-org": Fill(bulk_repositories.owned_by("acme")),
    "repos/list-for-authenticated-user": Fill(bulk_repositories.owned_by("octo")),
    "repos/get-all-topics": Fill(bulk_repositories.topics, most=100),
    "repos/list-collaborators": Fill(bulk_repositories.collaborators),
    "git/list-refs": Fill(bulk_repositories.refs_in("refs/heads/")),
    "repos/list-branches": Fill(bulk_repositories.refs_in("refs/heads/")),
    "repos/list-tags": Fill(bulk_repositories.refs_in("refs/tags/")),
    "repos/list-teams": Fill(bulk_repositories.teams_of_repository, path="/repos/acme/tools/teams"),
    "activity/list-stargazers-for-repo": Fill(bulk_repositories.stars),
    "orgs/list-for-user": Fill(bulk_repositories.organizations_of("bella")),
    "orgs/list-for-authenticated-user": Fill(bulk_repositories.organizations_of("octo")),
    "orgs/list-memberships-for-authenticated-user": Fill(
        bulk_repositories.organizations_of("octo")
    ),
    "orgs/list-members": Fill(bulk_repositories.members),
    "orgs/list-public-members": Fill(bulk_repositories.members),
    "teams/list": Fill(bulk_repositories.teams),
    "teams/list-members-in-org": Fill(bulk_enterprises.members),
}
