"""The commands in the order of the help: where each of them is, and its line there.

To list them, or to complete a name, no command has to be imported.
"""

from collections.abc import Mapping

SECTIONS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "Try it": {
        "demo": ("playground.demo:demo", "Show it at work: a hook, events, signed deliveries."),
        "listen": ("playground.listen:listen", "Receive deliveries, verify and print them."),
    },
    "Accounts": {
        "user": ("accounts.user:user", "Users, and how they log in."),
        "org": ("accounts.org:org", "Organizations and their members."),
        "repo": ("accounts.repo:repo", "Repositories and the roles in them."),
        "app": ("accounts.app:app", "OAuth applications."),
        "token": ("accounts.token:token", "Tokens for the API."),
        "source": ("accounts.source:source", "Sources of signed events."),
        "load": ("state.load:load", "Make the state that a YAML or JSON document describes."),
    },
    "Traffic": {
        "hooks": ("traffic.hooks:hooks", "Hooks and their health."),
        "websub": ("traffic.websub:websub", "WebSub subscriptions."),
        "events": ("traffic.events:events", "List the events that came in."),
        "refusals": ("traffic.refusals:refusals", "List the events that were rejected, and why."),
        "deliveries": ("traffic.deliveries:deliveries", "List deliveries, or follow them."),
        "delivery": ("traffic.deliveries:delivery", "Show one delivery with all its attempts."),
        "redeliver": ("traffic.redeliver:redeliver", "Deliver again under the same GUIDs."),
        "replay": ("traffic.replay:replay", "Deliver past events to the hooks that want them now."),
        "republish": ("traffic.republish:republish", "Publish the present state of things."),
    },
    "Operate": {
        "status": ("operate.status:status", "Count what is there and what is waiting."),
        "top": ("operate.top:top", "Watch rates, latency, backlog and endpoints."),
        "doctor": ("operate.doctor:doctor", "Examine this installation, with remedies."),
        "jobs": ("operate.jobs:jobs", "Scheduled jobs, and running them now."),
        "audit": ("operate.audit:audit", "List or verify who changed what."),
        "backup": ("operate.backup:backup", "Back up the database while it runs."),
        "restore": ("operate.restore:restore", "Put a backup in the place of the database."),
        "key": ("operate.key:key", "Rotate the key that seals stored secrets."),
        "migrate": ("operate.migrate:migrate", "Move from SQLite to PostgreSQL."),
        "sql": ("operate.sql:sql", "Run a statement that only reads."),
    },
    "Install": {
        "help": ("manual.help:help_", "Show the manual: its topics, or one of them."),
        "serve": ("install.serve:serve", "Run the daemon: take in events and deliver them."),
        "settings": ("install.settings:settings", "List the settings in force and their sources."),
        "systemd": ("install.systemd:systemd", "Install or remove the systemd units."),
        "completion": ("install.completion:completion", "Print or install shell completion."),
    },
}
COMMANDS = {name: where for section in SECTIONS.values() for name, (where, _) in section.items()}
SHORT = {name: text for section in SECTIONS.values() for name, (_, text) in section.items()}
