"""Whether a problem is open, in one statement: every page of the dashboard asks for it."""

from collections.abc import Sequence

from store.alerts.problems import LABELS
from store.alerts.rules import CONFIG_ERROR
from store.database.connection import Connection, json_array
from store.delivery.attempts import FAILED_X
from store.hook_state import hook_health
from store.hook_state.hook_silences import SILENCED
from store.monitoring import name_search

# The kind of a note about the failed attempt `a`; see `problems.kind_of`.
_KIND = (
    "(a.error = n.kind OR a.error LIKE n.kind || ':%'"
    " OR (a.error IS NULL AND CAST(a.status_code AS TEXT) = n.kind))"
)
_SINCE = "CASE WHEN h.failing_since < a.started_at THEN h.failing_since ELSE a.started_at END"


def exists(db: Connection, repo_ids: Sequence[int] | None, org_ids: Sequence[int] = ()) -> bool:
    """Return whether hooks have an open problem: one that nobody acknowledged, muted or silenced.

    `repo_ids` and `org_ids` limit it to hooks of these repositories and organizations. If
    `repo_ids` is None, there is no limit.
    """
    failing, given = hook_health.from_failing(db, repo_ids, org_ids)
    latest = f"SELECT max(x.id) FROM attempt x WHERE x.hook_id = h.id AND {FAILED_X}"
    among = "" if repo_ids is None else f" AND b.hook_id IN ({name_search.hooks_of(db)})"
    # With LIMIT, PostgreSQL looks for the latest failure once for each hook, and not for each pair
    # of a hook and an attempt. `failing` has no more hooks.
    hooks = (
        f"SELECT h.id, h.failing_since, ({latest}) AS failed_last FROM {failing}"
        f" AND h.id NOT IN {SILENCED} LIMIT {2 * hook_health.MOST}"
    )
    return db.exists(
        f"SELECT 1 WHERE EXISTS (SELECT 1 FROM attempt a JOIN ({hooks}) AS h"
        f" ON a.id = h.failed_last WHERE {_not_quiet('h.id', _KIND, _SINCE)})"
        " OR EXISTS (SELECT 1 FROM alert b WHERE b.closed_at IS NULL"
        f" AND b.kind {db.among('kinds', 'text')} AND b.hook_id NOT IN {SILENCED}{among}"
        # If this alert has a failed attempt, the first part has found the problem.
        f" AND NOT (b.kind = '{CONFIG_ERROR}' AND b.data LIKE '%\"attempt\"%')"
        f" AND {_not_quiet('b.hook_id', 'n.kind = b.kind', 'b.opened_at')})",
        kinds=json_array(sorted(LABELS)),
        **given,
    )


def _not_quiet(hook_id: str, kind: str, since: str) -> str:
    return (
        f"NOT EXISTS (SELECT 1 FROM problem_note n WHERE n.hook_id = {hook_id} AND {kind}"
        f" AND (n.muted_until > :now OR n.acknowledged_at BETWEEN {since} AND :now))"
    )
