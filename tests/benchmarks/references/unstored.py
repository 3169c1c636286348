"""`tocsin` whose hub answers an event as always and keeps nothing of it: a reference."""

from typing import Any

from hub.cli import main
from store.database.store import Store
from store.delivery.incoming import IncomingEvent, Receipt


async def _answered(
    store: Store, function: Any, item: IncomingEvent, *, weight: int = 0
) -> Receipt:
    return Receipt(1, item.guid, 0, False)


def _not_packed(arrival: IncomingEvent) -> None:
    """Compressing is a part of storing."""


if __name__ == "__main__":
    Store.batch = _answered  # type: ignore[assignment]
    IncomingEvent.__post_init__ = _not_packed  # type: ignore[assignment]
    main()
