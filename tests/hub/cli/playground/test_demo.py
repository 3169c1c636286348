"""`tocsin demo`: the whole path as a process of its own."""

import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A folder for temporary files. Its path is short: sockets lie in it."""
    with TemporaryDirectory() as made:
        yield Path(made)


def test_demo_once(start, temporary):
    code, out, err = start("demo", "--once", TMPDIR=str(temporary)).ended()
    assert code == 0, out + err
    assert err == ""
    for event in ("ping", "push", "issues", "release"):
        assert re.search(rf"^{event} +[0-9a-f-]{{36}} +200 .*✓ verified: sha256, sha1", out, re.M)
    assert list(temporary.iterdir()) == []
