"""Usage and its policy in a state document."""

import json

import pytest

WORLD = """
users: [{login: ann}]
organizations: [{login: acme, members: {ann: member}}, {login: other}]
repositories: [{name: acme/tools}, {name: ann/own}]
enterprises:
  - {slug: globe, organizations: [acme], usage_metrics: enabled}
"""
ROW = "{enterprise: globe, organization: acme, user: ann, day: 2026-01-02"


def changes(run, text):
    return [
        (each["kind"], each["outcome"])
        for each in json.loads(run("load", "-", "--json", stdin=text).stdout)["changes"]
    ]


def test_the_policy_of_an_enterprise_is_loaded(run):
    assert ("enterprise", "created") in changes(run, WORLD)
    off = "enterprises: [{slug: globe, usage_metrics: disabled}]"
    assert changes(run, off) == [("enterprise", "updated")]
    assert changes(run, off) == [("enterprise", "unchanged")]
    assert changes(run, "enterprises: [{slug: globe}]") == [("enterprise", "unchanged")]


def test_rows(run):
    run("load", "-", stdin=WORLD)
    row = f"usage: [{ROW}, repository: acme/tools, lines: %d}}]"
    assert changes(run, row % 1) == [("usage", "created")]
    assert changes(run, row % 1) == [("usage", "unchanged")]
    assert changes(run, row % 2) == [("usage", "updated")]


def test_new_usage_is_reported_at_once(run, store):
    def asked_at() -> int | None:
        return store.read_sync(
            lambda db: db.value("SELECT asked_at FROM job WHERE name = 'reports'")
        )

    run("load", "-", stdin=WORLD)
    assert asked_at() is None
    row = f"usage: [{ROW}, repository: acme/tools, lines: %d}}]"
    run("load", "-", stdin=row % 1)
    first = asked_at()
    assert first is not None
    run("load", "-", stdin=row % 1)
    assert asked_at() == first
    run("job", "run", "reports")
    assert store.read_sync(lambda db: db.value("SELECT count(*) FROM report")) > 0
    assert asked_at() is None


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (f"{ROW.replace('2026-01-02', '2025-10-09')}}}", "usage begins with 2025-10-10"),
        (f"{ROW.replace('acme', 'other')}}}", "other is no organization of 'globe'"),
        (f"{ROW}, repository: ann/own}}", "ann/own is not one of acme"),
        (f"{ROW}, team: night}}", "there is no team 'night' of acme"),
        (f"{ROW}, lines: -1}}", "usage[0].lines"),
        (f"{ROW}, words: 1}}", "there is no such key"),
    ],
)
def test_wrong_usage_is_refused(run, row, said):
    run("load", "-", stdin=WORLD)
    result = run("load", "-", stdin=f"usage: [{row}]", code=2)
    assert said in result.stderr
