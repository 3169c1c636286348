"""The hook of an app: which events reach it, wherever the app is installed."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson
import pytest
from statement_log import statements
from store_world import URL, World
from transactions import transaction

from store import Connection, Row
from store.accounts import accounts, apps
from store.apps import (
    app_hooks,
    event_installations,
    installation_repositories,
    installations,
)
from store.delivery import (
    deliveries,
    event_counts,
    events,
    filtering,
    hook_removal,
    outbox,
    subscribers,
)
from store.delivery.incoming import IncomingEvent
from store.delivery.listing import topic_list
from store.delivery.listing.topic_list import TopicFilter
from store.delivery.replays import replay_deliveries, replay_selection
from store.delivery.replays.replay_selection import ReplaySelection
from store.errors import Conflict, Invalid
from store.formats.installed import with_installation
from store.hook_state import hook_list
from store.hook_state.hook_list import HookFilter
from store.hooks import hook_targets, hooks
from store.hooks.app_events import PERMISSIONS
from store.hooks.event_names import FITTING, UNASKED_EVENTS
from store.ordering.delivery_states import BEHIND, DEAD, FILTERED, WAITING
from store.registry import account_removal, app_removal
from store.repositories import repositories

ASKED = {"contents": "read", "issues": "read", "members": "read"}
EVENTS = ["push", "issues", "check_run", "membership"]


@dataclass
class Installed:
    """The app Mill with its hook, an organization with two repositories, and its installation."""

    world: World
    app: Row
    org: Row
    repos: list[Row]
    on: Row
    hook: Row

    def reached(self, guid: str, **given: Any) -> bool:
        """Whether an event of the first repository reaches the app's hook."""
        given = {"scope": 1, "repo_id": self.repos[0]["id"], "name": "push", **given}
        receipt = self.world.arrive(guid, **given)
        mine = [row for row in self.world.rows() if row["event_id"] == receipt.event_id]
        assert {row["hook_id"] for row in mine} <= {self.hook["id"]}
        assert len(mine) <= 1
        return bool(mine)

    def do(self, function: Any, *given: Any, **named: Any) -> Any:
        return self.world.store.write_sync(function, *given, **named)

    def edit(self, **changes: Any) -> None:
        names = ("url", "description", "permissions", "events", "public")
        app = self.do(apps.get, self.app["id"])
        self.do(app_hooks.update_app, app["id"], **{n: app[n] for n in names} | changes)
        self.app = self.do(apps.get, app["id"])


CHANGES: list[Callable[[Installed], Any]] = [
    lambda mill: mill.do(installations.suspend, mill.on),
    lambda mill: mill.do(installations.unsuspend, mill.on),
    lambda mill: mill.do(installation_repositories.choose, mill.on, [mill.repos[0]["id"]]),
    lambda mill: mill.do(installation_repositories.choose, mill.on, None),
    lambda mill: mill.do(installations.accept, mill.on, mill.app, {"contents": "read"}),
    lambda mill: mill.do(installations.remove, mill.on),
]
"""Changes of Mill's installation, the last of which ends it."""


@pytest.fixture
def mill(world: World) -> Installed:
    with transaction(world.store) as db:
        org = accounts.create(db, "acme", kind="Organization")
        repos = [repositories.create(db, org["id"], name) for name in ("tools", "kit")]
        _, app = apps.create(
            db,
            org["id"],
            "Mill",
            url="https://mill.example/",
            kind="integration",
            permissions=ASKED,
            events=EVENTS,
        )
        on = installations.create(db, app, org)
        hook = app_hooks.create(db, app, url=URL, content_type="json", secret="s3cret")
        return Installed(world, app, org, repos, on, hook)


