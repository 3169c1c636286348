"""Hooks of repositories, of organizations and of everything: which events reach them."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import orjson
import pytest
from required import required
from store_world import URL, World

from store import Row
from store.accounts import accounts
from store.delivery import events
from store.delivery.replays import replay_runs, replay_selection
from store.delivery.replays.replay_selection import ReplaySelection
from store.errors import Invalid
from store.hook_state import hook_list
from store.hook_state.hook_list import HookFilter
from store.hooks import hook_queries, hook_targets, hooks
from store.hooks.event_names import APP_EVENTS, FITTING, ORGANIZATION_EVENTS, OWN, WILDCARD
from store.hooks.hook_targets import SYSTEM, HookTarget
from store.ordering.delivery_states import DEAD, DELIVERED
from store.registry import account_removal
from store.repositories import repositories, repository_removal


@dataclass
class Organizations:
    """Two organizations, one with a repository, and the user's own repository beside them."""

    world: World
    org: Row
    other: Row
    repo: Row

    @property
    def targets(self) -> list[HookTarget]:
        return [
            hook_targets.repository(self.repo["id"]),
            hook_targets.organization(self.org["id"]),
            SYSTEM,
        ]

    def hook(self, target: HookTarget, *events: str, **given: Any) -> int:
        given.setdefault("url", URL)
        made = self.world.store.write_sync(hooks.create, target, events=events or ["push"], **given)
        assert hook_targets.target_of(made) == target
        return int(made["id"])

    def reached(self, guid: str, **given: Any) -> list[int]:
        """Accept an event of a repository or organization. Return the ids of the reached hooks."""
        given.setdefault("scope", 1)
        receipt = self.world.arrive(guid, **given)
        mine = [row for row in self.world.rows() if row["event_id"] == receipt.event_id]
        assert {row["repo_id"] for row in mine} <= {given["repo_id"]}
        return sorted(row["hook_id"] for row in mine)


@pytest.fixture
def orgs(world: World) -> Organizations:
    org = world.store.write_sync(accounts.create, "acme", kind="Organization")
    other = world.store.write_sync(accounts.create, "umbrella", kind="Organization")
    return Organizations(world, org, other, make(world, org))


def make(world: World, owner: Row, name: str = "engine") -> Row:
    return world.store.write_sync(repositories.create, owner["id"], name)


class TestFanOut:
    def test_an_event_reaches_repository_organization_and_system_hooks(
        self, orgs: Organizations
    ) -> None:
        made = [orgs.hook(target) for target in orgs.targets]
        orgs.hook(hook_targets.organization(orgs.other["id"]))
        assert orgs.reached("g-1", repo_id=orgs.repo["id"]) == made
        assert orgs.reached("g-2", repo_id=orgs.world.repo["id"]) == [made[-1]]

    def test_a_later_repository_reaches_hooks_of_its_organization(
        self, orgs: Organizations
    ) -> None:
        _, *around = [orgs.hook(target) for target in orgs.targets]
        later = make(orgs.world, orgs.org, "later")
        assert orgs.reached("g-1", repo_id=later["id"]) == around

    def test_a_transferred_repository_reaches_hooks_of_its_new_owner(
        self, orgs: Organizations
    ) -> None:
        own, _, system = [orgs.hook(target) for target in orgs.targets]
        new = orgs.hook(hook_targets.organization(orgs.other["id"]))
        orgs.world.store.write_sync(
            lambda db: db.execute(
                "UPDATE repository SET owner_id = :owner WHERE id = :id",
                owner=orgs.other["id"],
                id=orgs.repo["id"],
            )
        )
        assert orgs.reached("g-1", repo_id=orgs.repo["id"]) == [own, system, new]

    def test_events_of_an_organization_reach_no_repository_hook(self, orgs: Organizations) -> None:
        _, *around = [orgs.hook(target, WILDCARD) for target in orgs.targets]
        orgs.hook(hook_targets.organization(orgs.other["id"]), WILDCARD)
        given = {"repo_id": 0, "name": "membership"}
        assert orgs.reached("g-1", org_id=orgs.org["id"], **given) == around
        assert orgs.reached("g-2", **given) == [around[-1]]

    def test_deliveries_of_a_batch_are_in_the_order_of_its_events(
        self, orgs: Organizations
    ) -> None:
        own, org, system = [orgs.hook(target) for target in orgs.targets]
        arrivals = [
            orgs.world.arrival(f"g-{at}", repo_id=repo["id"])
            for at in range(20)
            for repo in (orgs.repo, orgs.world.repo)
        ]
        orgs.world.store.write_sync(events.accept_all, arrivals)
        rows = orgs.world.rows()
        assert [row["event_id"] for row in rows] == sorted(row["event_id"] for row in rows)
        assert sorted(row["hook_id"] for row in rows) == sorted([own, org] * 20 + [system] * 40)

    @pytest.mark.parametrize(
        ("names", "kinds"),
        [
            (["push", "member", "ping", "meta"], [0, 1, 2]),
            (sorted(ORGANIZATION_EVENTS), [1, 2]),
            (sorted(APP_EVENTS), [2]),
            (["tea_is_ready", "email"], []),
        ],
    )
    def test_a_wildcard_covers_the_events_of_the_kind_of_target(
        self, orgs: Organizations, names: Collection[str], kinds: list[int]
    ) -> None:
        made = [orgs.hook(target, WILDCARD) for target in orgs.targets]
        for name in names:
            reached = orgs.reached(f"g-{name}", repo_id=orgs.repo["id"], name=name)
            assert reached == [made[kind] for kind in kinds], name

    def test_an_inactive_hook_is_not_reached(self, orgs: Organizations) -> None:
        org = orgs.hook(orgs.targets[1])
        row = required(orgs.world.store.read_sync(hooks.by_id, org))
        orgs.world.store.write_sync(hooks.update, row, active=False)
        assert orgs.reached("g-1", repo_id=orgs.repo["id"]) == []
        orgs.world.store.write_sync(hooks.update, row, active=True)
        assert orgs.reached("g-2", repo_id=orgs.repo["id"]) == [org]
        orgs.world.store.write_sync(hooks.disable, org, "it failed")
        assert orgs.reached("g-3", repo_id=orgs.repo["id"]) == []


