"""Results that many tests need, computed before a run is forked into several processes."""

import sys

import pytest

# Fewer tests are done before the results pay for their time.
MANY = 2000


def prepare(items: list[pytest.Item]) -> None:
    """Start PostgreSQL if tests run on it. If many tests use the hub, describe it.

    Each process would need three seconds to start a server with a migrated database.
    """
    if any(on_postgres(item) for item in items):
        import postgres_databases

        postgres_databases.start()
    _describe(items)


def on_postgres(item: pytest.Item) -> bool:
    """Return whether a test runs on PostgreSQL."""
    callspec = getattr(item, "callspec", None)
    return callspec is not None and callspec.params.get("url") == "postgres"


def _describe(items: list[pytest.Item]) -> None:
    """Describe the API and parse the manual if many tests follow, and if they use the hub.

    Each process would need two seconds to do the same again.
    """
    if len(items) < MANY or "hub_client" not in sys.modules:
        return
    from contract_checks import contract, own

    from hub.manual.library import manual

    own(), contract()
    for page in manual().pages.values():
        page.anchors  # noqa: B018 - the page keeps what it parsed
