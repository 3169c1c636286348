"""The checks of `tocsin doctor` on the data: database, key, workers, backups."""

from collections.abc import Iterator
from pathlib import Path

from hub.cli.operate import doctor_machine
from hub.cli.operate.diagnosis import Finding, bad, good, warning
from hub.cli.service.configuration import Settings
from store import Store, clock
from store.audit import audit_search
from store.clock import DAY, HOUR, SECOND
from store.crypto import key_file
from store.database import migrations
from store.database.opening import exists
from store.database.sqlite import file as sqlite_file
from store.database.sqlite import open_files
from store.database.sqlite.lost_content import require_content
from store.delivery import filtering
from store.hook_state import hook_list
from store.hook_state.hook_list import HookFilter
from store.jobs import jobs
from store.mail import outbox
from store.monitoring import diagnosis, stats
from store.monitoring.stats import DeliveryStats

# Seconds for checking the database file, unless the check is thorough.
PATIENCE = 30.0
OLD_BACKUP = 7 * DAY
# The age from which a pause may have been forgotten, and the number of pauses that are examined.
LONG_PAUSE, MOST_PAUSES = 3 * DAY, 20
# The failures in a row that are not by chance. The alert rule TocsinJobFails has the same number.
MANY_FAILURES = 3
# A clock that was set back by less than this does no harm.
AHEAD = 60 * SECOND


def check_file(database: Path, *, thoroughly: bool) -> Iterator[Finding]:
    """Check that a SQLite file is there and not damaged."""
    about = "database"
    require_content(database)
    if not exists(database):
        yield bad(about, f"there is no database {database}", "start tocsin, which makes it")
        return
    problems, all_of_it = sqlite_file.find_damage_within(database, None if thoroughly else PATIENCE)
    if problems:
        yield bad(about, f"{database} is damaged: {'; '.join(problems)}", "tocsin restore FILE")
    elif not all_of_it:
        yield warning(
            about,
            f"{database} is large: the part that was checked in {PATIENCE:.0f} s is not damaged",
            "tocsin doctor --thorough",
        )
    else:
        yield good(
            about, f"{database} is not damaged, {sqlite_file.size(database) // 1_000_000} MB"
        )


def check_schema(store: Store) -> Iterator[Finding]:
    """Check that the version of the database's schema is the one of this program."""
    about, newest = "database", migrations.steps()[-1][0]
    with store.borrow_session() as session:
        found = migrations.state(session, store.clock.now())
    if found is None:
        yield bad(about, "it has no tables of tocsin", "start tocsin, which makes them")
        return
    at, closed = found
    if closed is not None:
        yield bad(about, closed, "follow this message")
    elif at > newest:
        yield bad(
            about,
            f"its schema version is {at}, and this program knows {newest}",
            "start the newer tocsin that wrote it",
        )
    elif at < newest:
        yield warning(
            about,
            f"its schema version is {at} of {newest}: the next start makes a copy and upgrades it",
            "restart tocsin",
        )


def check_key(store: Store, path: Path) -> Iterator[Finding]:
    """Check that the key file has one key, and that it decrypts every kind of secret."""
    about = "key"
    keys = key_file.read_keys(path)
    closed = store.read_sync(diagnosis.undecryptable_secrets)
    for kind, (many, tried) in closed.items():
        yield bad(
            about,
            f"{path} does not decrypt {many} of {tried} secrets of {kind}",
            "restore the key file of this database, or set those secrets again",
        )
    if len(keys) > 1:
        yield warning(
            about,
            f"{path} has {len(keys)} keys: a rotation of the key is not finished",
            "tocsin key rotate",
        )
    elif not closed:
        yield good(about, f"{path} decrypts every kind of secret")


def check_history(store: Store) -> Iterator[Finding]:
    """Check that no event in the database has a time in the future."""
    latest, now = store.read_sync(diagnosis.newest_event_at), store.clock.now()
    if latest is not None and latest > now + AHEAD:
        yield warning(
            "clock",
            f"the last event came at {clock.iso(latest)}, and it is {clock.iso(now)}:"
            " the clock was set back",
            doctor_machine.synchronize(),
        )


