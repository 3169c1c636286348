"""The hook of an app: its configuration, its deliveries, and the events about installations."""

from typing import Any

import pytest
from assertions import attempted, bodies, waiting
from transactions import transaction

from hub.api.apps import installation_changes
from hub.rest.context import Context
from hub.rest.urls import Urls
from store import Row, Store
from store.apps import app_hooks, installations
from store.delivery.events import accept_all
from store.delivery.incoming import IncomingEvent
from store.hooks import hook_targets, hooks
from store.repositories import repositories

CONFIG = {"url": "https://mill.example/in", "content_type": "json", "secret": "s3cret"}
HIDDEN = {**CONFIG, "secret": "********", "insecure_ssl": "0"}


async def configured(installed: Any, **more: Any) -> Row:
    answer = await installed.itself("PATCH", "/app/hook/config", json={**CONFIG, **more})
    assert answer.status_code == 200, answer.text
    hook: Row = installed.store.read_sync(app_hooks.of, installed.app["id"])
    return hook


class TestConfiguration:
    async def test_a_configuration_creates_the_hook(self, installed: Any, store: Store) -> None:
        for path in ("/app/hook/config", "/app/hook/deliveries"):
            assert (await installed.itself("GET", path)).status_code == 404
        answer = await installed.itself("PATCH", "/app/hook/config", json=CONFIG)
        assert (answer.status_code, answer.json()) == (200, HIDDEN)
        assert (await installed.itself("GET", "/app/hook/config")).json() == HIDDEN
        (ping,) = bodies(store, "ping")
        assert ping["hook"]["type"] == "App"
        assert ping["hook"]["app_id"] == installed.app["id"]
        assert ping["hook"]["config"] == HIDDEN
        hook = store.read_sync(app_hooks.of, installed.app["id"])
        assert [row["name"] for row in waiting(store, hook["id"])] == ["ping"]

    async def test_an_edit_leaves_unnamed_fields_as_they_are(
        self, installed: Any, store: Store
    ) -> None:
        hook = await configured(installed)
        answer = await installed.itself(
            "PATCH", "/app/hook/config", json={"url": "https://new.example/", "more": 1}
        )
        assert answer.json() == {**HIDDEN, "url": "https://new.example/"}
        after = store.read_sync(app_hooks.of, installed.app["id"])
        assert store.read_sync(hooks.secret_of, after) == "s3cret"
        assert after["id"] == hook["id"]
        assert len(bodies(store, "ping")) == 1

    @pytest.mark.parametrize(
        "body", [{}, {"content_type": "json"}, {"url": "https://x.example/", "secret": "********"}]
    )
    async def test_a_new_hook_without_a_url_or_with_a_hidden_secret_is_refused(
        self, installed: Any, body: Any
    ) -> None:
        answer = await installed.itself("PATCH", "/app/hook/config", json=body)
        assert answer.status_code == 422

    async def test_a_missing_body_is_refused(self, installed: Any) -> None:
        await configured(installed)
        for content, status in ((b"", 422), (b" \n", 422), (b"null", 400), (b"{}", 200)):
            answer = await installed.itself("PATCH", "/app/hook/config", content=content)
            assert answer.status_code == status, answer.text

    async def test_a_token_of_an_installation_is_refused(self, installed: Any, seed: Any) -> None:
        await configured(installed)
        answer = await installed.ask("GET", "/app/hook/config", installed.token())
        assert answer.status_code == 401


class TestDeliveries:
    async def test_deliveries_are_listed_shown_and_redelivered(
        self, installed: Any, store: Store
    ) -> None:
        hook = await configured(installed)
        attempted(store, hook["id"])
        (item,) = (await installed.itself("GET", "/app/hook/deliveries")).json()
        assert (item["event"], item["status_code"]) == ("ping", 200)
        assert (item["installation_id"], item["repository_id"]) == (None, None)
        path = f"/app/hook/deliveries/{item['id']}"
        shown = (await installed.itself("GET", path)).json()
        assert shown["request"]["payload"]["hook_id"] == hook["id"]
        assert (await installed.itself("POST", f"{path}/attempts")).status_code == 202
        assert [row["redelivery"] for row in waiting(store, hook["id"])] == [0, 1]

    async def test_deliveries_of_other_hooks_are_not_found(
        self, installed: Any, store: Store, seed: Any
    ) -> None:
        await configured(installed)

        with transaction(store) as db:
            target = hook_targets.repository(seed.hello["id"])
            other = hooks.create(db, target, url="https://x.example/", events=["push"])
            accept_all(db, [IncomingEvent(1, "g-1", seed.hello["id"], "push", b"{}")])
        attempted(store, other["id"])
        (row,) = store.read_sync(lambda db: db.all("SELECT id FROM attempt"))
        for method, more in (("GET", ""), ("POST", "/attempts")):
            path = f"/app/hook/deliveries/{row['id']}{more}"
            assert (await installed.itself(method, path)).status_code == 404


