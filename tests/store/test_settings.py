"""The store's settings."""

import pytest

from store.settings import redact_url, without_password


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("sqlite", "sqlite"),
        ("sqlite:///var/lib/a@b:c.db", "sqlite:///var/lib/a@b:c.db"),
        ("postgresql://host/db", "postgresql://host/db"),
        ("postgresql://ada@host/db", "postgresql://ada@host/db"),
        ("postgresql://ada:hush@host/db", "postgresql://ada:...@host/db"),
        ("postgresql://ada:h/u@s:h@host/db", "postgresql://ada:...@host/db"),
        (
            "postgresql://host/db?user=ada&password=hush&sslmode=require",
            "postgresql://host/db?user=ada&password=...&sslmode=require",
        ),
        (
            "postgresql://ada:hush@host/db?sslpassword=hush&sslmode=require",
            "postgresql://ada:...@host/db?sslpassword=...&sslmode=require",
        ),
    ],
)
def test_the_password_of_a_database_is_not_shown(url: str, shown: str) -> None:
    assert redact_url(url) == shown


@pytest.mark.parametrize(
    ("url", "bare"),
    [
        ("sqlite:///var/lib/a@b:c.db", "sqlite:///var/lib/a@b:c.db"),
        ("postgresql://ada@host:5432/db", "postgresql://ada@host:5432/db"),
        ("postgresql://ada:h/u@s:h@host:5432/db", "postgresql://ada@host:5432/db"),
        ("postgresql://host/db?password=hush&user=ada", "postgresql://host/db?user=ada"),
        ("postgresql://host/db?sslpassword=hush&user=ada", "postgresql://host/db?user=ada"),
    ],
)
def test_a_url_without_its_password_names_the_same_database(url: str, bare: str) -> None:
    assert without_password(url) == bare
