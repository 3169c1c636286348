"""Names and ids that begin with a prefix, for completion in a shell."""

from store.database.connection import Connection, Row

MOST = 100
# Only the newest ids are offered, because old ones are rarely typed.
NEWEST = 1_000


def logins(db: Connection, typed: str) -> list[Row]:
    """Return `login` and `name` of up to 100 accounts."""
    return db.all(
        "SELECT login, name FROM account WHERE substr(login_key, 1, :length) = :typed"
        " ORDER BY login_key LIMIT :most",
        typed=typed.lower(),
        length=len(typed),
        most=MOST,
    )


def repositories(db: Connection, typed: str) -> list[Row]:
    """Return `full_name` and `description` of up to 100 repositories."""
    owner, slash, name = typed.lower().partition("/")
    whose = "a.login_key = :owner" if slash else "substr(a.login_key, 1, :length) = :owner"
    return db.all(
        "SELECT a.login || '/' || r.name AS full_name, r.description"
        " FROM account a JOIN repository r ON r.owner_id = a.id"
        f" WHERE {whose} AND substr(r.name_key, 1, :rest) = :name"
        " ORDER BY a.login_key, r.name_key LIMIT :most",
        owner=owner,
        name=name,
        rest=len(name),
        most=MOST,
        **({} if slash else {"length": len(owner)}),
    )


def hooks(db: Connection, typed: str) -> list[Row]:
    """Return `id` and `url` of up to 100 hooks."""
    rows = db.all(
        "SELECT id, url FROM hook WHERE deleted_at IS NULL ORDER BY id DESC LIMIT :newest",
        newest=NEWEST,
    )
    return _with_prefix(rows, typed)


def events(db: Connection, typed: str) -> list[Row]:
    """Return `id` and `name` of up to 100 events."""
    rows = db.all("SELECT id, name FROM event ORDER BY id DESC LIMIT :newest", newest=NEWEST)
    return _with_prefix(rows, typed)


def deliveries(db: Connection, typed: str) -> list[Row]:
    """Return `id` and `event` of up to 100 deliveries."""
    rows = db.all(
        "SELECT d.id, e.name AS event FROM delivery d JOIN event e ON e.id = d.event_id"
        " ORDER BY d.id DESC LIMIT :newest",
        newest=NEWEST,
    )
    return _with_prefix(rows, typed)


def _with_prefix(rows: list[Row], typed: str) -> list[Row]:
    return [row for row in rows if str(row["id"]).startswith(typed)][:MOST]
