"""The receivers of mails about a hook: its administrators with a verified address."""

from typing import Any

import pytest
from transactions import transaction

from store import Connection, Row, Store
from store.accounts import accounts, apps, emails, teams
from store.alerts.alerts import INSTALLATION
from store.apps import app_hooks
from store.delivery import hook_removal
from store.enterprises import team_repositories
from store.hooks import hook_targets, hooks
from store.mail import receivers, subscriptions
from store.repositories import repositories

URL = "https://receiver.example/in"


def person(db: Connection, login: str, **given: Any) -> Row:
    """A user with a verified address."""
    row = accounts.create(db, login, **given)
    emails.add(db, row["id"], [f"{login}@people.example"], verified=True)
    return row


def organization(db: Connection, owner: Row) -> Row:
    row = accounts.create(db, "tower", kind="Organization")
    accounts.join(db, row["id"], owner["id"], "admin")
    return row


def logins(db: Connection, hook_id: int) -> list[str]:
    return [row["login"] for row in receivers.of_hook(db, hook_id)]


def test_receivers_of_a_repository_hook_are_its_owner_and_admins(store: Store) -> None:
    with transaction(store) as db:
        ada, bob, cy = (person(db, login) for login in ("ada", "bob", "cy"))
        repo = repositories.create(db, ada["id"], "mill")
        repositories.grant(db, repo["id"], bob["id"], "admin")
        repositories.grant(db, repo["id"], cy["id"], "maintain")
        hook = hooks.create(db, repo["id"], url=URL, events=["push"])
        assert logins(db, hook["id"]) == ["ada", "bob"]
        assert receivers.of_hook(db, hook["id"])[0]["email"] == "ada@people.example"


def test_an_admin_team_gets_mail_of_its_repository_hooks_only(store: Store) -> None:
    with transaction(store) as db:
        ada, bob, cy = (person(db, login) for login in ("ada", "bob", "cy"))
        tower = organization(db, ada)
        for member in (bob, cy):
            accounts.join(db, tower["id"], member["id"], "member")
        team = teams.create(db, tower["id"], "bells")
        teams.join(db, team["id"], [bob["id"]])
        repo = repositories.create(db, tower["id"], "mill")
        team_repositories.put(db, team, repo, "admin")
        of_repo = hooks.create(db, repo["id"], url=URL, events=["push"])
        target = hook_targets.organization(tower["id"])
        of_organization = hooks.create(db, target, url=URL, events=["push"])
        assert logins(db, of_repo["id"]) == ["ada", "bob"]
        assert logins(db, of_organization["id"]) == ["ada"]


def test_receivers_of_an_app_hook_are_the_owners_of_its_account(store: Store) -> None:
    with transaction(store) as db:
        ada, bob = person(db, "ada"), person(db, "bob")
        for owner, name in ((ada, "one"), (organization(db, bob), "two")):
            _, app = apps.create(
                db, owner["id"], name, url="https://app.example/", kind="integration"
            )
            hook = app_hooks.create(db, app, url=URL)
            assert logins(db, hook["id"]) == ["ada" if name == "one" else "bob"]


def test_receivers_of_a_system_hook_are_the_site_administrators(store: Store) -> None:
    with transaction(store) as db:
        person(db, "ada")
        person(db, "root", site_admin=True)
        hook = hooks.create(db, hook_targets.SYSTEM, url=URL, events=["push"])
        assert logins(db, hook["id"]) == logins(db, INSTALLATION) == ["root"]


def test_receivers_need_a_verified_primary_address(store: Store) -> None:
    with transaction(store) as db:
        ada = accounts.create(db, "ada")
        hook = hooks.create(
            db, repositories.create(db, ada["id"], "mill")["id"], url=URL, events=["push"]
        )
        assert logins(db, hook["id"]) == []
        emails.add(db, ada["id"], ["ada@people.example"])
        assert logins(db, hook["id"]) == []
        assert receivers.address_of(db, ada["id"]) is None
        emails.add(db, ada["id"], ["other@people.example"], verified=True)
        assert logins(db, hook["id"]) == []
        found = emails.primary(db, ada["id"])
        assert found is not None
        emails.verify(db, found["id"])
        assert logins(db, hook["id"]) == ["ada"]
        assert receivers.address_of(db, ada["id"]) == "ada@people.example"


