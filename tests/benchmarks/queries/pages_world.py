"""The rows behind the measured pages of the dashboard, inserted with few statements."""

import orjson

from store import Connection, Store
from store.accounts import accounts, apps, sessions, tokens
from store.apps import installations
from store.clock import DAY, MINUTE, SECOND
from store.database import body_codec
from store.delivery.replays import replay_runs
from store.delivery.replays.replay_selection import ReplaySelection
from store.hooks import hooks
from store.imports import imports
from store.jobs import jobs
from store.jobs.jobs import JobSchedule
from store.monitoring import hook_tallies
from store.repositories import repositories
from worker.jobs import prune

REPOSITORIES, HOOKS, EVENTS, FANOUT = 200, 5, 250_000, 4
"""Each event went to FANOUT of its repository's hooks. One hook has had nothing."""
PERIOD, HALF_A_DAY = 5 * DAY, DAY // 2
NAMES = ("push", "issues", "pull_request", "check_run", "star")
BODY = orjson.dumps({"ref": "refs/heads/main", "commits": [{"message": "x" * 40}] * 20})
NUMBERS = (
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :many) INSERT INTO"
)
HEAD = "POST /hook HTTP/1.1\r\nHost: receiver.example\r\nContent-Type: application/json\r\n"


def fill(store: Store) -> dict[str, str]:
    """Insert all rows. Return sessions of ada, who owns half of the repositories, and of root."""
    found = store.write_sync(_people)
    for step in (_events, _deliveries, _attempts, _waiting, _failing, _tallies, _rest):
        store.write_sync(step)
    store.write_sync(lambda db: db.execute("ANALYZE"))
    return found


def _people(db: Connection) -> dict[str, str]:
    ada, bob = accounts.create(db, "ada"), accounts.create(db, "bob")
    root = accounts.create(db, "root", site_admin=True)
    for number in range(REPOSITORIES):
        repo = repositories.create(db, (ada, bob)[number % 2]["id"], f"repository-{number}")
        for one in range(HOOKS):
            url = f"https://receiver-{number}.example/{one}"
            hooks.create(db, repo["id"], url=url, events=["push", "star"])
    scopes = ["repo", "read:enterprise"]
    made = [tokens.create(db, one["id"], scopes=scopes)[1] for one in (ada, root)]
    signed_in = [sessions.begin(db, token_id=row["id"]) for row in made]
    return dict(zip(("ada", "root"), signed_in, strict=True))


def _events(db: Connection) -> None:
    names = " ".join(f"WHEN {at} THEN '{name}'" for at, name in enumerate(NAMES))
    db.execute(
        f"{NUMBERS} event (id, guid, scope, repo_id, source_id, name, action, received_at, size,"
        " digest, body) SELECT i, 'guid-' || i, 1 + i % :repos, 1 + i % :repos, 0,"
        f" CASE (i / :repos) % {len(NAMES)} {names} END, NULL,"
        " :now - (:many - i) * (:period / :many), :size, x'00', :body FROM n",
        many=EVENTS,
        repos=REPOSITORIES,
        now=db.now,
        period=PERIOD,
        size=len(BODY),
        body=body_codec.compress(BODY),
    )


def _deliveries(db: Connection) -> None:
    # Deliveries of every event but the last thousand, which have no subscribers.
    db.execute(
        f"{NUMBERS} delivery (id, event_id, hook_id, repo_id, state, attempts, due_at)"
        " SELECT i, 1 + (i - 1) / :fanout, :hooks * ((1 + (i - 1) / :fanout) % :repos)"
        " + 1 + i % :fanout, 1 + (1 + (i - 1) / :fanout) % :repos,"
        " CASE i % 50 WHEN 0 THEN 2 ELSE 1 END, 1, :now FROM n",
        many=(EVENTS - 1000) * FANOUT,
        fanout=FANOUT,
        hooks=HOOKS,
        repos=REPOSITORIES,
        now=db.now,
    )


def _attempts(db: Connection) -> None:
    db.execute(
        "INSERT INTO attempt (id, delivery_id, hook_id, event_id, repo_id, number, redelivery,"
        " started_at, duration, status_code, error, url, timings, request_head, response_head,"
        " response_body) SELECT d.id, d.id, d.hook_id, d.event_id, d.repo_id, 1, 0,"
        " e.received_at + 1000, 20000 + d.id % 9000, CASE d.state WHEN 1 THEN 200 ELSE 500 END,"
        " NULL, 'https://receiver.example/hook', '{\"connect\":1000,\"total\":20000}', :head,"
        " 'HTTP/1.1 200 OK', 'ok' FROM delivery d JOIN event e ON e.id = d.event_id",
        head=HEAD,
    )


def _waiting(db: Connection) -> None:
    """Create a backlog of one hook."""
    db.execute(
        "UPDATE delivery SET state = 0, due_at = :soon WHERE hook_id = 1"
        " AND id > (SELECT max(id) - 100000 FROM delivery)",
        soon=db.now + 60 * SECOND,
    )


def _failing(db: Connection) -> None:
    """Let the latest attempts of every tenth hook fail."""
    db.execute(
        "UPDATE attempt SET status_code = 500 WHERE hook_id % 10 = 6"
        " AND id > (SELECT max(id) - 100000 FROM attempt)"
    )
    db.execute(
        "UPDATE hook SET failing_since = :since WHERE id % 10 = 6", since=db.now - HALF_A_DAY
    )


def _tallies(db: Connection) -> None:
    """Insert the counts of 30 days. Retention has merged all but the last days into hours."""
    fine = prune.FINE_TALLIES // MINUTE
    slots = ((hook_tallies.FINE, 0, fine), (hook_tallies.COARSE, fine, 30 * DAY // MINUTE))
    for step, since, until in slots:
        db.execute(
            f"{NUMBERS} hook_tally (minute, hook_id, code, shard, l3, l9)"
            " SELECT (:now / 60000000 / :step - :since / :step - i) * :step, h.id, 200, 1,"
            " 20 * :step, :step FROM n JOIN hook h ON h.id <= 50",
            many=(until - since) // step,
            since=since,
            step=step,
            now=db.now,
        )
    db.execute(
        f"{NUMBERS} tally (repo_id, minute, shard, events, delivered, failed, b3, b9)"
        " SELECT r.id, :now / 60000000 - i, 1, 35, 140, 3, 100, 20 FROM n"
        " JOIN (SELECT 0 AS id UNION ALL SELECT id FROM repository WHERE id <= 50) AS r ON 1 = 1",
        many=1440,
        now=db.now,
    )


def _rest(db: Connection) -> None:
    for number in range(30):
        replay_runs.create(db, ReplaySelection(repo_id=1 + number % 10), f"user-{number // 10}")
    jobs.save_schedules(
        db, [JobSchedule(f"job-{number}", "when needed", None) for number in range(8)]
    )
    owner = accounts.by_login(db, "ada")
    assert owner is not None
    imports.start(db, 1, owner["id"], "https://origin.example/repository.git")
    _, app = apps.create(
        db, owner["id"], "Mill", permissions={"contents": "read"}, url="https://mill.example/",
        kind="integration", events=["push"],
    )  # fmt: skip
    installations.create(db, app, owner)
    db.execute(
        f"{NUMBERS} interaction_limit (id, repo_id, allowed, created_at, expires_at)"
        " SELECT i, i, 'existing_users', :now, :now + 86400000000 FROM n",
        many=REPOSITORIES,
        now=db.now,
    )
