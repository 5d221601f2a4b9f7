"""The click group, built from ``loganalyze.cli.spec``: help, usage errors, shell completion."""

from __future__ import annotations

from typing import Any

import click

from loganalyze.cli.spec import COMMANDS, Command, Option


def build() -> click.Group:
    """The whole command line as a click group. Each command returns its exit status."""
    group = click.Group(
        "loganalyze",
        help="Say why a local LLM run is slow: slow reading, slow writing, or swapping. Works offline on saved logs.",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    group.params.append(
        click.Option(
            ["--version"], is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Show the version."
        )
    )
    for spec in COMMANDS:
        group.add_command(_command(spec))
    return group


def _version(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted:
        from loganalyze import __version__

        click.echo(f"loganalyze {__version__}")
        context.exit()


def _command(spec: Command) -> click.Command:
    def invoke(**values: Any) -> int:
        from loganalyze.cli.dispatch import execute

        values.setdefault("paths", ())
        return execute(spec.name, values)

    params: list[click.Parameter] = [_option(o) for o in spec.options]
    if spec.argument:
        params.append(click.Argument(["paths"], nargs=-1, required=spec.required, metavar=spec.argument))
    examples = "\b\nExamples:\n" + "\n".join(f"  {e}" for e in spec.examples)
    text = "\n\n".join(x for x in (spec.summary, spec.details, examples) if x)
    return click.Command(spec.name, callback=invoke, params=params, help=text, short_help=spec.summary)


def _option(option: Option) -> click.Option:
    kind: Any = click.Choice(option.choices) if option.choices else str
    return click.Option(
        [*option.flags, option.dest],
        help=option.help,
        metavar=None if option.flag or option.choices else option.metavar,
        is_flag=option.flag,
        multiple=option.multiple,
        default=option.default if not option.flag else False,
        type=None if option.flag else kind,
        show_default=option.default is not None,
    )


def run(argv: list[str]) -> int:
    """Parse ``argv`` with click and run the command; usage errors go to stderr with status 2."""
    group = build()
    if not argv:
        click.echo(group.get_help(click.Context(group, info_name="loganalyze")))
        return 2
    try:
        return int(group.main(argv, prog_name="loganalyze", standalone_mode=False) or 0)
    except click.ClickException as error:
        _show(error)
        return error.exit_code
    except click.exceptions.Exit as stop:
        return int(stop.exit_code)
    except click.Abort:
        return 130


def _show(error: click.ClickException) -> None:
    """Usage and message on stderr, made inert: a word of the command line may be the name of a hostile file."""
    from loganalyze.cli.common import say

    context = getattr(error, "ctx", None)
    if context is not None:
        click.echo(context.get_usage(), err=True)
        click.echo(f"Try '{context.command_path} --help' for help.\n", err=True)
    say(f"Error: {error.format_message()}")
