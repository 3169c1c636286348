"""Links to one hook for whoever develops its receiver: to look, for a while, and change nothing."""

from hub.ui import cookies
from hub.ui.hook import PATH, to_change
from hub.ui.look import Look
from hub.ui.section import ROOT, Done, Section, Shown
from store import Row, hook_links, sessions
from store.clock import DAY
from store.errors import Missing

ui = Section()

DAYS = (1, 7, 30)
GONE = "this link: it has expired, or was ended"


@ui.act(f"{PATH}/links")
def make_link(look: Look) -> Shown:
    """Make a link, which is shown this once."""
    hook, _, _ = to_change(look)
    days = look.form.get("days", "")
    lasting = int(days) if days in map(str, DAYS) else DAYS[1]
    value, link = hook_links.make(
        look.db, hook["id"], look.form.get("note", "").strip(), look.viewer.name, lasting * DAY
    )
    # In the query, which no log holds.
    place = f"{look.origin}{ROOT}/shared?link={value}"
    return Shown("link.html", {"hook": hook, "link": link, "place": place})


@ui.act(f"{PATH}/links/{{link_id}}/end")
def end_link(look: Look) -> Done:
    """End a link, also for who is looking by it."""
    hook, _, place = to_change(look)
    if not hook_links.end(look.db, hook["id"], look.number("link_id")):
        raise Missing(GONE)
    return Done(place, "The link leads nowhere any more.", ids={"id": look.number("link_id")})


@ui.page("/shared", "shared.html", who="anyone")
def show_link(look: Look) -> dict[str, object]:
    """Where a link leads: what it is for, before it is used."""
    value = look.asked("link")
    return {"link": _found(look, value), "value": value}


@ui.act("/shared", who="anyone")
def use_link(look: Look) -> Done:
    """Look at the hook from now on."""
    link = _found(look, look.form.get("link", ""))
    value = sessions.begin(look.db, link_id=link["id"], until=link["expires_at"])
    place = f"{ROOT}/hooks/{link['hook_id']}"
    return Done(place, "You may look, until the link ends.", cookies={cookies.SESSION: value})


def _found(look: Look, value: str) -> Row:
    link = hook_links.find(look.db, value)
    if link is None:
        raise Missing(GONE)
    return link