class TestEventsReachTheHook:
    def test_events_of_accounts_with_an_installation_reach_it(self, mill: Installed) -> None:
        assert mill.reached("g-1")
        assert mill.reached("g-2", repo_id=mill.repos[1]["id"])
        assert not mill.reached("g-3", repo_id=mill.world.repo["id"])
        user = mill.do(accounts.get, mill.world.repo["owner_id"])
        mill.do(installations.create, mill.app, user)
        assert mill.reached("g-4", repo_id=mill.world.repo["id"])

    def test_events_of_a_later_repository_reach_the_hook(self, mill: Installed) -> None:
        later = mill.do(repositories.create, mill.org["id"], "later")
        assert mill.reached("g-1", repo_id=later["id"])

    def test_events_of_chosen_repositories_reach_the_hook(self, mill: Installed) -> None:
        mill.do(installation_repositories.choose, mill.on, [mill.repos[1]["id"]])
        assert not mill.reached("g-1")
        assert mill.reached("g-2", repo_id=mill.repos[1]["id"])
        assert mill.reached("g-3", repo_id=0, org_id=mill.org["id"], name="membership")
        mill.do(installation_repositories.choose, mill.on, None)
        assert mill.reached("g-4")

    def test_events_of_an_organization_reach_it(self, mill: Installed) -> None:
        assert mill.reached("g-1", repo_id=0, org_id=mill.org["id"], name="membership")
        assert not mill.reached("g-2", repo_id=0, org_id=0, name="membership")

    def test_accepted_events_of_the_app_reach_it(self, mill: Installed) -> None:
        assert not mill.reached("g-1", name="create")
        mill.edit(events=["create"])
        # The account has accepted the former events only.
        assert not mill.reached("g-2", name="create")
        assert not mill.reached("g-3", name="push")
        mill.do(installations.accept, mill.on, mill.app, None)
        assert mill.reached("g-4", name="create")
        mill.edit(events=["*"])
        mill.do(installations.accept, mill.on, mill.app, None)
        assert mill.reached("g-5", name="push")
        assert not mill.reached("g-6", name="tea_is_ready")

    def test_events_within_the_accepted_permissions_reach_it(self, mill: Installed) -> None:
        assert not mill.reached("g-1", name="check_run")
        mill.edit(permissions={**ASKED, "checks": "read"})
        assert not mill.reached("g-2", name="check_run")
        mill.do(installations.accept, mill.on, mill.app, None)
        assert mill.reached("g-3", name="check_run")
        mill.do(installations.accept, mill.on, mill.app, {"contents": "read"})
        assert not mill.reached("g-4", name="issues")
        assert mill.reached("g-5", name="push")

    def test_a_suspended_or_removed_installation_gets_nothing(self, mill: Installed) -> None:
        mill.do(installations.suspend, mill.on)
        assert not mill.reached("g-1")
        mill.do(installations.unsuspend, mill.on)
        assert mill.reached("g-2")
        mill.do(installations.remove, mill.on)
        assert not mill.reached("g-3")

    def test_a_change_of_one_installation_leaves_the_others(self, mill: Installed) -> None:
        user = mill.do(accounts.get, mill.world.repo["owner_id"])
        theirs = {"repo_id": mill.world.repo["id"]}
        mill.do(installations.create, mill.app, user, repositories=[theirs["repo_id"]])
        for number, change in enumerate(CHANGES):
            change(mill)
            assert mill.reached(f"g-{number}", **theirs)
        assert not mill.reached("g-mine")

    def test_a_change_of_one_installation_writes_no_rows_of_others(self, mill: Installed) -> None:
        """Otherwise the changes of an app with many installations would get slower and slower."""
        user = mill.do(accounts.get, mill.world.repo["owner_id"])
        mill.do(installations.create, mill.app, user)
        gone = "DELETE FROM owner_subscription WHERE owner_id = :id"
        assert mill.do(lambda db: db.execute(gone, id=user["id"])) > 1
        for number, change in enumerate(CHANGES):
            change(mill)
            assert not mill.reached(f"g-{number}", repo_id=mill.world.repo["id"])
        mill.edit(events=[*EVENTS, "create"])
        assert mill.reached("g-all", repo_id=mill.world.repo["id"])

    def test_an_inactive_or_deleted_hook_gets_nothing(self, mill: Installed) -> None:
        mill.do(hooks.update, mill.hook, active=False)
        assert not mill.reached("g-1")
        hook = mill.do(hooks.update, mill.hook, active=True)
        assert mill.reached("g-2")
        mill.do(hook_removal.delete, hook)
        assert not mill.reached("g-3")
        mill.hook = mill.do(app_hooks.create, mill.app, url=URL)
        assert mill.reached("g-4")

    def test_two_apps_on_one_account_get_an_event_once_each(self, mill: Installed) -> None:
        with transaction(mill.world.store) as db:
            given = {"url": "https://kiln.example/", "kind": "integration", "events": ["push"]}
            _, kiln = apps.create(db, mill.org["id"], "Kiln", permissions=ASKED, **given)
            installations.create(db, kiln, mill.org)
            other = app_hooks.create(db, kiln, url=URL)
        mill.world.arrive("g-1", scope=1, repo_id=mill.repos[0]["id"], name="push")
        assert [row["hook_id"] for row in mill.world.rows()] == [mill.hook["id"], other["id"]]


