"""How much work code does, counted in calls: a measure that does not depend on the machine."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any


@contextmanager
def counting_calls(where: ModuleType) -> Iterator[list[int]]:
    """Count the calls of Python functions on this thread for the length of the block: those of a
    module, or of a package's modules. The count is the one item of the list.
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
