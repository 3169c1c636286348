"""The installed package: its version, and `python -m tocsin`."""

from hub import __version__

__all__ = ["__version__"]
