"""Lookups of the organizations, users, repositories and teams in usage, many at a time.

All names are in lower case.
"""

from collections.abc import Iterable

from store.accounts.teams import slug_of
from store.database.connection import Connection, json_array

Pair = tuple[str, str]


def organizations(db: Connection, wanted: Iterable[Pair]) -> dict[Pair, int]:
    """Return enterprise slug and login to the id of each organization of that enterprise."""
    rows = db.tuples(
        "SELECT e.slug, a.login_key, a.id"
        f" FROM {db.each('wanted', slug='text', login='text')} AS w"
        " JOIN enterprise e ON e.slug = w.slug JOIN account a ON a.login_key = w.login"
        " JOIN enterprise_organization o ON o.organization_id = a.id AND o.enterprise_id = e.id",
        wanted=json_array(set(wanted)),
    )
    return {(slug, login): account_id for slug, login, account_id in rows}


def users(db: Connection, logins: Iterable[str]) -> dict[str, int]:
    """Return login to the id of each user."""
    return db.mapping(
        f"SELECT a.login_key, a.id FROM {db.each('wanted', login='text')} AS w"
        " JOIN account a ON a.login_key = w.login WHERE a.kind = 'User'",
        wanted=json_array(set(logins)),
    )


def repositories(db: Connection, wanted: Iterable[Pair]) -> dict[Pair, int]:
    """Return owner and name to the id of each repository."""
    rows = db.tuples(
        "SELECT a.login_key, r.name_key, r.id"
        f" FROM {db.each('wanted', owner='text', name='text')} AS w"
        " JOIN account a ON a.login_key = w.owner"
        " JOIN repository r ON r.owner_id = a.id AND r.name_key = w.name",
        wanted=json_array(set(wanted)),
    )
    return {(owner, name): repo_id for owner, name, repo_id in rows}


def teams(db: Connection, wanted: Iterable[Pair]) -> dict[Pair, int]:
    """Return organization and team name or slug to the id of each team."""
    slugs = {(login, name): slug_of(name) for login, name in wanted}
    rows = db.tuples(
        f"SELECT a.login_key, t.slug, t.id FROM {db.each('wanted', login='text', slug='text')} AS w"
        " JOIN account a ON a.login_key = w.login"
        " JOIN team t ON t.organization_id = a.id AND t.slug = w.slug",
        wanted=json_array({(login, slug) for (login, _), slug in slugs.items()}),
    )
    found = {(login, slug): team_id for login, slug, team_id in rows}
    return {pair: found[pair[0], slug] for pair, slug in slugs.items() if (pair[0], slug) in found}
