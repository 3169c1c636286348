"""`tocsin top`: rates, latency, backlog and endpoints, live."""

import sys
from dataclasses import dataclass

import click
from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from hub.cli.console import options, output, tables
from hub.cli.console.arguments import SecondsType
from hub.cli.console.exclusions import Exclusion
from hub.cli.console.grammar import command
from hub.cli.console.interactive import keyboard, read_key, until_interrupted
from hub.ui import formatting
from store import Connection, Row, Store
from store.clock import MINUTE
from store.hook_state import hook_health
from store.hooks.hook_targets import name_of
from store.monitoring import minute_counters, stats
from store.monitoring.minute_counters import PeriodCounts
from store.monitoring.stats import DeliveryStats

# The time spans that are shown, in minutes.
SPANS = {"last minute": 1, "15 minutes": 15, "hour": 60}
HOUR = 60
# The number of latest attempts among which slow endpoints are searched, and of endpoints shown.
WINDOW, LISTED = 2_000, 5
BARS = "·▁▂▃▄▅▆▇█"
SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


@command(
    examples=["tocsin top", "tocsin top --once"],
    exclusions=[Exclusion("--once", ["--interval"], "there is no second update")],
)
@click.option("--interval", type=SecondsType(0.2, 3600), default=2.0, show_default=True,
              help="Seconds between two updates.")  # fmt: skip
@click.option(
    "--once",
    is_flag=True,
    help="Print once and end. Without a terminal, or with TERM=dumb, only --json goes on.",
)
@options.listing_of_store
def top(store: Store, interval: float, once: bool, as_json: bool) -> None:
    """Watch rates, latency, backlog and endpoints, until q or Ctrl-C.

    With --json, each update is a line of JSON.
    """
    # A dumb terminal would show nothing until the end.
    redraws = sys.stdout.isatty() and not output.console().is_dumb_terminal
    watched = not once and (as_json or redraws)
    with until_interrupted():
        if not watched:
            _once(store, as_json)
        elif as_json:
            while True:
                click.echo(output.dumps(_shape(store.read_sync(snapshot)), indent=False))
                read_key(interval)
        else:
            _watch(store, interval)


def _once(store: Store, as_json: bool) -> None:
    found = store.read_sync(snapshot)
    if as_json:
        click.echo(output.dumps(_shape(found)))
    else:
        console = output.console()
        console.print(_render(found, console.width), soft_wrap=True)


