"""Bringing users' email addresses, and what is around repositories, to a state document."""

from collections.abc import Sequence

from hub.cli import state
from hub.cli.options import account
from hub.cli.state import Address
from store import Connection, Row, emails, licenses, watching
from store.errors import Invalid


def emails_of(db: Connection, account_id: int, wanted: Sequence[Address]) -> bool:
    """Give a user these addresses; whether that changes anything."""
    before = _addresses(db, account_id)
    for each in wanted:
        _email(db, account_id, each)
    for each in wanted:
        if each.visibility is not None:
            _show(db, account_id, each)
    return before != _addresses(db, account_id)


def _addresses(db: Connection, account_id: int) -> list[Row]:
    return emails.page(db, account_id, limit=emails.MOST, offset=0)


def _email(db: Connection, account_id: int, wanted: Address) -> None:
    known = emails.of(db, account_id, [wanted.email])
    if not known:
        known = emails.add(db, account_id, [wanted.email], verified=wanted.verified)
    elif "verified" in wanted.model_fields_set:
        emails.verify(db, known[0]["id"], wanted.verified)
    if wanted.primary:
        emails.make_primary(db, known[0])


def _show(db: Connection, account_id: int, wanted: Address) -> None:
    (row,) = emails.of(db, account_id, [wanted.email])
    if not row["is_primary"]:
        raise Invalid(f"{wanted.email!r} has no visibility: it is not the primary address")
    emails.show(db, account_id, str(wanted.visibility))


def around(db: Connection, repo: Row, wanted: state.Repository) -> bool:
    """Set who watches a repository, its stars and its license file; whether that changes
    anything.
    """
    changed = _watchers(db, repo, wanted)
    if "stars" in wanted.model_fields_set:
        changed = watching.set_stars(db, repo["id"], wanted.stars) or changed
    if wanted.license_file is not None:
        branch = wanted.license_file.branch or repo["default_branch"]
        changed = licenses.put(db, repo["id"], branch, wanted.license_file.file) or changed
    return changed


def _watchers(db: Connection, repo: Row, wanted: state.Repository) -> bool:
    before = watching.settings(db, repo["id"])
    for login, how in wanted.watchers.items():
        if before.get(login) != how:
            watching.put(
                db,
                repo["id"],
                account(db, login)["id"],
                subscribed=how == "watching",
                ignored=how == "ignoring",
            )
    return before != watching.settings(db, repo["id"])
