"""Bytecode that this environment lends to an environment with the same sources."""

import sysconfig
from importlib.util import cache_from_source
from pathlib import Path

ROOT = Path(__file__).parents[3]
# tocsin's own modules are in the checkout, because tests use an editable installation.
LENDERS = {ROOT, *(Path(sysconfig.get_path(kind)) for kind in ("purelib", "platlib"))}
# A compiled file begins with the version, flags, and the time and size of its source.
VERSIONED, HEADER = 8, 16


def lend_bytecode(packages: Path) -> None:
    """Give each module in a folder of packages the bytecode that its copy here has.

    Python compiles every module that it imports first. The modules of an installation take longer
    to compile than everything that a test does with them.
    """
    for source in packages.rglob("*.py"):
        if not Path(cache_from_source(str(source))).exists():
            for lender in LENDERS:
                _lend(lender / source.relative_to(packages), source)


def _lend(own: Path, source: Path) -> None:
    compiled = Path(cache_from_source(str(own)))
    if not own.exists() or not compiled.exists():
        return
    bytecode = compiled.read_bytes()
    fresh = bytecode[VERSIONED:HEADER] == _stamp(own)
    if fresh and own.read_bytes() == source.read_bytes():
        lent = Path(cache_from_source(str(source)))
        lent.parent.mkdir(exist_ok=True)
        lent.write_bytes(bytecode[:VERSIONED] + _stamp(source) + bytecode[HEADER:])


def _stamp(source: Path) -> bytes:
    """The time and size by which Python knows that bytecode belongs to a source."""
    stat = source.stat()
    return b"".join(
        (int(value) & 0xFFFFFFFF).to_bytes(4, "little") for value in (stat.st_mtime, stat.st_size)
    )
