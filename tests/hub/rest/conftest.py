"""A world that tests of all operations copy."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from operations_world import World


@pytest.fixture(scope="session")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> "tuple[Path, World]":
    """A world and its folder, which tests copy, because a new world takes longer than a copy."""
    # Imported here, because most tests of this folder need none of it.
    from engines import open_furnished
    from operations_world import make

    folder = tmp_path_factory.mktemp("untouched")
    store = open_furnished("sqlite", folder)
    made = make(store)
    store.shut()
    return folder, made
