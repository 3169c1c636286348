"""The settings for administrators: they are validated, and the token is never shown."""

import pytest

from hub.cli.service.configuration import configure
from store.errors import Unusable


def test_a_token_is_not_shown(run, monkeypatch, tmp_path):
    monkeypatch.setenv("TOCSIN_ADMIN_TOKEN", "a token for admins")
    assert configure({}).settings.admin_token.get_secret_value() == "a token for admins"
    for said in (run("settings").stdout, run("settings", "--json").stdout):
        assert "admin_token" in said
        assert "a token for admins" not in said


def test_one_that_is_no_good_is_not_shown_either(run, monkeypatch, tmp_path):
    monkeypatch.setenv("TOCSIN_ADMIN_TOKEN", "hush")
    with pytest.raises(Unusable) as refused:
        configure({})
    assert "admin_token: must have at least 16 characters (from TOCSIN_ADMIN_TOKEN)" in str(
        refused.value
    )
    assert "hush" not in str(refused.value)
    assert "hush" not in run("settings", code=1).stderr


def test_a_wrong_place_is_refused(monkeypatch):
    monkeypatch.setenv("TOCSIN_ADMIN_BIND", "9186")
    with pytest.raises(Unusable, match="admin_bind: must be host:port"):
        configure({})
