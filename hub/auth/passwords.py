"""Authentication with user name and password, and a one-time password if the account needs it.

Each attempt is counted before it is checked, so that attempts at several hubs cannot bypass the
limit. A user's failures are reset only after all factors were right.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

from hub.auth.credentials import BASIC, Caller, bad_pair
from hub.http.errors import Blocked, Unauthenticated
from hub.http.response import header
from hub.settings import HubSettings
from store import Connection, Row, Store
from store.accounts import accounts, logins, totp
from store.errors import Busy

# Checking one password takes 64 MB of memory and a tenth of a second of CPU time.
MOST_WAITING = 50
# Seconds. Less than a stop waits for requests, so that they are answered. A slow store must not
# hold up all of them one after another.
LONGEST_WAIT = 5.0


@dataclass(frozen=True, slots=True)
class PasswordAttempt:
    """An attempt that is counted as a failure for its login and address until it succeeds."""

    login: str
    address: str
    counted_at: int


class Passwords:
    """Checks passwords, one at a time and off the event loop."""

    def __init__(self, store: Store, settings: HubSettings) -> None:
        self._store = store
        self._settings = settings
        self._limits = settings.failed_logins, settings.failed_logins_address
        self._turn = asyncio.Lock()
        self._waiting = 0

    async def check(
        self, login: str, password: str, code: str | None, address: str, *, spend: bool
    ) -> Caller:
        """Return the user. With `spend`, the one-time password `code` is spent.

        Raises Unauthenticated for a wrong password or code, Blocked after too many failures, and
        Busy if too many checks are waiting, or after LONGEST_WAIT seconds without a turn.
        """
        whose = f"login {login.lower()[:100]}", f"address {address}"
        # Here too, so that refused attempts do not take the turns of others.
        await self._store.read(self._refuse_blocked, whose)
        # Each is counted in its turn: before, those that wait would count as failures.
        async with self._own_turn():
            return await self._check(login, password, code, whose, spend)

    @contextlib.asynccontextmanager
    async def _own_turn(self) -> AsyncIterator[None]:
        if self._waiting >= MOST_WAITING:
            raise _busy()
        self._waiting += 1
        try:
            async with asyncio.timeout(LONGEST_WAIT) as wait, self._turn:
                wait.reschedule(None)
                yield
        except TimeoutError:
            raise _busy() from None
        finally:
            self._waiting -= 1

    async def _check(
        self, login: str, password: str, code: str | None, whose: tuple[str, str], spend: bool
    ) -> Caller:
        attempt = await self._store.write(self._count, whose)
        account, stored, wants_code = await self._store.read(_load, login)
        matches = await asyncio.to_thread(accounts.password_matches, password, stored)
        if not matches or account is None:
            raise bad_pair()
        if wants_code and code is None:
            await self._store.write(_undo, attempt)
            raise _challenge()
        given = (code or "") if wants_code else None
        if not await self._store.write(_finish, account["id"], given, attempt, spend):
            raise _challenge()
        return Caller(
            account["id"],
            account["login"],
            bool(account["site_admin"]),
            "password",
            frozenset(),
            {},
        )

    def _refuse_blocked(self, db: Connection, whose: tuple[str, str]) -> None:
        for who, limit in zip(whose, self._limits, strict=True):
            if logins.times(db, who, self._settings.failed_login_seconds) >= limit:
                raise Blocked

    def _count(self, db: Connection, whose: tuple[str, str]) -> PasswordAttempt:
        for who, limit in zip(whose, self._limits, strict=True):
            # Another hub may count after a look at the number, so this compares its own count. The
            # error undoes it.
            if logins.failed(db, who, self._settings.failed_login_seconds) > limit:
                raise Blocked
        return PasswordAttempt(*whose, db.now)


def _load(db: Connection, login: str) -> tuple[Row | None, str | None, bool]:
    account = accounts.by_login(db, login)
    if account is None:
        return None, None, False
    stored = accounts.stored_password(db, account["id"])
    return account, stored, totp.required(db, account["id"])


def _finish(
    db: Connection, account_id: int, code: str | None, attempt: PasswordAttempt, spend: bool
) -> bool:
    if code is not None and not totp.check(db, account_id, code, spend=spend):
        return False
    logins.succeeded(db, attempt.login)
    logins.undo(db, attempt.address, attempt.counted_at)
    return True


def _undo(db: Connection, attempt: PasswordAttempt) -> None:
    """Undo the count: without the code, it is no failure. Earlier ones stay."""
    for who in (attempt.login, attempt.address):
        logins.undo(db, who, attempt.counted_at)


def _busy() -> Busy:
    return Busy("too many passwords are being checked; try again in a moment")


def _challenge() -> Unauthenticated:
    return Unauthenticated(
        "Must specify two-factor authentication OTP code.",
        headers=[*BASIC, header("X-Service-OTP", "required; app")],
    )
