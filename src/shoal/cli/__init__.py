"""The command line. `shoal --help` loads no command; each is imported when it is called."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import click

from shoal import __version__, _face
from shoal.reporting.console import EXIT_CODES

# name: (where it lives, what it does). Written out so that the help needs no import.
_COMMANDS = {
    "fit": ("shoal.cli.fit:fit", "Find the groups of a table, privately, and write a release."),
    "explain": ("shoal.cli.explain:explain", "Say what a fit would spend and how accurate it should be."),
    "plan": ("shoal.cli.plan:plan", "Say which epsilon, and how many rows, a wanted accuracy needs."),
    "show": ("shoal.cli.show:show", "Show a release."),
    "verify": ("shoal.cli.show:verify", "Check that a release is whole and its charges add up."),
    "plot": ("shoal.cli.plot:plot", "Draw the groups of a release."),
    "profile": ("shoal.cli.profile:profile", "Tell what groups are like in further columns, privately."),
    "compare": ("shoal.cli.compare:compare", "Say which groups moved, came or went between two releases."),
    "certificate": ("shoal.cli.certificate:certificate", "Write the certificate of a release as a page."),
    "sign": ("shoal.cli.certificate:sign", "Sign a release with your own key."),
    "ask": (
        "shoal.cli.ask:ask",
        "Ask a released synopsis or coreset for groups, counts or synthetic rows, for free.",
    ),
    "predict": ("shoal.cli.predict:predict", "Label your own rows with a release's groups."),
    "budget": ("shoal.cli.budget:budget_group", "Keep a budget that survives, shared by months and people."),
    "algorithms": ("shoal.cli.algorithms:algorithms", "List the algorithms, or tell what can be set of one."),
    "studio": ("shoal.cli.studio:studio", "Explore levels of privacy on a map and release, in a browser."),
    "demo": ("shoal.cli.demo:demo", "Cluster a made-up table and show the result."),
    "bench": ("shoal.bench.command:bench_group", "Measure accuracy and speed, reproducibly."),
    "audit": ("shoal.audit.command:audit_command", "Try to catch an algorithm leaking."),
}


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002
        if name not in _COMMANDS:
            return None
        module, attribute = _COMMANDS[name][0].split(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], _COMMANDS, n=2)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            raise click.UsageError(f"there is no command {args[0]!r}{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])


_EXITS = ", ".join(f"{int(code)} {meaning}" for code, meaning in EXIT_CODES.items())


@click.group(
    cls=_LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=f"Exit codes: {_EXITS}.",
)
@click.version_option(__version__, prog_name="shoal")
def main(**_: Any) -> None:
    """Private clustering for people who hold other people's data."""


def run() -> None:
    """Be the command line, in a process of its own."""
    # A fit writes what is released and is over: its estimator is never cloned, chained or printed.
    _face.wanted = sys.argv[1:2] != ["fit"]
    main()
