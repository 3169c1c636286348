"""Groups of commands that list where nothing else is asked for."""

import click


class Listing(click.Group):
    """Its command `list` may be left out."""

    left_out = "list"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        named = next((arg for arg in args if not arg.startswith("-")), None)
        if ctx.resilient_parsing:
            # A shell asks what may come: that is the group's commands, too.
            return super().parse_args(ctx, args)
        if named not in self.commands and not {"-h", "--help"} & set(args):
            args = [self.left_out, *args]
        return super().parse_args(ctx, args)
