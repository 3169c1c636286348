"""`tocsin completion`: shell completion of commands, options, ids and names."""

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from hub.cli import main
from hub.cli.console import output
from hub.cli.console.grammar import command
from store.errors import Unprepared

SHELLS = ("bash", "zsh", "fish")
NAME, VARIABLE = "tocsin", "_TOCSIN_COMPLETE"
# In zsh, click's script would replace the whole word `--state=w`, so the option would be lost.
KEPT_IN_ZSH = {
    "    local -a response\n": "    local -a response\n    compset -P 1 '--*='\n",
    " -U": ' -U -i "$IPREFIX"',
}


@command(examples=["tocsin completion bash --install"])
@click.argument("shell", required=False, type=click.Choice(SHELLS))
@click.option("--install", is_flag=True, help="Write it to the file that the shell reads.")
def completion(shell: str | None, install: bool) -> None:
    """Print the completion script of a SHELL, by default of $SHELL.

    For this session: eval "$(tocsin completion bash)"; in fish: tocsin completion fish | source.
    """
    chosen = shell or Path(os.environ.get("SHELL", "")).name
    if chosen not in SHELLS:
        raise click.UsageError(f"name the shell: {', '.join(SHELLS)}")
    text = script(chosen)
    if not install:
        click.echo(text)
        return
    path = place(chosen)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    output.print_note(f"wrote {path}; shells that start from now on complete tocsin")
    if chosen == "zsh":
        output.print_note(
            f"unless ~/.zshrc has it, add this line before compinit: fpath+=({path.parent})"
        )


def script(shell: str) -> str:
    """Return the shell's completion script. No program is run for it."""
    kind = get_completion_class(shell)
    assert kind is not None, "click supports all SHELLS"
    made = kind(main, {}, NAME, VARIABLE)
    text = made.source_template % made.source_vars()
    for part, replacement in KEPT_IN_ZSH.items() if shell == "zsh" else ():
        text = text.replace(part, replacement)
    return text


def place(shell: str) -> Path:
    """Return the file of this user in which a shell looks for the script."""
    data = _base("XDG_DATA_HOME", ".local/share")
    if shell == "bash":
        return data / "bash-completion" / "completions" / NAME
    if shell == "zsh":
        return data / "zsh" / "site-functions" / f"_{NAME}"
    return _base("XDG_CONFIG_HOME", ".config") / "fish" / "completions" / f"{NAME}.fish"


def _base(variable: str, usual: str) -> Path:
    named = os.environ.get(variable, "")
    if named.startswith("/"):
        return Path(named)
    try:
        return Path.home() / usual
    except RuntimeError:
        raise Unprepared(f"there is no home directory: set HOME or {variable}") from None
