"""The activity of seat holders: their last use of the assistant, and their last authentication."""

from collections.abc import Collection

from store.database.connection import Connection, json_array


def used(db: Connection, rows: Collection[tuple[int, int, int, str | None]]) -> None:
    """Record uses of the assistant, unless a later one is known.

    Each row has organization, account, time and editor.
    """
    columns = {"organization_id": "integer", "account_id": "integer"}
    columns |= {"moment": "integer", "editor": "text"}
    db.execute(
        "UPDATE assistant_seat SET active_at = w.moment, editor = w.editor"
        f" FROM {db.each('rows', **columns)} AS w"
        " WHERE assistant_seat.organization_id = w.organization_id"
        " AND assistant_seat.account_id = w.account_id"
        " AND coalesce(assistant_seat.active_at, 0) < w.moment",
        rows=json_array(rows),
    )


def authenticated(db: Connection, rows: Collection[tuple[int, int]]) -> None:
    """Record authentications, unless a later one is known. Each row has account and time.

    Users without a seat are ignored.
    """
    # This order, before the update, keeps SQLite from reading every seat: few organizations
    # subscribe.
    found = db.tuples(
        "SELECT t.id, w.moment"
        f" FROM {db.each('rows', account_id='integer', moment='integer')} AS w"
        " CROSS JOIN assistant_subscription s CROSS JOIN assistant_seat t"
        " WHERE t.organization_id = s.organization_id AND t.account_id = w.account_id"
        " AND coalesce(t.authenticated_at, 0) < w.moment",
        rows=json_array(rows),
    )
    if found:
        db.execute(
            "UPDATE assistant_seat SET authenticated_at = w.moment"
            f" FROM {db.each('found', id='integer', moment='integer')} AS w"
            " WHERE assistant_seat.id = w.id"
            " AND coalesce(assistant_seat.authenticated_at, 0) < w.moment",
            found=json_array(found),
        )
