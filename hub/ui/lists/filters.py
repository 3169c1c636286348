"""The filters that several lists share: a repository, an endpoint, a status code, a period."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hub.ui.datetime_fields import moment_of, shown
from hub.ui.view_context import ViewContext, natural
from store.clock import DAY, HOUR
from store.database.time_range import TimeRange
from store.hooks import hooks
from store.monitoring import name_search
from store.repositories import repositories

# By query value: label and length.
RANGES = {
    "1h": ("last hour", HOUR),
    "6h": ("last 6 hours", 6 * HOUR),
    "24h": ("last 24 hours", DAY),
    "7d": ("last 7 days", 7 * DAY),
    "30d": ("last 30 days", 30 * DAY),
}
CODE = re.compile(r"([1-5])(?:xx|([0-9]{2}))")
NO_RESPONSE = "none"
NOT_LIMITED = "The list is not limited by it."
TWICE = "Times and a range are given. Only the times limit the list."
NAMES = ("range", "since", "until")


@dataclass(frozen=True, slots=True)
class Period:
    """The period of a list, and how it was chosen. Times are in microseconds."""

    chosen: dict[str, str]
    since: int | None = None
    until: int | None = None
    problem: str = ""
    """A note on parts of the query that do not limit the list."""

    @property
    def times(self) -> TimeRange:
        """Return the limits alone."""
        return TimeRange(self.since, self.until)


def period(ctx: ViewContext, names: tuple[str, str, str] = NAMES) -> Period:
    """Return the period in the query: `range`, or `since` and `until`.

    `names` are the query parameters to read in place of these three, if the page uses those names
    for other values.
    """
    given = dict(zip(NAMES, (ctx.asked(name, 40) for name in names), strict=True))
    found = _period(ctx, given)
    return replace(found, chosen=dict(zip(names, found.chosen.values(), strict=True)))


def _period(ctx: ViewContext, chosen: dict[str, str]) -> Period:
    chosen |= {name: shown(chosen[name]) for name in ("since", "until")}
    has_times, range_ = bool(chosen["since"] or chosen["until"]), chosen["range"]
    if range_ in RANGES and not has_times:
        return Period(chosen, ctx.now - RANGES[range_][1])
    chosen["range"] = ""
    since, until = (moment_of(chosen[name]) for name in ("since", "until"))
    wrong = [
        chosen[n] for n, at in (("since", since), ("until", until)) if chosen[n] and at is None
    ]
    if wrong:
        text = f"{wrong[0]!r} is not a time such as 2026-11-21T07:33."
        return Period(chosen, problem=f"{text} {NOT_LIMITED}")
    if since is not None and until is not None and since >= until:
        return Period(chosen, problem=f"The end must be after the beginning. {NOT_LIMITED}")
    return Period(chosen, since, until, TWICE if range_ in RANGES else "")


def within(ctx: ViewContext, named: str) -> list[int] | None:
    """Return the ids of the viewer's repositories: of the one named owner/name, or of those whose
    name contains the text.

    None means all repositories.
    """
    mine = ctx.repositories()
    if not named:
        return mine
    owner, _, name = named.partition("/")
    repo = repositories.find(ctx.db, owner, name)
    if repo is not None and (mine is None or repo["id"] in mine):
        return [repo["id"]]
    return name_search.repositories(ctx.db, named, mine)


def scope(ctx: ViewContext, named: str) -> tuple[list[int] | None, list[int]]:
    """Return the repositories as `within` does, and the owners to leave out of them.

    A list that can leave out owners needs no ids of all other repositories, which may be too many.
    """
    hidden = [] if named else ctx.viewer.hidden_owners(ctx.db)
    return (None, hidden) if hidden else (within(ctx, named), [])


def hooks_named(
    ctx: ViewContext,
    text: str,
    repo_ids: Sequence[int] | None,
    org_ids: Sequence[int],
) -> tuple[int | None, list[int] | None]:
    """Return the id of the hook if the text is an id, or else the ids of hooks whose URL contains
    it.

    The other one of the two is None; both are None if the text is empty. A number that is no id of
    a hook may be a port in a URL.
    """
    if not text:
        return None, None
    number = natural(text)
    if number is not None and _is_visible(ctx, number, repo_ids):
        return number, None
    found = name_search.hooks(ctx.db, text, repo_ids, org_ids)
    if number is not None and not found and repo_ids is None:
        return number, None  # attempts outlive the hook, and operators may see them
    return None, found


def _is_visible(ctx: ViewContext, hook_id: int, repo_ids: Sequence[int] | None) -> bool:
    if repo_ids is None:
        return hooks.by_id(ctx.db, hook_id) is not None
    return ctx.viewer.may_see(ctx.db, hook_id)


def organizations(ctx: ViewContext, repository: str = "") -> list[int]:
    """Return the ids of organizations whose own hooks a list shows beside repositories' hooks.

    It is empty if the list is of named repositories, or if the viewer may see all.
    """
    everything = ctx.repositories() is None
    return [] if repository or everything else ctx.organizations()


def hook_ids(
    ctx: ViewContext,
    text: str,
    repo_ids: Sequence[int] | None,
    org_ids: Sequence[int] = (),
) -> list[int] | None:
    """Return the ids of the hooks that `hooks_named` finds; None if the text is empty."""
    hook_id, several = hooks_named(ctx, text, repo_ids, org_ids)
    return several if hook_id is None else [hook_id]


def status_codes(text: str) -> tuple[int, int] | None:
    """Return the lowest and the highest status code of `503` or `5xx`; (0, 0) for `none`.

    Returns None for anything else.
    """
    if text == NO_RESPONSE:
        return 0, 0
    found = CODE.fullmatch(text)
    if found is None:
        return None
    hundreds = 100 * int(found[1])
    if found[2] is None:
        return hundreds, hundreds + 99
    return hundreds + int(found[2]), hundreds + int(found[2])