def test_every_event_of_apps_has_a_permission() -> None:
    assert PERMISSIONS.keys() == FITTING["app"] - UNASKED_EVENTS
    assert [event for event, wanted in PERMISSIONS.items() if not wanted] == []


def _remove_owner(db: Connection, app_id: int) -> None:
    owner = accounts.get(db, apps.get(db, app_id)["owner_id"])
    account_removal.remove(db, owner)


class TestTheHook:
    def test_an_app_cannot_have_a_second_hook(self, mill: Installed) -> None:
        assert hook_targets.target_of(mill.hook) == hook_targets.app(mill.app["id"])
        assert mill.hook["events"] == sorted(EVENTS)
        with pytest.raises(Conflict, match="has a hook already"):
            mill.do(app_hooks.create, mill.app, url="https://other.example/")

    def test_the_hook_has_the_events_of_its_app(self, mill: Installed) -> None:
        with pytest.raises(Invalid, match="change the app"):
            mill.do(hooks.update, mill.hook, events=["push"])
        mill.edit(events=[])
        assert mill.do(app_hooks.of, mill.app["id"])["events"] == []

    def test_an_app_that_is_not_an_integration_cannot_have_a_hook(self, mill: Installed) -> None:
        _, lab = mill.do(apps.create, mill.org["id"], "Lab", url="https://lab.example/")
        with pytest.raises(Invalid, match="only an integration"):
            mill.do(app_hooks.create, lab, url=URL)

    def test_goes_with_its_app(self, mill: Installed) -> None:
        assert mill.do(app_removal.remove, mill.app["id"])
        assert mill.do(hooks.by_id, mill.hook["id"]) is None
        assert mill.do(lambda db: db.all("SELECT 1 FROM owner_subscription")) == []

    @pytest.mark.parametrize("end", [app_removal.remove, _remove_owner])
    def test_leaves_no_subscription_to_a_chosen_repository(self, mill: Installed, end: Any) -> None:
        """Each event of the repository would become a delivery to a hook that is gone."""
        ada, repo_id = mill.world.user, mill.world.repo["id"]
        mill.do(installations.create, mill.app, ada, repositories=[repo_id])
        assert mill.reached("g-1", repo_id=repo_id)
        mill.do(end, mill.app["id"])
        assert not mill.reached("g-2", repo_id=repo_id)
        assert mill.do(lambda db: db.all("SELECT 1 FROM subscription")) == []

    def test_leaves_no_delivery_that_waits(self, mill: Installed) -> None:
        """Not even one that waits for earlier ones of another ordering."""
        mill.do(hooks.update, mill.hook, options={"ordering": "hook"})
        assert mill.reached("g-1")
        mill.do(hooks.update, mill.hook, options={"ordering": {"path": "/ref"}})
        assert mill.reached("g-2")
        lease = mill.world.lease()
        (held,) = mill.world.claim(lease, mill.hook["id"])
        mill.do(app_removal.remove, mill.app["id"])
        rows = {row["id"]: (row["state"], row["reason"]) for row in mill.world.rows()}
        assert rows.pop(held.id) == (WAITING, None), "its worker ends it"
        assert [*rows.values()] == [(DEAD, app_removal.GONE)]


