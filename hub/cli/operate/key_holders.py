"""The services that have a copy of the key file, which systemd passes to them at their start."""

from pathlib import Path

from store.crypto import key_file
from store.crypto.key_file import Key
from store.errors import Unusable

CREDENTIALS = Path("/run/credentials")
NAME = "secret.key"


def given(keys: list[Key]) -> dict[str, list[Key]]:
    """Return the keys of each tocsin service whose copy has at least one of `keys`.

    Raises Unusable if this user may not read a service's copy.
    """
    ours = {key.value for key in keys}
    found = {}
    for path in sorted(CREDENTIALS.glob(f"tocsin*/{NAME}")):
        held = _held(path)
        if ours & {key.value for key in held}:
            found[path.parent.name] = held
    return found


def _held(path: Path) -> list[Key]:
    try:
        return key_file.read_keys(path)
    except Unusable as error:
        if isinstance(error.__cause__, PermissionError):
            raise Unusable(
                f"{path.parent.name} runs with its own key file, which only root may read:"
                " rotate the key as root"
            ) from None
        return []


def without(key: Key, keys: list[Key], *, first: bool) -> list[str]:
    """Return the services that do not have a key yet, or with `first`, do not encrypt with it."""
    return [
        service
        for service, held in given(keys).items()
        if key.value not in [one.value for one in (held[:1] if first else held)]
    ]
