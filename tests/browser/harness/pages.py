"""Every page of the dashboard: its path with the ids of `world.py`, and the user who opens it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Shown:
    """A page. `status` is the status of its response. `picture` is the name of its kept picture."""

    path: str
    login: str | None = "ada"
    status: int = 200
    picture: str = ""


PAGES = (
    Shown("/ui/sign-in", None, picture="sign-in"),
    Shown("/ui/sessions"),
    Shown("/ui", picture="overview"),
    Shown("/ui?span=24h", "root"),
    Shown("/ui/problems", picture="problems"),
    Shown("/ui/problem?host=127.0.0.1:1025&kind=connect", picture="problem"),
    Shown("/ui/mail"),
    Shown("/ui/mail", "root"),
    Shown("/ui/hooks", "root", picture="hooks"),
    Shown("/ui/hooks?state=failing"),
    Shown("/ui/hooks/{good}"),
    Shown("/ui/hooks/{failing}", picture="hook"),
    Shown("/ui/hooks/{disabled}"),
    Shown("/ui/hooks/new", picture="hook-new"),
    Shown("/ui/hooks/{good}/edit"),
    Shown("/ui/hooks/{good}/delete"),
    Shown("/ui/hooks/{good}/trends", picture="trends"),
    Shown("/ui/hooks/{disabled}/trends?span=30d"),
    Shown("/ui/hooks/{retrying}/pending"),
    Shown("/ui/hooks/{good}/pending"),
    Shown("/ui/hosts/127.0.0.1:1025", picture="host"),
    Shown("/ui/hooks/{good}/send", picture="hook-send"),
    Shown("/ui/retry?attempt={attempt}"),
    Shown("/ui/retry"),
    Shown("/ui/retried?deliveries=1,2,3", picture="retried"),
    Shown("/ui/deliveries", "root", picture="deliveries"),
    Shown("/ui/deliveries?status=failure"),
    Shown("/ui/deliveries?event=nothing"),
    Shown("/ui/deliveries/{attempt}", picture="delivery"),
    Shown("/ui/replay", picture="replay"),
    Shown("/ui/replay?hook={good}&count=1"),
    Shown("/ui/replay?repository=ada/nothing&count=1"),
    Shown("/ui/replay/{replay}"),
    Shown("/ui/events", picture="events"),
    Shown("/ui/events?wanted=nobody"),
    Shown("/ui/events?event=nothing"),
    Shown("/ui/events/{event}", picture="event"),
    Shown("/ui/find?q=receiver"),
    Shown("/ui/find?q=engine"),
    Shown("/ui/find?q=no-such-id"),
    Shown("/ui/find?q=1", "root"),
    Shown("/ui/rejected", "root"),
    Shown("/ui/catalogue", picture="catalogue"),
    Shown("/ui/catalogue/issue_field", picture="catalogue-event"),
    Shown("/ui/topics", "root", picture="topics"),
    Shown("/ui/topics/{engine}"),
    Shown("/ui/topics/{engine}?event=push"),
    Shown("/ui/topics/followers"),
    Shown("/ui/limits", picture="limits"),
    Shown("/ui/limits", "bob"),
    Shown("/ui/reports", "root"),
    Shown("/ui/imports", picture="imports"),
    Shown("/ui/imports", "bob"),
    Shown("/ui/imports/{empty}"),
    Shown("/ui/jobs", "root", picture="jobs"),
    Shown("/ui/apps", "root"),
    Shown("/ui/apps/{app}", "root"),
    Shown("/ui/openid-links", "root"),
    Shown("/ui/openid-links?name=nobody", "root"),
    Shown("/ui/audit", "root", picture="audit"),
    Shown("/ui/audit?who=nobody", "root"),
    Shown("/ui/audit/check", "root"),
    Shown("/ui/reference", picture="reference"),
    Shown("/ui/reference/repos"),
    Shown("/ui/reference/schemas/Hook"),
    Shown("/ui/shared?link={link}", None),
    Shown("/ui/jobs", status=403),
    Shown("/ui/reports", "bob", 403),
    Shown("/ui/events/{event}", "bob", 403),
    Shown("/ui/hooks/999999", status=404, picture="not-there"),
)