def test_a_replay_reaches_the_hook_as_new_events_do(mill: Installed) -> None:
    mill.do(hooks.update, mill.hook, active=False)
    assert not mill.reached("g-1")
    assert not mill.reached("g-2", repo_id=mill.world.repo["id"])
    mill.do(hooks.update, mill.hook, active=True)
    chosen = ReplaySelection(hook_id=mill.hook["id"])
    assert mill.do(replay_selection.total, chosen)[0] == 1


def test_a_replay_has_the_events_about_the_app(mill: Installed) -> None:
    """The hook has no subscription to them. They are not filtered, as at first."""
    mill.do(hooks.update, mill.hook, options={"filter": {"event": "push"}})
    payload = {"installation": {"id": mill.on["id"]}}
    mill.do(outbox.emit, "installation", "created", 0, payload, also_hook=mill.hook["id"])
    mill.world.hook("*")
    failed = ReplaySelection(hook_id=mill.hook["id"], failed=True)
    assert mill.do(replay_selection.total, failed)[0] == 0, "it still waits"
    mill.do(lambda db: db.execute(f"UPDATE delivery SET state = {DEAD}"))
    assert mill.do(replay_selection.total, failed)[0] == 1
    assert mill.do(replay_selection.total, ReplaySelection(repo_id=mill.world.repo["id"]))[0] == 0
    mill.do(replay_deliveries.create, ReplaySelection(), 0, 10, 100)
    assert [(row["hook_id"], row["state"]) for row in mill.world.rows()] == [
        (mill.hook["id"], DEAD),
        (mill.hook["id"], WAITING),
    ]
    assert mill.do(replay_selection.total, ReplaySelection())[0] == 1, "one for each event"
    mill.do(hooks.update, mill.hook, active=False)
    assert mill.do(replay_selection.total, ReplaySelection())[0] == 0


def widen(mill: Installed) -> None:
    mill.edit(events=["*"], permissions={**ASKED, "checks": "read"})
    mill.do(installations.accept, mill.on, mill.app, None)


@pytest.mark.parametrize(
    ("change", "listed"),
    [
        (lambda mill: None, {"push", "issues", "membership"}),
        (lambda mill: mill.edit(permissions={"issues": "read"}), {"issues"}),
        (lambda mill: mill.edit(events=["*"]), {"push", "issues", "membership"}),
        (widen, {"push", "issues", "membership", "check_run", "fork", "label"}),
        (lambda mill: mill.do(installations.suspend, mill.on), set()),
    ],
)
def test_a_disabled_hook_is_listed_under_the_same_events(
    mill: Installed, change: Callable[[Installed], Any], listed: set[str]
) -> None:
    def under() -> set[str]:
        names = "push issues membership check_run fork label installation status"
        return {
            name
            for name in names.split()
            if mill.do(hook_list.page, HookFilter(event=name), limit=9)
        }

    change(mill)
    assert under() == listed
    mill.do(hooks.disable, mill.hook["id"], "failed")
    assert under() == listed


class TestTheInstallationOfAnEvent:
    def found(self, mill: Installed, **given: Any) -> int | None:
        given = {"scope": 1, "repo_id": mill.repos[0]["id"], **given}
        receipt = mill.world.arrive(f"g-{given}", **given)
        found: int | None = mill.do(event_installations.named_in, mill.app["id"], receipt.event_id)
        return found

    def test_covers_it(self, mill: Installed) -> None:
        assert self.found(mill) == mill.on["id"]
        assert self.found(mill, repo_id=0, org_id=mill.org["id"]) == mill.on["id"]
        assert self.found(mill, repo_id=mill.world.repo["id"]) is None
        assert self.found(mill, repo_id=0) == 0
        mill.do(installation_repositories.choose, mill.on, [mill.repos[1]["id"]])
        assert self.found(mill, name="issues") is None
        assert self.found(mill, repo_id=mill.repos[1]["id"]) == mill.on["id"]

    def test_a_suspended_installation_is_not_found_for_an_event(self, mill: Installed) -> None:
        mill.do(installations.suspend, mill.on)
        assert self.found(mill) is None

    def test_an_event_of_a_removed_repository_has_no_installation(self, mill: Installed) -> None:
        assert self.found(mill, repo_id=9_999) is None


