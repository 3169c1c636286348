"""Hooks: their values, duplicates, secrets and subscriptions, and the search by URL."""

from typing import Any

import pytest
from required import required
from statement_log import plan_lines
from store_world import URL, World
from transactions import transaction

from store import Connection
from store.delivery import attempts, hook_removal
from store.delivery.outcomes import attempt_outcomes
from store.errors import Invalid
from store.hooks import hook_queries, hooks
from store.hooks.event_names import FITTING
from store.hooks.hook_targets import COLUMNS, HookTarget


def subscribed(db: Connection) -> dict[int, list[str]]:
    """The events in the subscriptions of each hook, which the fan-out reads."""
    found: dict[int, list[str]] = {}
    for hook_id, event in db.tuples("SELECT hook_id, event FROM subscription ORDER BY event"):
        found.setdefault(hook_id, []).append(event)
    return found


def get(world: World, hook_id: int) -> dict[str, Any]:
    return required(world.store.read_sync(hooks.get, world.repo["id"], hook_id))


def change(world: World, hook_id: int, **changes: Any) -> dict[str, Any]:
    return world.store.write_sync(
        lambda db: hooks.update(db, hooks.get(db, world.repo["id"], hook_id), **changes)
    )


def test_a_hook_has_the_given_values(world: World) -> None:
    made = world.hook("push", "issues", url=URL, options={"timeout": 3}, insecure_ssl=True)
    assert made == made | {
        "repo_id": world.repo["id"],
        "url": URL,
        "content_type": "form",
        "secret": None,
        "insecure_ssl": 1,
        "active": 1,
        "events": ["push", "issues"],
        "options": {"timeout": 3},
        "disabled_reason": None,
        "failing_since": None,
        "version": 1,
        "created_at": world.now,
        "updated_at": world.now,
    }
    assert get(world, made["id"]) == made


def test_a_hook_belongs_to_its_repository(world: World) -> None:
    made = world.hook()
    other = world.another_repo()
    assert world.store.read_sync(hooks.get, other["id"], made["id"]) is None
    assert world.store.read_sync(hooks.by_url, other["id"], made["url"]) is None
    assert world.store.read_sync(hook_queries.count, other["id"]) == 0
    assert world.store.read_sync(hook_queries.page, other["id"], limit=10) == []


@pytest.mark.parametrize(
    "names", [[], ["nothing"], ["push", "Push"], ["push", ""], ["push", "**"], ["push "]]
)
def test_bad_events_are_refused(world: World, names: list[str]) -> None:
    with pytest.raises(Invalid) as caught:
        world.store.write_sync(hooks.create, world.repo["id"], url=URL, events=names)
    assert caught.value.field == "events"
    if len(names) > 0:
        assert str(caught.value) == f'Invalid event: "{names[-1]}"'
    assert world.store.read_sync(hook_queries.count, world.repo["id"]) == 0


def test_events_are_kept_once_and_in_order(world: World) -> None:
    assert world.hook("push", "issues", "push")["events"] == ["push", "issues"]
    every = sorted(FITTING["repository"])
    assert world.hook(*every)["events"] == every


class TestTwins:
    @pytest.mark.parametrize(
        "twin",
        [
            {"events": ["push"]},
            {"events": ["issues", "push"]},
            {"events": ["push"], "secret": "other", "insecure_ssl": True, "active": False},
        ],
    )
    def test_a_duplicate_hook_is_refused(self, world: World, twin: dict[str, Any]) -> None:
        world.hook("push", "star", url=URL)
        with pytest.raises(Invalid) as caught:
            world.store.write_sync(hooks.create, world.repo["id"], url=URL, **twin)
        assert str(caught.value) == "Hook already exists on this repository"
        assert (caught.value.code, caught.value.resource) == ("custom", "Hook")
        assert world.store.read_sync(hook_queries.count, world.repo["id"]) == 1

    @pytest.mark.parametrize(
        "other",
        [
            {"events": ["issues"]},
            {"events": ["push"], "content_type": "json"},
            {"events": ["push"], "url": URL + "/"},
            {"events": ["*"]},
        ],
    )
    def test_a_hook_that_differs_in_one_field_is_no_duplicate(
        self, world: World, other: dict[str, Any]
    ) -> None:
        world.hook("push", "star", url=URL)
        world.store.write_sync(hooks.create, world.repo["id"], **({"url": URL} | other))
        assert world.store.read_sync(hook_queries.count, world.repo["id"]) == 2

    def test_a_hook_of_another_repository_is_no_duplicate(self, world: World) -> None:
        world.hook("push", url=URL)
        world.hook("push", url=URL, repo=world.another_repo())

    def test_a_new_hook_is_no_duplicate_of_a_deleted_one(self, world: World) -> None:
        made = world.hook("push", url=URL)
        world.store.write_sync(hook_removal.delete, made)
        world.hook("push", url=URL)

    def test_cannot_be_made_by_a_change(self, world: World) -> None:
        world.hook("push", url=URL)
        second = world.hook("issues", url=URL)
        with pytest.raises(Invalid):
            change(world, second["id"], events=["issues", "push"])
        assert get(world, second["id"]) == second
        assert change(world, second["id"], events=["star", "issues"])["events"] == [
            "star",
            "issues",
        ]


