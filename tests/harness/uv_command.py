"""The program uv, which tests install packages with."""

import importlib.util
import shutil

import pytest


def find_uv() -> str:
    """The path of uv. Skips the test if there is none."""
    if importlib.util.find_spec("uv") is not None:
        import uv

        return str(uv.find_uv_bin())
    found = shutil.which("uv")
    if found is None:
        pytest.skip("uv is neither a package of this Python nor on the PATH")
    return found
