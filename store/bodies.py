"""Event bodies at rest: compressed, for it is faster to store less."""

import sys

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

LEVEL = 3


def pack(body: bytes) -> bytes:
    """The compressed form of `body`."""
    return zstd.compress(body, LEVEL)


def unpack(packed: bytes) -> bytes:
    """The body that was packed."""
    return zstd.decompress(bytes(packed))