class TestSecret:
    def test_a_secret_is_stored_encrypted_and_can_be_read(self, world: World) -> None:
        made = world.hook(secret="s3cret")
        assert b"s3cret" not in bytes(made["secret"])
        assert world.store.read_sync(hooks.secret_of, made) == "s3cret"
        assert "s3cret" not in str(made)

    @pytest.mark.parametrize("secret", [None, ""])
    def test_a_hook_can_have_no_secret(self, world: World, secret: str | None) -> None:
        made = world.hook(secret=secret)
        assert made["secret"] is None
        assert world.store.read_sync(hooks.secret_of, made) is None

    def test_stays_unless_it_is_changed(self, world: World) -> None:
        made = world.hook(secret="s3cret")
        kept = change(world, made["id"], url=URL + "/new")
        assert world.store.read_sync(hooks.secret_of, kept) == "s3cret"
        new = change(world, made["id"], secret="other")
        assert world.store.read_sync(hooks.secret_of, new) == "other"
        assert change(world, made["id"], secret=None)["secret"] is None


class TestSubscriptions:
    def test_follow_the_events(self, world: World) -> None:
        made = world.hook("push", "issues")
        assert world.store.read_sync(subscribed) == {made["id"]: ["issues", "push"]}
        change(world, made["id"], events=["star"])
        assert world.store.read_sync(subscribed) == {made["id"]: ["star"]}

    def test_a_wildcard_makes_a_single_subscription(self, world: World) -> None:
        """With a second subscription beside `*`, an event would reach the hook twice."""
        made = world.hook("push", "*", "issues")
        assert made["events"] == ["push", "*", "issues"]
        assert world.store.read_sync(subscribed) == {made["id"]: ["*"]}
        change(world, made["id"], events=["push"])
        assert world.store.read_sync(subscribed) == {made["id"]: ["push"]}

    def test_an_inactive_hook_has_no_subscriptions(self, world: World) -> None:
        made = world.hook("push", active=False)
        assert world.store.read_sync(subscribed) == {}
        change(world, made["id"], active=True)
        assert world.store.read_sync(subscribed) == {made["id"]: ["push"]}
        change(world, made["id"], active=False)
        assert world.store.read_sync(subscribed) == {}

    def test_end_with_the_hook(self, world: World) -> None:
        one, other = world.hook("push"), world.hook("push")
        world.store.write_sync(hook_removal.delete, one)
        assert world.store.read_sync(subscribed) == {other["id"]: ["push"]}
        world.store.write_sync(hooks.disable, other["id"], "410")
        assert world.store.read_sync(subscribed) == {}


class TestUpdate:
    def test_changes_the_given_fields(self, world: World) -> None:
        made = world.hook("push", url=URL, secret="s")
        world.clock.advance(5)
        changed = change(world, made["id"], url=URL + "/2", content_type="json", insecure_ssl=True)
        assert changed == made | {
            "url": URL + "/2",
            "content_type": "json",
            "insecure_ssl": 1,
            "version": 2,
            "updated_at": world.now,
        }
        assert get(world, made["id"]) == changed
        assert change(world, made["id"], options={"rate": 2})["options"] == {"rate": 2}

    def test_an_update_with_bad_events_is_refused(self, world: World) -> None:
        made = world.hook()
        for events in ([], ["nothing"]):
            with pytest.raises(Invalid):
                change(world, made["id"], events=events)
        assert get(world, made["id"]) == made

    def test_activating_forgets_why_it_was_disabled(self, world: World) -> None:
        made = world.hook("push")
        world.store.write_sync(hooks.disable, made["id"], "the endpoint is gone")
        world.store.write_sync(lambda db: db.execute("UPDATE hook SET failing_since = 7"))
        changed = change(world, made["id"], url=URL + "/new")
        assert changed["disabled_reason"] == "the endpoint is gone"
        assert changed["failing_since"] == 7
        revived = change(world, made["id"], active=True)
        assert (revived["disabled_reason"], revived["failing_since"]) == (None, None)

    def test_the_time_at_which_a_person_switches_a_hook_off_is_kept(self, world: World) -> None:
        made = world.hook("push")
        assert made["off_since"] is None
        assert change(world, made["id"], active=False)["off_since"] == world.now
        since = world.now
        world.clock.advance(60)
        assert change(world, made["id"], active=False, url=URL + "/new")["off_since"] == since
        assert change(world, made["id"], active=True)["off_since"] is None
        world.store.write_sync(hooks.disable, made["id"], "the endpoint is gone")
        assert get(world, made["id"])["off_since"] is None

    def test_activating_an_active_hook_keeps_its_failing_since(self, world: World) -> None:
        made = world.hook("push")
        world.store.write_sync(lambda db: db.execute("UPDATE hook SET failing_since = 7"))
        assert change(world, made["id"], active=True)["failing_since"] == 7