class TestEventsAboutInstallations:
    @pytest.fixture
    async def hook(self, installed: Any) -> Row:
        return await configured(installed)

    def change(self, installed: Any, what: str, *given: Any, **named: Any) -> Any:
        """Call the function `what` of `installation_changes`, and return its result."""

        with transaction(installed.store) as db:
            ctx = Context(db, Urls("http://hub.test"), None, installation_changes.EMITS)
            return getattr(installation_changes, what)(ctx, *given, **named)

    def reported(
        self, installed: Any, hook: Row, name: str = "installation"
    ) -> list[dict[str, Any]]:
        """Assert that the app's hook gets all events with this name. Return the payloads."""
        found = bodies(installed.store, name)
        rows = waiting(installed.store, hook["id"])
        assert [row["name"] for row in rows].count(name) == len(found)
        return found

    async def test_suspension_and_its_end(self, installed: Any, hook: Row) -> None:
        assert self.change(installed, "suspend", installed.on_acme)
        assert not self.change(installed, "suspend", installed.on_acme)
        assert self.change(installed, "unsuspend", installed.on_acme)
        assert not self.change(installed, "unsuspend", installed.on_acme)
        suspended, resumed = self.reported(installed, hook)
        assert (suspended["action"], resumed["action"]) == ("suspend", "unsuspend")
        assert suspended["installation"]["suspended_at"] is not None
        assert resumed["installation"]["suspended_at"] is None
        assert resumed["installation"]["id"] == installed.on_acme["id"]
        names = [one["full_name"] for one in resumed["repositories"]]
        assert names == ["acme/tools", "acme/kit"]

    async def test_installing_and_removing_emit_events(
        self, installed: Any, hook: Row, seed: Any
    ) -> None:
        made = self.change(installed, "install", installed.app, seed.reader)
        self.change(installed, "remove", made)
        created, deleted = self.reported(installed, hook)
        assert (created["action"], deleted["action"]) == ("created", "deleted")
        assert created["installation"] == deleted["installation"]
        assert created["installation"]["account"]["login"] == "reader"
        assert installed.store.read_sync(installations.get, made["id"]) is None

    async def test_the_end_of_an_account(self, installed: Any, hook: Row) -> None:
        self.change(installed, "remove_all", installed.on_acme["account_id"])
        (deleted,) = self.reported(installed, hook)
        assert deleted["action"] == "deleted"

    async def test_accepted_permissions(self, installed: Any, hook: Row) -> None:
        assert not self.change(installed, "accept", installed.on_acme, installed.app, None)
        accepted = {"issues": "read"}
        assert self.change(installed, "accept", installed.on_acme, installed.app, accepted)
        (event,) = self.reported(installed, hook)
        assert event["action"] == "new_permissions_accepted"
        assert event["installation"]["permissions"] == {"issues": "read", "metadata": "read"}

    async def test_chosen_repositories(self, installed: Any, hook: Row, seed: Any) -> None:
        wanted = [seed.hello["id"]]
        assert self.change(installed, "choose", installed.on_octo, wanted)
        assert not self.change(installed, "choose", installed.on_octo, wanted)
        added, removed = self.reported(installed, hook, "installation_repositories")
        assert (added["action"], removed["action"]) == ("added", "removed")
        assert [one["name"] for one in added["repositories_added"]] == ["hello"]
        assert [one["name"] for one in removed["repositories_removed"]] == ["vault"]
        assert added["repositories_removed"] == removed["repositories_added"] == []
        assert added["repository_selection"] == "selected"

    async def test_a_hook_of_the_whole_installation_gets_them_too(
        self, installed: Any, hook: Row, store: Store
    ) -> None:
        with transaction(store) as db:
            acme = installed.on_acme["account_id"]
            wide = hook_targets.SYSTEM, hook_targets.organization(acme)
            made = [
                hooks.create(db, target, url="https://all.example/", events=["*"])
                for target in wide
            ]
            system, organization = made[0], made[1]
        self.change(installed, "suspend", installed.on_acme)
        assert len(waiting(store, system["id"])) == 1
        assert waiting(store, organization["id"]) == []

    async def test_installations_of_an_app_without_a_hook_emit_events(
        self, installed: Any, store: Store
    ) -> None:
        self.change(installed, "suspend", installed.on_acme)
        (event,) = bodies(store, "installation")
        assert event["action"] == "suspend"


async def test_events_of_a_new_repository_reach_the_hook(installed: Any, store: Store) -> None:
    hook = await configured(installed)
    installed.store.write_sync(
        app_hooks.update_app,
        installed.app["id"],
        url=installed.app["url"],
        description=None,
        permissions=installed.app["permissions"],
        events=["push"],
        public=True,
    )

    with transaction(store) as db:
        found = installations.required(db, installed.on_acme["id"])
        app = {**installed.app, "events": ["push"]}
        installations.accept(db, found, app, None)
        repo = repositories.create(db, installed.on_acme["account_id"], "later")
        accept_all(db, [IncomingEvent(repo["id"], "g-1", repo["id"], "push", b"{}")])
    assert [row["name"] for row in waiting(store, hook["id"])] == ["ping", "push"]
