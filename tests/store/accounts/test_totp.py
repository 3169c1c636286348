"""One-time passwords: the codes of RFC 6238, each valid once. Also stored passwords."""

import base64
from urllib.parse import parse_qs, urlsplit

import pytest
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from store_world import World

from store.accounts import accounts, totp
from store.clock import SECOND
from store.errors import Invalid

RFC_KEY = b"12345678901234567890"
SECRET = base64.b32encode(RFC_KEY).decode()


def set_up(world: World, secret: str | None = SECRET) -> str:
    return world.store.write_sync(
        totp.set_up, world.user["id"], login="ada", issuer="tocsin", secret=secret
    )


def check(world: World, code: str) -> bool:
    return world.store.write_sync(totp.check, world.user["id"], code)


def code(world: World, seconds: int = 0, key: bytes = RFC_KEY) -> str:
    made = TOTP(key, 6, SHA1(), 30).generate(world.now // SECOND + seconds)  # noqa: S303 - RFC 6238
    return made.decode()


# The vectors of RFC 6238, appendix B. Each is the last six of eight digits.
@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (59, "287082"),
        (1111111109, "081804"),
        (1111111111, "050471"),
        (1234567890, "005924"),
        (2000000000, "279037"),
        (20000000000, "353130"),
    ],
)
def test_the_standard_s_vectors(world: World, seconds: int, expected: str) -> None:
    set_up(world)
    world.clock.advance(seconds - world.now / SECOND)
    assert check(world, expected)


def test_nothing_is_asked_for_until_it_is_set_up(world: World) -> None:
    mine = world.user["id"]
    assert not world.store.read_sync(totp.required, mine)
    assert not check(world, code(world))
    set_up(world)
    assert world.store.read_sync(totp.required, mine)
    assert world.store.write_sync(totp.remove, mine)
    assert not world.store.read_sync(totp.required, mine)
    assert not world.store.write_sync(totp.remove, mine)


def test_a_code_spent_by_a_fast_clock_blocks_no_later_one(world: World) -> None:
    set_up(world)
    world.clock.advance(3600)
    assert check(world, code(world))
    world.clock.advance(-3600)
    unspent = world.store.write_sync(
        lambda db: totp.check(db, world.user["id"], code(world), spend=False)
    )
    assert unspent
    assert check(world, code(world))
    assert not check(world, code(world))


def test_a_corrected_clock_frees_no_spent_code(world: World) -> None:
    set_up(world)
    before, later = code(world), code(world, 30)
    assert check(world, before)
    assert check(world, later)
    # The code before is still valid by its time.
    world.clock.advance(-30)
    assert not check(world, before)
    assert not check(world, later)


def test_a_code_is_spent_only_on_request(world: World) -> None:
    set_up(world)
    before, now = code(world, -30), code(world)

    def read(text: str) -> bool:
        return world.store.write_sync(
            lambda db: totp.check(db, world.user["id"], text, spend=False)
        )

    assert read(now)
    assert read(before)
    assert check(world, now)
    assert read(now)
    assert not read(before)
    world.clock.advance(60)
    assert not read(now)


def test_each_code_is_good_once(world: World) -> None:
    set_up(world)
    now = code(world)
    before = code(world, -30)
    assert check(world, now)
    assert not check(world, now)
    assert not check(world, before)
    world.clock.advance(30)
    assert check(world, code(world))


@pytest.mark.parametrize(("seconds", "good"), [(-60, False), (-30, True), (30, True), (60, False)])
def test_a_clock_may_be_a_step_off(world: World, seconds: int, good: bool) -> None:
    set_up(world)
    assert check(world, code(world, seconds)) is good


def test_a_wrong_code_is_rejected(world: World) -> None:
    set_up(world)
    for wrong in (
        "",
        "12345",
        "1234567",
        "abcdef",
        "١٢٣٤٥٦",
        code(world) + "\n",
        " " + code(world),
    ):
        assert not check(world, wrong)
    wrong = f"{(int(code(world)) + 1) % 1_000_000:06d}"
    assert not check(world, wrong)
    assert check(world, code(world))


def test_the_secret_is_shown_once_and_kept_sealed(world: World) -> None:
    parts = urlsplit(set_up(world, None))
    assert (parts.scheme, parts.netloc) == ("otpauth", "totp")
    asked = parse_qs(parts.query)
    (secret,) = asked["secret"]
    assert asked["issuer"] == ["tocsin"]
    (row,) = world.store.read_sync(lambda db: db.all("SELECT * FROM one_time"))
    assert secret.encode() not in bytes(row["secret"])
    key = base64.b32decode(secret + "=" * (-len(secret) % 8))
    assert len(key) == 20
    assert check(world, code(world, key=key))
    assert world.store.read_sync(totp.is_set_up, world.user["id"], secret.lower())
    assert not world.store.read_sync(totp.is_set_up, world.user["id"], SECRET)


def test_a_new_secret_ends_the_old_one(world: World) -> None:
    set_up(world, None)
    set_up(world)
    assert check(world, code(world))


@pytest.mark.parametrize("secret", ["", "1", "AAAA", "A" * 25, "!" * 32, "é" * 32])
def test_an_invalid_secret_is_rejected(world: World, secret: str) -> None:
    with pytest.raises(Invalid):
        set_up(world, secret)


def test_stored_passwords(world: World) -> None:
    mine = world.user["id"]
    assert world.store.read_sync(accounts.stored_password, mine) is None
    assert not accounts.password_matches("", None)
    world.store.write_sync(accounts.set_password, mine, accounts.hash_password("sesame"))
    stored = world.store.read_sync(accounts.stored_password, mine)
    assert stored.startswith("$argon2id$")
    assert accounts.password_matches("sesame", stored)
    assert not accounts.password_matches("Sesame", stored)
    assert world.store.read_sync(accounts.check_password, mine, "sesame")
    world.store.write_sync(accounts.set_password, mine, None)
    assert not world.store.read_sync(accounts.check_password, mine, "sesame")
