"""Comments on commits."""

from typing import Any

import httpx
import pytest
from assertions import BASE, assert_error, bodies, by_id, links
from bearer import bearer
from hub_client import open_client
from statement_log import statements
from transactions import transaction

from hub.rest import paging
from hub.settings import HubSettings
from store import Connection, Store
from store.accounts import accounts, tokens
from store.hooks import hooks
from store.issues import commit_comments
from store.registry import account_removal
from store.repositories import repositories
from store.repositories.markdown import RenderedText

HELLO, VAULT = "/repos/octo/hello", "/repos/octo/vault"
SHA = "6dcb09b5b57875f334f61aebed695e2e4193db5e"
OTHER = "a" * 40
ON = f"{HELLO}/commits/{SHA}/comments"
FORM = "application/vnd.service-commitcomment.{}+json"


def token(store: Store, login: str, **given: Any) -> dict[str, str]:
    def make(db: Connection) -> str:
        account = accounts.by_login(db, login) or accounts.create(db, login)
        value, _ = tokens.create(db, account["id"], **given)
        return value

    return bearer(store.write_sync(make))


def make(store: Store, seed: Any, text: str = "Well *done*", sha: str = SHA, **given: Any) -> Any:
    author = given.pop("author", seed.octo)["id"]
    repo = given.pop("repo", seed.hello)["id"]
    return store.write_sync(commit_comments.create, repo, author, sha, RenderedText(text), **given)


async def test_a_commit_comment_is_made(
    hub: httpx.AsyncClient, seed: Any, clock: Any, reader: dict[str, str]
) -> None:
    answer = await hub.post(
        ON,
        json={"body": "Well *done*", "path": "src/a.py", "position": 4, "line": 7},
        headers=reader,
    )
    assert answer.status_code == 201
    comment = answer.json()
    number = comment["id"]
    assert answer.headers["Location"] == f"{BASE}{HELLO}/comments/{number}"
    assert comment.pop("user")["login"] == "reader"
    assert comment.pop("node_id")
    assert comment == {
        "id": number,
        "url": f"{BASE}{HELLO}/comments/{number}",
        "html_url": f"https://forge.example/octo/hello/commit/{SHA}#commitcomment-{number}",
        "body": "Well *done*",
        "path": "src/a.py",
        "position": 4,
        "line": 7,
        "commit_id": SHA,
        "created_at": "2026-11-21T07:33:00Z",
        "updated_at": "2026-11-21T07:33:00Z",
        "author_association": "NONE",
    }
    clock.advance(61)
    shown = await hub.get(f"{HELLO}/comments/{number}")
    assert shown.json() == answer.json()
    assert shown.headers["Last-Modified"] == "Sat, 21 Nov 2026 07:33:00 GMT"


async def test_a_comment_is_sent_again_without_its_removed_author(
    hub: httpx.AsyncClient, store: Store, seed: Any, clock: Any
) -> None:
    one = f"{HELLO}/comments/{make(store, seed, author=seed.reader)['id']}"
    clock.advance(61)
    since = {"If-Modified-Since": (await hub.get(one)).headers["Last-Modified"]}
    assert (await hub.get(one, headers=since)).status_code == 304
    store.write_sync(account_removal.remove, seed.reader)
    assert (await hub.get(one, headers=since)).json()["user"] is None


async def test_a_comment_is_sent_again_when_its_author_has_changed(
    hub: httpx.AsyncClient, store: Store, seed: Any, clock: Any
) -> None:
    one = f"{HELLO}/comments/{make(store, seed, author=seed.reader)['id']}"
    clock.advance(61)
    since = {"If-Modified-Since": (await hub.get(one)).headers["Last-Modified"]}
    store.write_sync(accounts.set_site_admin, seed.reader["id"], True)
    clock.advance(61)
    answer = await hub.get(one, headers=since)
    assert answer.json()["user"]["site_admin"] is True
    assert answer.headers["Last-Modified"] == "Sat, 21 Nov 2026 07:34:01 GMT"


async def test_a_comment_on_a_whole_commit_has_no_place(
    hub: httpx.AsyncClient, octo: dict[str, str]
) -> None:
    comment = (await hub.post(ON, json={"body": "x"}, headers=octo)).json()
    assert (comment["path"], comment["position"], comment["line"]) == (None, None, None)
    assert comment["author_association"] == "OWNER"


