"""The list of the dashboard's sections, in menu order."""

from hub.ui.apps import pages as apps
from hub.ui.mail import hook_panel as hook_mail
from hub.ui.mail import pages as mail
from hub.ui.pages import (
    api,
    audit_log,
    catalog,
    deliveries,
    delivery,
    events,
    hook,
    hook_filter,
    hook_form,
    hook_ordering_keys,
    hook_send,
    hook_state,
    hook_trial,
    hooks,
    imports,
    jobs,
    limits,
    links,
    overview,
    problems,
    replays,
    reports,
    retry,
    topics,
    trends,
    views,
)
from hub.ui.queue import pages as queue
from hub.ui.search import pages as search
from hub.ui.section import Section
from hub.ui.sign_in import openid_links, sessions, with_token

SECTIONS: tuple[Section, ...] = (
    overview.ui,
    problems.ui,
    mail.ui,
    hooks.ui,
    hook.ui,
    hook_filter.ui,
    hook_form.ui,
    hook_send.ui,
    hook_state.ui,
    hook_trial.ui,
    hook_ordering_keys.ui,
    hook_mail.ui,
    queue.ui,
    deliveries.ui,
    delivery.ui,
    links.ui,
    replays.ui,
    retry.ui,
    events.ui,
    search.ui,
    catalog.ui,
    topics.ui,
    trends.ui,
    limits.ui,
    reports.ui,
    imports.ui,
    jobs.ui,
    apps.ui,
    openid_links.ui,
    audit_log.ui,
    api.ui,
    views.ui,
    with_token.ui,
    sessions.ui,
)
