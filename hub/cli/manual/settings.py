"""The page `reference/settings.md`: every setting with its type, its default and its variable."""

from collections.abc import Iterator

from hub.admin_settings import AdminSettings
from hub.cli.manual.markdown import code, page, sentence
from hub.cli.service.configuration import Settings
from hub.cli.service.daemon import AT_START
from hub.cli.service.setting_list import Setting, all_settings
from hub.rate_limit_settings import RateLimitSettings
from hub.server_settings import ServerSettings
from hub.settings import HubSettings
from store.mail.settings import MailSettings
from store.settings import StoreSettings
from worker.settings import WorkerSettings

INTRODUCTION = """\
[Configure it](../how-to/configure.md) says where settings come from, and how to write lists and
tables. `tocsin settings` shows the value of each setting and the place that it came from.

After SIGHUP (`systemctl reload tocsin`), a running daemon reads the settings file again and applies
the new values. A new value of an option or of an environment variable needs a restart. These
settings need a restart too: {at_start}. A reload can replace the certificate of
TLS, but only a restart turns TLS on or off."""
PARTS = (
    ("Database and data", StoreSettings),
    ("Server", ServerSettings),
    ("Administration", AdminSettings),
    ("Rate limits", RateLimitSettings),
    ("Mail", MailSettings),
    ("Hub", HubSettings),
    ("Deliveries and jobs", WorkerSettings),
    ("Log", Settings),
)


def settings() -> str:
    at_start = ", ".join(f"`{name}`" for name in AT_START)
    parts, seen = ["# Settings", INTRODUCTION.format(at_start=at_start)], set[str]()
    known = {each.name: each for each in all_settings()}
    for title, model in PARTS:
        names = [name for name in model.model_fields if name in known and name not in seen]
        seen.update(names)
        parts.append(f"## {title}")
        for name in names:
            parts += _section(known[name])
    return page(*parts)


def _section(setting: Setting) -> Iterator[str]:
    yield f"### {setting.name}"
    yield sentence(setting.description)
    default = code(setting.default) or "none"
    kind = sentence(setting.kind)
    yield f"{kind} Default: {default}. Variable: `{setting.environment}`."
