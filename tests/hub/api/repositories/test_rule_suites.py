"""Rule suites of repositories and organizations."""

from functools import partial
from typing import Any

import httpx
import pytest
from assertions import assert_error, links
from bearer import by
from hypothesis import given, settings
from hypothesis import strategies as st
from platform_events import report
from transactions import transaction

from store import Row, Store
from store.accounts import accounts
from store.clock import DAY, HOUR, MINUTE, iso
from store.repositories import repositories, rule_suites

HELLO = "/repos/octo/hello/rulesets/rule-suites"
ACME = "/orgs/acme/rulesets/rule-suites"
NOW = 1_795_246_380_000_000
REPORTED: dict[str, Any] = {
    "id": 21,
    "actor_name": "octo",
    "before_sha": "893f768e172fb1bc9c5d6f3dd48557e45f14e01d",
    "after_sha": "dedd88641a362b6b4ea872da4847d6131a164d01",
    "ref": "refs/heads/i-see-everything",
    "pushed_at": iso(NOW - MINUTE),
    "result": "bypass",
}
EVALUATIONS: list[dict[str, Any]] = [
    {
        "rule_source": {"type": "ruleset", "id": 2, "name": "Author email must be a company's"},
        "enforcement": "active",
        "result": "pass",
        "rule_type": "commit_author_email_pattern",
        "details": None,
    },
    {
        "rule_source": {"type": "protected_branch"},
        "enforcement": "active",
        "result": "fail",
        "rule_type": "pull_request",
        "details": "Changes must be made through a pull request",
    },
    {
        "rule_source": {"type": "ruleset", "id": 3, "name": "Tried"},
        "enforcement": "evaluate",
        "result": "pass",
        "rule_type": "deletion",
        "details": None,
    },
]


@pytest.fixture
def tools(store: Store, seed: Any) -> Row:
    """The repository acme/tools. octo owns the organization acme."""

    with transaction(store) as db:
        acme = accounts.create(db, "acme", kind="Organization")
        accounts.join(db, acme["id"], seed.octo["id"], "admin")
        return repositories.create(db, acme["id"], "tools")


def reflect(store: Store, repo: Row, suite: Any, name: str = "push", **more: Any) -> None:
    report(store, repo, name, source_id=0, rule_suite=suite, **more)


def make(store: Store, repo: Row, number: int, **changed: Any) -> None:
    reflect(store, repo, REPORTED | {"id": number} | changed)


async def ids(client: httpx.AsyncClient, path: str, **query: Any) -> list[int]:
    answer = await client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return [suite["id"] for suite in answer.json()]


async def test_a_rule_suite_is_shown(
    client: httpx.AsyncClient, store: Store, seed: Any, tools: Row
) -> None:
    for repo, path in ((seed.hello, HELLO), (tools, ACME)):
        reflect(store, repo, REPORTED | {"rule_evaluations": EVALUATIONS})
        item = {
            **REPORTED,
            "actor_id": seed.octo["id"],
            "repository_id": repo["id"],
            "repository_name": repo["name"],
            "evaluation_result": "pass",
        }
        assert (await client.get(path)).json() == [item]
        whole = (await client.get(f"{path}/21")).json()
        listed = [{**one} for one in EVALUATIONS]
        assert whole == {**item, "rule_evaluations": listed}
    in_acme = "/repos/acme/tools/rulesets/rule-suites"
    assert (await client.get(f"{in_acme}/21")).json()["repository_name"] == "tools"


