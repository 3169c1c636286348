"""Known licenses, and the license of a repository."""

import base64
import hashlib
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from assertions import BASE, assert_error, links
from bearer import bearer, by

from store import Connection, Store
from store.accounts import tokens
from store.clock import MovableClock
from store.projection import projection_table, repository_projection
from store.repositories import license_catalog, licenses, repositories, watching
from store.repositories.licenses import LicenseFile

LICENSE = "/repos/octo/hello/license"
ISC = license_catalog.get("isc")
assert ISC is not None
TEXT = ISC.body.replace("[year]", "2026").replace("[fullname]", "Octo").encode()


def put(
    store: Store,
    repo: Any,
    content: bytes = TEXT,
    *,
    path: str = "LICENSE",
    branch: str = "main",
) -> None:
    store.write_sync(licenses.put, repo["id"], branch, LicenseFile(path, content))


async def test_common_licenses_come_first(hub: httpx.AsyncClient) -> None:
    answer = await hub.get("/licenses")
    assert answer.status_code == 200
    keys = [each["key"] for each in answer.json()]
    assert keys[:3] == ["apache-2.0", "gpl-3.0", "mit"]
    assert len(keys) == 30
    assert links(answer)["next"].endswith("/licenses?page=2")
    assert answer.json()[2] == {
        "key": "mit",
        "name": "MIT License",
        "spdx_id": "MIT",
        "url": f"{BASE}/licenses/mit",
        "node_id": "MDc6TGljZW5zZW1pdA==",
    }


async def test_every_known_one_is_listed(hub: httpx.AsyncClient) -> None:
    answer = await hub.get("/licenses?per_page=100")
    keys = [each["key"] for each in answer.json()]
    assert keys == [each.key for each in license_catalog.list_all()]
    for key in keys:
        assert (await hub.get(f"/licenses/{key}")).status_code == 200


async def test_featured_licenses_can_be_selected(hub: httpx.AsyncClient) -> None:
    featured = (await hub.get("/licenses?featured=true")).json()
    assert [each["key"] for each in featured] == ["apache-2.0", "gpl-3.0", "mit"]
    page = await hub.get("/licenses?featured=true&per_page=1&page=2")
    assert [each["key"] for each in page.json()] == ["gpl-3.0"]
    assert "featured=true" in links(page)["next"]
    others = (await hub.get("/licenses?featured=false&per_page=100")).json()
    assert not {each["key"] for each in featured} & {each["key"] for each in others}
    assert_error(await hub.get("/licenses?featured=maybe"), 422)


async def test_a_license_is_shown_with_its_text(hub: httpx.AsyncClient) -> None:
    content = (await hub.get("/licenses/MIT")).json()
    body = content.pop("body")
    assert body.startswith("MIT License\n\nCopyright (c) [year] [fullname]\n")
    assert content == {
        "key": "mit",
        "name": "MIT License",
        "spdx_id": "MIT",
        "url": f"{BASE}/licenses/mit",
        "node_id": "MDc6TGljZW5zZW1pdA==",
        "html_url": "http://choosealicense.com/licenses/mit/",
        "description": content["description"],
        "implementation": content["implementation"],
        "permissions": ["commercial-use", "modifications", "distribution", "private-use"],
        "conditions": ["include-copyright"],
        "limitations": ["liability", "warranty"],
        "featured": True,
    }
    assert (await hub.get("/licenses/isc")).json()["featured"] is False


@pytest.mark.parametrize("key", ["nothing", "other", "..%2Fmit", "mit%00"])
async def test_an_unknown_license_is_not_found(hub: httpx.AsyncClient, key: str) -> None:
    assert_error(await hub.get(f"/licenses/{key}"), 404, "Not Found")


