"""The command line: parse arguments, call the library, print."""

import contextlib
import io
import os
import re
import shutil
import sys
import textwrap
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, get_args, get_origin, get_type_hints

import tyro
from rich.console import Console

from monmdp.cli.machine import Bench, Doctor
from monmdp.cli.problems import List, Optima, Solve
from monmdp.cli.reproduce import Reproduce
from monmdp.cli.results import Claims, Export, Figure, Report, Results
from monmdp.cli.shared import Command, new_console, print_line
from monmdp.cli.training import Compare, Train, Watch
from monmdp.errors import MonMDPError, MonMDPWarning, nearest, shown
from monmdp.tables import terminal

COMMANDS: dict[str, Callable[..., Command]] = {
    command.__name__.lower(): command
    for command in (
        List, Solve, Train, Compare, Watch, Reproduce, Results, Report, Figure, Claims, Export, Bench, Optima, Doctor,
    )
}  # fmt: skip

POSITIONAL = get_args(tyro.conf.Positional[str])[1]  # how tyro marks an argument without a name

#: Options that are given twice by mistake → what to do instead.
REPEATED = {"--agent": "; monmdp compare trains several agents"}

DESCRIPTION = """usage: monmdp [--version] COMMAND [ARGUMENTS]

Reinforcement learning when rewards cannot always be seen (Monitored MDPs).

Environments, monitors and agents have names, such as Empty, Ask and Directed,
and options, as in "Ask(cost=0.5)"; monmdp list shows them. Gymnasium
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
    name = words[0]
    if name not in COMMANDS:
        raise MonMDPError(f"There is no command {shown(name)}. {nearest(name, COMMANDS)} See monmdp --help.")
    _check_options(name, words[1:])
    page, problems = _Page(), io.StringIO()
    try:
        with contextlib.redirect_stdout(page), contextlib.redirect_stderr(problems):
            config = (tyro.conf.FlagCreatePairsOff, tyro.conf.DisallowNone)
            return tyro.cli(COMMANDS[name], prog=f"monmdp {name}", args=words[1:], config=config)
    except SystemExit as end:
        if end.code != 0:
            raise MonMDPError(f"{_first_sentence(problems.getvalue())}. See monmdp {name} --help.") from None
        positional = [text for kind, text in _arguments(name).values() if kind == "positional"]
        print("usage: monmdp", name, "[OPTIONS]", *positional)  # tyro's is longer than a line
        width = shutil.get_terminal_size().columns
        for line in page.getvalue().splitlines()[1:]:
            print(textwrap.fill(line, width) if line[:1].isalpha() else line)
        raise


class _Page(io.TextIOWrapper):
    """A page of help in memory, with the characters and colours that standard output can show."""

    def __init__(self) -> None:
        self._bytes = io.BytesIO()
        super().__init__(self._bytes, getattr(sys.stdout, "encoding", None) or "utf-8", "replace", write_through=True)
        self.isatty = sys.stdout.isatty  # type: ignore[method-assign]

    def getvalue(self) -> str:
        """What was written."""
        return self._bytes.getvalue().decode(self.encoding)


def _arguments(name: str) -> dict[str, tuple[str, str]]:
    """Argument of a command → its kind, "positional", "list" or "single", and the word for its value in the help."""
    arguments: dict[str, tuple[str, str]] = {}
    for field, hint in get_type_hints(COMMANDS[name], include_extras=True).items():
        notes = getattr(hint, "__metadata__", ())
        metavar = next((note.metavar for note in notes if getattr(note, "metavar", None)), "")
        several = get_origin(get_args(hint)[0] if notes else hint) in (list, tuple)
        kind = "positional" if POSITIONAL in notes else "list" if several else "single"
        aliases = [name for note in notes for name in getattr(note, "aliases", None) or ()]
        arguments |= dict.fromkeys([f"--{field.replace('_', '-')}", *aliases], (kind, metavar))
    return arguments


def _check_options(name: str, words: list[str]) -> None:
    """Raise an error for the first option that the command does not have, or that is given twice."""
    options = {option: kind for option, (kind, _) in _arguments(name).items() if kind != "positional"}
    given: set[str] = set()
    for word in words:
        option = word.partition("=")[0].replace("_", "-")
        if not option.startswith("--") or option in ("--", "--help"):
            continue
        if option not in options:
            raise MonMDPError(f"monmdp {name} has no option {shown(option)}. {nearest(option, options)}")
        if option in given and options[option] == "single":
            raise MonMDPError(f"{option} is given twice; monmdp {name} takes it once{REPEATED.get(option, '')}.")
        given.add(option)


def _first_sentence(page: str) -> str:
    """The text of an error box between its first two rules."""
    lines = [line.strip("│ ") for line in re.sub(r"\x1b\[[0-9;]*m", "", page).splitlines()]
    rules = [i for i, line in enumerate(lines) if line.startswith(("╭", "───", "---"))]
    return " ".join(" ".join(lines[rules[0] + 1 : rules[1]]).split()).rstrip(".")
