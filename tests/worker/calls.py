"""A measure of work that does not depend on the machine: the number of function calls."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any


@contextmanager
def counting_calls(where: ModuleType) -> Iterator[list[int]]:
    """Count the calls on this thread of functions that a module or package defines.

    The count is the only item of the list. It grows until the block ends.
    """
    path = str(where.__file__)
    folder = str(Path(path).parent) if hasattr(where, "__path__") else path
    calls = [0]

    def count(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(folder):
            calls[0] += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        yield calls
    finally:
        sys.setprofile(before)