async def test_a_new_comment_may_have_null_for_its_place(
    hub: httpx.AsyncClient, octo: dict[str, str]
) -> None:
    body = {"body": "x", "path": None, "position": None, "line": None}
    answer = await hub.post(ON, json=body, headers=octo)
    assert answer.status_code == 201
    assert body.items() <= answer.json().items()


async def test_comments_in_an_archived_repository_stay(
    hub: httpx.AsyncClient, store: Store, seed: Any, octo: dict[str, str]
) -> None:
    one = f"{HELLO}/comments/{make(store, seed)['id']}"
    store.write_sync(lambda db: db.execute("UPDATE repository SET archived = 1"))
    for method, at in (("POST", ON), ("PATCH", one), ("DELETE", one)):
        answer = await hub.request(method, at, json={"body": "Hm"}, headers=octo)
        assert_error(answer, 403, "Repository was archived so is read-only.")
    assert (await hub.get(one)).json()["body"] == "Well *done*"


async def test_each_author_has_an_association(
    hub: httpx.AsyncClient, store: Store, reader: dict[str, str]
) -> None:
    with transaction(store) as db:
        acme = accounts.create(db, "acme", kind="Organization")
        repo = repositories.create(db, acme["id"], "tools")
        accounts.join(db, acme["id"], accounts.create(db, "amy")["id"], "member")
        repositories.grant(db, repo["id"], accounts.create(db, "bob")["id"], "triage")
    on = f"/repos/acme/tools/commits/{SHA}/comments"
    for login, wanted in (("amy", "MEMBER"), ("bob", "COLLABORATOR"), ("carl", "NONE")):
        headers = token(store, login, scopes=["repo"])
        answer = await hub.post(on, json={"body": "x"}, headers=headers)
        assert answer.json()["author_association"] == wanted


