"""The rights of an installation's token: never more than app, installation, and token all allow.

The tests compare random combinations.
"""

import random
from collections.abc import Callable
from typing import Any

from required import required
from thoroughness import often
from transactions import transaction

from hub.auth import credentials, repository_access
from hub.auth.access import Access
from hub.auth.organization_access import OnOrg
from hub.auth.repository_access import OnRepo
from hub.auth.viewing import viewer_of
from hub.http.errors import Forbidden
from hub.operations import OPERATIONS
from store import Connection, Row, Store
from store.accounts import accounts, apps
from store.apps import installation_repositories, installation_tokens, installations
from store.errors import Missing
from store.repositories import repositories, repository_lists
from store.repositories.repository_lists import RepositoryFilter

from .conftest import Installed, make_app

IN_REPOSITORIES = [one for one in OPERATIONS if isinstance(one.access, OnRepo)]
IN_ORGANIZATIONS = [one for one in OPERATIONS if isinstance(one.access, OnOrg)]
NAMES = sorted({name for one in OPERATIONS for name, _ in one.access.permissions} | {"packages"})
LEVELS = {"read": 1, "write": 2, "admin": 3}
Held = dict[str, str]


class Chance(random.Random):
    """A random generator for permissions and repositories."""

    def permissions(self, within: Held | None = None) -> Held:
        """Random permissions. With `within`, none exceeds the permissions in it."""
        names = NAMES if within is None else sorted(within)
        chosen = self.sample(names, self.randint(0, len(names)))
        most = {name: 3 if within is None else LEVELS[within[name]] for name in chosen}
        return {name: self.choice(list(LEVELS)[: most[name]]) for name in chosen}

    def among(self, ids: list[int]) -> list[int] | None:
        """A random selection of these ids. None stands for all of them."""
        return None if self.random() < 0.3 else self.sample(ids, self.randint(0, len(ids)))


def least(*several: Held) -> Held:
    """The permissions that are common to all arguments, each at its lowest level."""
    names = set(NAMES).intersection(*several)
    return {name: min((one[name] for one in several), key=LEVELS.__getitem__) for name in names}


class Combination:
    """Random rights of an app, its installation on an account, and a token of the installation.

    The rights of the app and of the installation often change after the token was created.
    """

    def __init__(self, db: Connection, chance: Chance, app: Row, account: Row) -> None:
        self._db, self._chance, self._app, self._account = db, chance, app, account
        self._owned = [
            row["id"] for row in repositories.list_all(db) if row["owner_id"] == account["id"]
        ]
        accepted, chosen = self._settle()
        self.narrowed = chance.permissions({"metadata": "read"} | accepted)
        reachable = self._owned if chosen is None else chosen
        self.asked = chance.among(reachable)
        value, _ = installation_tokens.create(
            db, self._installation(), wanted=self.narrowed, repositories=self.asked
        )
        granted = {"metadata": "read"} | (self.narrowed or accepted)
        now, chosen = self._settle() if chance.random() < 0.7 else (accepted, chosen)
        self.permissions = {"metadata": "read"} | least(granted, {"metadata": "read"} | now)
        self.repositories = {
            number
            for number in self._owned
            if (chosen is None or number in chosen) and (self.asked is None or number in self.asked)
        }
        self.caller = credentials.authenticate(db, value)

    def _installation(self) -> Row:
        return required(installations.on_account(self._db, self._app["id"], self._account["id"]))

    def _settle(self) -> tuple[Held, list[int] | None]:
        """Set the permissions of the app and of the installation, and select repositories.

        The app's permissions may then change once more, and the account does not accept the change.
        Return the permissions in force and the ids of the repositories (None for all).
        """
        chance, wanted = self._chance, self._chance.permissions()
        self._ask_for(wanted)
        app = required(apps.get(self._db, self._app["id"]))
        accepted, chosen = chance.permissions(wanted), chance.among(self._owned)
        found = self._installation()
        installations.accept(self._db, found, app, accepted)
        installation_repositories.choose(self._db, found, chosen)
        if chance.random() < 0.3:
            wanted = chance.permissions()
            self._ask_for(wanted)
        return least(accepted, wanted), chosen

    def _ask_for(self, permissions: Held) -> None:
        apps.update(
            self._db,
            self._app["id"],
            url="https://mill.example/",
            description=None,
            permissions=permissions,
            events=[],
            public=True,
        )

    def expected(self, needed: Access, reached: bool) -> str:
        """The expected outcome of a request. `reached` tells whether its target is in reach."""
        if not reached:
            return "not found"
        allowed = "installation" in needed.kinds and self._has(needed)
        return "allowed" if allowed else "forbidden"

    def _has(self, needed: Access) -> bool:
        return any(
            LEVELS[level] <= LEVELS.get(self.permissions.get(name, ""), 0)
            for name, level in needed.permissions
        )


