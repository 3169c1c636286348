"""An issue and its comments, in whatever order operations run and events become state.

A platform has an issue of its own. Its events wait until the projector takes them. Meanwhile,
operations change the hub's issue. The expected state follows from the times alone.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest
from issue_world import issue
from required import required
from store_world import World
from thoroughness import often
from transactions import transaction

from store import Connection, Row
from store.clock import SECOND, iso
from store.issues import comment_changes, comment_lists, issue_changes, issues, labels
from store.issues.comment_lists import CommentSelection
from store.projection import projection_table
from store.repositories import repositories

NAMES = ("bug", "late", "loud")
PEOPLE = ("amy", "bob")
STEPS = 40


def comments_of(row: Row) -> CommentSelection:
    """The list of an issue's comments."""
    return CommentSelection("comment", issue_id=row["id"])


@dataclass
class Report:
    """An event that was accepted, and the issue as it was then on the platform."""

    name: str
    action: str
    payload: dict[str, Any]
    received_at: int

    @property
    def as_of(self) -> int:
        """The end of the second that the payload names, or the reception if that is earlier."""
        second = self.received_at // SECOND * SECOND
        return min(second + SECOND - 1, self.received_at)


@dataclass
class Played:
    """A history: the platform's issue, its waiting events, and the changes by operations."""

    world: World
    random: Random
    shuffled: bool
    """Whether events are projected in any order. Then each is in a second of its own, because the
    order within a second shows nowhere."""
    counts_late: bool
    """Whether the platform reports the number of comments before the change."""
    labels: set[str] = field(default_factory=set)
    people: set[str] = field(default_factory=set)
    title: str = "Spelling error"
    state: str = "open"
    comments: dict[int, str] = field(default_factory=dict)
    waiting: list[Report] = field(default_factory=list)
    latest: Report | None = None
    own: dict[tuple[str, str], tuple[int, Any]] = field(default_factory=dict)
    """The time and the value of each part that an operation changed."""
    made: int = 0
    reported: dict[int, list[int]] = field(default_factory=dict)
    """The moments of the events of each comment of the platform."""
    removed: dict[int, int] = field(default_factory=dict)
    """The time at which an operation last deleted each of them."""

    def wait(self) -> None:
        self.world.clock.advance(1.1 if self.shuffled else self.random.choice((0.2, 0.7, 1.3)))

    # The platform.

    def report(self, name: str, action: str, number: int | None = None, **payload: Any) -> None:
        self.wait()
        now = iso(self.world.now)
        whole = issue(
            title=self.title,
            state=self.state,
            labels=[{"name": each} for each in sorted(self.labels)],
            assignees=[{"login": each} for each in sorted(self.people)],
            comments=len(self.comments) if number is None else number,
            updated_at=now,
        )
        self.waiting.append(Report(name, action, {"issue": whole, **payload}, self.world.now))

    def they_edit(self) -> None:
        part = self.random.choice(("label", "person", "title", "state"))
        if part == "label":
            self.labels ^= {self.random.choice(NAMES)}
        elif part == "person":
            self.people ^= {self.random.choice(PEOPLE)}
        elif part == "title":
            self.title = f"Theirs {self.random.randrange(9)}"
        else:
            self.state = "open" if self.state == "closed" else "closed"
        self.report("issues", "edited")

    def they_comment(self) -> None:
        before = len(self.comments)
        self.made += 1
        self.comments[10**9 + self.made] = "said"
        self._reported("created", 10**9 + self.made, before)

    def they_edit_a_comment(self) -> None:
        if self.comments:
            number = self.random.choice([*self.comments])
            self._reported("edited", number, len(self.comments))

    def they_delete_a_comment(self) -> None:
        if self.comments:
            before = len(self.comments)
            number = self.random.choice([*self.comments])
            del self.comments[number]
            self._reported("deleted", number, before)

    def _reported(self, action: str, number: int, before: int) -> None:
        self.made += 1
        said = {"id": number, "body": f"text {self.made}", "user": {"login": "amy"}}
        times = {"created_at": iso(self.world.now), "updated_at": iso(self.world.now)}
        count = before if self.counts_late else len(self.comments)
        self.report("issue_comment", action, count, comment={**said, **times})
        self.reported.setdefault(number, []).append(self.waiting[-1].as_of)

    # The projector.

    def project(self) -> None:
        if self.waiting:
            at = self.random.randrange(len(self.waiting)) if self.shuffled else 0
            self._project(self.waiting.pop(at))

    def _project(self, report: Report) -> None:
        event = {
            "id": 1,
            "name": report.name,
            "action": report.action,
            "repo_id": self.world.repo["id"],
            "source_id": 0,
            "received_at": report.received_at,
        }
        payload = {"action": report.action, **report.payload}
        self.world.store.write_sync(projection_table.project, event, payload)
        if self.latest is None or report.received_at > self.latest.received_at:
            self.latest = report

    def drain(self) -> None:
        while self.waiting:
            self.project()

    # Operations.

    def operate(self, change: Callable[[Connection, Row], Any]) -> None:
        self.wait()

        with transaction(self.world.store) as db:
            row = required(issues.get(db, self.world.repo["id"], 1))
            change(db, issue_changes.lock(db, row))

    def _changed(self, part: str, item: str, value: Any) -> None:
        self.own[part, item] = (self.world.now, value)

    def we_label(self) -> None:
        name = self.random.choice(NAMES)

        def change(db: Connection, row: Row) -> None:
            held = {
                one["name"]: one for one in labels.of_issues(db, [row["id"]]).get(row["id"], [])
            }
            wanted = {**held, name: labels.create(db, row["repo_id"], name)}
            if name in held:
                del wanted[name]
            issue_changes.set_labels(db, row, self.world.user["id"], wanted.values())
            self._changed("label", name, name not in held)

        self.operate(change)

    def we_retitle(self) -> None:
        title = f"Ours {self.world.now}"
        by = self.world.user["id"]
        repo = self.world.repo

        def change(db: Connection, row: Row) -> None:
            issue_changes.set_texts(db, repo, row, by, {"title": title})
            self._changed("title", "", title)

        self.operate(change)

    def we_close_or_reopen(self) -> None:
        def change(db: Connection, row: Row) -> None:
            wanted = "open" if row["state"] == "closed" else "closed"
            issue_changes.set_state(db, row, self.world.user["id"], wanted, None)
            self._changed("state", "", wanted)

        self.operate(change)

    def we_comment(self) -> None:
        user, repo = self.world.user["id"], self.world.repo
        self.operate(
            lambda db, row: comment_changes.create(db, repo, row, user, "Hm", association="NONE")
        )

    def we_delete_a_comment(self) -> None:
        chance = self.random.random()

        def change(db: Connection, row: Row) -> None:
            found = comment_lists.page(db, comments_of(row), limit=100, offset=0)
            if found:
                chosen = found[int(chance * len(found))]
                comment_changes.delete(db, row, chosen)
                self.removed[chosen["number"]] = self.world.now

        self.operate(change)

    # The expected state.

    def expected(self, part: str, item: str, theirs: Any) -> Any:
        assert self.latest is not None
        at, ours = self.own.get((part, item), (0, None))
        return ours if at > self.latest.as_of else theirs

    def check(self) -> None:
        assert self.latest is not None
        given = self.latest.payload["issue"]
        row = required(self.world.store.read_sync(issues.get, self.world.repo["id"], 1))
        held = self.world.store.read_sync(labels.of_issues, [row["id"]]).get(row["id"], [])
        theirs = {one["name"] for one in given["labels"]}
        wanted = {name for name in NAMES if self.expected("label", name, name in theirs)}
        assert {one["name"] for one in held} == wanted
        assert row["title"] == self.expected("title", "", given["title"])
        assert row["state"] == self.expected("state", "", given["state"])

    def check_listed(self) -> None:
        """Check which of the platform's comments are listed after all events."""
        row = required(self.world.store.read_sync(issues.get, self.world.repo["id"], 1))
        found = self.world.store.read_sync(
            comment_lists.page, comments_of(row), limit=1_000, offset=0
        )
        theirs = {one["number"] for one in found if not one["made_here"]}
        assert theirs == {
            number
            for number in self.comments
            if max(self.reported[number]) >= self.removed.get(number, 0)
        }

    def check_comments(self) -> None:
        row = required(self.world.store.read_sync(issues.get, self.world.repo["id"], 1))
        listed = self.world.store.read_sync(comment_lists.count, comments_of(row), 1_000)
        assert row["comments"] == listed, (row["comments_seen"], row["comments_unseen"])


