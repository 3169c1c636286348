"""Lists of the members of an organization, and of the organizations of an account.

A membership is concealed unless it was made public. Only other members see a concealed one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from store.accounts import accounts
from store.database import paging
from store.database.connection import ENDLESS, Connection, Row, json_array

# Every second factor here is a one-time password, so none is insecure.
FILTERS = {
    "all": "",
    "2fa_disabled": " AND NOT EXISTS (SELECT 1 FROM one_time o WHERE o.account_id = m.account_id)",
    "2fa_insecure": " AND 1 = 0",
}
IN = "FROM membership m JOIN account a ON a.id = m.account_id WHERE m.organization_id = :id"


@dataclass(frozen=True, slots=True)
class OwnSelection:
    """A filter for an account's memberships: in the organizations `among`, unless it is None.

    `refusing` has the ids of organizations that are left out.
    """

    account_id: int
    public: bool = False
    among: Sequence[int] | None = None
    refusing: Sequence[int] = ()

    def condition(self, db: Connection, column: str) -> tuple[str, dict[str, Any]]:
        """Return SQL for: `among` and `refusing` allow the id in a column. Also return parameters.

        Without these, it is empty, so that a count needs no other table.
        """
        where = "" if self.among is None else f" AND {column} {db.among('among')}"
        given: dict[str, Any] = {} if self.among is None else {"among": json_array(self.among)}
        if self.refusing:
            where += f" AND {column} NOT {db.among('refusing')}"
            given["refusing"] = json_array(self.refusing)
        return where, given


def of(db: Connection, chosen: OwnSelection, *, limit: int, offset: int) -> list[Row]:
    """Return a page of the organizations of an account, each with the account's `role`."""
    where, given = _own(db, chosen)
    return paging.page(
        db,
        f"SELECT {accounts.OF_JOINED}, m.role FROM membership m"
        f" JOIN account a ON a.id = m.organization_id WHERE {where} ORDER BY m.organization_id",
        limit,
        offset,
        **given,
    )


def count_of(db: Connection, chosen: OwnSelection) -> int:
    """Return how many organizations `of` can return."""
    if chosen.among is not None:
        where, given = _own(db, chosen)
        return db.number(f"SELECT count(*) FROM membership m WHERE {where}", **given)
    total = db.number(
        "SELECT CAST(coalesce(sum(m.memberships), 0) AS BIGINT) FROM membership_tally m"
        f" WHERE m.account_id = :id{_only(chosen.public)}",
        id=chosen.account_id,
    )
    return total - _count_refusing(db, chosen) if chosen.refusing else total


def _count_refusing(db: Connection, chosen: OwnSelection) -> int:
    return db.number(
        f"SELECT count(*) FROM {db.each('refusing', id='integer')} AS w JOIN membership m"
        f" ON m.organization_id = w.id WHERE m.account_id = :id{_only(chosen.public)}",
        id=chosen.account_id,
        refusing=json_array(set(chosen.refusing)),
    )


def _own(db: Connection, chosen: OwnSelection) -> tuple[str, dict[str, Any]]:
    where, given = chosen.condition(db, "m.organization_id")
    return f"m.account_id = :id{_only(chosen.public)}{where}", given | {"id": chosen.account_id}


@dataclass(frozen=True, slots=True)
class MemberSelection:
    """A filter for an organization's members.

    `role` is `admin` or `member` (None: both). `only` is a key of FILTERS.
    """

    organization_id: int
    public: bool = False
    role: str | None = None
    only: str = "all"

    def sql(self) -> tuple[str, dict[str, Any]]:
        """Return what follows SELECT, and its parameters."""
        where = f"{IN}{_only(self.public)}{FILTERS[self.only]}"
        if self.role is None:
            return where, {"id": self.organization_id}
        return f"{where} AND m.role = :role", {"id": self.organization_id, "role": self.role}


def members(db: Connection, chosen: MemberSelection, *, limit: int, offset: int) -> list[Row]:
    found, given = chosen.sql()
    return paging.page(
        db,
        f"SELECT {accounts.OF_JOINED}, m.role {found} ORDER BY m.account_id",
        limit,
        offset,
        **given,
    )


def count_members(db: Connection, chosen: MemberSelection, most: int = ENDLESS) -> int:
    """Return how many members `members` can return, counted up to `most`."""
    found, given = chosen.sql()
    return paging.count(db, f"SELECT 1 AS one {found}", most, **given)


def is_public(db: Connection, organization_id: int, account_id: int) -> bool:
    """Return whether the account is a member and everybody may know it."""
    return bool(
        db.find_value(
            "SELECT public FROM membership", organization_id=organization_id, account_id=account_id
        )
    )


def publicize(db: Connection, organization_id: int, account_id: int, public: bool) -> bool:
    """Show a membership to everybody, or conceal it. Return whether that changes anything."""
    changed = db.execute(
        "UPDATE membership SET public = :public WHERE organization_id = :organization_id"
        " AND account_id = :account_id AND public <> :public",
        public=int(public),
        organization_id=organization_id,
        account_id=account_id,
    )
    if changed:
        accounts.count_memberships(
            db, {(account_id, int(public)): 1, (account_id, int(not public)): -1}
        )
    return changed > 0


def leave(db: Connection, organization_id: int, account_id: int) -> bool:
    """End a membership. Return False if there is none.

    Raises Conflict if the account is the last administrator.
    """
    accounts.keep_administrator(db, account_id, organization_id)
    ended = db.tuples(
        "DELETE FROM membership WHERE organization_id = :organization_id"
        " AND account_id = :account_id RETURNING account_id, public",
        organization_id=organization_id,
        account_id=account_id,
    )
    accounts.count_memberships(db, dict.fromkeys(ended, -1))
    return bool(ended)


def drop(db: Connection, organization_id: int, limit: int = ENDLESS) -> int:
    """Delete up to `limit` memberships of an organization. Return their number.

    Deleting the organization alone would leave the stored numbers of memberships wrong.
    """
    deleted = db.tuples(
        "DELETE FROM membership WHERE (organization_id, account_id) IN (SELECT organization_id,"
        " account_id FROM membership WHERE organization_id = :id LIMIT :limit)"
        " RETURNING account_id, public",
        id=organization_id,
        limit=limit,
    )
    accounts.count_memberships(db, dict.fromkeys(deleted, -1))
    return len(deleted)


def _only(public: bool) -> str:
    return " AND m.public = 1" if public else ""
