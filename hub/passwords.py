"""Users in person: name and password, and a one-time password where the account asks for one.

Each try is counted before it is judged, so that many at once are no way around the count.
"""

import asyncio

from hub.answers import header
from hub.auth import BASIC, Caller, bad_pair
from hub.errors import Blocked, Unauthenticated
from hub.settings import HubSettings
from store import Connection, Row, Store, accounts, logins, one_time
from store.errors import Busy

# Checking one takes 64 MB and a tenth of a second of one processor.
AT_ONCE, MOST_WAITING = 2, 50


class Passwords:
    """Checks passwords, few at a time and off the event loop."""

    def __init__(self, store: Store, settings: HubSettings) -> None:
        self._store = store
        self._settings = settings
        self._turn = asyncio.Semaphore(AT_ONCE)
        self._waiting = 0

    async def check(self, login: str, password: str, code: str | None, address: str) -> Caller:
        """The user. Unauthenticated, Blocked after too many failures, Busy."""
        named = f"login {login.lower()[:100]}"
        times = await self._store.write(self._count, named, address)
        if times[0] > self._settings.failed_logins or (
            times[1] > self._settings.failed_logins_address
        ):
            raise Blocked
        account, stored, wants_code = await self._store.read(_look, login)
        if not await self._matches(password, stored) or account is None:
            raise bad_pair()
        if wants_code and code is None:
            await self._store.write(_good, named, address)
            raise _challenge()
        if not await self._store.write(_finish, account["id"], wants_code, code, named, address):
            raise _challenge()
        return Caller(
            account["id"],
            account["login"],
            bool(account["site_admin"]),
            "password",
            frozenset(),
            {},
        )

    def _count(self, db: Connection, named: str, address: str) -> tuple[int, int]:
        seconds = self._settings.failed_login_seconds
        return logins.failed(db, named, seconds), logins.failed(db, _place(address), seconds)

    async def _matches(self, password: str, stored: str | None) -> bool:
        if self._waiting >= MOST_WAITING:
            raise Busy("too many passwords are being checked; try again in a moment")
        self._waiting += 1
        try:
            async with self._turn:
                return await asyncio.to_thread(accounts.password_matches, password, stored)
        finally:
            self._waiting -= 1


def _place(address: str) -> str:
    return f"address {address}"


def _look(db: Connection, login: str) -> tuple[Row | None, str | None, bool]:
    account = accounts.by_login(db, login)
    if account is None:
        return None, None, False
    stored = accounts.stored_password(db, account["id"])
    return account, stored, one_time.required(db, account["id"])


def _finish(
    db: Connection, account_id: int, wants_code: bool, code: str | None, named: str, address: str
) -> bool:
    if wants_code and not one_time.check(db, account_id, code or ""):
        return False
    _good(db, named, address)
    return True


def _good(db: Connection, named: str, address: str) -> None:
    logins.succeeded(db, named)
    logins.undo(db, _place(address))


def _challenge() -> Unauthenticated:
    return Unauthenticated(
        "Must specify two-factor authentication OTP code.",
        headers=[*BASIC, header("X-Service-OTP", "required; app")],
    )
