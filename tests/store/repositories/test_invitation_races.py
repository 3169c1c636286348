"""Two hubs that change one invitation at the same time."""

from collections.abc import Callable
from typing import Any

import pytest
from engines import served
from racing import overlap
from store_world import World

from store import Connection, Row, Store
from store.accounts import accounts
from store.errors import Missing
from store.repositories import invitations, membership_dump

pytestmark = served("SQLite has one writer at a time")

Work = Callable[[Connection], Any]


@pytest.fixture
def invitation(world: World) -> Row:
    """An invitation to be an administrator."""
    guest = world.store.write_sync(accounts.create, "guest")
    made, _ = world.store.write_sync(
        invitations.invite, world.repo["id"], guest["id"], None, "admin"
    )
    return made


def granted(world: World, invitation: Row) -> str | None:
    of = (invitation["repo_id"], invitation["invitee_id"])
    return world.store.read_sync(membership_dump.granted, *of)


def again(invitation: Row) -> Work:
    """Invites the person once more, with the role `read`."""
    of = (invitation["repo_id"], invitation["invitee_id"])
    return lambda db: invitations.invite(db, *of, None, "read")


@pytest.mark.parametrize("renewed", [False, True])
def test_a_lowered_invitation_grants_the_lower_role(
    world: World, other: Store, url: str, invitation: Row, renewed: bool
) -> None:
    def lower(db: Connection) -> None:
        invitations.change_role(db, invitation, "read")

    first = (world.store, again(invitation) if renewed else lower)
    _, accepted = overlap(url, first, (other, lambda db: invitations.accept(db, invitation)))
    kept = {name: value for name, value in invitation.items() if name != "role"}
    offer, held = accepted
    assert (offer, held) == (kept | {"role": "read"}, None)
    assert granted(world, invitation) == "read"


def test_an_accepted_invitation_has_no_other_role(
    world: World, other: Store, url: str, invitation: Row
) -> None:
    first = (world.store, lambda db: invitations.accept(db, invitation))
    second = (other, lambda db: invitations.change_role(db, invitation, "read"))
    _, found = overlap(url, first, second)
    assert isinstance(found, Missing)
    assert granted(world, invitation) == "admin"


def test_a_withdrawn_invitation_is_not_renewed(
    world: World, other: Store, url: str, invitation: Row
) -> None:
    first = (world.store, lambda db: invitations.end(db, invitation))
    ended, (made, is_new) = overlap(url, first, (other, again(invitation)))
    assert (ended, is_new) == (invitation, True)
    of = (invitation["repo_id"], invitation["invitee_id"])
    assert world.store.read_sync(invitations.open_to, *of) == made


def test_an_accepting_user_is_not_invited_again(
    world: World, other: Store, url: str, invitation: Row
) -> None:
    def held(db: Connection) -> str | None:
        invitations.alone(db, invitation["repo_id"])
        return membership_dump.granted(db, invitation["repo_id"], invitation["invitee_id"])

    first = (world.store, lambda db: invitations.accept(db, invitation))
    _, found = overlap(url, first, (other, held))
    assert found == "admin"