def _watch(store: Store, interval: float) -> None:
    with (
        keyboard(),
        Live(console=output.console(), screen=True, auto_refresh=False) as live,
    ):
        while True:
            shown = _render(store.read_sync(snapshot), live.console.width)
            live.update(Group(shown, _help(interval)), refresh=True)
            if read_key(interval) in ("q", "Q", "\x1b"):
                return


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The figures of one moment. `minutes` ends with the current, unfinished minute."""

    now: int
    minutes: list[PeriodCounts]
    figures: DeliveryStats
    slowest: list[Row]
    failing: list[Row]

    def spans(self) -> dict[str, PeriodCounts]:
        """Return the sums of each span. Only "last minute" leaves out the unfinished minute."""
        made = {}
        for name, many in SPANS.items():
            total = PeriodCounts()
            for one in self.minutes[-1 - many : -1] if many == 1 else self.minutes[-many:]:
                total.add_period(one)
            made[name] = total
        return made


def snapshot(db: Connection) -> Snapshot:
    """Return the current figures. The number of statements and of counted minutes is fixed."""
    now = db.now // MINUTE
    minutes = minute_counters.between(db, now - HOUR, now + 1, 1, None)
    return Snapshot(
        db.now,
        [minutes.get(now - HOUR + at) or PeriodCounts() for at in range(HOUR + 1)],
        stats.collect(db),
        [_slow(row) for row in hook_health.slowest(db, None, WINDOW, LISTED)],
        [_failing(row) for row in hook_health.failing(db, None, LISTED)],
    )


def _shape(found: Snapshot) -> Row:
    figured = found.figures
    return {
        "at": output.format_time(found.now),
        "workers": len(figured.workers),
        "due": figured.due,
        "waiting_later": figured.later,
        "in_hand": figured.held,
        "oldest_seconds": round(figured.age / 1_000_000, 3),
        "spans": [_counted(name, one) for name, one in found.spans().items()],
        "slowest": found.slowest,
        "failing": found.failing,
    }


def _counted(span: str, one: PeriodCounts) -> Row:
    minutes = SPANS[span]
    return {
        "span": span,
        "minutes": minutes,
        "events": one.events,
        "events_per_minute": round(one.events / minutes, 2),
        "delivered": one.delivered,
        "failed": one.failed,
        "attempts_per_minute": round((one.delivered + one.failed) / minutes, 2),
        **{f"{name}_ms": _ms(one.quantile(share)) for name, share in SHARES.items()},
    }


def _ms(value: float | None) -> float | None:
    return None if value is None else round(value / 1000, 1)


def _slow(row: Row) -> Row:
    return {
        "hook": row["hook_id"],
        "target": name_of(row),
        "url": row["url"],
        "attempts": row["many"],
        "failed": row["failed"],
        "mean_ms": _ms(row["mean"]),
        "longest_ms": _ms(row["longest"]),
    }


def _failing(row: Row) -> Row:
    return {
        "hook": row["id"],
        "target": name_of(row),
        "url": row["url"],
        "since": output.format_time(row["failing_since"]),
        "disabled": row["disabled_reason"],
    }


def _render(found: Snapshot, width: int) -> Group:
    return Group(
        _head(found),
        Text(),
        _rates(found.spans()),
        Text(),
        _line(found.minutes, width),
        Text(),
        *_endpoints("slowest endpoints", found.slowest, width),
        *_endpoints("failing endpoints", found.failing, width),
    )


def _head(found: Snapshot) -> Text:
    figured = found.figures
    workers = len(figured.workers)
    head = Text(f"tocsin  {output.plain(output.format_time(found.now))}  ", style="bold")
    head.append(
        formatting.pluralize(workers, "worker"), style="not bold" if workers else "bold red"
    )
    head.append("\nbacklog ", style="not bold dim")
    late = figured.age > MINUTE
    head.append(f"{formatting.number(figured.due)} due", style="bold red" if late else "not bold")
    oldest = f", the oldest for {formatting.duration(figured.age)}" if figured.due else ""
    rest = f"{oldest}; {formatting.number(figured.later)} later"
    rest += f", {formatting.number(figured.held)} held by workers"
    head.append(rest, style="not bold")
    return head


def _rates(spans: dict[str, PeriodCounts]) -> Table:
    made = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("", "events/min", "attempts/min", "failed", "success", *SHARES):
        made.add_column(name, justify="right" if name else "left")
    for name, one in spans.items():
        attempts, minutes = one.delivered + one.failed, SPANS[name]
        quantiles = [one.quantile(share) for share in SHARES.values()]
        made.add_row(
            name,
            f"{one.events / minutes:.3g}",
            f"{attempts / minutes:.3g}",
            Text(formatting.number(one.failed), style="red" if one.failed else ""),
            formatting.percent(one.delivered, attempts),
            *("–" if value is None else formatting.duration(value) for value in quantiles),
        )
    return made


def _line(minutes: list[PeriodCounts], width: int) -> Text:
    """Return a chart of the attempts in each minute, as many as fit, and the maximum."""
    title, most = "attempts a minute  ", max(one.delivered + one.failed for one in minutes)
    end = f"  most {formatting.number(most)}"
    shown = minutes[-max(width - len(title) - len(end), 1) :]
    counts = [one.delivered + one.failed for one in shown]
    line = Text(title, style="dim")
    for one, many in zip(shown, counts, strict=True):
        height = -(-many * (len(BARS) - 1) // most) if most else 0
        line.append(BARS[height], style="not dim red" if one.failed else "not dim green")
    line.append(end)
    return line


def _endpoints(title: str, rows: list[Row], width: int) -> list[Table | Text]:
    if not rows:
        return []
    return [Text(title, style="dim"), tables.fitting(rows, width), Text()]


def _help(interval: float) -> Text:
    return Text(f"every {interval:g} s; space updates at once, q ends", style="dim")
