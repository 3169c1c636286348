"""Commits as paths name them."""

from store import Connection, Row
from store.errors import Invalid
from store.repositories import refs


def find_commit(db: Connection, repo: Row, name: str) -> str:
    """The commit of this whole SHA, which need not be known here, or that the branch or tag of this
    name is at. Invalid for a name that nothing has.
    """
    lowered = name.lower()
    found = refs.resolve(db, repo["id"], lowered if refs.SHA.fullmatch(lowered) else name)
    if found is None:
        raise Invalid(f"No commit found for SHA: {name[:100]}")
    return found
