"""The known licenses: their texts, permissions, conditions and limitations.

The data come from choosealicense.com, in a Python package.
"""

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from store.errors import NotInstalled

EXTRA = "licenses"
OTHER = "other"
"""The key of a license that is not known."""
HOME = "http://choosealicense.com/licenses"
# The package has turned the texts into templates for str.format: {fullname} was [fullname].
TEMPLATED = re.compile(r"\{\{|\}\}|\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class License:
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
def list_all() -> tuple[License, ...]:
    """Return every known license: the featured ones, the other common ones, the rest."""
    try:
        names = [file.name for file in files("pychoosealicense._licenses").iterdir()]
    except ModuleNotFoundError:
        raise NotInstalled("the catalog of licenses", EXTRA) from None
    found = [_read(name.removesuffix(".txt")) for name in names if name.endswith(".txt")]
    return tuple(sorted(found, key=lambda one: (not one.featured, not one.common, one.key)))


def get(key: str) -> License | None:
    """Return the license with this key, in any case, or None."""
    return next((one for one in list_all() if one.key == key.lower()), None)


def _read(key: str) -> License:
    # Importing the package reads data, which takes as long as importing half of the store.
    import pychoosealicense

    known = pychoosealicense.get_license(key)
    return License(
        key=key,
        name=known.title,
        spdx_id=known.spdx_id,
        description=_untemplated(known.description),
        implementation=_untemplated(known.how),
        permissions=tuple(rule.tag for rule in known.permissions),
        conditions=tuple(rule.tag for rule in known.conditions),
        limitations=tuple(rule.tag for rule in known.limitations),
        body=_untemplated(known.content),
        featured=known.featured,
        common=not known.hidden,
    )


def _untemplated(text: str) -> str:
    return TEMPLATED.sub(lambda found: f"[{found[1]}]" if found[1] else found[0][0], text)
