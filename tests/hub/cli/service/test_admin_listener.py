"""A reload of the administrators' listener with wrong settings."""

from pathlib import Path

import pytest

from hub.admin.observability import Observability
from hub.cli.service.admin_listener import AdminListener
from hub.cli.service.configuration import Settings
from store import Store
from store.errors import Unusable

pytestmark = pytest.mark.anyio


async def accept(url: str) -> None:
    """Accept every callback."""


async def test_wrong_settings_leave_the_limits_of_connections(store: Store, tmp_path: Path) -> None:
    observability = Observability(store)
    listener = AdminListener(store, observability, accept, describes=False)
    await listener.change(Settings(header_timeout=7))
    before = listener.limiter.limits
    with pytest.raises(Unusable, match="admin_token_file"):
        await listener.change(Settings(header_timeout=8, admin_token_file=tmp_path / "absent"))
    assert listener.limiter.limits == before
    await listener.change(Settings(header_timeout=8))
    assert listener.limiter.limits != before
    await listener.app.close()
    await observability.close()
    await store.close()