@pytest.mark.parametrize("at", [0, 1, 2])
def test_an_event_of_the_wrong_kind_is_refused(orgs: Organizations, at: int) -> None:
    target = orgs.targets[at]
    for name in ("team", "installation", "sponsorship", "email", "agent_variable", "backlog"):
        if name in FITTING[target.kind] | OWN[target.kind]:
            orgs.hook(target, name)
            continue
        with pytest.raises(Invalid) as caught:
            orgs.hook(target, "push", name)
        assert caught.value.field == "events"
        assert str(caught.value) == (
            f'Invalid event: "{name}": no hook of this {target.kind} can get it'
        )


def test_a_hook_keeps_an_event_of_the_wrong_kind_that_it_has(orgs: Organizations) -> None:
    """An earlier version let it subscribe to that one."""
    target, store = orgs.targets[0], orgs.world.store
    hook_id, names = orgs.hook(target, "push", "star"), ["push", "star", "email"]
    store.write_sync(
        lambda db: db.execute("UPDATE hook SET events = :names", names=orjson.dumps(names).decode())
    )
    for changes in ({"active": False}, {"active": True}, {"events": names[1:]}):
        hook = required(store.read_sync(hooks.get, target, hook_id))
        changed = store.write_sync(hooks.update, hook, **changes)
    assert changed["events"] == ["star", "email"]
    with pytest.raises(Invalid, match="backlog"):
        store.write_sync(hooks.update, changed, events=["email", "backlog"])


def test_each_kind_of_target_has_the_contract_s_events() -> None:
    """The numbers of events are from the published contract."""
    assert {kind: len(names) for kind, names in FITTING.items()} == {
        "repository": 59,
        "organization": 69,
        "app": 73,
        "system": 82,
    }


@pytest.mark.parametrize("at", [0, 1, 2])
def test_each_target_has_its_own_hooks(orgs: Organizations, at: int) -> None:
    made = [orgs.hook(target) for target in orgs.targets]
    target = orgs.targets[at]
    look = orgs.world.store.read_sync
    assert [row["id"] for row in look(hook_queries.page, target, limit=10)] == [made[at]]
    assert look(hook_queries.count, target) == 1
    assert [look(hooks.get, target, hook_id) is not None for hook_id in made] == [
        each == at for each in range(3)
    ]
    found = required(orgs.world.store.write_sync(hooks.by_url, target, URL))
    assert found["id"] == made[at]
    with pytest.raises(Invalid, match="Hook already exists on th"):
        orgs.hook(target)
    with pytest.raises(Invalid, match="cannot have more than 1 hooks"):
        orgs.hook(target, url=f"{URL}/2", most=1)


def test_all_hooks_name_their_target(orgs: Organizations) -> None:
    for target in orgs.targets:
        orgs.hook(target)
    named = [
        (row["repository"], row["organization"])
        for row in orgs.world.store.read_sync(hook_queries.every)
    ]
    assert named == [("acme/engine", None), (None, "acme"), (None, None)]


