"""What commands share: arguments, JSON output, lines of text and progress bars."""

from __future__ import annotations

import json as json_text
import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from rich.console import Console
from tyro.conf import Positional, arg

from monmdp.errors import MonMDPError
from monmdp.progress import progress_bar
from monmdp.tables import printable

if TYPE_CHECKING:
    from monmdp.problem import MonMDP

progress = progress_bar
#: Bytes in the name of a file, on all usual file systems.
LONGEST_NAME = 255


def option(default: str | None = None, help: str | None = None, metavar: str | None = None) -> Any:
    """Annotation of an argument: what the help shows in place of the default, and the word for its value."""
    return arg(help=help, metavar=metavar, help_behavior_hint=None if default is None else f"(default: {default})")


Flag = Annotated[bool, arg(help_behavior_hint="")]
Json = Annotated[bool, arg(help="Print one JSON object instead of tables.", help_behavior_hint="")]
Folder = Annotated[Positional[Path], arg(metavar="[FOLDER]", help="The results folder.")]
Device = Annotated[
    Literal["cpu", "cuda", "auto"],
    option(help="Where to train: CPU, GPU, or auto for a GPU if there is one. The numbers are the same."),
]
Threads = Annotated[int | None, option("one per core, as far as memory allows", "Number of runs in parallel.", "N")]


@dataclass(frozen=True)
class Command:
    """A command: its fields are the arguments, its docstrings are the help."""

    def run(self, console: Console) -> None:
        """Run the command and print its result."""
        raise NotImplementedError


@dataclass(frozen=True)
class ProblemArguments(Command):
    """An environment, a monitor and a discount."""

    environment: Annotated[Positional[str], arg(metavar="ENVIRONMENT")]
    """Name and options, such as Empty, "Empty(rows=9, columns=9)" or "FrozenLake-v1"."""
    monitor: Annotated[Positional[str], arg(metavar="[MONITOR]")] = "Full"
    """Name and options, such as Ask or "Ask(cost=0.5)"."""
    discount: Annotated[float, option(metavar="NUMBER")] = 0.99
    """Discount factor of the return, at least 0 and below 1."""

    def problem(self) -> MonMDP:
        """The problem that these arguments describe."""
        from monmdp.join import make

        try:
            with progress("building the problem") as update:
                return make(self.environment, self.monitor, discount=self.discount, progress=update)
        except MonMDPError:
            from monmdp.study.sweep import live_world

            if (world := live_world(self.environment)) is None:
                raise
        raise MonMDPError(
            f"{world.name} has no table of states. Agents with networks are trained there by monmdp reproduce "
            f"--preset deep-continuous --envs {type(world).__name__}, or in Python by monmdp.train_live."
        )


def new_console(stderr: bool = False) -> Console:
    """A console that prints text as it is, without markup or highlighting."""
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False)


def print_line(console: Console, text: object, style: str = "") -> None:
    """Print a line of text without wrapping it, so that paths can be copied."""
    console.print(printable(str(text)), style=style, soft_wrap=True)


def print_warnings(console: Console, messages: Iterable[str]) -> None:
    """Print one line per message in yellow."""
    for message in messages:
        print_line(console, message, "yellow")


def print_json(value: object) -> None:
    """Print one JSON object on standard output."""
    print(json_text.dumps(value, allow_nan=False))


def split(text: str | None) -> list[str] | None:
    """Names separated by commas outside brackets: `Loop,Ask(cost=0.5, n=2)`."""
    if text is None:
        return None
    names, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            names.append("")
        else:
            names[-1] += letter
    return [name.strip() for name in names if name.strip()]


def check_file(path: Path | None, *suffixes: str) -> None:
    """Raise unless a file with one of these suffixes can be written at `path`; None is fine."""
    if path is None:
        return
    if os.path.isdir(path):
        raise MonMDPError(f"{path} is a folder; give the path of a file.")
    if path.suffix not in suffixes:
        raise MonMDPError(f"{path} must end in {' or '.join(suffixes)}.")
    folder = path.resolve().parent
    if not os.path.isdir(folder):
        raise MonMDPError(f"The folder of {path} does not exist.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise MonMDPError(f"The folder {folder} cannot be written; choose another place for {path.name}.")
    if len(os.fsencode(path.name)) > LONGEST_NAME:
        raise MonMDPError(f"The name of the file {path.name[:20]}… is too long; choose a shorter one.")


def write_file(path: Path, content: bytes) -> None:
    """Write a file whole or not at all; if that fails, write it in the temporary folder and say so in the error."""
    from monmdp.files import WriteError, write_atomically

    try:
        write_atomically(path.resolve(), content)
    except WriteError as error:
        try:
            rescued = Path(tempfile.mkdtemp(prefix="monmdp-")) / path.name
            write_atomically(rescued, content)
        except (WriteError, OSError):
            raise error from None
        raise MonMDPError(f"{error} It is saved as {rescued} instead.") from None
