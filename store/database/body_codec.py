"""Event bodies at rest: compressed, for it is faster to store less."""

import sys
import threading

if sys.version_info >= (3, 14):
    from compression import zstd as zstd
else:
    from backports import zstd as zstd

LEVEL = 3


_local = threading.local()


def compress(body: bytes) -> bytes:
    """The compressed form of `body`."""
    # Setting a compressor up costs as much as compressing 2 kB: each thread keeps one.
    compressor: zstd.ZstdCompressor | None = getattr(_local, "compressor", None)
    if compressor is None:
        compressor = _local.compressor = zstd.ZstdCompressor(level=LEVEL)
    return compressor.compress(body, zstd.ZstdCompressor.FLUSH_FRAME)


def decompress(packed: bytes) -> bytes:
    """The body that was packed."""
    return zstd.decompress(bytes(packed))
