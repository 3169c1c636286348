"""The list of the dashboard's sections, in menu order."""

from hub.ui import signing_in
from hub.ui.pages import (
    api,
    audit_log,
    deliveries,
    delivery,
    events,
    hook,
    hook_filter,
    hook_form,
    hook_state,
    hook_trial,
    hooks,
    imports,
    jobs,
    limits,
    links,
    overview,
    replays,
    reports,
    topics,
)
from hub.ui.section import Section

SECTIONS: tuple[Section, ...] = (
    overview.ui,
    hooks.ui,
    hook.ui,
    hook_filter.ui,
    hook_form.ui,
    hook_state.ui,
    hook_trial.ui,
    deliveries.ui,
    delivery.ui,
    links.ui,
    replays.ui,
    events.ui,
    topics.ui,
    limits.ui,
    reports.ui,
    imports.ui,
    jobs.ui,
    audit_log.ui,
    api.ui,
    signing_in.ui,
)
