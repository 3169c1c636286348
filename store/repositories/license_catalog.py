"""The known licenses: their texts, permissions, conditions and limitations.

The data of choosealicense.com lie in `licenses.json.gz`. A test holds them against the package from
which they were made.
"""

import gzip
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import orjson

# Compressed, because the texts would take half a megabyte of each installation.
DATA = Path(__file__).with_name("licenses.json.gz")
OTHER = "other"
"""The key of a license that is not known."""
HOME = "http://choosealicense.com/licenses"


@dataclass(frozen=True, slots=True)
class KnownLicense:
    """A known license.

    `key` is its SPDX identifier in lower case. Most projects choose a `common` one; the few
    `featured` ones are shown first.
    """

    key: str
    name: str
    spdx_id: str
    description: str
    implementation: str
    permissions: tuple[str, ...]
    conditions: tuple[str, ...]
    limitations: tuple[str, ...]
    body: str
    featured: bool
    common: bool

    @property
    def page(self) -> str:
        """Return the URL of a page about it."""
        return f"{HOME}/{self.key}/"


@cache
def list_all() -> tuple[KnownLicense, ...]:
    """Return every known license: the featured ones, the other common ones, the rest."""
    known = orjson.loads(gzip.decompress(DATA.read_bytes()))["licenses"]
    found = [_license(key, **fields) for key, fields in known.items()]
    return tuple(sorted(found, key=lambda one: (not one.featured, not one.common, one.key)))


def get(key: str) -> KnownLicense | None:
    """Return the license with this key, in any case, or None."""
    return next((one for one in list_all() if one.key == key.lower()), None)


def _license(key: str, **fields: Any) -> KnownLicense:
    values: Any = {name: tuple(v) if isinstance(v, list) else v for name, v in fields.items()}
    return KnownLicense(key=key, **values)
