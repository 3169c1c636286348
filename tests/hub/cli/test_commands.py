"""Every command has a help text, and importing one leaves the garbage collector as it was."""

import gc

import click

from hub.cli import COMMANDS, main


def test_every_command_helps(run):
    assert "deliver" in run("--help").stdout
    for name in COMMANDS:
        command = main.get_command(None, name)
        assert command.help, name
        run(name, "--help")


def test_the_version_is_printed_and_wrong_usage_has_an_exit_code(run):
    assert run("--version").stdout.startswith("tocsin, version ")
    run("nothing", code=2)
    run("user", "nothing", code=2)
    run("user", "add", code=2)


def test_importing_a_command_leaves_the_collector_as_it_was():
    assert gc.isenabled()
    main.get_command(click.Context(main), "token")
    assert gc.isenabled()
    gc.disable()
    try:
        main.get_command(click.Context(main), "token")
        assert not gc.isenabled()
    finally:
        gc.enable()