STEPS_OF = (
    *(Played.they_edit, Played.they_edit, Played.they_comment, Played.they_comment),
    *(Played.they_edit_a_comment, Played.they_delete_a_comment),
    *(Played.project, Played.project, Played.project, Played.project),
    *(Played.we_label, Played.we_label, Played.we_retitle, Played.we_close_or_reopen),
    *(Played.we_comment, Played.we_delete_a_comment),
)


@pytest.mark.parametrize("counts_late", [False, True], ids=["counts", "counts-late"])
@pytest.mark.parametrize("shuffled", [False, True], ids=["ordered", "shuffled"])
def test_operations_and_events_lose_nothing(
    world: World, shuffled: bool, counts_late: bool
) -> None:
    for seed in range(often(20, 400)):
        repo = world.another_repo(f"repo-{seed}")
        full = required(world.store.read_sync(repositories.get, repo["id"]))
        at = World(world.store, world.clock, world.user, full)
        play(Played(at, Random(seed), shuffled, counts_late))


def play(played: Played) -> None:
    played.report("issues", "opened")
    played.drain()
    for _ in range(STEPS):
        step = played.random.choice(STEPS_OF)
        step(played)
        played.check()
        if not played.shuffled:
            played.check_comments()
    played.drain()
    played.check()
    played.check_listed()
    played.check_comments()