def check_work(store: Store, settings: Settings, database: Path | None) -> Iterator[Finding]:
    """Check that a worker runs and delivers what is due in time."""
    about = "deliveries"
    found = store.read_sync(stats.collect)
    runs = bool(found.workers) if database is None else open_files.is_worker_running(database)
    waiting = f"{found.due} due, {found.later} for later, {found.held} held by workers"
    if not runs and (found.due or found.held):
        yield warning(about, f"no worker runs; {waiting}", "start tocsin")
    elif runs and found.lag > settings.ready_lag * SECOND:
        yield bad(
            about,
            f"workers are {found.lag // SECOND} s behind; {waiting}",
            "see `tocsin status` and the log; more workers, or a higher max_in_flight",
        )
    else:
        yield good(about, f"{'a worker runs' if runs else 'no worker runs'}; {waiting}")
    if runs or database is None:
        yield from _check_signs_of_life(found, alone=database is not None)


def _check_signs_of_life(found: DeliveryStats, *, alone: bool) -> Iterator[Finding]:
    """Check that workers are not silent. `alone` means that there is one, and that it runs."""
    silent = [lease["holder"] for lease in found.leases if lease not in found.workers]
    long = f"for more than {stats.SILENT // SECOND} s"
    if silent and alone and not found.workers:
        yield warning(
            "deliveries",
            f"the worker runs, and has recorded no sign of life {long}",
            "see its log: perhaps it cannot write to the database",
        )
    elif silent:
        yield warning(
            "deliveries",
            f"no sign of life from {', '.join(silent[:5])} {long};"
            " other workers take over their deliveries",
            "start them, if they should be running",
        )


def check_jobs(store: Store) -> Iterator[Finding]:
    """Check that no scheduled job fails again and again."""
    for row in store.read_sync(jobs.every):
        if row["failures"] >= MANY_FAILURES:
            name, reason = row["name"], row["error"] or "it runs again just now"
            yield warning(
                "jobs",
                f"{name} has failed {row['failures']} times in a row: {reason}",
                f"see the worker's log; `tocsin job run {name}` tries it at once",
            )


def check_mails(store: Store) -> Iterator[Finding]:
    """Check that the SMTP server took the mails of the last day."""
    unsent = store.read_sync(outbox.count_unsent, store.clock.now() - DAY)
    if unsent:
        yield warning(
            "mail",
            f"{unsent} mails have failed within a day, or wait after an attempt that failed",
            "`tocsin alert mails` shows why, and `tocsin alert test-mail` tries the SMTP server",
        )


def check_state(store: Store, settings: Settings) -> Iterator[Finding]:
    """Check that events become state within an hour. Until then, retention keeps them."""
    _, oldest = store.read_sync(stats.count_stateless)
    if settings.reflect and oldest is not None and oldest < store.clock.now() - HOUR:
        yield warning(
            "state",
            f"the events since {clock.iso(oldest)} have not become state: they are kept until then",
            "start tocsin, or see the worker's log",
        )


def check_pauses(store: Store) -> Iterator[Finding]:
    """Check that no hook has been paused for more than LONG_PAUSE.

    The deliveries that wait for a paused hook are kept until they are sent.
    """
    found = store.read_sync(hook_list.page, HookFilter(state="paused"), limit=MOST_PAUSES)
    for row in found:
        if store.clock.now() - row["paused_at"] > LONG_PAUSE:
            yield warning(
                "hooks",
                f"hook {row['id']} has been paused since {clock.iso(row['paused_at'])}:"
                f" {row['waiting']} deliveries wait for it",
                f"tocsin hook resume {row['id']}",
            )


def check_filters(store: Store) -> Iterator[Finding]:
    """Check that the hooks' filters can be used: otherwise the hooks get every event."""
    for said in store.read_sync(filtering.unusable):
        yield warning("filters", said, "install what is missing, or `tocsin hook edit`")


def check_backups(store: Store, *, embedded: bool) -> Iterator[Finding]:
    """Check that there is a recent backup."""
    about = "backup"
    if not embedded:
        yield good(about, "PostgreSQL makes the backups: `tocsin backup` says how")
        return
    found = store.read_sync(audit_search.latest_entry, "tocsin backup")
    if found is None:
        yield warning(about, "no backup was ever made", "tocsin backup")
        return
    age, said = store.clock.now() - found["at"], f"the last one was made {clock.iso(found['at'])}"
    yield warning(about, said, "tocsin backup") if age > OLD_BACKUP else good(about, said)
