"""Repositories and hooks by a part of their name, for the filters of lists."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from store.database.connection import Connection, json_array
from store.database.patterns import containing

# At most this many repositories and hooks are found, the newest ones.
MOST_REPOSITORIES, MOST_HOOKS = 1_000, 200
# The limit of hooks whose whole URL has the part. Those are left out that have it only in the user
# or the query.
MOST_EXAMINED = 2_000
# As in `store.hooks`, which this package may not import.
EVERYWHERE, PULL = 0, "pull"


def repositories(db: Connection, part: str, among: Sequence[int] | None) -> list[int]:
    """Return the ids of repositories whose `owner/name` contains a text; `among` None for all."""
    source, given = "repository r", {}
    if among is not None:
        source = f"{db.each('repos', wanted='integer')} AS w JOIN repository r ON r.id = w.wanted"
        given = {"repos": json_array(among)}
    return db.column(
        f"SELECT r.id FROM {source} JOIN account o ON o.id = r.owner_id"
        " WHERE lower(o.login || '/' || r.name) LIKE :part ESCAPE '!' ORDER BY r.id DESC"
        " LIMIT :most",
        part=containing(part),
        most=MOST_REPOSITORIES,
        **given,
    )


def hooks(
    db: Connection, part: str, among: Sequence[int] | None, org_ids: Sequence[int] = ()
) -> list[int]:
    """Return the ids of hooks of these repositories whose URL contains a text, deleted ones too.

    `among` None means all hooks. `org_ids` adds the hooks of these organizations. A URL's query and
    its user are not searched, as they may hold secrets.
    """
    found = _containing(db, part, among, org_ids)
    shown = [number for number, url in found if part.lower() in _bare_url(url).lower()]
    return shown[:MOST_HOOKS]


def hooks_of(db: Connection) -> str:
    """Return SQL for the ids of the hooks of the repositories :repos and organizations :orgs.

    If EVERYWHERE is among :orgs, these include the hooks of the installation and of apps. The
    installation itself, in the alerts about no hook, has the same id.
    """
    parts = [
        f"SELECT x.id FROM {db.each(given, wanted='integer')} AS t{number}"
        f" JOIN hook x ON x.{column} = t{number}.wanted"
        for number, (given, column) in enumerate((("repos", "repo_id"), ("orgs", "org_id")))
    ]
    everywhere = f"{db.each('orgs', wanted='integer')} AS t2"
    # CROSS JOIN, so that SQLite does not look at any hook first.
    parts += [
        f"SELECT x.id FROM {everywhere} CROSS JOIN hook x"
        f" WHERE t2.wanted = {EVERYWHERE} AND {condition}"
        for condition in (
            "x.repo_id IS NULL AND x.org_id IS NULL AND x.app_id IS NULL",
            "x.app_id IS NOT NULL",
        )
    ]
    parts.append(f"SELECT t2.wanted FROM {everywhere} WHERE t2.wanted = {EVERYWHERE}")
    return " UNION ALL ".join(parts)


def hooks_of_host(
    db: Connection, host: str, among: Sequence[int] | None, org_ids: Sequence[int] = ()
) -> list[int]:
    """Return the ids of hooks of these repositories at `host` or `host:port`, newest first.

    `among` None means all hooks. `org_ids` adds the hooks of these organizations.
    """
    found = _containing(db, host, among, org_ids, "h.deleted_at IS NULL AND ")
    return [number for number, url in found if host_of(url) == host.lower()][:MOST_HOOKS]


def _containing(
    db: Connection,
    text: str,
    among: Sequence[int] | None,
    org_ids: Sequence[int],
    condition: str = "",
) -> Sequence[tuple[Any, ...]]:
    """Return the ids and URLs of the newest of these hooks whose URL contains a text."""
    where, given = condition, {}
    if among is not None:
        # In SQLite, a join would begin with the hooks of everybody, from the newest on.
        where += f"h.id IN ({hooks_of(db)}) AND "
        given = {"repos": json_array(among), "orgs": json_array(org_ids)}
    return db.tuples(
        f"SELECT h.id, h.url FROM hook h WHERE {where}lower(h.url) LIKE :part ESCAPE '!'"
        " ORDER BY h.id DESC LIMIT :most",
        part=containing(text),
        most=MOST_EXAMINED,
        **given,
    )


def host_of(url: str) -> str:
    """Return a URL's host and port, in lower case; the whole URL of a pull hook, which has none.

    It is empty if the URL is wrong.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return url if parts.scheme == PULL else parts.netloc.rpartition("@")[2].lower()


def _bare_url(url: str) -> str:
    """Return a URL without its user, its query and its fragment."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    if not parts.netloc:
        # The URL of a pull hook names no host.
        return f"{parts.scheme}:{parts.path}"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
