"""Command groups that run `list` if no subcommand is given."""

import click


class Listing(click.Group):
    """A group whose default subcommand is `list`."""

    left_out = "list"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        named = next((arg for arg in args if not arg.startswith("-")), None)
        if ctx.resilient_parsing:
            # Shell completion asks for the candidates, and the group's subcommands are among them.
            return super().parse_args(ctx, args)
        if named not in self.commands and not {"-h", "--help"} & set(args):
            args = [self.left_out, *args]
        return super().parse_args(ctx, args)
