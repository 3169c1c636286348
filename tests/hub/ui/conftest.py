"""The world that tests of the dashboard share."""

from typing import Any

import pytest
from ui_world import World

from store import Store


@pytest.fixture
def world(store: Store, seed: Any) -> World:
    return World(store, seed)
