"""Certificates of hooks: their storage, their expiry, and pauses of hooks with unusable ones."""

import pytest
from certificates import DAY as ONE_DAY
from certificates import NOW, Authority
from store_world import World

from store import Row
from store.alerts import certificate_checks
from store.clock import SECOND
from store.endpoint_access.secret_parts import MASK
from store.errors import Invalid
from store.hook_state import hook_pauses
from store.hooks import hooks, option_secrets

CA = Authority()


def with_certificate(world: World, days: float = 100) -> Row:
    ends = NOW + days * ONE_DAY
    world.clock.advance(NOW.timestamp() - world.clock.now() / SECOND)
    certificate, key = CA.issue(ends=ends)
    tls = {"client_cert": certificate, "client_key": key}
    hook = world.hook("push", options={"tls": tls})
    assert hook["certificate_ends_at"] == int(ends.timestamp()) * SECOND
    return hook


def fresh(world: World, hook: Row) -> Row:
    found = world.store.read_sync(hooks.by_id, hook["id"])
    assert found is not None
    return found


def test_the_key_is_apart(world: World) -> None:
    hook = with_certificate(world)
    assert hook["options"]["tls"]["client_key"] == MASK
    assert "PRIVATE KEY" not in str(hook)
    assert (
        "PRIVATE KEY" in world.store.read_sync(option_secrets.revealed, hook)["tls"]["client_key"]
    )


@pytest.mark.parametrize(
    ("days", "warned"), [(31, None), (29, 30), (7, 7), (6.5, 7), (1, 1), (0.5, 1)]
)
def test_certificates_that_end_soon_are_found(
    world: World, days: float, warned: int | None
) -> None:
    with_certificate(world, 3000)
    hook = with_certificate(world, days)
    found = world.store.read_sync(certificate_checks.ending)
    assert [(row["id"], row["warned_days"]) for row in found] == (
        [] if warned is None else [(hook["id"], warned)]
    )


def test_an_expired_certificate_is_listed_until_it_is_replaced(world: World) -> None:
    hook = with_certificate(world, 3)
    world.clock.advance(5 * 86_400)
    (row,) = world.store.read_sync(certificate_checks.ending, 1)
    assert (row["id"], row["url"]) == (hook["id"], hook["url"])
    hook = world.store.write_sync(hooks.update, hook, active=False)
    assert world.store.read_sync(certificate_checks.ending, 1) == []
    hook = world.store.write_sync(hooks.update, hook, active=True)
    hook = world.store.write_sync(hooks.update, hook, options={"rate": 1})
    assert hook["certificate_ends_at"] is None


def test_other_changes_are_possible_after_the_end(world: World) -> None:
    hook = with_certificate(world, 3)
    world.clock.advance(5 * 86_400)
    hook = world.store.write_sync(hooks.update, hook, events=["issues"])
    hook = world.store.write_sync(hooks.update, hook, options=hook["options"] | {"rate": 2})
    assert hook["certificate_ends_at"] is not None
    with pytest.raises(Invalid, match="has expired"):
        world.store.write_sync(hooks.update, hook, url="https://receiver.example/x", options={
            "tls": world.store.read_sync(option_secrets.revealed, hook)["tls"]
        })  # fmt: skip


def test_a_pause_with_a_reason_ends_with_other_options(world: World) -> None:
    hook = with_certificate(world)
    reason = "a certificate has expired"
    world.store.write_sync(hook_pauses.pause_unusable, hook["id"], hook["version"] - 1, reason)
    assert fresh(world, hook)["paused_at"] is None, "the hook was changed meanwhile"
    world.store.write_sync(hook_pauses.pause_unusable, hook["id"], hook["version"], reason)
    paused = fresh(world, hook)
    assert paused["pause_reason"] == reason
    assert paused["paused_at"] is not None
    still = world.store.write_sync(hooks.update, paused, events=["issues"])
    assert still["pause_reason"] == reason
    mended = world.store.write_sync(hooks.update, paused, options={})
    assert (mended["paused_at"], mended["pause_reason"]) == (None, None)


def test_resuming_removes_the_reason(world: World) -> None:
    hook = with_certificate(world)
    world.store.write_sync(hook_pauses.pause_unusable, hook["id"], hook["version"], "no good")
    hook = world.store.write_sync(hook_pauses.resume, fresh(world, hook))
    assert (hook["paused_at"], hook["pause_reason"]) == (None, None)


def test_a_pause_by_a_person_stays(world: World) -> None:
    hook = world.store.write_sync(hook_pauses.pause, with_certificate(world))
    world.store.write_sync(hook_pauses.pause_unusable, hook["id"], hook["version"], "no good")
    assert fresh(world, hook)["pause_reason"] is None
    assert world.store.write_sync(hooks.update, hook, options={})["paused_at"] is not None