class TestReplay:
    def made(self, orgs: Organizations, **chosen: Any) -> list[tuple[int, int]]:
        run = orgs.world.store.write_sync(replay_runs.create, ReplaySelection(**chosen), "ada")
        before = len(orgs.world.rows())
        while run["ended_at"] is None:
            run, _ = orgs.world.store.write_sync(replay_runs.run_step, run, 3)
        made = orgs.world.rows()[before:]
        assert run["total"] == len(made)
        return [(row["event_id"], row["hook_id"]) for row in made]

    def test_reaches_every_kind(self, orgs: Organizations) -> None:
        world = orgs.world
        first = world.arrive("g-1", repo_id=orgs.repo["id"]).event_id
        second = world.arrive("g-2").event_id
        third = world.arrive("g-3", repo_id=0, scope=-1, name="team", org_id=orgs.org["id"])
        own, org, system = [orgs.hook(target, "*") for target in orgs.targets]
        by_org = [(first, org), (third.event_id, org)]
        everywhere = [(first, system), (second, system), (third.event_id, system)]
        assert self.made(orgs, hook_id=org) == by_org
        assert self.made(orgs, hook_id=system) == everywhere
        assert sorted(self.made(orgs)) == sorted([(first, own), *by_org, *everywhere])
        assert sorted(self.made(orgs, repo_id=orgs.repo["id"])) == [
            (first, own), (first, org), (first, system)
        ]  # fmt: skip
        assert self.made(orgs, hook_id=own) == [(first, own)]

    def test_a_replay_of_failures_selects_dead_deliveries_only(self, orgs: Organizations) -> None:
        org = orgs.hook(orgs.targets[1])
        delivered, dead = [
            orgs.world.arrive(guid, repo_id=orgs.repo["id"]).event_id for guid in ("g-1", "g-2")
        ]
        for event_id, state in ((delivered, DELIVERED), (dead, DEAD)):
            orgs.world.store.write_sync(set_state, event_id, state)
        assert self.made(orgs, hook_id=org, failed=True) == [(dead, org)]

    def test_a_replay_of_an_unknown_hook_selects_no_event(self, orgs: Organizations) -> None:
        orgs.world.arrive("g-1")
        chosen = ReplaySelection(hook_id=99)
        assert orgs.world.store.read_sync(replay_selection.total, chosen)[0] == 0


def set_state(db: Any, event_id: int, state: int) -> None:
    db.execute("UPDATE delivery SET state = :state WHERE event_id = :id", state=state, id=event_id)


class TestRemoval:
    def test_removing_an_organization_removes_its_hooks(self, orgs: Organizations) -> None:
        own, org, system = [orgs.hook(target) for target in orgs.targets]
        orgs.world.arrive("g-1", repo_id=orgs.repo["id"])
        assert orgs.world.store.read_sync(account_removal.parts, orgs.org)["hooks"] == 2
        orgs.world.store.write_sync(account_removal.remove, orgs.org)
        states = {row["hook_id"]: (row["state"], row["reason"]) for row in orgs.world.rows()}
        assert states == {
            own: (DEAD, repository_removal.GONE),
            org: (DEAD, account_removal.GONE),
            system: (0, None),
        }
        assert [row["id"] for row in orgs.world.store.read_sync(hook_queries.every)] == [system]
        left = "SELECT hook_id FROM owner_subscription"
        assert orgs.world.store.read_sync(lambda db: db.tuples(left)) == [(system,)]

    def test_removing_a_repository_keeps_organization_and_system_hooks(
        self, orgs: Organizations
    ) -> None:
        _, *around = [orgs.hook(target) for target in orgs.targets]
        orgs.world.store.write_sync(repository_removal.remove, orgs.repo)
        assert [row["id"] for row in orgs.world.store.read_sync(hook_queries.every)] == around


def test_a_disabled_hook_of_all_events_is_listed_under_the_same_events(orgs: Organizations) -> None:
    store = orgs.world.store
    repo, org, system = (orgs.hook(target, "*") for target in orgs.targets)
    expected = {
        "push": [system, org, repo],
        "membership": [system, org],
        "workflow_dispatch": [system],
        "issue_field": [],
    }

    def listed() -> dict[str, list[int]]:
        found = {
            name: store.write_sync(hook_list.page, HookFilter(event=name), limit=9)
            for name in expected
        }
        return {name: [row["id"] for row in rows] for name, rows in found.items()}

    assert listed() == expected
    for hook_id in (repo, org, system):
        store.write_sync(hooks.disable, hook_id, "failed")
    assert listed() == expected
