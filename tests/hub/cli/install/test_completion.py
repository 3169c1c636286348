"""A shell completes commands, options, and the names and ids in the store."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import BashComplete
from waiting import PATIENCE

from hub.cli import main
from hub.cli.install import completion
from store import Store
from store.hooks.event_names import PLATFORM_EVENTS


def offered(*words: str) -> list[str]:
    """Return the completions of the last word."""
    shell = BashComplete(main, {}, "tocsin", completion.VARIABLE)
    return [item.value for item in shell.get_completions(list(words[:-1]), words[-1])]


def test_commands_and_options():
    assert offered("deliv") == ["delivery"]
    assert offered("hook", "") == [
        "list", "show", "add", "edit", "remove", "ping", "pause", "resume", "retry",
        "silence", "enable", "disable", "rotate-key", "test-filter", "rotate-secret",
        "ordering-keys", "skip", "discard",
    ]  # fmt: skip
    assert offered("hooks", "r") == ["remove", "resume", "retry", "rotate-key", "rotate-secret"], (
        "the former word `hooks` is completed, too"
    )
    assert "--follow" in offered("delivery", "list", "--f")
    assert offered("delivery", "list", "--state", "d") == ["delivered", "dead"]


def test_names_and_ids_in_the_store_are_completed(store: Store, hook_id: int, run):
    run("source", "add", "forge", "--secret", "x")
    assert offered("delivery", "list", "--repo", "a") == ["ada/bell"]
    assert offered("delivery", "list", "--repo", "ADA/b") == ["ada/bell"]
    assert offered("delivery", "list", "--repo", "ada/x") == []
    assert offered("hook", "enable", "") == [str(hook_id)]
    assert offered("delivery", "list", "--hook", "9") == []
    assert offered("delivery", "redeliver", "1", "") == ["2", "1"]
    assert offered("token", "add", "A") == ["ada"]
    assert offered("source", "remove", "--yes", "fo") == ["forge"]
    assert {"push", "pull_request", "public"} <= set(offered("event", "list", "--event", "pu"))


def test_nothing_there_is_nothing_offered(fresh: Path, monkeypatch: pytest.MonkeyPatch):
    assert offered("hook", "enable", "") == []
    assert not (fresh / "tocsin.db").exists()
    monkeypatch.setenv("TOCSIN_STORE", "mongo://nowhere")
    assert offered("hook", "enable", "") == []


def test_another_directory_is_looked_at(run, directory: Path, tmp_path: Path):
    other = tmp_path / "other"
    run("load", "-", "--init", "--data-dir", other, stdin="users: [{login: eve}]")
    assert offered("token", "add", "--data-dir", str(other), "") == ["eve"]


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_each_shell_has_a_valid_script(shell: str, run, monkeypatch: pytest.MonkeyPatch):
    text = run("completion", shell).stdout
    assert f"_TOCSIN_COMPLETE={shell}_complete" in text
    monkeypatch.setenv("SHELL", f"/usr/bin/{shell}")
    assert run("completion").stdout == text
    if shutil.which(shell):
        subprocess.run([shell, "-n", "/dev/stdin"], input=text, text=True, check=True)


def test_an_unknown_shell_is_a_usage_error(run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    assert "name the shell: bash, zsh, fish" in run("completion", code=2).stderr


@pytest.mark.parametrize(
    ("shell", "path"),
    [
        ("bash", ".local/share/bash-completion/completions/tocsin"),
        ("zsh", ".local/share/zsh/site-functions/_tocsin"),
        ("fish", ".config/fish/completions/tocsin.fish"),
    ],
)
def test_installing_writes_the_script_of_the_shell(
    shell: str, path: str, run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    said = run("completion", shell, "--install").stderr
    assert f"wrote {tmp_path / path}" in said
    assert ("fpath" in said) == (shell == "zsh")
    assert (tmp_path / path).read_text() == completion.script(shell)


def test_a_description_is_one_line(store: Store, run):
    document = r'users: [{login: eve, name: "x\nplain\n$(id)\e[2J"}]'
    run("load", "-", stdin=document)
    shell = BashComplete(main, {}, "tocsin", completion.VARIABLE)
    (item,) = shell.get_completions(["token", "add"], "eve")
    assert item.help == r"x\nplain\n$(id)\x1b[2J"


def test_bash_completes_a_repository(store: Store, hook_id: int):
    assert completed_by_bash("tocsin delivery list --repo ad") == "ada/bell"


def test_bash_offers_no_file_as_an_event(directory: Path):
    (directory / "pu-file").touch()
    events = completed_by_bash("tocsin replay --event ''").split()
    assert set(events) == PLATFORM_EVENTS


def completed_by_bash(line: str) -> str:
    """Return the completions of the last word. A real bash runs the completion script."""
    code = f"""
    source <(tocsin completion bash)
    COMP_WORDS=({line})
    COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
    _tocsin_completion tocsin
    echo "${{COMPREPLY[@]}}"
    """
    scripts = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{scripts}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-euc", code], env=environment, capture_output=True, text=True,
                          check=False)  # fmt: skip
    assert done.stderr == ""
    return done.stdout.removesuffix("\n")


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file in which the first zsh lists its functions. Without it, each zsh reads them all."""
    return tmp_path_factory.mktemp("zsh") / "dump"


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("delivery list --state w", "delivery list --state waiting"),
        ("delivery list --state=w", "delivery list --state=waiting"),
        ("delivery list --repo=ADA/b", "delivery list --repo=ada/bell"),
        ("delivery list --hook=", "delivery list --hook=1"),
        ("emit --file=b", "emit --file=bell.json"),
    ],
)
def test_zsh_keeps_the_option_before_a_value(
    store: Store, hook_id: int, tmp_path: Path, dump: Path, line: str, completed: str
):
    (tmp_path / "bell.json").touch()
    assert completed_by_zsh(line, tmp_path, dump) == f"tocsin {completed}"


def completed_by_zsh(line: str, folder: Path, dump: Path) -> str:
    """Type a line in a real zsh, complete its last word, and return the line."""
    code = f"""
    zmodload zsh/zpty
    zpty -b shell zsh -f -i
    zpty -w shell 'autoload -Uz compinit; compinit -u -d {dump}; source <(tocsin completion zsh)'
    zpty -n -w shell $'tocsin {line}\\t\\C-aprint -r -- \\$0: \\r'
    zpty -r -m shell read $'*\\nzsh: *\\n'
    print -r -- $read
    """
    scripts = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{scripts}:{os.environ['PATH']}", "TERM": "dumb"}
    done = subprocess.run(["zsh", "-fc", code], env=environment, cwd=folder, capture_output=True,
                          text=True, check=True, timeout=PATIENCE)  # fmt: skip
    return re.findall("^zsh: (.*?) *$", done.stdout, re.MULTILINE)[-1]


def test_without_a_home_there_is_nowhere_to_install_it(run, monkeypatch: pytest.MonkeyPatch):
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    said = run("completion", "bash", "--install", code=3).stderr
    assert said == "Error: there is no home directory: set HOME or XDG_DATA_HOME\n"
