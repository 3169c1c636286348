"""Users in person: name and password, and a one-time password where the account asks for one.

Each try is counted before it is judged, so that many at once are no way around the count. A user's
failures are forgotten when all factors were right, and not before.
"""

import asyncio
from dataclasses import dataclass

from hub.auth.credentials import BASIC, Caller, bad_pair
from hub.http.errors import Blocked, Unauthenticated
from hub.http.response import header
from hub.settings import HubSettings
from store import Connection, Row, Store
from store.accounts import accounts, logins, totp
from store.errors import Busy

# Checking one takes 64 MB and a tenth of a second of one processor.
AT_ONCE, MOST_WAITING = 2, 50


@dataclass(frozen=True, slots=True)
class Attempt:
    """A try that was counted as a failure, for its login and its address, until it is none."""

    login: str
    address: str
    counted_at: int
    times: tuple[int, int]
    """How many there are by now for each."""


class Passwords:
    """Checks passwords, few at a time and off the event loop."""

    def __init__(self, store: Store, settings: HubSettings) -> None:
        self._store = store
        self._settings = settings
        self._turn = asyncio.Semaphore(AT_ONCE)
        self._waiting = 0

    async def check(self, login: str, password: str, code: str | None, address: str) -> Caller:
        """The user. Unauthenticated, Blocked after too many failures, Busy."""
        attempt = await self._store.write(self._count, login, address)
        if attempt.times[0] > self._settings.failed_logins or (
            attempt.times[1] > self._settings.failed_logins_address
        ):
            raise Blocked
        account, stored, wants_code = await self._store.read(_load, login)
        if not await self._matches(password, stored) or account is None:
            raise bad_pair()
        if wants_code and code is None:
            await self._store.write(_undo, attempt)
            raise _challenge()
        if not await self._store.write(_finish, account["id"], wants_code, code, attempt):
            raise _challenge()
        return Caller(
            account["id"],
            account["login"],
            bool(account["site_admin"]),
            "password",
            frozenset(),
            {},
        )

    def _count(self, db: Connection, login: str, address: str) -> Attempt:
        seconds = self._settings.failed_login_seconds
        named, place = f"login {login.lower()[:100]}", f"address {address}"
        times = logins.failed(db, named, seconds), logins.failed(db, place, seconds)
        return Attempt(named, place, db.now, times)

    async def _matches(self, password: str, stored: str | None) -> bool:
        if self._waiting >= MOST_WAITING:
            raise Busy("too many passwords are being checked; try again in a moment")
        self._waiting += 1
        try:
            async with self._turn:
                return await asyncio.to_thread(accounts.password_matches, password, stored)
        finally:
            self._waiting -= 1


def _load(db: Connection, login: str) -> tuple[Row | None, str | None, bool]:
    account = accounts.by_login(db, login)
    if account is None:
        return None, None, False
    stored = accounts.stored_password(db, account["id"])
    return account, stored, totp.required(db, account["id"])


def _finish(
    db: Connection, account_id: int, wants_code: bool, code: str | None, attempt: Attempt
) -> bool:
    if wants_code and not totp.check(db, account_id, code or ""):
        return False
    logins.succeeded(db, attempt.login)
    logins.undo(db, attempt.address, attempt.counted_at)
    return True


def _undo(db: Connection, attempt: Attempt) -> None:
    """To be asked for a code is no failure; those before it stay."""
    for who in (attempt.login, attempt.address):
        logins.undo(db, who, attempt.counted_at)


def _challenge() -> Unauthenticated:
    return Unauthenticated(
        "Must specify two-factor authentication OTP code.",
        headers=[*BASIC, header("X-Service-OTP", "required; app")],
    )
