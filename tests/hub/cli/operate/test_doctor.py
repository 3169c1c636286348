"""`tocsin doctor`: its findings and their remedies, with and without a running daemon."""

import asyncio
import errno
import json
import os
import re
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from certificate_authority import DAY, Authority
from clock_helpers import hasten
from daemon import Site, tocsin
from installation import damage_index, opened, seed
from transactions import transaction
from waiting import PATIENCE

from hub.cli.operate import doctor_callbacks, doctor_data
from hub.cli.operate import doctor_machine as machine
from hub.cli.operate.diagnosis import Finding
from hub.cli.service.configuration import Settings
from hub.cli.service.daemon_record import recorded
from store import Connection, Store
from store.clock import HOUR
from store.crypto import key_file
from store.delivery import leases
from store.hooks import hook_queries, hooks
from store.jobs import jobs
from store.jobs.jobs import JobSchedule
from store.mail import outbox
from worker.http.callback_guard import make_guard

Examine = Callable[..., dict[str, list[dict[str, str]]]]


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the name server and the clock service of this machine."""

    async def resolver(host: str, port: int) -> list[str]:
        return ["93.184.216.34"]

    monkeypatch.setattr(doctor_callbacks, "make_guard", partial(make_guard, resolver=resolver))
    monkeypatch.setattr(machine, "ask_timedatectl", lambda: True)


@pytest.fixture
def examine(run) -> Examine:
    """Return a function that runs `doctor` and returns its findings by subject.

    It checks that the exit code matches the worst finding.
    """

    def call(*args: object, code: int | None = None) -> dict[str, list[dict[str, str]]]:
        wanted = 0 if code is None else code
        said = json.loads(run("doctor", "--json", *args, code=wanted).stdout)
        assert said["state"] == ("good", "warning", "bad")[wanted]
        found: dict[str, list[dict[str, str]]] = {}
        for one in said["findings"]:
            assert (one["remedy"] == "") == (one["level"] == "good")
            found.setdefault(one["about"], []).append(one)
        return found

    return call


@pytest.fixture
def well(store: Store, run, directory: Path, url: str) -> Store:
    """An installation without problems."""
    store.write_sync(seed)
    store.write_sync(lambda db: db.execute("UPDATE delivery SET state = 1"))
    directory.chmod(0o700)
    if url == "sqlite":
        run("backup")
    return store


def worst(findings: list[dict[str, str]]) -> dict[str, str]:
    return max(findings, key=lambda one: ("good", "warning", "bad").index(one["level"]))


def test_all_is_well(examine, well, url, run):
    found = examine()
    assert {one["level"] for group in found.values() for one in group} == {"good"}
    assert {"settings", "permissions", "clock", "disk", "key", "deliveries", "callbacks"} <= set(
        found
    )
    assert "1 host of 1 hook" in found["callbacks"][0]["said"]
    said = run("doctor").stdout
    assert "good     key " in said
    assert "->" not in said


def test_doctor_changes_nothing(examine, well, directory, url):
    before = well.read_sync(lambda db: db.value("SELECT count(*) FROM audit"))
    examine()
    assert well.read_sync(lambda db: db.value("SELECT count(*) FROM audit")) == before


# Settings.


def test_wrong_settings_are_found(run, directory, monkeypatch):
    (directory / "tocsin.toml").write_text("timeout = -1\nnothing = 2\n")
    said = run("doctor", code=2).stdout
    assert "timeout: Input should be greater than 0" in said
    assert "nothing: there is no such setting" in said


def test_variables_that_are_no_settings(examine, well, monkeypatch):
    monkeypatch.setenv("TOCSIN_TIMEUOT", "5")
    monkeypatch.setenv("TOCSIN_CONFIG", "")
    finding = worst(examine(code=1)["settings"])
    assert finding["said"] == "TOCSIN_TIMEUOT is no setting"
    assert finding["remedy"] == "unset TOCSIN_TIMEUOT, or correct its name"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("key_file", "key_file names {}, which is a directory"),
        ("data_dir", "data_dir names {}, which is no directory"),
    ],
)
def test_a_path_of_the_wrong_kind_is_named(examine, well, monkeypatch, tmp_path, name, said):
    path = tmp_path / "wrong"
    path.mkdir() if name == "key_file" else path.touch()
    monkeypatch.setenv(f"TOCSIN_{name.upper()}", str(path))
    finding = worst(examine(code=2)["permissions"])
    assert finding["said"] == said.format(path)
    assert "chmod" not in finding["remedy"]


def test_links_that_lead_nowhere_are_named(examine, well, monkeypatch):
    monkeypatch.setenv("TOCSIN_HOST", "0.0.0.0")
    finding = worst(examine(code=1)["settings"])
    assert finding["said"] == "links begin with http://0.0.0.0:8765, which clients cannot open"
    monkeypatch.setenv("TOCSIN_BASE_URL", "https://hub.example")
    examine()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"admin_token_file": "{}"}, "admin_token_file: cannot read {}: "),
        ({"openid_client_secret_file": "{}"}, "openid_client_secret_file: cannot read {}: "),
        ({"openid_ca": "{}"}, "openid_ca: cannot read {}: "),
        (
            {
                "mail_host": "127.0.0.1",
                "mail_from": "a@b.example",
                "mail_user": "mill",
                "mail_password_file": "{}",
            },
            "mail_password_file: cannot read {}: ",
        ),
        ({"tls_certificate": "{}"}, "tls_certificate: cannot read {}: "),
    ],
)
@pytest.mark.parametrize("reason", ["No such file or directory", "it is a pipe"])
def test_a_file_that_a_start_needs_is_looked_for(
    examine, well, monkeypatch, tmp_path, given, said, reason
):
    path = tmp_path / "absent"
    if reason == "it is a pipe":
        os.mkfifo(path)
    for name, value in given.items():
        monkeypatch.setenv(f"TOCSIN_{name.upper()}", value.format(path))
    finding = worst(examine(code=2)["settings"])
    assert finding["said"].removesuffix(" without content") == f"{said.format(path)}{reason}"
    assert finding["remedy"] == "correct the setting or its file: tocsin cannot start"


def test_an_expired_certificate_is_found_beside_another_warning(
    examine, well, monkeypatch, tmp_path
):
    issued = Authority(tmp_path)
    issued.issue("old", ends=-DAY)
    monkeypatch.setenv("TOCSIN_TLS_CERTIFICATE", str(tmp_path / "old.crt"))
    monkeypatch.setenv("TOCSIN_TLS_KEY", str(tmp_path / "old.key"))
    monkeypatch.setenv("TOCSIN_TIMEUOT", "5")
    said = [one["said"] for one in examine(code=1)["settings"]]
    assert said[0] == "TOCSIN_TIMEUOT is no setting"
    assert any("is valid from" in one for one in said[1:])


@pytest.mark.parametrize(
    ("admin_bind", "host", "taken"),
    [
        ("127.0.0.1:8765", "127.0.0.1", True),
        ("127.0.0.1:8765", "0.0.0.0", True),
        ("[::]:8765", "127.0.0.1", True),
        ("127.0.0.1:8766", "127.0.0.1", False),
        ("127.0.0.2:8765", "127.0.0.1", False),
        ("unix:/run/admin", "127.0.0.1", False),
    ],
)
def test_an_address_for_two_listeners_is_found(examine, well, monkeypatch, admin_bind, host, taken):
    monkeypatch.setenv("TOCSIN_ADMIN_BIND", admin_bind)
    monkeypatch.setenv("TOCSIN_HOST", host)
    monkeypatch.setenv("TOCSIN_BASE_URL", "https://hub.example")
    finding = worst(examine(code=int(taken))["settings"])
    assert (finding["said"] == "admin_bind is the address on which the API is served") is taken


def test_there_is_nothing_yet(examine, fresh):
    assert worst(examine(code=2)["database"])["remedy"].startswith("start tocsin")
    assert list(fresh.iterdir()) == []
    found = examine("--data-dir", "elsewhere", code=2)
    assert "no data directory elsewhere" in worst(found["settings"])["said"]


# The machine.


def test_files_that_others_may_read_are_found(examine, well, directory, url):
    (directory / "secret.key").chmod(0o644)
    finding = worst(examine(code=2)["permissions"])
    assert finding["remedy"] == f"chmod 600 {directory}/secret.key"
    (directory / "secret.key").chmod(0o600)
    directory.chmod(0o755)
    if url == "sqlite":
        (directory / "tocsin.db").chmod(0o644)
    found = examine(code=1)["permissions"]
    assert f"chmod 700 {directory}" in [one["remedy"] for one in found]
    assert (f"chmod 600 {directory}/tocsin.db" in [one["remedy"] for one in found]) == (
        url == "sqlite"
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_files_of_another_user_are_found(examine, well, directory, url):
    if url != "sqlite":
        return
    os.chown(directory / "tocsin.db", 12345, 12345)
    finding = worst(examine(code=2)["permissions"])
    assert "tocsin.db does not belong to root" in finding["said"]
    assert finding["remedy"] == f"chown root: {directory}/tocsin.db"


@pytest.mark.parametrize(
    ("by_systemd", "by_kernel", "level"),
    [(True, None, "good"), (None, None, "good"), (None, True, "good"), (False, True, "warning"),
     (None, False, "warning")],
)  # fmt: skip
def test_the_time_service_is_checked(examine, well, monkeypatch, by_systemd, by_kernel, level):
    monkeypatch.setattr(machine, "ask_timedatectl", lambda: by_systemd)
    monkeypatch.setattr(machine, "ask_kernel", lambda: by_kernel)
    found = examine(code=0 if level == "good" else 1)
    assert worst(found["clock"])["level"] == level


@pytest.mark.parametrize(
    ("program", "remedy"),
    [("/usr/bin/timedatectl", "timedatectl set-ntp true"), (None, "run a time service such as")],
)
def test_a_remedy_names_a_program_that_is_there(examine, well, monkeypatch, program, remedy):
    monkeypatch.setattr(machine, "ask_timedatectl", lambda: False)
    monkeypatch.setattr(machine.shutil, "which", lambda name: program)
    assert worst(examine(code=1)["clock"])["remedy"].startswith(remedy)


def test_the_kernel_is_asked_for_real():
    assert machine.ask_kernel() in (True, False, None)


def test_a_wrong_clock_is_found(examine, well, monkeypatch):
    real = time.time
    monkeypatch.setattr(machine.time, "time", lambda: real() + 3600)
    said = worst(examine(code=1)["clock"])["said"]
    assert re.search(r"-360\d s from this machine", said), said
    monkeypatch.setattr(machine.time, "time", lambda: 1000.0)
    assert "the clock shows" in worst(examine(code=2)["clock"])["said"]


def test_events_of_the_future(examine, well):
    well.write_sync(
        lambda db: db.execute("UPDATE event SET received_at = :at", at=4_000_000_000_000_000)
    )
    assert "the clock was set back" in worst(examine(code=1)["clock"])["said"]


def test_a_full_disk_is_found(examine, well, monkeypatch):
    real = os.statvfs

    def full(path: Path, blocks: int, files: int = 10_000) -> Any:
        found = real(path)
        values = {name: getattr(found, name) for name in dir(found) if name.startswith("f_")}
        return type("Found", (), values | {"f_bavail": blocks, "f_favail": files})

    blocks = real(".").f_blocks
    for given, level in (((10,), 2), ((blocks // 50,), 1), ((blocks // 2, 3), 2)):
        monkeypatch.setattr(machine.os, "statvfs", lambda path, given=given: full(path, *given))
        assert "make room" in worst(examine(code=level)["disk"])["remedy"]


def test_a_read_only_disk_is_found(examine, well, monkeypatch):
    real = os.open

    def refused(path: Path, flags: int, *mode: int, **more: int) -> int:
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return real(path, flags, *mode, **more)

    monkeypatch.setattr(machine.os, "open", refused)
    assert "mount it for writing" in worst(examine(code=2)["disk"])["remedy"]


def test_a_grown_write_ahead_log_is_found(tmp_path, monkeypatch):
    database = tmp_path / "tocsin.db"
    database.touch()
    with (tmp_path / "tocsin.db-wal").open("wb") as file:
        file.truncate(machine.LARGE_LOG + 1)
    found = list(machine.check_disk(Settings(data_dir=tmp_path), database))
    assert "the write-ahead log has grown to 256 MB" in [one.said for one in found]


def test_too_few_descriptors(examine, well, monkeypatch):
    monkeypatch.setattr(machine.resource, "getrlimit", lambda what: (1024, 1024))
    assert "LimitNOFILE=" in worst(examine(code=1)["descriptors"])["remedy"]


@pytest.mark.parametrize(("its", "ours", "level"), [(4096, 1024, "good"), (1024, 4096, "warning")])
def test_the_limit_of_a_running_daemon_counts(
    examine, well, url, directory, monkeypatch, its, ours, level
):
    monkeypatch.setattr(machine.resource, "getrlimit", lambda what: (its, its))
    with recorded(Settings(data_dir=directory, store=url), None):
        monkeypatch.setattr(machine.resource, "getrlimit", lambda what: (ours, ours))
        (finding,) = examine(code=int(level != "good"))["descriptors"]
    assert (finding["level"], f"the daemon may have {its} " in finding["said"]) == (level, True)


def test_a_missing_program_is_found(examine, well, monkeypatch):
    monkeypatch.setattr(machine.shutil, "which", lambda name: None)
    assert "imports = false" in worst(examine(code=1)["programs"])["remedy"]
    monkeypatch.setenv("TOCSIN_IMPORTS", "false")
    examine()


# The data.


def test_a_damaged_database_is_found(examine, run, directory):
    with opened(directory) as store:
        store.write_sync(seed)
    directory.chmod(0o700)
    path = directory / "tocsin.db"
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        file.write(b"\xff" * 8192)
    finding = worst(examine(code=2)["database"])
    assert "is damaged" in finding["said"]
    assert finding["remedy"] == "tocsin restore FILE"
    path.write_bytes(b"somebody's notes " * 1000)
    for name in ("tocsin.db-wal", "tocsin.db-shm"):
        (directory / name).unlink(missing_ok=True)
    assert worst(examine(code=2)["database"])["level"] == "bad"


def test_a_damaged_index_is_found(examine, directory):
    with opened(directory) as store:
        store.write_sync(seed)
    damage_index(directory / "tocsin.db")
    said = worst(examine(code=2)["database"])["said"]
    assert "missing from index sqlite_autoindex_account_1" in said


def test_dangling_references(examine, directory):
    with opened(directory) as store:
        store.write_sync(seed)
    with closing(sqlite3.connect(directory / "tocsin.db", isolation_level=None)) as raw:
        raw.execute("DELETE FROM repository")
    assert "refers to a row of repository" in worst(examine(code=2)["database"])["said"]


def test_a_long_check_of_a_database_is_left_out_by_default(examine, well, url, monkeypatch):
    if url != "sqlite":
        return
    well.shut()
    with opened(Path()) as store:
        store.write_sync(many_rows)
    monkeypatch.setattr(doctor_data, "PATIENCE", 0.0)
    assert worst(examine(code=1)["database"])["remedy"] == "tocsin doctor --thorough"
    assert worst(examine("--thorough")["database"])["level"] == "good"


def many_rows(db: Connection) -> None:
    rows = [(number, "x" * 50) for number in range(20_000)]
    db.insert_many("failed_login", "who, times, since", [(str(n) + x, n, 0) for n, x in rows])


@pytest.mark.parametrize(
    ("number", "name", "code", "said"),
    [
        (99_999, "later.sql", 2, "its schema version is 99999, and this program knows"),
        (1_000_000, "moved away", 2, "moved away"),
    ],
)
def test_a_database_of_another_version_is_found(examine, well, number, name, code, said):
    well.write_sync(
        lambda db: db.execute(
            "INSERT INTO migration (number, name, applied_at) VALUES (:number, :name, 0)",
            number=number,
            name=name,
        )
    )
    found = examine(code=code)
    assert said in worst(found["database"])["said"]
    assert "deliveries" not in found, "doctor must not query an unknown schema"
    well.write_sync(
        lambda db: db.execute("DELETE FROM migration WHERE number = :number", number=number)
    )


def test_a_database_to_be_upgraded_is_found(examine, well):
    last = well.read_sync(lambda db: db.one("SELECT * FROM migration ORDER BY number DESC LIMIT 1"))
    assert last is not None
    well.write_sync(
        lambda db: db.execute("DELETE FROM migration WHERE number = :number", number=last["number"])
    )
    assert (
        "the next start makes a copy and upgrades it" in worst(examine(code=1)["database"])["said"]
    )
    columns = ", ".join(last)
    named = ", ".join(f":{name}" for name in last)
    well.write_sync(
        lambda db: db.execute(f"INSERT INTO migration ({columns}) VALUES ({named})", **last)
    )


def test_a_database_without_tables_is_found(run, directory):
    with closing(sqlite3.connect(directory / "other.db")) as db:
        db.execute("CREATE TABLE bookmark (url TEXT)")
    said = run("doctor", "--store", f"sqlite://{directory}/other.db", code=2).stdout
    assert "it has no tables of tocsin" in said


def test_a_database_that_lost_its_content_is_found(run, directory):
    (directory / "tocsin.db").write_bytes(b"")
    assert "tocsin.db is empty, and" in run("doctor", code=2).stdout
    assert (directory / "tocsin.db").stat().st_size == 0


def test_a_key_of_another_database_is_found(examine, well, directory):
    path = directory / "secret.key"
    before = path.read_bytes()
    path.write_bytes(key_file.generate().value + b"\n")
    said = [one["said"] for one in examine(code=2)["key"]]
    assert f"{path} does not decrypt 1 of 1 secrets of hook.secret" in said
    path.write_bytes(before + key_file.generate().value + b"\n")
    assert worst(examine(code=1)["key"])["remedy"] == "tocsin key rotate"
    path.unlink()
    assert "restore" in worst(examine(code=2)["key"])["remedy"]
    path.write_bytes(b"half")
    assert "not a Fernet key" in worst(examine(code=2)["key"])["said"]
    path.write_bytes(before)
    path.chmod(0o600)


def test_an_unusable_filter_is_found(examine, well, run):
    run("hook", "edit", 1, "--filter", json.dumps({"cel": "payload.size > 1"}))
    assert "filters" not in examine()
    newer = {"filter": {"payload": {"ref": {"$future": 1}}}}
    well.write_sync(lambda db: hooks.update(db, hooks.by_id(db, 1), options=newer))
    finding = worst(examine(code=1)["filters"])
    assert finding["said"].startswith("hook 1 gets every event, because its filter is unusable: ")
    assert "$future" in finding["said"]


def test_a_forgotten_pause_is_found(examine, well, run):
    run("hook", "pause", 1)
    assert "hooks" not in examine()
    well.write_sync(lambda db: db.execute("UPDATE hook SET paused_at = 1 WHERE id = 1"))
    finding = worst(examine(code=1)["hooks"])
    assert finding["said"].startswith("hook 1 has been paused since 1970-01-01T00:00:00Z: ")
    assert finding["remedy"] == "tocsin hook resume 1"


def test_a_missing_worker_is_found(examine, well):
    well.write_sync(lambda db: db.execute("UPDATE delivery SET state = 0, due_at = 0"))
    finding = worst(examine(code=1)["deliveries"])
    assert finding["said"].startswith("no worker runs; 2 due")
    assert finding["remedy"] == "start tocsin"


def test_a_worker_that_lags_is_found(examine, well, url):
    well.write_sync(lambda db: db.execute("UPDATE delivery SET state = 0, due_at = 0"))
    assert well.engine.acquire_worker_lock()

    with transaction(well) as db:
        lease = leases.acquire(db, "tower:1", 3_600_000_000)
        leases.renew(db, lease, 3_600_000_000, 9_000_000_000)
    assert "9000 s behind" in worst(examine(code=2)["deliveries"])["said"]


def test_a_job_that_fails_again_and_again_is_found(examine, well):
    well.write_sync(
        jobs.save_schedules, [JobSchedule("prune", "daily", 0), JobSchedule("mail", "now", 0)]
    )
    for failed in range(1, 4):
        assert "jobs" not in examine()
        row = well.write_sync(jobs.claim, "prune", "tower:1")
        well.write_sync(jobs.fail, row, "OSError: see the log")
        well.write_sync(lambda db: db.execute("UPDATE job SET rests_until = 0"))
        assert well.read_sync(jobs.get, "prune")["failures"] == failed
    (finding,) = examine(code=1)["jobs"]
    assert finding["said"] == "prune has failed 3 times in a row: OSError: see the log"
    assert "`tocsin job run prune`" in finding["remedy"]
    well.write_sync(jobs.claim, "prune", "tower:1")
    assert "it runs again just now" in examine(code=1)["jobs"][0]["said"]


def test_mails_that_were_not_sent_are_found(examine, well):
    refused, delayed = (
        well.write_sync(outbox.add, outbox.ALERTS, f"{name}@tower.example")
        for name in ("ada", "bob")
    )
    assert "mail" not in examine()
    well.write_sync(outbox.record_failed, refused, "550 no such user")
    well.write_sync(outbox.record_error, well.read_sync(outbox.get, delayed), "no answer")
    (finding,) = examine(code=1)["mail"]
    assert finding["said"].startswith("2 mails have failed within a day, or wait")
    well.write_sync(lambda db: db.execute("UPDATE mail SET due_at = NULL, ended_at = 0"))
    assert "mail" not in examine()


def test_events_that_do_not_become_state_are_found(examine, well, monkeypatch):
    assert "state" not in examine()
    older = "UPDATE event SET received_at = received_at - :long"
    well.write_sync(lambda db: db.execute(older, long=2 * HOUR))
    (finding,) = examine(code=1)["state"]
    assert "have not become state" in finding["said"]
    monkeypatch.setenv("TOCSIN_REFLECT", "false")
    assert "state" not in examine()


def test_a_dead_worker_is_found(examine, well):
    assert well.engine.acquire_worker_lock()

    with transaction(well) as db:
        leases.acquire(db, "tower:1", 3_600_000_000)
        lease = leases.acquire(db, "tower:2", 3_600_000_000)
        db.execute("UPDATE lease SET seen_at = 0 WHERE id = :id", id=lease)
    said = [one["said"] for one in examine(code=1)["deliveries"]]
    assert any(line.startswith("no sign of life from tower:2") for line in said)


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_a_worker_that_cannot_write_is_found(examine, well):
    """It holds its lock, so it need not be started."""
    assert well.engine.acquire_worker_lock()
    with transaction(well) as db:
        leases.acquire(db, "tower:1", 3_600_000_000)
        db.execute("UPDATE lease SET seen_at = 0")
    finding = worst(examine(code=1)["deliveries"])
    assert finding["said"].startswith("the worker runs, and has recorded no sign of life")
    assert "cannot write" in finding["remedy"]


def test_doctor_looks_at_backups(examine, well, url, monkeypatch):
    if url != "sqlite":
        assert "PostgreSQL makes" in worst(examine()["backup"])["said"]
        return
    monkeypatch.setattr(doctor_data, "OLD_BACKUP", -1)
    assert worst(examine(code=1)["backup"])["remedy"] == "tocsin backup"


def test_there_never_was_a_backup(examine, directory):
    with opened(directory):
        pass
    directory.chmod(0o700)
    assert worst(examine(code=1)["backup"])["said"] == "no backup was ever made"


# Callbacks.


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The name server's answer for each host: an address, an error, or None for no answer."""
    known: dict[str, Any] = {}

    async def resolver(host: str, port: int) -> list[str]:
        answer = known.get(host, OSError(-2, "Name or service not known"))
        if isinstance(answer, OSError):
            raise answer
        if answer is None:
            await _never(known)
        return [answer]

    monkeypatch.setattr(doctor_callbacks, "make_guard", partial(make_guard, resolver=resolver))
    monkeypatch.setattr(doctor_callbacks, "PATIENCE", PATIENCE)
    return known