def test_a_deleted_hook_has_no_receivers(store: Store) -> None:
    assert store.read_sync(receivers.of_hook, 77) == []

    with transaction(store) as db:
        repo = repositories.create(db, person(db, "ada")["id"], "mill")
        hook = hooks.create(db, repo["id"], url=URL, events=["push"])
        hook_removal.delete(db, hook)
        assert logins(db, hook["id"]) == []


def test_their_number_is_limited(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receivers, "MOST", 2)

    with transaction(store) as db:
        for number in range(4):
            person(db, f"admin{number}", site_admin=True)
        assert logins(db, INSTALLATION) == ["admin0", "admin1"]


def test_people_can_unsubscribe_from_a_hook_and_subscribe_again(store: Store) -> None:
    with transaction(store) as db:
        ada = person(db, "ada")
        repo = repositories.create(db, ada["id"], "mill")
        one, two = (hooks.create(db, repo["id"], url=URL + n, events=["push"]) for n in "12")
        assert subscriptions.unsubscribe(db, ada["id"], [one["id"]]) == 1
        assert subscriptions.unsubscribe(db, ada["id"], [one["id"]]) == 0
        assert (logins(db, one["id"]), logins(db, two["id"])) == ([], ["ada"])
        assert subscriptions.unsubscribed(db, ada["id"], [one["id"], two["id"]]) == {one["id"]}
        assert subscriptions.subscribe(db, ada["id"], [one["id"], two["id"]]) == 1
        assert logins(db, one["id"]) == ["ada"]


def test_the_hooks_of_an_account_are_the_ones_that_have_it_as_receiver(store: Store) -> None:
    with transaction(store) as db:
        ada, bob, cy, eve = (person(db, login) for login in ("ada", "bob", "cy", "eve"))
        root = person(db, "root", site_admin=True)
        mute = accounts.create(db, "mute", site_admin=True)
        tower = organization(db, ada)
        for member in (bob, cy):
            accounts.join(db, tower["id"], member["id"], "member")
        repo = repositories.create(db, tower["id"], "mill")
        team = teams.create(db, tower["id"], "bells")
        teams.join(db, team["id"], [bob["id"]])
        team_repositories.put(db, team, repo, "admin")
        repositories.grant(db, repo["id"], eve["id"], "admin")
        repositories.grant(db, repo["id"], cy["id"], "maintain")
        own = repositories.create(db, eve["id"], "own")
        _, app = apps.create(db, bob["id"], "one", url="https://app.example/", kind="integration")
        targets = (repo["id"], own["id"], hook_targets.organization(tower["id"]))
        made = [hooks.create(db, one, url=URL, events=["push"]) for one in targets]
        made += [
            app_hooks.create(db, app, url=URL),
            hooks.create(db, hook_targets.SYSTEM, url=URL, events=["push"]),
            hooks.create(db, repo["id"], url=URL + "/gone", events=["push"]),
        ]
        hook_removal.delete(db, made[-1])
        ids = [*(hook["id"] for hook in made), INSTALLATION, 77]
        subscriptions.unsubscribe(db, eve["id"], [made[1]["id"]])
        subscriptions.unsubscribe(db, root["id"], [INSTALLATION])
        expected = {number: {row["id"] for row in receivers.of_hook(db, number)} for number in ids}
        assert [len(expected[number]) for number in ids] == [3, 0, 1, 1, 1, 0, 0, 0]
        for account in (ada, bob, cy, eve, root, mute, tower):
            mine = {number for number in ids if account["id"] in expected[number]}
            assert receivers.hooks_of(db, account["id"], ids) == mine, account["login"]
        # Without an address, or after unsubscribing, they are no receivers and still administer it.
        for account, number in ((mute, ids[4]), (eve, ids[1]), (root, INSTALLATION)):
            assert number in receivers.hooks_of_administrator(db, account["id"], [number])
        assert not receivers.hooks_of_administrator(db, cy["id"], ids)
