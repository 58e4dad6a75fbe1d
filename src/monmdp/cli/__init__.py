"""The command line: arguments in, calls out, nothing else."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections.abc import Callable, Sequence
from typing import Protocol

import tyro
from rich.console import Console

from monmdp.cli.bench import Bench
from monmdp.cli.catalogue import List, Optima
from monmdp.cli.claims import Claims
from monmdp.cli.doctor import Doctor
from monmdp.cli.export import Export
from monmdp.cli.figure import Figure
from monmdp.cli.report import Report
from monmdp.cli.reproduce import Reproduce
from monmdp.cli.results import Results
from monmdp.cli.solve import Solve
from monmdp.cli.train import Train
from monmdp.cli.watch import Watch
from monmdp.errors import MonMDPError, nearest


class Command(Protocol):
    """A frozen dataclass of arguments that knows how to run."""

    def run(self, console: Console) -> None:
        """Do it, and tell the console."""


COMMANDS: dict[str, Callable[..., Command]] = {
    "list": List,
    "solve": Solve,
    "train": Train,
    "reproduce": Reproduce,
    "results": Results,
    "report": Report,
    "figure": Figure,
    "claims": Claims,
    "export": Export,
    "watch": Watch,
    "bench": Bench,
    "optima": Optima,
    "doctor": Doctor,
}

DESCRIPTION = """Reinforcement learning when rewards cannot always be seen.

Environments and monitors are names such as Empty and Ask (any case), with options as in
"Ask(cost=0.5)". Gymnasium environments with a transition table work too: "FrozenLake-v1"."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; bad input ends in one line and exit code 2."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    complaints = Console(stderr=True, highlight=False, soft_wrap=True)
    if words and not words[0].startswith("-") and words[0] not in COMMANDS:
        complaints.print(
            f"monmdp: there is no command {words[0]!r}. {nearest(words[0], COMMANDS)} See monmdp --help.", markup=False
        )
        return 2
    if words == ["--version"]:
        from monmdp import __version__

        print(__version__)
        return 0
    try:
        command = _read(words or ["--help"])
        command.run(Console(highlight=False))
    except MonMDPError as error:
        complaints.print(f"monmdp: {error}", markup=False)
        return 2
    except BrokenPipeError:
        sys.stderr.close()  # the reader, such as `head`, has seen enough
        return 0
    except KeyboardInterrupt:
        complaints.print("monmdp: interrupted.", markup=False)
        return 130
    return 0


def _read(words: list[str]) -> Command:
    """The command that the words describe; of tyro's page on what is wrong, its first sentence is kept."""
    told = io.StringIO()
    try:
        with contextlib.redirect_stderr(told):
            command: Command = tyro.extras.subcommand_cli_from_dict(
                COMMANDS, prog="monmdp", description=DESCRIPTION, args=words
            )
            return command
    except SystemExit as end:
        if end.code == 0:
            raise
        page = f"monmdp {words[0]} --help" if words and words[0] in COMMANDS else "monmdp --help"
        raise MonMDPError(f"{_first_sentence(told.getvalue())}. See {page}.") from None


def _first_sentence(page: str) -> str:
    """What stands between the first two rules of a boxed page."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", page)
    between: list[str] = []
    rules = 0
    for line in plain.splitlines():
        text = line.strip(" │")
        if text.startswith(("╭", "--------", "────")):
            rules += 1
        elif rules == 1:
            between += text.split()
    return " ".join(between).rstrip(".") or "The command cannot be read"
