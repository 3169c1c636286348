"""The schema fits databases that distribute rows over nodes.

Every table has a primary key, types are plain, and the delivery path locks only rows.
"""

from typing import Any

import pytest
from postgres_databases import database
from store_world import World

from store import Connection, Store
from store.clock import SECOND
from store.database.postgres.connections import PostgresSession
from store.delivery import deliveries, events, leases
from store.delivery.outcomes import attempt_outcomes

# Tables that can be distributed by repository. No statement of the delivery path joins rows of two
# repositories.
DISTRIBUTED = {"event", "delivery", "attempt", "subscription"}
# Small tables that every node can hold.
EVERYWHERE = {"lease", "hook", "hook_ordering", "owner_subscription", "repository"}
PLAIN = {"bigint", "integer", "smallint", "text", "bytea"}
OF_ROWS = {"AccessShareLock", "RowShareLock", "RowExclusiveLock"}
HELD = (
    "SELECT l.locktype, l.mode, c.relname FROM pg_locks l LEFT JOIN pg_class c"
    " ON c.oid = l.relation AND c.relkind = 'r' AND c.relnamespace ="
    " CAST(current_schema() AS regnamespace) WHERE l.pid = pg_backend_pid()"
    " AND (l.relation IS NULL OR c.oid IS NOT NULL)"
)


def found(store: Store, sql: str) -> list[tuple[Any, ...]]:
    return list(store.read_sync(lambda db: db.tuples(sql)))


def without_key_on_sqlite(db: Connection) -> list[str]:
    rows = db.tuples(
        "SELECT m.name FROM sqlite_master m WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'"
        " AND NOT EXISTS (SELECT 1 FROM pragma_table_info(m.name) c WHERE c.pk > 0)"
    )
    return [name for (name,) in rows]


def without_key_on_postgres(db: Connection) -> list[str]:
    rows = db.tuples(
        "SELECT t.tablename FROM pg_tables t WHERE t.schemaname = current_schema()"
        " AND NOT EXISTS (SELECT 1 FROM information_schema.table_constraints k"
        " WHERE k.table_schema = t.schemaname AND k.table_name = t.tablename"
        " AND k.constraint_type = 'PRIMARY KEY')"
    )
    return [name for (name,) in rows]


def test_every_table_has_a_primary_key(store: Store) -> None:
    without = without_key_on_sqlite if store.engine.embedded else without_key_on_postgres
    assert store.read_sync(without) == []


class TestOnPostgres:
    @pytest.fixture
    def url(self) -> Any:
        with database() as named:
            yield named

    def test_types_are_plain(self, store: Store) -> None:
        rows = found(
            store,
            "SELECT table_name, column_name, data_type FROM information_schema.columns"
            " WHERE table_schema = current_schema()",
        )
        assert len(rows) > 50
        assert [row for row in rows if row[2] not in PLAIN] == []

    def test_only_the_audit_log_has_triggers(self, store: Store) -> None:
        """A database without triggers would lack only the protection of the audit log."""
        triggers = found(store, "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal")
        assert all(name.startswith("audit_") for (name,) in triggers)
        functions = (
            "SELECT proname FROM pg_proc"
            " WHERE pronamespace = CAST(current_schema() AS regnamespace)"
        )
        assert found(store, functions) == [("audit_guard",)]
        assert found(store, "SELECT 1 FROM pg_rules WHERE schemaname = 'public'") == []

    def test_every_row_that_is_distributed_knows_its_repository(self, store: Store) -> None:
        rows = found(
            store,
            "SELECT table_name FROM information_schema.columns WHERE column_name = 'repo_id'"
            " AND table_schema = current_schema() AND is_nullable = 'NO'",
        )
        assert {name for (name,) in rows} >= DISTRIBUTED

    def test_the_delivery_path_locks_rows_and_nothing_else(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        held: set[tuple[str, str, str | None]] = set()
        commit = PostgresSession.commit

        def looking(session: PostgresSession) -> None:
            held.update(session.tuples(HELD))
            commit(session)

        repos = [world.repo, world.another_repo()]
        hooks = {repo["id"]: world.hook("push", repo=repo)["id"] for repo in repos}
        monkeypatch.setattr(PostgresSession, "commit", looking)
        deliver(world, hooks)
        relations = {(mode, name) for kind, mode, name in held if kind == "relation"}
        assert {name for _, name in relations} == DISTRIBUTED | EVERYWHERE
        assert {mode for mode, _ in relations} <= OF_ROWS
        # Besides tables, a transaction locks only its own ids.
        assert {kind for kind, _, _ in held} <= {"relation", "virtualxid", "transactionid"}


def deliver(world: World, hooks: dict[int, int]) -> None:
    """Run the delivery path: deliveries succeed, fail, are released, expire or become dead."""
    store = world.store
    for number in range(4):
        for repo_id in hooks:
            world.arrive(f"g-{number}", repo_id=repo_id, scope=repo_id)
    lease = world.lease(30 * SECOND)
    good, bad, back, *late = world.claim(lease, *hooks.values())
    assert {one.hook_id for one in (good, bad)} == set(hooks.values())
    assert store.read_sync(events.get_many, [good.event_id], 1_000_000)
    store.write_sync(
        attempt_outcomes.record, [world.outcome(lease, good), world.failure(lease, bad)]
    )
    store.write_sync(deliveries.release, lease, [back.id])
    assert sorted(store.write_sync(leases.delivery_ids, lease)) == sorted(one.id for one in late)
    assert store.write_sync(leases.renew, lease, 30 * SECOND)
    store.read_sync(deliveries.waiting_hooks)
    world.clock.advance(31)
    store.write_sync(leases.release_expired)
    store.write_sync(deliveries.mark_dead, world.lease(), [late[0].id], "it is too late")