def check(store: Store, seed: Any, many: int) -> None:
    """Check `many` combinations in one transaction. Assert that each possible outcome occurs."""
    seen: set[str] = set()

    with transaction(store) as db:
        chance = Chance(20_261_122)
        acme, umbra = (accounts.create(db, name, kind="Organization") for name in ("acme", "umbra"))
        for owner in (acme, umbra):
            for number in range(5):
                repositories.create(db, owner["id"], f"r{number}", private=number % 2 == 0)
        app = make_app(db, seed.octo["id"], "Mill")
        for owner in (acme, umbra, seed.octo):
            installations.create(db, app, owner)
        every = repositories.list_all(db)
        for _ in range(many):
            made = Combination(db, chance, app, chance.choice([acme, umbra, seed.octo]))
            assert made.caller.permissions == made.permissions
            seen.add(in_repository(db, made, chance.choice(every), chance))
            seen.add(in_organization(db, made, chance.choice([acme, umbra]), chance))
            in_lists(db, made, every, chance)
    assert seen == {"allowed", "forbidden", "not found"}


def outcome(ask: Callable[[], None]) -> str:
    try:
        ask()
    except Missing:
        return "not found"
    except Forbidden:
        return "forbidden"
    return "allowed"


def in_repository(db: Connection, made: Combination, repo: Row, chance: Chance) -> str:
    operation = chance.choice(IN_REPOSITORIES)
    needed = operation.access
    assert isinstance(needed, OnRepo)
    expected = made.expected(needed, repo["id"] in made.repositories)
    found = outcome(lambda: repository_access.check(db, needed, made.caller, repo))
    assert found == expected, (operation.id, repo["full_name"])
    return found


def in_organization(db: Connection, made: Combination, org: Row, chance: Chance) -> str:
    needed = chance.choice(IN_ORGANIZATIONS).access
    found = outcome(lambda: needed.see(db, made.caller, org))
    assert found == made.expected(needed, org["id"] == made.caller.target_id)
    return found


def in_lists(db: Connection, made: Combination, every: list[Row], chance: Chance) -> None:
    viewer = viewer_of(made.caller, chance.choice(NAMES))
    chosen = RepositoryFilter(viewer)
    rows = repository_lists.page(db, chosen, sort="created", descending=False, limit=100, offset=0)
    found = {row["id"] for row in rows}
    public = {row["id"] for row in every if not row["private"]}
    assert found == (made.repositories if viewer.private else made.repositories & public)
    assert repository_lists.count(db, chosen) == len(found)


def test_rights_of_random_combinations(store: Store, seed: Any) -> None:
    check(store, seed, 200)


def test_rights_of_thousands_of_combinations(store: Store, seed: Any) -> None:
    check(store, seed, often(1_000, 5_000))


async def test_lists_of_other_repositories(installed: Installed, store: Store) -> None:
    narrow = installed.token(repositories=[installed.kit["id"]])
    for url in ("/orgs/acme/repos", "/installation/repositories"):
        answer = (await installed.ask("GET", url, narrow)).json()
        rows = answer if isinstance(answer, list) else answer["repositories"]
        assert [one["full_name"] for one in rows] == ["acme/kit"]
    shown = await installed.ask("GET", "/users/octo/repos", narrow)
    assert shown.json() == []


async def test_the_account_of_an_app_has_no_rights_of_its_own(
    store: Store, installed: Installed
) -> None:
    bot = required(store.read_sync(accounts.by_login, "mill[bot]"))
    for row in (installed.kit, store.read_sync(repositories.find, "octo", "vault")):
        assert store.read_sync(repositories.role_of, row, bot) is None
