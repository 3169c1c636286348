"""Lookup of the commit that a path names."""

from store import Connection, Row
from store.errors import Invalid
from store.repositories import refs


def find_commit(db: Connection, repo: Row, name: str) -> str:
    """Return the SHA that `name` stands for: a full SHA, a branch or a tag.

    `HEAD` is the default branch. A full SHA is returned even if the commit is not known here.
    Raises Invalid for any other name.
    """
    return find_described(db, repo, name)[0]


def find_described(db: Connection, repo: Row, name: str) -> tuple[str, str | None]:
    """Return the same SHA as `find_commit`, and how the push of the branch or tag described it.

    A SHA has no description here. The commit of an annotated tag is described only here, because
    the push names the SHA of the tag's own object.
    """
    if name == "HEAD":
        name = refs.BRANCHES + repo["default_branch"]
    lowered = name.lower()
    found = refs.described(db, repo["id"], lowered if refs.SHA.fullmatch(lowered) else name)
    if found is None:
        raise Invalid(f"No commit found for SHA: {name[:100]}")
    return found
