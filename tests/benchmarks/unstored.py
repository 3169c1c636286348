"""`tocsin` whose hub answers an event as always and keeps nothing of it: a reference."""

from typing import Any

from hub.cli import main
from store.events import Arrival, Receipt
from store.store import Store


async def _answered(store: Store, function: Any, item: Arrival, *, weight: int = 0) -> Receipt:
    return Receipt(1, item.guid, 0, False)


def _not_packed(arrival: Arrival) -> None:
    """Compressing is a part of storing."""


if __name__ == "__main__":
    Store.batch = _answered  # type: ignore[assignment]
    Arrival.__post_init__ = _not_packed  # type: ignore[assignment]
    main()
