"""The attempts to sign in that a browser has begun: each of its tabs may have one."""

import re

from hub.openid.attempt import LASTS, SignInAttempt
from hub.ui import cookies
from hub.ui.session_request import SessionRequest

MOST = 4000
"""The characters of all attempts of a browser. Proxies refuse long headers."""
NAMED = 8
"""The characters of the state that tell the cookies of attempts apart."""
NAME = re.compile(rf"{cookies.ATTEMPT}_[0-9A-Za-z_-]{{{NAMED}}}")


def keep(visit: SessionRequest, attempt: SignInAttempt) -> None:
    """Keep an attempt in the browser, and delete the oldest ones if there is no room for them."""
    value = attempt.packed()
    room = MOST - len(value)
    for name in _newest_first(visit):
        room -= len(visit.cookies[name])
        if room < 0:
            visit.drop(name)
    name = f"{cookies.ATTEMPT}_{attempt.state[:NAMED]}"
    # Lax, because a strict cookie would not come back with the provider's redirect.
    visit.headers.append(
        cookies.set_cookie(name, value, secure=visit.secure, seconds=LASTS, site="Lax")
    )


def answered(visit: SessionRequest, state: str, now: int) -> SignInAttempt | None:
    """Return the attempt to which an answer with this state belongs, or None if it is too late.

    `now` is in seconds. The attempt ends, because it can be answered only once. An answer that
    belongs to none ends all.
    """
    begun = _begun(visit)
    for name, attempt in begun.items():
        if attempt is not None and attempt.is_answered_by(state, now):
            visit.drop(name)
            return attempt
    for name in begun:
        visit.drop(name)
    return None


def _begun(visit: SessionRequest) -> dict[str, SignInAttempt | None]:
    """Return the browser's attempts by the names of their cookies."""
    found = {name: value for name, value in visit.cookies.items() if NAME.fullmatch(name)}
    return {name: SignInAttempt.unpacked(value) for name, value in found.items()}


def _newest_first(visit: SessionRequest) -> list[str]:
    ends = {name: 0 if one is None else one.until for name, one in _begun(visit).items()}
    return sorted(ends, key=ends.__getitem__, reverse=True)