async def test_the_oldest_first_and_in_pages(
    hub: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    made = [make(store, seed, str(n), (SHA, OTHER)[n % 2])["id"] for n in range(5)]
    make(store, seed, repo=seed.vault)
    answer = await hub.get(f"{HELLO}/comments?per_page=2&page=2")
    assert [one["id"] for one in answer.json()] == made[2:4]
    assert links(answer)["last"] == f"{by_id(HELLO)}/comments?per_page=2&page=3"
    one = await hub.get(f"{ON}?per_page=2")
    assert [comment["id"] for comment in one.json()] == [made[0], made[2]]
    assert links(one)["next"] == f"{by_id(ON)}?per_page=2&page=2"
    assert (await hub.get(f"{HELLO}/commits/{'b' * 40}/comments")).json() == []


async def test_links_beyond_the_counted_bound_leave_out_the_last_page(
    hub: httpx.AsyncClient, store: Store, seed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paging, "COUNT_LIMIT", 2)
    for number in range(4):
        make(store, seed, str(number))
    first = links(await hub.get(f"{HELLO}/comments?per_page=1"))
    assert first.keys() == {"next"}
    third = links(await hub.get(f"{HELLO}/comments?per_page=1&page=3"))
    assert third.keys() == {"prev", "next", "first"}
    fourth = links(await hub.get(f"{HELLO}/comments?per_page=1&page=4"))
    assert fourth.keys() == {"prev", "first"}


async def test_media_types_of_a_commit_comment(
    hub: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    number = make(store, seed, "Well *done* <script>x</script>")["id"]
    one = f"{HELLO}/comments/{number}"
    html = "<p>Well <em>done</em> </p>\n"
    wanted = {
        "raw": {"body": "Well *done* <script>x</script>"},
        "text": {"body_text": "Well done"},
        "html": {"body_html": html},
        "full": {
            "body": "Well *done* <script>x</script>",
            "body_text": "Well done",
            "body_html": html,
        },
    }
    for param, expected in wanted.items():
        for path in (one, f"{HELLO}/comments", ON):
            answer = await hub.get(path, headers={"Accept": FORM.format(param)})
            assert answer.headers["Content-Type"] == f"{FORM.format(param)}; charset=utf-8"
            shown = answer.json()[0] if path != one else answer.json()
            found = {name: shown[name] for name in shown if name.startswith("body")}
            assert found == expected


@pytest.mark.parametrize(
    "accept",
    [
        "*/*",
        "application/json",
        "application/vnd.service+json",
        "application/vnd.github-commitcomment.raw+json",
        "application/vnd.service.v3.raw+json",
        "",
    ],
)
async def test_usually_as_it_was_written(
    hub: httpx.AsyncClient, store: Store, seed: Any, accept: str
) -> None:
    number = make(store, seed)["id"]
    answer = await hub.get(f"{HELLO}/comments/{number}", headers={"Accept": accept})
    shown = answer.json()
    assert shown["body"] == "Well *done*"
    assert not {"body_text", "body_html"} & shown.keys()


async def test_a_write_is_answered_in_the_form_that_was_asked_for(
    hub: httpx.AsyncClient, octo: dict[str, str]
) -> None:
    headers = {**octo, "Accept": FORM.format("html")}
    answer = await hub.post(ON, json={"body": "**x**"}, headers=headers)
    assert answer.json()["body_html"] == "<p><strong>x</strong></p>\n"
    number = answer.json()["id"]
    changed = await hub.patch(f"{HELLO}/comments/{number}", json={"body": "_y_"}, headers=headers)
    assert changed.json()["body_html"] == "<p><em>y</em></p>\n"


async def test_a_commit_comment_is_edited(
    hub: httpx.AsyncClient, store: Store, seed: Any, clock: Any, octo: dict[str, str]
) -> None:
    number = make(store, seed)["id"]
    clock.advance(60)
    answer = await hub.patch(f"{HELLO}/comments/{number}", json={"body": "Hm"}, headers=octo)
    assert answer.status_code == 200
    assert answer.json()["body"] == "Hm"
    assert answer.json()["updated_at"] == "2026-11-21T07:34:00Z"
    assert answer.json()["created_at"] == "2026-11-21T07:33:00Z"
    full = await hub.get(f"{HELLO}/comments/{number}", headers={"Accept": FORM.format("full")})
    assert (full.json()["body_text"], full.json()["body_html"]) == ("Hm", "<p>Hm</p>\n")


async def test_the_same_text_changes_nothing(
    hub: httpx.AsyncClient, store: Store, seed: Any, clock: Any, octo: dict[str, str]
) -> None:
    one = f"{HELLO}/comments/{make(store, seed)['id']}"
    first = await hub.patch(one, json={"body": "Hm"}, headers=octo)
    clock.advance(60)
    again = await hub.patch(one, json={"body": "Hm"}, headers=octo)
    assert (again.status_code, again.json()) == (200, first.json())
    assert len(bodies(store, "commit_comment_change")) == 1


async def test_a_second_edit_in_the_same_second_is_sent(
    hub: httpx.AsyncClient, store: Store, seed: Any, clock: Any, octo: dict[str, str]
) -> None:
    one = f"{HELLO}/comments/{make(store, seed)['id']}"
    first = await hub.get(one)
    assert "Last-Modified" not in first.headers
    since = {"If-Modified-Since": "Sat, 21 Nov 2026 07:33:00 GMT"}
    assert (await hub.get(one, headers=since)).status_code == 200
    known = {"If-None-Match": first.headers["ETag"]}
    assert (await hub.get(one, headers=known)).status_code == 304
    clock.advance(0.4)
    await hub.patch(one, json={"body": "two"}, headers=octo)
    clock.advance(3600)
    assert (await hub.get(one, headers=known)).json()["body"] == "two"


async def test_a_deleted_comment_is_not_found(
    hub: httpx.AsyncClient, store: Store, seed: Any, octo: dict[str, str]
) -> None:
    one = f"{HELLO}/comments/{make(store, seed)['id']}"
    assert (await hub.delete(one, headers=octo)).status_code == 204
    assert_error(await hub.get(one), 404, "Not Found")
    assert_error(await hub.delete(one, headers=octo), 404)
    assert_error(await hub.patch(one, json={"body": "x"}, headers=octo), 404)


async def test_authors_and_writers_may_change_a_comment(
    hub: httpx.AsyncClient, store: Store, seed: Any, reader: dict[str, str]
) -> None:
    theirs, own = make(store, seed)["id"], make(store, seed, author=seed.reader)["id"]
    refused = await hub.patch(f"{HELLO}/comments/{theirs}", json={"body": "x"}, headers=reader)
    assert_error(refused, 403, "Must have push access to Repository.")
    refused = await hub.delete(f"{HELLO}/comments/{theirs}", headers=reader)
    assert_error(refused, 403, "Must have push access to Repository.")
    answer = await hub.patch(f"{HELLO}/comments/{own}", json={"body": "x"}, headers=reader)
    assert answer.status_code == 200
    assert (await hub.delete(f"{HELLO}/comments/{own}", headers=reader)).status_code == 204
    writer = token(store, "writer", scopes=["public_repo"])

    with transaction(store) as db:
        account = accounts.by_login(db, "writer")
        assert account is not None
        repositories.grant(db, seed.hello["id"], account["id"], "write")
    answer = await hub.patch(f"{HELLO}/comments/{theirs}", json={"body": "x"}, headers=writer)
    assert answer.status_code == 200


async def test_an_author_without_access_cannot_change_a_comment(
    hub: httpx.AsyncClient, store: Store, seed: Any, reader: dict[str, str]
) -> None:
    number = make(store, seed, repo=seed.vault, author=seed.reader)["id"]
    one = f"{VAULT}/comments/{number}"
    assert_error(await hub.patch(one, json={"body": "x"}, headers=reader), 404)
    assert_error(await hub.delete(one, headers=reader), 404)


async def test_only_tokens_that_may_change_contents(
    hub: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    one = f"{HELLO}/comments/{make(store, seed)['id']}"
    body = {"body": "x"}
    for held, may_create, may_change in (
        ({"metadata": "read"}, 403, 403),
        ({"contents": "read"}, 201, 403),
        ({"contents": "write"}, 201, 200),
    ):
        headers = token(store, "octo", kind="fine_grained", permissions=held)
        assert (await hub.post(ON, json=body, headers=headers)).status_code == may_create
        assert (await hub.patch(one, json=body, headers=headers)).status_code == may_change


@pytest.mark.parametrize("sha", ["main", "6dcb09b", "g" * 40, SHA + "0", "%00", "x" * 500])
async def test_comments_on_an_unknown_commit_are_refused(
    hub: httpx.AsyncClient, octo: dict[str, str], sha: str
) -> None:
    for answer in (
        await hub.post(f"{HELLO}/commits/{sha}/comments", json={"body": "x"}, headers=octo),
        await hub.get(f"{HELLO}/commits/{sha}/comments"),
    ):
        if sha == "%00":
            assert_error(answer, 404)
        else:
            assert_error(answer, 422, f"No commit found for SHA: {sha[:100]}")


async def test_a_commit_in_capitals_and_of_the_longer_hash(
    hub: httpx.AsyncClient, octo: dict[str, str]
) -> None:
    for sha in (SHA, "c" * 64):
        path = f"{HELLO}/commits/{sha.upper()}/comments"
        answer = await hub.post(path, json={"body": "x"}, headers=octo)
        assert answer.json()["commit_id"] == sha
        assert len((await hub.get(path)).json()) == 1


@pytest.mark.parametrize("body", ["", " \n\t"])
async def test_an_empty_comment_is_rejected(
    hub: httpx.AsyncClient, octo: dict[str, str], body: str
) -> None:
    answer = await hub.post(ON, json={"body": body}, headers=octo)
    assert_error(answer, 422, "Validation Failed", code="missing_field")


@pytest.mark.parametrize(
    "body",
    [
        {"body": "a\0b"},
        {"body": 1},
        {"body": "x", "line": -1},
        {"body": "x", "position": 2**31},
        {"body": "x", "position": "4"},
        {"body": "x", "path": "p" * 4097},
        {"path": "x"},
    ],
)
async def test_an_invalid_comment_is_rejected(
    hub: httpx.AsyncClient, octo: dict[str, str], body: Any
) -> None:
    assert_error(await hub.post(ON, json=body, headers=octo), 422)
    assert (await hub.get(ON)).json() == []


async def test_the_length_of_a_comment_is_bounded(
    store: Store, seed: Any, settings: HubSettings, octo: dict[str, str]
) -> None:
    large = settings.model_copy(update={"max_body_bytes": 1024 * 1024})
    async with open_client(store, large) as hub:
        answer = await hub.post(ON, json={"body": "x" * 65_536}, headers=octo)
        assert answer.status_code == 201
        answer = await hub.post(ON, json={"body": "x" * 65_537}, headers=octo)
        assert_error(answer, 422)


async def test_the_platforms_event(
    hub: httpx.AsyncClient, store: Store, seed: Any, octo: dict[str, str]
) -> None:
    hook = {"url": "https://receiver.example/in", "events": ["*"]}
    store.write_sync(hooks.create, seed.hello["id"], **hook)
    headers = {**octo, "Accept": FORM.format("html")}
    created = (await hub.post(ON, json={"body": "*x*"}, headers=headers)).json()
    one = f"{HELLO}/comments/{created['id']}"
    await hub.patch(one, json={"body": "y"}, headers=octo)
    await hub.delete(one, headers=octo)
    (event,) = bodies(store, "commit_comment")
    assert event.keys() == {"action", "comment", "repository", "sender"}
    assert event["action"] == "created"
    # The event has the raw body, even if the client asked for HTML in the response.
    assert event["comment"]["body"] == "*x*"
    assert "body_html" not in event["comment"]
    assert event["sender"]["login"] == "octo"
    assert event["repository"]["full_name"] == "octo/hello"
    own = bodies(store, "commit_comment_change")
    assert [(each["action"], each["comment"]["body"]) for each in own] == [
        ("edited", "y"),
        ("deleted", "y"),
    ]
    # The wildcard of the hook does not include `commit_comment_change`, the hub's own event.
    assert store.read_sync(lambda db: db.value("SELECT count(*) FROM delivery")) == 1


async def test_writing_counts_as_content(
    store: Store, seed: Any, settings: HubSettings, octo: dict[str, str]
) -> None:
    few = settings.model_copy(update={"content_per_minute": 2})
    async with open_client(store, few) as hub:
        for _ in range(2):
            assert (await hub.post(ON, json={"body": "x"}, headers=octo)).status_code == 201
        answer = await hub.post(ON, json={"body": "x"}, headers=octo)
        assert answer.status_code == 403
        assert int(answer.headers["Retry-After"]) > 0
        assert "secondary rate limit" in answer.json()["message"]
        number = (await hub.get(ON)).json()[0]["id"]
        answer = await hub.patch(f"{HELLO}/comments/{number}", json={"body": "y"}, headers=octo)
        assert answer.status_code == 200


async def test_comments_need_a_token(hub: httpx.AsyncClient) -> None:
    assert_error(await hub.post(ON, json={"body": "x"}), 401)


async def test_comments_of_a_private_repository_are_hidden(
    hub: httpx.AsyncClient, store: Store, seed: Any, octo: dict[str, str], reader: dict[str, str]
) -> None:
    number = make(store, seed, repo=seed.vault)["id"]
    for path in ("comments", f"comments/{number}", f"commits/{SHA}/comments"):
        assert (await hub.get(f"{VAULT}/{path}", headers=octo)).status_code == 200
        for headers in ({}, reader):
            assert_error(await hub.get(f"{VAULT}/{path}", headers=headers), 404)
    # The comment belongs to octo/vault, so octo/hello does not have it.
    assert_error(await hub.get(f"{HELLO}/comments/{number}", headers=octo), 404)


async def test_a_comment_of_a_removed_author_has_no_user(
    hub: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    number = make(store, seed)["id"]
    store.write_sync(lambda db: db.execute("UPDATE commit_comment SET author_id = NULL"))
    assert (await hub.get(f"{HELLO}/comments/{number}")).json()["user"] is None


async def test_more_comments_take_no_more_statements(
    hub: httpx.AsyncClient, store: Store, seed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(store, seed)
    await hub.get(f"{HELLO}/comments")
    asked = statements(monkeypatch)
    await hub.get(f"{HELLO}/comments?per_page=100")
    one = len(asked)
    for number in range(5):
        make(store, seed, author=store.write_sync(accounts.create, f"u{number}"))
    asked.clear()
    await hub.get(f"{HELLO}/comments?per_page=100")
    assert len(asked) == one
