"""Entry point. Imports as little as it can: ``classify`` on a small log costs a few times bare Python."""

from __future__ import annotations

import gc
import sys

# Objects made and kept between two looks for garbage.
GARBAGE = 200_000


def main() -> None:
    """Run the command line and exit with its status."""
    # A short run makes next to no garbage; looking for it, and once more at the end, is a tenth of its time.
    gc.set_threshold(GARBAGE, 10, 10)
    code = status(sys.argv[1:])
    gc.freeze()
    sys.exit(code)


def status(argv: list[str]) -> int:
    """Exit status for ``argv``; every error ends as one message on stderr."""
    try:
        code = _route(argv)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        _quiet_stdout()
        return 130
    except BrokenPipeError:
        _quiet_stdout()
        return 0
    except Exception as error:
        return _explain(error, "--debug" in argv)
    except BaseException as error:
        # What a library in Rust raises when it gives up.
        if type(error).__name__ != "PanicException":
            raise
        _say(
            "loganalyze: a library gave up, perhaps for lack of memory or of open files. Raise ulimit -v and ulimit -n"
        )
        return 2


def _route(argv: list[str]) -> int:
    argv = [word for word in argv if word != "--debug"] if "--" not in argv else argv
    if argv in (["--version"], ["-V"]):
        from loganalyze import __version__

        print(f"loganalyze {__version__}")
        return 0
    from loganalyze.cli.spec import command

    argv = _default_command(argv)
    spec = command(argv[0]) if argv else None
    if spec is not None:
        from loganalyze.cli.fast import parse

        if spec.name == "compare":
            argv = _spread(argv)
        values = parse(spec, argv[1:])
        if values is not None:
            from loganalyze.cli.dispatch import execute

            return execute(spec.name, values)
    from loganalyze.cli.click_app import run

    return run(argv)


def _default_command(argv: list[str]) -> list[str]:
    """``loganalyze run.log`` and ``cat run.log | loganalyze`` mean classify."""
    from loganalyze.cli.spec import command

    if not argv:
        return argv if sys.stdin is None or sys.stdin.isatty() else ["classify"]
    first = argv[0]
    if command(first) is None and (first == "-" or not first.startswith("-")):
        import os

        if first == "-" or os.path.exists(first):
            return ["classify", *argv]
    return argv


def _spread(argv: list[str]) -> list[str]:
    """``--before a b --after c d`` -> one flag a value, which is what the parsers know."""
    out: list[str] = []
    current = ""
    for word in argv:
        if word in ("--before", "--after"):
            current = word
        elif word.startswith("-") and word != "-":
            current = ""
            out.append(word)
        elif current:
            out += [current, word]
        else:
            out.append(word)
    return out


def _quiet_stdout() -> None:
    """Point stdout at nothing, so that the interpreter's last flush cannot complain."""
    import os

    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):
        pass


def _explain(error: Exception, debug: bool) -> int:
    if debug:
        import traceback

        traceback.print_exc()
    from loganalyze.errors import LogAnalyzeError

    if isinstance(error, LogAnalyzeError):
        _say(f"loganalyze: {error}")
        return error.exit_code
    if isinstance(error, OSError):
        from loganalyze.faults import is_of_stream, remedy

        where = "standard output" if is_of_stream(error) else error.filename
        told = LogAnalyzeError(error.strerror or str(error), path=where and str(where), remedy=remedy(error))
        _say(f"loganalyze: {told}")
        _quiet_stdout()
        return 2
    if isinstance(error, MemoryError):
        _say("loganalyze: out of memory. Give fewer files at once, or raise the memory limit")
        return 2
    _say(f"loganalyze: internal error ({type(error).__name__}: {error}). Run again with --debug and report the output")
    return 2


def _say(text: str) -> None:
    from loganalyze.cli.common import say

    say(text)


if __name__ == "__main__":
    main()