async def test_licenses_can_be_read_with_any_token(
    hub: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    for kind in tokens.KINDS:
        headers = by(store, seed.octo, kind=kind)
        for path in ("/licenses", "/licenses/mit"):
            assert (await hub.get(path, headers=headers)).status_code == 200
    assert_error(await hub.get("/licenses", headers={"Authorization": "Bearer no"}), 401)


async def test_a_repository_s_license(
    hub: httpx.AsyncClient, store: Store, seed: Any, clock: Any
) -> None:
    assert_error(await hub.get(LICENSE), 404, "Not Found")
    put(store, seed.hello)
    clock.advance(61)
    answer = await hub.get(LICENSE)
    content = answer.json()
    sha = hashlib.sha1(b"blob %d\0" % len(TEXT) + TEXT, usedforsecurity=False).hexdigest()
    assert base64.b64decode(content.pop("content")) == TEXT
    url = f"{BASE}/repos/octo/hello/contents/LICENSE?ref=main"
    page = "https://forge.example/octo/hello"
    blob = f"{BASE}/repos/octo/hello/git/blobs/{sha}"
    assert content == {
        "name": "LICENSE",
        "path": "LICENSE",
        "sha": sha,
        "size": len(TEXT),
        "url": url,
        "html_url": f"{page}/blob/main/LICENSE",
        "git_url": blob,
        "download_url": f"{page}/raw/main/LICENSE",
        "type": "file",
        "encoding": "base64",
        "_links": {"self": url, "git": blob, "html": f"{page}/blob/main/LICENSE"},
        "license": {
            "key": "isc",
            "name": "ISC License",
            "spdx_id": "ISC",
            "url": f"{BASE}/licenses/isc",
            "node_id": "MDc6TGljZW5zZWlzYw==",
        },
    }
    assert answer.headers["Last-Modified"] == "Sat, 21 Nov 2026 07:33:00 GMT"


async def test_an_unknown_license_is_shown_as_other(
    hub: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    put(store, seed.hello, b"All of it is mine.", path="docs/COPYING")
    content = (await hub.get(LICENSE)).json()
    assert (content["name"], content["path"]) == ("COPYING", "docs/COPYING")
    assert content["license"] == {
        "key": "other",
        "name": "Other",
        "spdx_id": "NOASSERTION",
        "url": None,
        "node_id": "MDc6TGljZW5zZW90aGVy",
    }


async def test_an_older_license_is_sent_if_it_takes_the_place_of_a_newer_one(
    hub: httpx.AsyncClient, store: Store, seed: Any, clock: MovableClock
) -> None:
    other = store.write_sync(repositories.create, seed.octo["id"], "other")
    put(store, other, b"A third one.")
    put(store, seed.hello, b"Another one.", branch="next")
    clock.advance(3600)
    put(store, seed.hello)

    async def changed(change: Callable[[Connection], Any]) -> Any:
        clock.advance(3600)
        before = await hub.get(LICENSE)
        since = {"If-Modified-Since": before.headers["Last-Modified"]}
        assert (await hub.get(LICENSE, headers=since)).status_code == 304
        store.write_sync(change)
        clock.advance(3600)
        return (await hub.get(LICENSE, headers=since)).json()

    def swap(db: Connection) -> None:
        repositories.rename(db, seed.hello, "former")
        repositories.rename(db, other, "hello")

    def next_branch(db: Connection) -> None:
        event = projection_table.projected_events(db)
        repository_projection.put(db, seed.hello, {"default_branch": "next"}, event)

    assert (await changed(next_branch))["size"] == len(b"Another one.")
    assert (await changed(swap))["size"] == len(b"A third one.")


async def test_the_license_of_a_branch_is_found(
    hub: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    put(store, seed.hello)
    put(store, seed.hello, b"Another one.", branch="a/b")
    for ref in ("", "HEAD", "main", "heads/main", "refs/heads/main"):
        answer = await hub.get(LICENSE, params={"ref": ref})
        assert answer.json()["license"]["key"] == "isc"
    for ref in ("a/b", "refs/heads/a/b"):
        content = (await hub.get(LICENSE, params={"ref": ref})).json()
        assert content["license"]["key"] == "other"
        assert content["url"].endswith("/contents/LICENSE?ref=a%2Fb")
    for ref in ("nothing", "refs/tags/main"):
        assert_error(await hub.get(LICENSE, params={"ref": ref}), 404)
    assert_error(await hub.get(LICENSE, params={"ref": "a\0"}), 422)


async def test_the_file_as_it_is(hub: httpx.AsyncClient, store: Store, seed: Any) -> None:
    content = b"Fran\xe7ois \0 <b>\r\n"
    put(store, seed.hello, content)
    answer = await hub.get(LICENSE, headers={"Accept": "application/vnd.service.raw+json"})
    assert (answer.status_code, answer.content) == (200, content)
    assert answer.headers["Content-Type"].startswith("application/vnd.service.raw+json")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


async def html(hub: httpx.AsyncClient) -> str:
    answer = await hub.get(LICENSE, headers={"Accept": "application/vnd.service.v3.html+json"})
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("application/vnd.service.html+json")
    return answer.text


async def test_the_license_file_is_rendered(
    hub: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    put(store, seed.hello, b"Mine & <b>yours</b>\n")
    assert await html(hub) == "<pre>Mine &amp; &lt;b&gt;yours&lt;/b&gt;\n</pre>"
    put(store, seed.hello, b"# Mine\n\n* and *yours*\n", path="LICENSE.md")
    shown = await html(hub)
    assert "<h1>Mine</h1>" in shown
    assert "<em>yours</em>" in shown


@pytest.mark.parametrize(
    "text",
    [
        b"<script>alert(1)</script>",
        b"<img src=x onerror=alert(1)>",
        b"[a](javascript:alert(1))",
        b'<a href="javascript:alert(1)">a</a>',
        b"<iframe src='https://evil.example/'></iframe>",
        b"<style>*{display:none}</style>",
    ],
)
async def test_a_rendered_license_is_safe(
    hub: httpx.AsyncClient, store: Store, seed: Any, text: bytes
) -> None:
    put(store, seed.hello, b"# Mine\n\n" + text, path="LICENSE.md")
    shown = await html(hub)
    for bad in ("<script", "onerror", 'href="javascript:', "<iframe", "<style"):
        assert bad not in shown
    put(store, seed.hello, b"</pre>" + text)
    assert (await html(hub)).count("<") == 2


async def test_unsupported_forms_are_refused(
    hub: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    put(store, seed.hello)
    for form in ("text", "full"):
        accept = {"Accept": f"application/vnd.service.{form}+json"}
        assert (await hub.get(LICENSE, headers=accept)).status_code == 406
    # github3.py asks for this form with every request.
    accept = {"Accept": "application/vnd.github.v3.full+json"}
    assert (await hub.get(LICENSE, headers=accept)).json() == (await hub.get(LICENSE)).json()


async def test_the_license_of_a_private_repository_is_hidden(
    hub: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    put(store, seed.vault)
    path = "/repos/octo/vault/license"

    async def status(value: str | None) -> int:
        headers = {} if value is None else bearer(value)
        return (await hub.get(path, headers=headers)).status_code

    assert await status(None) == 404
    assert await status(seed.reader_token) == 404
    assert await status(seed.token) == 200
    for permission, expected in (("contents", 200), ("metadata", 403)):
        value, _ = store.write_sync(
            tokens.create, seed.octo["id"], kind="installation", permissions={permission: "read"}
        )
        assert await status(value) == expected


async def test_unchanged_licenses_are_answered_with_304(
    hub: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    put(store, seed.hello)
    for path in ("/licenses", "/licenses/mit", LICENSE):
        etag = (await hub.get(path)).headers["ETag"]
        answer = await hub.get(path, headers={"If-None-Match": etag})
        assert (answer.status_code, answer.content) == (304, b"")


async def test_repositories_show_their_license(
    hub: httpx.AsyncClient, store: Store, seed: Any
) -> None:
    put(store, seed.hello)
    given = {"subscribed": True, "ignored": False}
    store.write_sync(watching.put, seed.hello["id"], seed.octo["id"], **given)
    (repo,) = (await hub.get("/users/octo/subscriptions")).json()
    assert repo["license"]["key"] == "isc"
