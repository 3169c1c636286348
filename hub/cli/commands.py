"""The commands in the order of the help: the module and the help line of each.

The help and shell completion read this table, so that they need not import any command.

A noun has the verbs `list`, `show`, `add`, `edit` and `remove`, as far as they make sense for it,
and verbs of its own behind them: see `hub.cli.console.grammar`.
"""

from collections.abc import Mapping

SECTIONS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "Try it": {
        "demo": ("playground.demo:demo", "Run a demonstration, which stays open as a playground."),
        "listen": ("playground.listen:listen", "Receive deliveries, verify and print them."),
        "subscribe": ("playground.subscribe:subscribe", "Deliver a repository's events to a URL."),
    },
    "Accounts": {
        "user": ("accounts.user:user", "Users, and how they log in."),
        "org": ("accounts.org:org", "Organizations and their members."),
        "repo": ("accounts.repo:repo", "Repositories and the roles in them."),
        "app": ("accounts.app:app", "OAuth applications and integrations."),
        "token": ("accounts.token:token", "Tokens for the API."),
        "source": ("accounts.source:source", "Sources of signed events."),
        "load": ("state.load:load", "Create the state that a YAML or JSON document describes."),
    },
    "Traffic": {
        "hook": ("traffic.hook:hook", "Hooks and their health."),
        "websub": ("traffic.websub:websub", "WebSub subscriptions."),
        "event": ("traffic.event:event", "Received events and their payloads."),
        "delivery": ("traffic.delivery:delivery", "Deliveries and their attempts."),
        "refusal": ("traffic.refusal:refusal", "Events that were rejected, and why."),
        "emit": ("playground.emit:emit", "Post an event, as a platform does."),
        "replay": ("traffic.replay:replay", "Deliver past events to the hooks that want them now."),
        "republish": ("traffic.republish:republish", "Publish the current state of resources."),
    },
    "Operate": {
        "status": ("operate.status:status", "Count accounts, hooks, deliveries and the backlog."),
        "top": ("operate.top:top", "Watch rates, latency, backlog and endpoints."),
        "doctor": ("operate.doctor:doctor", "Check this installation and suggest remedies."),
        "alert": ("operate.alert:alert", "Problems: list, acknowledge and mute them."),
        "job": ("operate.job:job", "Scheduled jobs."),
        "audit": ("operate.audit:audit", "The audit log: who changed what."),
        "backup": ("operate.backup:backup", "Back up the database while tocsin runs."),
        "restore": ("operate.restore:restore", "Replace the database with a backup."),
        "key": ("operate.key:key", "The key that encrypts stored secrets."),
        "migrate": ("operate.migrate:migrate", "Move from SQLite to PostgreSQL."),
        "sql": ("operate.sql:sql", "Run a read-only SQL statement."),
    },
    "Install": {
        "help": ("manual.help:help_", "Show the manual: its topics, or one of them."),
        "serve": ("install.serve:serve", "Run the daemon: accept events and deliver them."),
        "settings": ("install.settings:settings", "List the settings in effect and their sources."),
        "systemd": ("install.systemd:systemd", "Install or remove the systemd units."),
        "completion": ("install.completion:completion", "Print or install shell completion."),
    },
}
FORMER: Mapping[str, tuple[str, ...]] = {
    "hooks": ("hook",),
    "events": ("event",),
    "deliveries": ("delivery",),
    "redeliver": ("delivery", "redeliver"),
    "refusals": ("refusal",),
    "jobs": ("job",),
}
"""Words of former versions, which still work, and the words that they stand for."""
EXAMPLES = (
    "tocsin demo",
    "tocsin hook add ada/bell-tower https://receiver.example/hook",
    "tocsin delivery list --state waiting",
)
COMMANDS = {name: where for section in SECTIONS.values() for name, (where, _) in section.items()}
SHORT = {name: text for section in SECTIONS.values() for name, (_, text) in section.items()}


def current(words: list[str]) -> list[str]:
    """Return the words of a command line with the present word in place of a former one."""
    return [*FORMER.get(words[0], words[:1]), *words[1:]] if words else words
