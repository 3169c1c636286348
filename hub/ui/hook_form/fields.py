"""The values in the form of a hook, and the request for the API that they stand for."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hub.http.forms import Form
from hub.rest.serializers import HIDDEN
from hub.ui.hook_form import access
from hub.ui.hook_form.access import AccessFields
from hub.ui.hook_form.options import OPTIONS
from store import Row
from store.errors import Invalid
from store.hooks.event_names import (
    OWN,
    PLATFORM_EVENTS,
    WILDCARD,
)
from store.hooks.hook_targets import HookKind

SECRETS = {"new": "make one", "own": "use my own", "none": "none, do not sign"}


@dataclass(frozen=True, slots=True)
class HookFields:
    """The texts and choices in the form."""

    repository: str = ""
    url: str = ""
    content_type: str = "json"
    insecure_ssl: bool = False
    active: bool = True
    every: bool = False
    """Whether all events of the platform are chosen."""
    events: frozenset[str] = frozenset({"push"})
    secret: str = "new"  # noqa: S105 - a key of SECRETS
    own_secret: str = field(default="", repr=False)
    options: Mapping[str, str] = field(default_factory=dict)
    access: AccessFields = field(default_factory=AccessFields)

    def request(self) -> dict[str, Any]:
        """Return the body of the API's request that creates this hook."""
        chosen = [WILDCARD] if self.every else []
        chosen += sorted(self.events - PLATFORM_EVENTS if self.every else self.events)
        given = self.options
        options = {one.name: one.parse(given[one.name]) for one in OPTIONS if one.name in given}
        return {
            "config": {
                "url": self.url,
                "content_type": self.content_type,
                "insecure_ssl": "1" if self.insecure_ssl else "0",
                **self._secret(),
            },
            "events": chosen,
            "active": self.active,
            "delivery": options | self.access.options(),
        }

    def change(self) -> dict[str, Any]:
        """Return the body of the API's request that gives these values to a hook.

        The form of an existing hook changes neither its secret nor whether it is active.
        """
        body = self.request()
        body["config"]["secret"] = HIDDEN
        del body["active"]
        return body

    def _secret(self) -> dict[str, str]:
        if self.secret == "new":  # noqa: S105 - a key of SECRETS
            return {"secret": secrets.token_hex(32)}
        if self.secret not in SECRETS or (self.secret == "own" and not self.own_secret):  # noqa: S105 - the same
            raise _wrong_secret("Enter your own secret, or choose another way")
        if self.secret == "none" and self.own_secret:  # noqa: S105 - the same
            raise _wrong_secret("Choose to use your own secret, or leave it empty")
        return {"secret": self.own_secret} if self.own_secret else {}


def _wrong_secret(message: str) -> Invalid:
    return Invalid(message, field="own_secret", resource="Hook")


def own_events(kind: HookKind) -> list[str]:
    """Return the events of the hub itself that a hook of this kind can get."""
    return sorted(OWN[kind])


def posted(form: Form, hook: Row | None = None) -> HookFields:
    """Return the fields as they were posted. `hook` is None for a new hook."""
    return HookFields(
        repository=form.get("repository", "").strip()[:200],
        url=form.get("url", "").strip(),
        content_type=form.get("content_type", ""),
        insecure_ssl="verify" not in form,
        active="active" in form,
        every=form.get("which") == "every",
        events=frozenset(form.all("events")),
        secret=form.get("secret", "none"),
        own_secret=form.get("own_secret", ""),
        # Uncut, because a part of a list of delays or of a path would be valid, too.
        options={one.name: form[one.name].strip() for one in OPTIONS if one.name in form},
        access=access.posted(form, hook),
    )


def stored(hook: Row, repository: str) -> HookFields:
    """Return the fields for a hook as it is."""
    return HookFields(
        repository=repository,
        url=hook["url"],
        content_type=hook["content_type"],
        insecure_ssl=bool(hook["insecure_ssl"]),
        active=bool(hook["active"]),
        every=WILDCARD in hook["events"],
        events=frozenset(hook["events"]) - {WILDCARD},
        options={one.name: one.text(hook["options"].get(one.name)) for one in OPTIONS},
        access=access.stored(hook["options"]),
    )
