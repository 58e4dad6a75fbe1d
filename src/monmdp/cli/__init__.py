"""The command line: parse arguments, call the library, print."""

import contextlib
import io
import os
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import tyro
from rich.console import Console

from monmdp.cli.machine import Bench, Doctor
from monmdp.cli.problems import List, Optima, Solve
from monmdp.cli.reproduce import Reproduce
from monmdp.cli.results import Claims, Export, Figure, Report, Results
from monmdp.cli.shared import Command, new_console, print_line
from monmdp.cli.training import Train, Watch
from monmdp.errors import MonMDPError, MonMDPWarning, nearest, shown
from monmdp.tables import terminal

COMMANDS: dict[str, Callable[..., Command]] = {
    command.__name__.lower(): command
    for command in (
        List, Solve, Train, Watch, Reproduce, Results, Report, Figure, Claims, Export, Bench, Optima, Doctor,
    )
}  # fmt: skip

DESCRIPTION = """usage: monmdp [--version] COMMAND [ARGUMENTS]

Reinforcement learning when rewards cannot always be seen (Monitored MDPs).

Environments, monitors and agents have names, such as Empty, Ask and Directed, in
any case, and options, as in "Ask(cost=0.5)"; monmdp list shows them. Gymnasium
environments with a transition table work too, such as "FrozenLake-v1".
"""
EXAMPLES = """
Examples:
  monmdp solve Empty Ask
  monmdp train Empty Ask --agent Directed --seeds 100
  monmdp COMMAND --help"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; bad input prints one line and returns 2."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="replace")  # some terminals and files hold ASCII only
    console, errors = new_console(), new_console(stderr=True)
    with warnings.catch_warnings():
        warnings.showwarning = partial(_show_warning, errors, warnings.showwarning)
        return _run(words, console, errors)


def _run(words: list[str], console: Console, errors: Console) -> int:
    try:
        if words[:1] in ([], ["-h"], ["--help"]):
            summaries = [(name, (command.__doc__ or "").partition("\n")[0]) for name, command in COMMANDS.items()]
            console.print(DESCRIPTION, terminal((), summaries), EXAMPLES, sep="\n")
        elif words == ["--version"]:
            from monmdp import __version__

            print(__version__)
        else:
            _parse(words).run(console)
        sys.stdout.flush()
    except MonMDPError as error:
        print_line(errors, f"monmdp: {' '.join(str(error).splitlines())}")
        return 2
    except BrokenPipeError:
        sys.stderr.close()  # the reader, such as `head`, has closed the pipe
    except OSError as error:
        what = "The output" if error.filename is None else str(error.filename)
        print_line(errors, f"monmdp: {what} cannot be read or written: {error.strerror or error}.")
        _discard_output()
        return 2
    except MemoryError:
        print_line(errors, "monmdp: There is not enough memory; choose a smaller problem, or fewer seeds or points.")
        return 2
    except KeyboardInterrupt:
        print_line(errors, "monmdp: interrupted.")
        return 130
    return 0


def _discard_output() -> None:
    """Send what is left of the output nowhere, so that the interpreter does not try to write it again at its end."""
    with contextlib.suppress(OSError, ValueError), open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def _show_warning(errors: Console, show: Callable[..., None], message: Warning, *details: Any, **more: Any) -> None:
    """Print a warning of monmdp as one line, and others as usual."""
    if isinstance(message, MonMDPWarning):
        print_line(errors, f"Warning: {message}")
    else:
        show(message, *details, **more)


def _parse(words: list[str]) -> Command:
    """The command that the words describe; tyro's error page is reduced to its first sentence."""
    if not words[0].startswith("-") and words[0] not in COMMANDS:
        raise MonMDPError(f"There is no command {shown(words[0])}. {nearest(words[0], COMMANDS)} See monmdp --help.")
    page = io.StringIO()
    try:
        with contextlib.redirect_stderr(page):
            command: Command = tyro.extras.subcommand_cli_from_dict(
                COMMANDS, prog="monmdp", args=words, config=(tyro.conf.FlagCreatePairsOff, tyro.conf.DisallowNone)
            )
            return command
    except SystemExit as end:
        if end.code == 0:
            raise
        raise MonMDPError(f"{_first_sentence(page.getvalue())}. See monmdp {words[0]} --help.") from None


def _first_sentence(page: str) -> str:
    """The text of an error box between its first two rules."""
    lines = [line.strip("│ ") for line in re.sub(r"\x1b\[[0-9;]*m", "", page).splitlines()]
    rules = [i for i, line in enumerate(lines) if line.startswith(("╭", "───", "---"))]
    return " ".join(" ".join(lines[rules[0] + 1 : rules[1]]).split()).rstrip(".")
