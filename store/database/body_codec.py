"""Compression of stored event bodies. It saves time, because less is written."""

import sys
import threading

if sys.version_info >= (3, 14):
    from compression import zstd as zstd
else:
    from backports import zstd as zstd

LEVEL = 3


_local = threading.local()


def compress(body: bytes) -> bytes:
    """Compress `body`."""
    # Each thread keeps a compressor, because creating one costs as much as compressing 2 kB.
    compressor: zstd.ZstdCompressor | None = getattr(_local, "compressor", None)
    if compressor is None:
        compressor = _local.compressor = zstd.ZstdCompressor(level=LEVEL)
    return compressor.compress(body, zstd.ZstdCompressor.FLUSH_FRAME)


def decompress(packed: bytes) -> bytes:
    return zstd.decompress(bytes(packed))
