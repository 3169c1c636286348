"""The stored number of seats equals the number of rows after any change."""

from collections import Counter

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from state_machines import play
from store_world import START, World
from transactions import transaction

from store import Connection, Row
from store.accounts import accounts, teams
from store.assistant import (
    assistant_seats,
    assistant_subscriptions,
    membership_seats,
    seat_tally,
)
from store.assistant.assistant_seats import LIVE
from store.clock import DAY, SECOND
from store.registry import account_removal, expiring

SEATS = expiring.SEATS.event
ORGANIZATIONS, PEOPLE, TEAMS = 2, 4, 2
WHERE = st.integers(0, ORGANIZATIONS - 1)
SOME_PEOPLE = st.lists(st.integers(0, PEOPLE - 1), min_size=1, unique=True)
SOME_TEAMS = st.lists(st.integers(0, TEAMS - 1), min_size=1, unique=True)


class Seats(RuleBasedStateMachine):
    world: World

    @initialize()
    def start(self) -> None:
        # Every example starts at the same time, so earlier examples do not change its result.
        self.world.clock.advance((START - self.world.now) / SECOND)
        self.made = 0
        self.world.store.write_sync(self._begin)

    def _begin(self, db: Connection) -> None:
        db.execute("DELETE FROM account WHERE id <> :id", id=self.world.user["id"])
        self.people = [self._person(db) for _ in range(PEOPLE)]
        self.organizations = [self._organization(db) for _ in range(ORGANIZATIONS)]

    def _person(self, db: Connection) -> Row:
        self.made += 1
        return accounts.create(db, f"p{self.made}")

    def _organization(self, db: Connection) -> tuple[Row, list[Row]]:
        self.made += 1
        made = accounts.create(db, f"o{self.made}", kind="Organization")
        accounts.join(db, made["id"], self.world.user["id"], "admin")
        for person in self.people:
            accounts.join(db, made["id"], person["id"], "member")
        assistant_subscriptions.put(db, made["id"])
        assistant_seats.give_users(db, made["id"], [row["id"] for row in self.people])
        return made, [teams.create(db, made["id"], f"t{number}") for number in range(TEAMS)]

    def _ids(self, chosen: list[int]) -> list[int]:
        return [self.people[number]["id"] for number in chosen]

    @rule(where=WHERE, chosen=SOME_PEOPLE)
    def give_users(self, where: int, chosen: list[int]) -> None:
        made, _ = self.organizations[where]
        self.world.store.write_sync(assistant_seats.give_users, made["id"], self._ids(chosen))

    @rule(where=WHERE, chosen=SOME_TEAMS)
    def give_teams(self, where: int, chosen: list[int]) -> None:
        made, own = self.organizations[where]
        ids = [own[number]["id"] for number in chosen]
        self.world.store.write_sync(assistant_seats.give_teams, made["id"], ids)

    @rule(where=WHERE, chosen=SOME_PEOPLE)
    def cancel_users(self, where: int, chosen: list[int]) -> None:
        made, _ = self.organizations[where]
        self.world.store.write_sync(assistant_seats.cancel_users, made["id"], self._ids(chosen))

    @rule(where=WHERE, chosen=SOME_TEAMS)
    def cancel_teams(self, where: int, chosen: list[int]) -> None:
        made, own = self.organizations[where]
        ids = [own[number]["id"] for number in chosen]
        self.world.store.write_sync(assistant_seats.cancel_teams, made["id"], ids)

    @rule(where=WHERE, team=st.integers(0, TEAMS - 1), chosen=SOME_PEOPLE)
    def join_team(self, where: int, team: int, chosen: list[int]) -> None:
        _, own = self.organizations[where]
        self.world.store.write_sync(teams.join, own[team]["id"], self._ids(chosen))

    @rule(where=WHERE, management=st.sampled_from(["assign_all", "assign_selected"]))
    def manage(self, where: int, management: str) -> None:
        made, _ = self.organizations[where]

        with transaction(self.world.store) as db:
            before = assistant_subscriptions.of(db, made["id"])
            after = assistant_subscriptions.put(db, made["id"], seat_management=management)
            assistant_seats.manage(db, made["id"], before, after)

    @rule(where=WHERE)
    def a_member_joins(self, where: int) -> None:
        made, _ = self.organizations[where]

        with transaction(self.world.store) as db:
            self.people.append(self._person(db))
            membership_seats.join(db, made["id"], self.people[-1]["id"], "member")

    @rule(number=st.integers(0, PEOPLE - 1))
    def a_user_is_removed(self, number: int) -> None:
        removed = self.people[number]

        with transaction(self.world.store) as db:
            account_removal.remove(db, removed)
            self.people[number] = self._person(db)

    @rule(where=WHERE)
    def an_organization_is_removed(self, where: int) -> None:
        removed, _ = self.organizations[where]

        with transaction(self.world.store) as db:
            account_removal.remove(db, removed)
            self.organizations[where] = self._organization(db)

    @rule()
    def a_month_passes(self) -> None:
        self.world.clock.advance(31 * DAY / SECOND)

    @rule(limit=st.integers(1, 3))
    def ended_seats_are_removed(self, limit: int) -> None:
        (kind,) = [one for one in expiring.EXPIRING if one.event == SEATS]
        self.world.store.write_sync(kind.expire, limit)

    @invariant()
    def the_number_is_exact(self) -> None:
        for made, _ in getattr(self, "organizations", ()):
            stored, counted = self.world.store.read_sync(_totals, made["id"])
            assert stored == counted

    @invariant()
    def the_number_of_each_end_is_exact(self) -> None:
        """The number includes ended seats that are not removed yet."""
        if hasattr(self, "organizations"):
            assert self.world.store.read_sync(_stored) == self.world.store.read_sync(_counted)


def _totals(db: Connection, organization_id: int) -> tuple[int, int]:
    counted: int = db.value(
        f"SELECT count(*) FROM assistant_seat WHERE organization_id = :id AND {LIVE}",
        id=organization_id,
        now=db.now,
    )
    return seat_tally.total(db, organization_id), counted


def _stored(db: Connection) -> dict[tuple[int, int], int]:
    rows = db.tuples("SELECT organization_id, ends_at, seats FROM assistant_seat_tally")
    return {(made, ends): seats for made, ends, seats in rows if seats}


def _counted(db: Connection) -> dict[tuple[int, int], int]:
    rows = db.tuples("SELECT organization_id, expires_at FROM assistant_seat")
    return Counter((made, ends or seat_tally.NEVER) for made, ends in rows)


def test_the_stored_number_of_seats_is_exact(world: World) -> None:
    play(Seats, world, (20, 300, 8), steps=40)
