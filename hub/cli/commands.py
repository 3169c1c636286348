"""The commands in the order of the help: the module and the help line of each.

The help and shell completion read this table, so that they need not import any command.
"""

from collections.abc import Mapping

SECTIONS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "Try it": {
        "demo": ("playground.demo:demo", "Run a demonstration: a hook, events, signed deliveries."),
        "listen": ("playground.listen:listen", "Receive deliveries, verify and print them."),
    },
    "Accounts": {
        "user": ("accounts.user:user", "Users, and how they log in."),
        "org": ("accounts.org:org", "Organizations and their members."),
        "repo": ("accounts.repo:repo", "Repositories and the roles in them."),
        "app": ("accounts.app:app", "OAuth applications."),
        "token": ("accounts.token:token", "Tokens for the API."),
        "source": ("accounts.source:source", "Sources of signed events."),
        "load": ("state.load:load", "Create the state that a YAML or JSON document describes."),
    },
    "Traffic": {
        "hooks": ("traffic.hooks:hooks", "Hooks and their health."),
        "websub": ("traffic.websub:websub", "WebSub subscriptions."),
        "events": ("traffic.events:events", "List the received events."),
        "refusals": ("traffic.refusals:refusals", "List the events that were rejected, and why."),
        "deliveries": ("traffic.deliveries:deliveries", "List deliveries, or follow them."),
        "delivery": ("traffic.deliveries:delivery", "Show one delivery with all its attempts."),
        "redeliver": ("traffic.redeliver:redeliver", "Send deliveries again with the same GUIDs."),
        "replay": ("traffic.replay:replay", "Deliver past events to the hooks that want them now."),
        "republish": ("traffic.republish:republish", "Publish the current state of resources."),
    },
    "Operate": {
        "status": ("operate.status:status", "Count accounts, hooks, deliveries and the backlog."),
        "top": ("operate.top:top", "Watch rates, latency, backlog and endpoints."),
        "doctor": ("operate.doctor:doctor", "Check this installation and suggest remedies."),
        "jobs": ("operate.jobs:jobs", "List scheduled jobs, or run one now."),
        "audit": ("operate.audit:audit", "List or verify the audit log."),
        "backup": ("operate.backup:backup", "Back up the database while tocsin runs."),
        "restore": ("operate.restore:restore", "Replace the database with a backup."),
        "key": ("operate.key:key", "Rotate the key that encrypts stored secrets."),
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
COMMANDS = {name: where for section in SECTIONS.values() for name, (where, _) in section.items()}
SHORT = {name: text for section in SECTIONS.values() for name, (_, text) in section.items()}
