"""Who has a copy of the key file: services, which systemd gives one when they start."""

from pathlib import Path

from store.crypto import key_file
from store.crypto.key_file import Key
from store.errors import Unusable

CREDENTIALS = Path("/run/credentials")
NAME = "secret.key"


def given(keys: list[Key]) -> dict[str, list[Key]]:
    """The keys that each service of ours has been given, if they are any of these. Unusable where
    that must not be looked at.
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
                f"{path.parent.name} runs with a key file of its own, which only root may see:"
                " rotate the key as root"
            ) from None
        return []


def without(key: Key, keys: list[Key], *, first: bool) -> list[str]:
    """The services that do not have a key yet, or not as the one that seals."""
    return [
        service
        for service, held in given(keys).items()
        if key.value not in [one.value for one in (held[:1] if first else held)]
    ]