async def _never(known: dict[str, Any]) -> None:
    """Never answer.

    The first call waits until the other concurrent lookups have begun, then ends their time.
    """
    known["asked"] = known.get("asked", 0) + 1
    if known["asked"] == 1:
        for _ in range(100):
            await asyncio.sleep(0)
        hasten(PATIENCE)
    await asyncio.Event().wait()


def test_doctor_looks_at_callbacks(examine, well, names):
    known = {
        "receiver.example": "93.184.216.34", "gone.example": OSError(-2, "Name not known"),
        "inside.example": "10.0.0.1", "slow.example": None,
    }  # fmt: skip
    names.update(known)

    with transaction(well) as db:
        repo_id = hook_queries.every(db)[0]["repo_id"]
        for host in [*known, "receiver.example:22"]:
            url = f"https://{host}/other"
            hooks.create(db, repo_id, url=url, events=["push"], active=host != "off.example")
        hooks.create(db, repo_id, url="pull:ci", events=["push"])
    said = sorted(one["said"] for one in examine(code=1)["callbacks"])
    assert len(said) == 4
    assert said[0].startswith("hook 3: gone.example cannot be looked up: Name not known")
    assert said[1].startswith("hook 4: ")
    assert "10.0.0.1" in said[1]
    assert said[2] == "hook 5: slow.example was not looked up in time"
    assert said[3].startswith("hook 6: ")
    assert "port 22" in said[3]


def test_many_callbacks_take_no_longer(well, names, monkeypatch):
    with transaction(well) as db:
        repo_id = hook_queries.every(db)[0]["repo_id"]
        for number in range(150):
            url = f"https://h{number}.example/"
            names[f"h{number}.example"] = None
            hooks.create(db, repo_id, url=url, events=["push"])
    found: list[Finding] = list(doctor_callbacks.check_callbacks(well, Settings()))
    assert names["asked"] == doctor_callbacks.AT_ONCE, (
        "the time was over before other lookups began"
    )
    assert len(found) == doctor_callbacks.SHOWN + 1
    assert found[-1].said == f"and {100 - doctor_callbacks.SHOWN} more of that kind"


# With a running daemon.


async def test_doctor_works_beside_a_daemon(tmp_path: Path) -> None:
    site = Site(tmp_path / "site")
    try:
        await site.serve()
        process = await tocsin(site.folder, "doctor", "--json")
        output, _ = await process.communicate()
        found = {one["about"]: one for one in json.loads(output)["findings"]}
        assert process.returncode in (0, 1), output
        assert found["deliveries"]["said"].startswith("a worker runs; 0 due")
    finally:
        await site.close()
