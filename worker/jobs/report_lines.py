"""The lines of usage reports: sums as JSON."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from store import Row
from store.assistant import usage_days
from store.assistant.usage_sums import Group, SumBatch

COUNTS = ("suggestions", "acceptances", "lines", "chats")
OF_A_USER = (*COUNTS, "active_days", "engaged_days")
OF_MANY = (*COUNTS, "active_users", "engaged_users")
TOTAL = "total"

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ReportFrame:
    """The start of every line of a report, and the names that its ids stand for."""

    head: Json
    names: Mapping[int, str]
    """The names of editors, languages and models by id."""
    organizations: Mapping[int, str]
    """The logins of organizations by id."""

    def name(self, dimension: str, name_id: int) -> str | None:
        """Return the name for an id. Return None if the usage did not name one."""
        known = self.organizations if dimension == "organization" else self.names
        return known.get(name_id)


def line_head(enterprise: Row, first: int, last: int) -> Json:
    """Return the start of every line: the enterprise and the days."""
    if first == last:
        return {"enterprise": enterprise["slug"], "report_day": usage_days.iso(last)}
    return {
        "enterprise": enterprise["slug"],
        "report_start_day": usage_days.iso(first),
        "report_end_day": usage_days.iso(last),
    }


def _line(*parts: Json) -> bytes:
    found: Json = {}
    for part in parts:
        found |= part
    return orjson.dumps(found) + b"\n"


def _counted(names: tuple[str, ...], group: Group) -> Json:
    return dict(zip(names, group[2:], strict=True))


def user_lines(frame: ReportFrame, step: SumBatch) -> Iterator[bytes]:
    """Yield a line for each user, and one for each of their editors, languages, models,
    organizations.
    """
    return _of_each(frame, step, _user, OF_A_USER)


def repository_lines(frame: ReportFrame, step: SumBatch) -> Iterator[bytes]:
    """Yield a line for each repository, and one for each of its editors, languages and so on."""
    return _of_each(frame, step, _repository, OF_MANY)


def _of_each(
    frame: ReportFrame, step: SumBatch, subject: Any, counts: tuple[str, ...]
) -> Iterator[bytes]:
    by = {name: _by_subject(groups) for name, groups in step.by.items()}
    for total in step.totals:
        of = subject(step.rows.get(total[0]), total[0])
        yield _line(frame.head, of, _dimension(TOTAL, None), _counted(counts, total))
        for name, found in by.items():
            for group in found[total[0]]:
                said = _dimension(name, frame.name(name, group[1]))
                yield _line(frame.head, of, said, _counted(counts, group))


def _by_subject(groups: list[Group]) -> dict[int, list[Group]]:
    found: dict[int, list[Group]] = {}
    for group in groups:
        found.setdefault(group[0], []).append(group)
    return found


def _dimension(dimension: str, name: str | None) -> Json:
    return {"dimension": dimension, "name": name}


def _user(row: Row | None, user_id: int) -> Json:
    # The usage of a deleted user is still counted.
    return {"user": None if row is None else row["login"], "user_id": user_id}


def _repository(row: Row | None, repo_id: int) -> Json:
    return {"repository": None if row is None else row["full_name"], "repository_id": repo_id}


def team_lines(frame: ReportFrame, step: SumBatch) -> Iterator[bytes]:
    """Yield a line for each user in each team."""
    for group in step.teams:
        team = step.named.get(group[1])
        of = {
            "organization": team and frame.organizations.get(team["organization_id"]),
            "team": team and team["slug"],
            "team_id": group[1],
        }
        of |= _user(step.rows.get(group[0]), group[0])
        yield _line(frame.head, of, _counted(OF_A_USER, group))


@dataclass(slots=True)
class EnterpriseTotals:
    """The figures of a whole enterprise, added up from its users."""

    _sums: dict[tuple[str, int], list[int]] = field(default_factory=dict)

    def add(self, step: SumBatch) -> None:
        for dimension, groups in ((TOTAL, step.totals), *step.by.items()):
            for group in groups:
                sums = self._sums.setdefault((dimension, group[1]), [0] * len(OF_MANY))
                for at, number in enumerate(group[2:6]):
                    sums[at] += number
                sums[4] += group[6] > 0
                sums[5] += group[7] > 0

    def lines(self, frame: ReportFrame) -> Iterator[bytes]:
        """Yield a line for the total, and one for each editor, language, model and organization."""
        self._sums.setdefault((TOTAL, 0), [0] * len(OF_MANY))
        for (dimension, name_id), sums in sorted(self._sums.items(), key=_in_order):
            said = _dimension(dimension, frame.name(dimension, name_id))
            yield _line(frame.head, said, dict(zip(OF_MANY, sums, strict=True)))


def _in_order(item: tuple[tuple[str, int], list[int]]) -> tuple[bool, str, int]:
    (dimension, name_id), _ = item
    return dimension != TOTAL, dimension, name_id