def everywhere(mill: Installed, **options: Any) -> tuple[int, int]:
    """Give the hook options, install the app on another account, and return both ids."""
    mill.do(hooks.update, mill.hook, options=options)
    user = mill.do(accounts.get, mill.world.repo["owner_id"])
    return mill.on["id"], mill.do(installations.create, mill.app, user)["id"]


def arrivals(mill: Installed, *bodies: bytes) -> list[IncomingEvent]:
    """Pushes of a repository of the organization and of the user's repository, in turn."""
    places = [mill.repos[0]["id"], mill.world.repo["id"]] * len(bodies)
    return [
        IncomingEvent(1, f"guid-{number}", repo_id, "push", body)
        for number, (repo_id, body) in enumerate(zip(places, bodies, strict=False))
    ]


PUSH = b'{"ref":"refs/heads/main"}'
OTHER = b'{"installation":{"id":987654},"ref":"refs/heads/main"}'


class TestRulesAboutThePayload:
    """Filters and orderings judge the payload that the hook gets."""

    @pytest.mark.parametrize(
        "filter_",
        [
            {"payload": {"installation": {"id": {"$eq": 1}}, "ref": {"$exist": True}}},
            {"cel": "payload.installation.id == 1 && has(payload.ref)"},
        ],
    )
    def test_a_filter_finds_the_installation(self, mill: Installed, filter_: Any) -> None:
        assert everywhere(mill, filter=filter_) == (1, 2)
        receipts = mill.do(events.accept_all, arrivals(mill, PUSH, PUSH, OTHER, OTHER))
        assert [bool(one.filtered) for one in receipts] == [False, True, False, True]
        hook = mill.do(hooks.by_id, mill.hook["id"])
        for receipt in receipts:
            found = mill.do(filtering.stored_for, hook, receipt.event_id)
            verdict = filtering.test(filtering.filter_of(hook), found)
            assert verdict.matches == (not receipt.filtered)

    @pytest.mark.parametrize(("size", "filtered"), [(159_000, True), (160_000, False)])
    def test_a_filter_that_would_take_too_long_delivers(
        self, mill: Installed, size: int, filtered: bool
    ) -> None:
        """The installation is a part of the payload's size."""
        many = [{"a": {"$gt": number}} for number in range(100)]
        everywhere(mill, filter={"payload": {"$or": many}})
        body = b'{"a":[%b-1]}' % b"-1,".ljust(size - len(b'{"a":[-1]}'))
        assert len(body) == size
        (receipt,) = mill.do(events.accept_all, arrivals(mill, body))
        assert bool(receipt.filtered) is filtered
        hook = mill.do(hooks.by_id, mill.hook["id"])
        found = mill.do(filtering.stored_for, hook, receipt.event_id)
        assert filtering.filter_of(hook).is_too_slow(found.size) is not filtered

    def test_a_replay_filters_the_sent_payload(self, mill: Installed) -> None:
        _, other = everywhere(mill)
        mill.do(events.accept_all, arrivals(mill, PUSH, OTHER))
        only = {"payload": {"installation": {"id": {"$eq": other}}}}
        mill.do(hooks.update, mill.hook, options={"filter": only})
        chosen = ReplaySelection(hook_id=mill.hook["id"])
        mill.do(replay_deliveries.create, chosen, 0, 10, 100)
        assert [row["state"] for row in mill.world.rows()[2:]] == [FILTERED, WAITING]

    def test_the_order_has_a_key_for_each_installation(self, mill: Installed) -> None:
        pair = everywhere(mill, ordering={"path": "/installation/id"})
        keys = [str(number) for number in pair]
        mill.do(events.accept_all, arrivals(mill, PUSH, OTHER, OTHER, PUSH))
        chosen = ReplaySelection(hook_id=mill.hook["id"])
        mill.do(replay_deliveries.create, chosen, 0, 10, 100)
        rows = mill.world.rows()
        assert [row["ordering_key"] for row in rows] == keys * 4
        assert [row["state"] for row in rows] == [WAITING] * 2 + [BEHIND] * 6

    def test_a_redelivery_has_the_key_of_its_installation(self, mill: Installed) -> None:
        (receipt, _) = mill.do(events.accept_all, arrivals(mill, PUSH, PUSH))
        everywhere(mill, ordering={"path": "/installation/id"})
        place = receipt.event_id, mill.hook["id"], mill.repos[0]["id"]
        mill.do(deliveries.redeliver, *place)
        assert mill.world.rows()[-1]["ordering_key"] == str(mill.on["id"])

    def test_events_about_the_app_keep_their_own_installation(self, mill: Installed) -> None:
        everywhere(mill, ordering={"path": "/installation/id"})
        hook, repo = mill.hook["id"], mill.repos[0]["id"]
        for name in ("installation", "push"):
            payload = {"installation": {"id": 77}}
            mill.do(outbox.emit, name, "created", repo, payload, also_hook=hook)
        keys = {row["ordering_key"] for row in mill.world.rows() if row["event_id"] == 1}
        assert keys == {"77"}
        assert mill.world.rows()[-1]["ordering_key"] == str(mill.on["id"])

    def test_installations_are_looked_up_once(
        self, mill: Installed, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        filter_ = {"payload": {"installation": {"id": {"$exist": True}}}}
        everywhere(mill, filter=filter_, ordering={"path": "/installation/id"})
        asked = statements(monkeypatch)
        mill.do(events.accept_all, arrivals(mill, PUSH, PUSH, OTHER, OTHER))
        assert len([sql for sql in asked if "LEFT JOIN installation" in sql]) == 1

    def test_hooks_without_an_app_cost_no_look_up(
        self, mill: Installed, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        options = {"filter": {"payload": {"ref": "x"}}, "ordering": {"path": "/ref"}}
        mill.do(hooks.create, mill.repos[0]["id"], url=URL, events=["push"], options=options)
        mill.do(app_removal.remove, mill.app["id"])
        asked = statements(monkeypatch)
        mill.do(events.accept_all, arrivals(mill, b'{"ref":"x"}', PUSH, PUSH))
        rows = mill.world.rows()
        assert [row["state"] for row in rows] == [WAITING, FILTERED]
        assert not [sql for sql in asked if "installation i" in sql or "SELECT id, app_id" in sql]


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b" { } \n",
        b'{"a":1}',
        b'{"installation":{"id":9,"more":1},"a":1}',
        b'{"a":{"installation":1}}',
        b'{"installation":1,"a":' + b"[" * 300 + b"]" * 300 + b"}",
    ],
)
def test_a_payload_names_one_installation(body: bytes) -> None:
    known = {name: value for name, value in orjson.loads(body).items() if name != "installation"}
    made = with_installation(body, 7)
    assert made.count(b'"node_id"') == 1
    node = "MDIzOkludGVncmF0aW9uSW5zdGFsbGF0aW9uNw=="
    assert orjson.loads(made) == {**known, "installation": {"id": 7, "node_id": node}}


def test_a_long_number_stays_as_it_is_beside_the_installation() -> None:
    made = with_installation(b'{"installation":{"id":9},"n":18446744073709551617}', 7)
    assert json.loads(made)["n"] == 2**64 + 1


def test_the_subscribers_of_a_repository_leave_out_hooks_of_apps(mill: Installed) -> None:
    chosen = mill.repos[0]["id"]
    mill.do(installation_repositories.choose, mill.on, [chosen])
    own = mill.do(hooks.create, chosen, url=URL, events=["push"])
    assert mill.do(subscribers.counts_by_event, chosen) == {"push": {"hooks": 1, "followers": 0}}
    (listed,) = mill.do(subscribers.hooks_of_event, chosen, "push", 9)
    assert listed["id"] == own["id"]
    assert mill.do(event_counts.subscribers, [chosen]) == {"push": 1}
    assert mill.do(topic_list.count, TopicFilter([chosen], event="issues")).many == 0
    assert mill.do(subscribers.hook_ids, chosen) == ([own["id"]], [mill.hook["id"]])