async def test_members_that_no_event_brought_are_null(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    given = {name: REPORTED[name] for name in ("id", "before_sha", "after_sha", "ref")}
    reflect(store, seed.hello, given)
    (item,) = (await client.get(HELLO)).json()
    assert item["pushed_at"] == "2026-11-21T07:33:00Z"
    assert item["result"] == "pass"
    assert item.keys().isdisjoint({"actor_id", "actor_name", "evaluation_result"})
    whole = (await client.get(f"{HELLO}/21")).json()
    assert (whole["actor_id"], whole["actor_name"]) == (None, None)
    assert (whole["evaluation_result"], whole["rule_evaluations"]) == (None, [])


@pytest.mark.parametrize(
    ("rules", "result", "evaluated"),
    [
        ([("active", "pass")], "pass", None),
        ([("active", "pass"), ("active", "fail")], "fail", None),
        ([("evaluate", "fail")], "pass", "fail"),
        ([("evaluate", "pass"), ("active", "fail")], "fail", "pass"),
        ([("deleted ruleset", "fail")], "pass", None),
    ],
)
async def test_the_result_follows_from_the_evaluations(
    client: httpx.AsyncClient,
    store: Store,
    seed: Any,
    rules: Any,
    result: str,
    evaluated: str | None,
) -> None:
    given = {name: REPORTED[name] for name in ("id", "before_sha", "after_sha", "ref")}
    reported = [
        {**EVALUATIONS[0], "enforcement": enforcement, "result": one} for enforcement, one in rules
    ]
    reflect(store, seed.hello, given | {"rule_evaluations": reported})
    whole = (await client.get(f"{HELLO}/21")).json()
    assert (whole["result"], whole["evaluation_result"]) == (result, evaluated)


async def test_an_unnamed_actor_is_the_sender_of_the_event(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    given = {name: REPORTED[name] for name in REPORTED if name != "actor_name"}
    reflect(store, seed.hello, given, sender={"login": "reader"})
    assert (await client.get(f"{HELLO}/21")).json()["actor_name"] == "reader"


async def test_rule_suites_of_a_ref(
    client: httpx.AsyncClient, store: Store, seed: Any, tools: Row
) -> None:
    for repo, path in ((seed.hello, HELLO), (tools, ACME)):
        names = ("refs/heads/main", "refs/tags/main", "refs/heads/x/main", "refs/heads/maintain")
        for number, ref in enumerate(names, 1):
            make(store, repo, number, ref=ref)
        assert await ids(client, path, ref="main") == [2, 1]
        assert await ids(client, path, ref="refs/heads/main") == [1]
        assert await ids(client, path, ref="refs/tags/main") == [2]
        assert await ids(client, path, ref="x/main") == [3]
        assert await ids(client, path, ref="refs/heads/x") == []
        assert await ids(client, path, ref="MAIN") == []
        for wild in ("ma*", "ma?n", "[m]ain", "*", "refs/heads/*"):
            assert_error(await client.get(path, params={"ref": wild}), 422)


@pytest.mark.parametrize(
    ("period", "length"),
    [("hour", HOUR), ("day", DAY), (None, DAY), ("week", 7 * DAY), ("month", 30 * DAY)],
)
async def test_time_periods(
    client: httpx.AsyncClient, store: Store, seed: Any, tools: Row, period: str | None, length: int
) -> None:
    query = {} if period is None else {"time_period": period}
    for repo, path in ((seed.hello, HELLO), (tools, ACME)):
        for number, age in enumerate((0, length, length + MINUTE), 1):
            make(store, repo, number, pushed_at=iso(NOW - age))
        assert await ids(client, path, **query) == [1, 2]


async def test_filters_of_rule_suites(
    client: httpx.AsyncClient, store: Store, seed: Any, tools: Row
) -> None:
    active, _, tried = EVALUATIONS
    for repo, path in ((seed.hello, HELLO), (tools, ACME)):
        make(store, repo, 1, result="pass", actor_name="reader", rule_evaluations=[active])
        make(store, repo, 2, result="fail", rule_evaluations=[active, tried])
        make(store, repo, 3, result="bypass", rule_evaluations=[tried])
        assert await ids(client, path) == [3, 2, 1]
        for result, found in (("pass", [1]), ("fail", [2]), ("bypass", [3]), ("all", [3, 2, 1])):
            assert await ids(client, path, rule_suite_result=result) == found
        for status, found in (("active", [2, 1]), ("evaluate", [3, 2]), ("all", [3, 2, 1])):
            assert await ids(client, path, evaluate_status=status) == found
        assert await ids(client, path, actor_name="Reader") == [1]
        assert await ids(client, path, actor_name="nobody") == []
        both = {"evaluate_status": "active", "rule_suite_result": "fail", "actor_name": "octo"}
        assert await ids(client, path, **both) == [2]
        for query in ("time_period=year", "rule_suite_result=x", "evaluate_status=x", "ref=%00"):
            assert_error(await client.get(f"{path}?{query}"), 422)


async def test_an_organization_s_repositories(
    client: httpx.AsyncClient, store: Store, seed: Any, tools: Row
) -> None:
    kit = store.write_sync(repositories.create, tools["owner_id"], "kit", private=True)
    make(store, tools, 1)
    make(store, kit, 2, pushed_at=iso(NOW))
    make(store, seed.hello, 3)
    assert await ids(client, ACME) == [2, 1]
    assert await ids(client, ACME, repository_name="Kit") == [2]
    assert await ids(client, ACME, repository_name="hello") == []
    assert (await client.get(f"{ACME}/2")).json()["repository_name"] == "kit"
    assert_error(await client.get(f"{ACME}/3"), 404)
    assert_error(await client.get("/repos/acme/tools/rulesets/rule-suites/2"), 404)


async def test_private_repositories_need_a_token_that_shows_them(
    client: httpx.AsyncClient, store: Store, seed: Any, tools: Row
) -> None:
    kit = store.write_sync(repositories.create, tools["owner_id"], "kit", private=True)
    other = store.write_sync(repositories.create, tools["owner_id"], "other", private=True)
    make(store, kit, 1, result="fail")
    make(store, tools, 1)
    make(store, kit, 2)
    make(store, other, 3)

    octo = partial(by, store, seed.octo)

    async def shown(headers: dict[str, str], **query: Any) -> list[tuple[int, str]]:
        answer = await client.get(ACME, headers=headers, params=query)
        return sorted((one["id"], one["repository_name"]) for one in answer.json())

    for kind in ("personal", "oauth"):
        for scopes in ([], ["gist"], ["read:org"], ["admin:org"]):
            for path in (ACME, f"{ACME}/1"):
                answer = await client.get(path, headers=octo(kind=kind, scopes=scopes))
                assert_error(answer, 403)
                assert answer.headers["X-Accepted-OAuth-Scopes"] == "repo, public_repo"
        public = octo(kind=kind, scopes=["public_repo", "admin:org"])
        assert await shown(public) == [(1, "tools")]
        assert await shown(public, repository_name="kit") == []
        assert (await client.get(f"{ACME}/1", headers=public)).json()["repository_name"] == "tools"
        # Both paths hide a suite of a private repository: the organization's and the repository's.
        hidden = await client.get(f"{ACME}/2", headers=public)
        twin = await client.get("/repos/acme/kit/rulesets/rule-suites/2", headers=public)
        missing = await client.get(f"{ACME}/9", headers=public)
        assert hidden.json() == missing.json()
        assert (hidden.status_code, twin.status_code) == (404, 404)
    assert len(await shown(octo(scopes=["repo"]))) == 4
    permissions = {"organization_administration": "write"}
    only = octo(kind="fine_grained", permissions=permissions, repositories=[kit["id"]])
    assert await shown(only) == [(1, "kit"), (1, "tools"), (2, "kit")]


async def test_rule_suites_in_pages(client: httpx.AsyncClient, store: Store, seed: Any) -> None:
    for number in range(1, 6):
        make(store, seed.hello, number, pushed_at=iso(NOW - number * MINUTE))
    answer = await client.get(HELLO, params={"per_page": 2, "page": 2, "ref": "i-see-everything"})
    assert [suite["id"] for suite in answer.json()] == [3, 4]
    assert links(answer)["last"].endswith("per_page=2&page=3&ref=i-see-everything")


async def test_rule_suites_need_a_writing_administrator(
    client: httpx.AsyncClient, store: Store, seed: Any, tools: Row
) -> None:
    make(store, tools, 1)
    make(store, seed.hello, 1)

    def header(who: Row, **given: Any) -> dict[str, str]:
        return by(store, who, **given)

    def fine(**permissions: str) -> dict[str, str]:
        return header(seed.octo, kind="fine_grained", permissions=permissions)

    for path, enough in ((HELLO, "administration"), (ACME, "organization_administration")):
        for at in (path, f"{path}/1"):
            assert (await client.get(at, headers=fine(**{enough: "write"}))).status_code == 200
            assert_error(await client.get(at, headers=fine(**{enough: "read"})), 403)
            assert_error(await client.get(at, headers={"Authorization": ""}), 401)
    reader = header(seed.reader, scopes=["repo"])
    assert_error(await client.get(HELLO, headers=reader), 403)
    assert_error(await client.get(ACME, headers=reader), 404)


async def test_a_later_event_updates_a_rule_suite(
    client: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    make(store, seed.hello, 21, rule_evaluations=EVALUATIONS)
    reflect(store, seed.hello, {"id": 21, "result": "fail"}, "anything")
    whole = (await client.get(f"{HELLO}/21")).json()
    assert (whole["result"], whole["ref"]) == ("fail", REPORTED["ref"])
    assert len(whole["rule_evaluations"]) == 3
    reflect(store, seed.hello, {"id": 22, "result": "fail"})
    assert_error(await client.get(f"{HELLO}/22"), 404)


odd = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.just("\0"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*REPORTED, *EVALUATIONS[0], "type", "name"]), inner, max_size=4
        )
    ),
    max_leaves=10,
)


@settings(max_examples=40)
@given(changed=st.dictionaries(st.sampled_from([*REPORTED, "rule_evaluations"]), odd))
def test_any_rule_suite_is_projected_without_an_error(
    store: Store, seed: Any, changed: Any
) -> None:
    reflect(store, seed.hello, REPORTED | changed)
    reflect(store, seed.hello, changed)
    row = store.read_sync(rule_suites.get, seed.hello["id"], 21)
    assert row is None or row["result"] in rule_suites.RESULTS
