"""The fixture with which tests of state documents load one."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import Result


@pytest.fixture
def load(run: Callable[..., Result], url: str) -> Callable[..., Result]:
    """Return a function that loads a state document, given as text or as an object."""

    def call(document: str | dict[str, Any], *args: str, code: int = 0) -> Result:
        text = document if isinstance(document, str) else json.dumps(document)
        return run("load", "-", *args, code=code, stdin=text)

    return call
