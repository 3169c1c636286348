"""The section `devenv_secrets`: repositories' secrets for development environments."""

from pydantic import Field, SecretStr

from hub.cli.console.options import repository_named
from hub.cli.state.base import FullName, StateEntry
from hub.cli.state.changes import StateChange
from store import Connection
from store.devenvs import devenv_secrets


class DevenvSecretEntry(StateEntry):
    """A devenv secret, identified by its repository and name. The value is plain text, not
    encrypted.
    """

    repository: FullName
    name: str
    value: SecretStr = Field(max_length=devenv_secrets.MOST_BYTES)

    @property
    def known_by(self) -> tuple[str, str] | None:
        return "devenv secret", f"{self.repository} {self.name}".lower()


def devenv_secret(db: Connection, wanted: DevenvSecretEntry) -> StateChange:
    """Create a secret, or change its value."""
    repo = repository_named(db, wanted.repository)
    name = f"{repo['full_name']} {wanted.name.upper()}"
    value = wanted.value.get_secret_value().encode()
    row = devenv_secrets.get(db, repo["id"], wanted.name)
    if row is not None and devenv_secrets.value_of(db, row) == value:
        return StateChange("devenv secret", name, "unchanged")
    made = devenv_secrets.put(db, repo["id"], wanted.name, value)
    return StateChange("devenv secret", name, "created" if made else "updated")
