"""Email addresses: their syntax and normal form, compared with another implementation."""

import pytest
from email_validator import EmailNotValidError, validate_email
from hypothesis import given
from hypothesis import strategies as st

from store.accounts.email_address import normalize

RIGHT = {
    "A.b+c@Example.COM": "A.b+c@example.com",
    "ünï@bücher.example": "ünï@bücher.example",
    "a@xn--bcher-kva.de": "a@bücher.de",
    "a@ＥＸ.org": "a@ex.org",
    "e\u0301@ex.org": "é@ex.org",
    "o'hara/x=y@a.b.c-d.org": "o'hara/x=y@a.b.c-d.org",
}
WRONG = (
    "ada", "@", "", "a@", "@ex.org", "a@b@c.example", "a b@c.example", "a@c", "a\0@c.d",
    '"quoted x"@ex.org', "a@localhost", "a@ex..org", "a@-ex.org",
    "a@ex.org.", "a@[127.0.0.1]", ".a@ex.org", "a.@ex.org", "a..b@ex.org", "a@1.2.3.4",
    "a@exa_mple.org", "a\u200b@ex.org", "a@x.123", "a@ex.org ", " a@ex.org", "a@b.example\n",
    "a@" + "b" * 64 + ".org", "a" * 250 + "@ex.org", "a@" + "b." * 130 + "org", "a@xn--.org",
    "a@ex\u202e.org", "\u202ea@ex.org", "a@.org", "=?utf-8?q?a?=@ex.org", "a=?b@ex.org",
)  # fmt: skip


@pytest.mark.parametrize(("address", "normal"), RIGHT.items())
def test_an_address_has_a_normal_form(address: str, normal: str) -> None:
    assert normalize(address) == normal
    assert normalize(normal) == normal


@pytest.mark.parametrize("address", WRONG)
def test_an_invalid_address_is_rejected(address: str) -> None:
    with pytest.raises(ValueError):
        normalize(address)


PIECE = st.text("aZ09.-_+'ßé\u200b @\n\0", max_size=12)


@given(PIECE, PIECE, st.sampled_from(["org", "example", "test", "1", "c-d", "é", ""]))
def test_each_accepted_address_is_one_of_the_other_implementation_too(
    local: str, domain: str, top: str
) -> None:
    address = f"{local}@{domain}.{top}"
    try:
        normal = normalize(address)
    except ValueError:
        return
    try:
        assert (
            validate_email(address, check_deliverability=False, test_environment=True).normalized
            == normal
        )
    except EmailNotValidError as error:
        raise AssertionError(f"{address!r} is accepted, but {error}") from None