class TestDisable:
    def test_stores_the_reason_and_raises_the_version(self, world: World) -> None:
        made = world.hook()
        world.clock.advance(5)
        world.store.write_sync(hooks.disable, made["id"], "the endpoint is gone")
        assert get(world, made["id"]) == made | {
            "active": 0,
            "disabled_reason": "the endpoint is gone",
            "version": 2,
            "updated_at": world.now,
        }

    def test_twice_keeps_the_first_reason(self, world: World) -> None:
        made = world.hook()
        world.store.write_sync(hooks.disable, made["id"], "first")
        world.store.write_sync(hooks.disable, made["id"], "second")
        disabled = get(world, made["id"])
        assert (disabled["disabled_reason"], disabled["version"]) == ("first", 2)


class TestDelete:
    def test_hides_the_hook_from_everybody_but_its_deliveries(self, world: World) -> None:
        made = world.hook(url=URL)
        world.store.write_sync(hook_removal.delete, made)
        assert world.store.read_sync(hooks.get, world.repo["id"], made["id"]) is None
        assert world.store.read_sync(hooks.by_url, world.repo["id"], URL) is None
        assert world.store.read_sync(hook_queries.page, world.repo["id"], limit=10) == []
        assert world.store.read_sync(hook_queries.every) == []
        assert world.store.read_sync(hook_queries.count, world.repo["id"]) == 0
        row = required(world.store.read_sync(hooks.by_id, made["id"]))
        assert (row["deleted_at"], row["active"], row["version"]) == (world.now, 0, 2)


def test_pages_of_hooks(world: World) -> None:
    made = [world.hook()["id"] for _ in range(5)]
    world.hook(repo=world.another_repo())

    def page(**given: int) -> list[int]:
        return [
            row["id"] for row in world.store.read_sync(hook_queries.page, world.repo["id"], **given)
        ]

    assert page(limit=10) == made
    assert page(limit=2) == made[:2]
    assert page(limit=2, offset=4) == made[4:]
    assert page(limit=2, offset=6) == []
    assert world.store.read_sync(hook_queries.count, world.repo["id"]) == 5


def test_every_hook_names_its_repository(world: World) -> None:
    world.hook()
    world.hook(repo=world.another_repo("other"))
    assert [row["repository"] for row in world.store.read_sync(hook_queries.every)] == [
        "ada/engine",
        "ada/other",
    ]


def test_the_oldest_of_several_hooks_with_a_url_is_found(world: World) -> None:
    first = world.hook("push", url=URL)
    world.hook("issues", url=URL)
    assert world.store.read_sync(hooks.by_url, world.repo["id"], URL) == first
    assert world.store.read_sync(hooks.by_url, world.repo["id"], URL + "/other") is None


def test_last_responses(world: World) -> None:
    tried, failed, new = (world.hook("push") for _ in range(3))
    world.arrive()
    lease = world.lease()
    by_hook = {one.hook_id: one for one in world.claim(lease, tried["id"], failed["id"])}
    world.store.write_sync(
        attempt_outcomes.record,
        [
            world.failure(lease, by_hook[tried["id"]], status_code=500),
            world.failure(lease, by_hook[failed["id"]], status_code=None, error="connect: refused"),
            world.outcome(lease, by_hook[tried["id"]], status_code=204),
        ],
    )
    everyone = [tried["id"], failed["id"], new["id"], 99]
    assert world.store.read_sync(attempts.last_responses, everyone) == {
        tried["id"]: {"hook_id": tried["id"], "status_code": 204, "error": None},
        failed["id"]: {
            "hook_id": failed["id"],
            "status_code": None,
            "error": "connect: refused",
        },
    }
    assert world.store.read_sync(attempts.last_responses, []) == {}


@pytest.mark.parametrize("kind", ["repository", "organization"])
def test_a_repetition_is_found_by_an_index(world: World, kind: str) -> None:
    own = world.repo["id"] if kind == "repository" else world.user["id"]
    target = HookTarget(kind, own)  # type: ignore[arg-type]

    with transaction(world.store) as db:
        column, many = COLUMNS[kind], range(2_000)
        rows = [(own, f"{URL}/{at}", "json", "[]", "{}", 1, 1) for at in many]
        columns = f"{column}, url, content_type, events, options, created_at, updated_at"
        db.insert_many("hook", columns, rows)
        db.execute("ANALYZE")
        lines = plan_lines(db, lambda db: hooks.by_url(db, target, URL))
    assert any(f"hook_{kind}_url" in line for line in lines), lines


def test_urls_that_begin_alike_are_different(world: World) -> None:
    long = f"{URL}/{'x' * 3_000}"
    world.hook("push", url=f"{long}/1")
    world.hook("push", url=f"{long}/2")
    with pytest.raises(Invalid, match="Hook already exists"):
        world.hook("push", url=f"{long}/2")
    found = required(world.store.read_sync(hooks.by_url, world.repo["id"], f"{long}/2"))
    assert found["url"] == f"{long}/2"
