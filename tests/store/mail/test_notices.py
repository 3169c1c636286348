"""Mails are made of many notices with few statements, and of a limited number in a transaction."""

import pytest
from statement_log import noted
from transactions import transaction

from store import Connection, Store
from store.accounts import accounts, emails
from store.hooks import hooks
from store.mail import notices
from store.mail.notices import MailLimits
from store.repositories import repositories

LIMITS = MailLimits(9, 99)


def note(store: Store, people: int, many: int) -> None:
    """Make `many` hooks of an organization fail, and note that for each of its owners."""

    with transaction(store) as db:
        tower = accounts.create(db, "tower", kind="Organization")
        for number in range(people):
            owner = accounts.create(db, f"owner{number}")
            emails.add(db, owner["id"], [f"owner{number}@people.example"], verified=True)
            accounts.join(db, tower["id"], owner["id"], "admin")
        repo = repositories.create(db, tower["id"], "mill")
        for number in range(many):
            hook = hooks.create(db, repo["id"], url=f"https://r.example/{number}", events=["push"])
            db.execute(
                "INSERT INTO alert (kind, hook_id, subject, data, opened_at)"
                " VALUES ('hook.failing', :hook_id, '', '{}', :now)",
                hook_id=hook["id"],
                now=db.now,
            )
        notices.add(db, db.all("SELECT id, hook_id FROM alert ORDER BY id"), 0)


@pytest.mark.parametrize("many", [1, 30])
def test_the_number_of_statements_does_not_grow_with_the_hooks(store: Store, many: int) -> None:
    note(store, 1, many)

    def make(db: Connection) -> int:
        with noted(db) as asked:
            assert not notices.make_mails(db, LIMITS)
        return len(asked)

    assert store.write_sync(make) <= 12
    (mail,) = store.read_sync(notices.list_mails, 9)
    assert mail["alerts"] == many


def test_a_transaction_ends_after_a_limited_number_of_hooks(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notices, "MOST_HOOKS", 5)
    note(store, 3, 4)
    for left, mails in ((True, 2), (False, 3), (False, 3)):
        assert store.write_sync(notices.make_mails, LIMITS) is left
        assert len(store.read_sync(notices.list_mails, 9)) == mails
