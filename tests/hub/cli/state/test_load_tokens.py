"""State documents: tokens that exist already, and keys that their entries leave out."""

import json
from typing import Any

import pytest

from store.accounts import tokens

pytestmark = pytest.mark.usefixtures("url")

VALUE = tokens.new_value("fine_grained")
APP = {"name": "Mill", "owner": "ada", "url": "https://mill.example/", "kind": "integration"}
DOCUMENT: dict[str, Any] = {
    "users": [{"login": "ada"}],
    "apps": [{**APP, "permissions": {"checks": "write", "issues": "read"}}],
    "installations": [{"app": "Mill", "account": "ada"}],
    "tokens": [
        {"user": "ada", "note": "ci", "scopes": ["repo"], "expires_at": "2100-01-01T00:00:00Z"},
        {"user": "ada", "value": VALUE, "kind": "fine_grained", "permissions": {"issues": "write"}},
        {"user": "ada", "app": "Mill", "note": "hers", "fingerprint": "laptop"},
        {"user": "ada", "app": "Mill", "note": "its", "kind": "installation",
         "permissions": {"checks": "read"}},
    ],
}  # fmt: skip
CI, FINE, HERS, ITS = (
    {"user": "ada", "note": "ci"},
    {"user": "ada", "value": VALUE},
    {"user": "ada", "app": "Mill", "note": "hers"},
    {"user": "ada", "app": "Mill", "note": "its"},
)


@pytest.fixture
def load(run: Any) -> Any:
    def call(*wanted: Any, code: int = 0) -> Any:
        return run("load", "-", code=code, stdin=json.dumps({"tokens": wanted}))

    run("load", "-", stdin=json.dumps(DOCUMENT))
    return call


def test_tokens_keep_the_keys_that_their_entries_leave_out(load: Any) -> None:
    assert "0 created, 0 updated, 4 unchanged" in load(CI, FINE, HERS, ITS).stdout


@pytest.mark.parametrize(
    "wanted",
    [
        {**HERS, "permissions": {}},
        {**HERS, "permissions": {"checks": "write", "issues": "read"}},
        {**ITS, "kind": "installation", "permissions": {"metadata": "read", "checks": "read"}},
        {**ITS, "kind": "installation", "expires_at": None},
    ],
)
def test_a_token_with_its_defaults_is_unchanged(load: Any, wanted: dict[str, Any]) -> None:
    assert "0 created, 0 updated, 1 unchanged" in load(wanted).stdout


@pytest.mark.parametrize(
    "wanted",
    [
        {**CI, "scopes": []},
        {**CI, "kind": "fine_grained"},
        {**CI, "expires_at": None},
        {**FINE, "permissions": {}},
        {**FINE, "app": None, "permissions": {"issues": "read"}},
        {**FINE, "app": "Mill"},
        {**HERS, "fingerprint": None},
        {**HERS, "permissions": {"checks": "read"}},
        {**ITS, "kind": "installation", "permissions": {"checks": "write"}},
    ],
)
def test_a_given_key_that_differs_is_refused(load: Any, wanted: dict[str, Any]) -> None:
    assert "this token exists with other values" in load(wanted, code=2).stderr


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"permissions": {"issues": "read"}}, "a token of the kind personal has scopes"),
        ({"kind": "fine_grained", "scopes": ["repo"]}, "a token of the kind fine_grained has perm"),
        ({"app": "Mill", "scopes": ["repo"]}, "a token of the kind app_user has permissions"),
    ],
)
def test_rights_that_a_token_would_ignore_are_refused(
    load: Any, wanted: dict[str, Any], said: str
) -> None:
    assert said in load({"user": "ada", "note": "new", **wanted}, code=2).stderr


@pytest.mark.parametrize("ignored", [{"permissions": {"issues": "read"}}, {"events": ["push"]}])
def test_rights_that_an_oauth_application_would_ignore_are_refused(
    run: Any, ignored: dict[str, Any]
) -> None:
    oauth = {"name": "Lab", "owner": "ada", "url": "https://lab.example/", "kind": "oauth"}
    wrong = {"users": [{"login": "ada"}], "apps": [{**oauth, **ignored}]}
    said = "only an integration has permissions and events, and Lab is an OAuth app"
    assert said in run("load", "-", code=2, stdin=json.dumps(wrong)).stderr
    run("load", "-", stdin=json.dumps({**wrong, "apps": [oauth]}))
    assert said in run("load", "-", code=2, stdin=json.dumps(wrong)).stderr
