"""Progress of long work: a bar on a terminal or in a notebook, and lines of text elsewhere."""

import importlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

#: Seconds between two lines where there is no bar.
LOG_EVERY = 15.0
#: Characters of a bar.
WIDTH = 20
#: Called with what is done, the total and a description; None leaves a value as it is.
Update = Callable[..., None]


def print_message(text: str) -> None:
    """Print a line on standard error; in a notebook, which marks that as an error, on standard output."""
    notebook = type(sys.stderr).__module__.startswith("ipykernel")
    print(text, file=sys.stdout if notebook else sys.stderr, flush=True)


@contextmanager
def progress_bar(description: str, log: Callable[[str], None] | None = None) -> Iterator[Update]:
    """A bar that disappears at the end, on standard error if that is a terminal, or in the output of a notebook.

    Yields a function that updates what is done, the total and the description. log: prints a line of text, now and
    then, where there is no bar.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    columns = (TextColumn("{task.description}"), BarColumn(WIDTH), TaskProgressColumn(), TimeRemainingColumn())
    show: Callable[[Any], None] = lambda task: None  # noqa: E731
    handle = None
    if console.is_jupyter:
        display: Any = importlib.import_module("IPython.display").display
        handle = display({"text/plain": description}, raw=True, display_id=True)
        show = lambda task: handle.update({"text/plain": _bar(task)}, raw=True)  # noqa: E731
    elif log is not None and not console.is_terminal:
        show = _throttled(lambda task: log(_line(task)))
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        bar.add_task(description, total=None)
        task = bar.tasks[0]

        def update(completed: float | None = None, total: float | None = None, description: str | None = None) -> None:
            bar.update(task.id, completed=completed, total=total, description=description)
            show(task)

        try:
            yield update
        finally:
            if handle is not None:
                handle.update({"text/plain": ""}, raw=True)


def _throttled(show: Callable[[Any], None]) -> Callable[[Any], None]:
    """The same function, called at most once in `LOG_EVERY` seconds."""
    last = time.monotonic()

    def call(task: Any) -> None:
        nonlocal last
        if time.monotonic() - last >= LOG_EVERY:
            last = time.monotonic()
            show(task)

    return call


def _line(task: Any) -> str:
    """The state of a task as a line of text."""
    done = "" if task.total is None else f", {task.percentage:.0f}%"
    left = "" if task.time_remaining is None else f", about {task.time_remaining:.0f} s left"
    return f"{task.description}{done}{left}"


def _bar(task: Any) -> str:
    """The state of a task as a line of text with a bar."""
    return f"{'█' * round(WIDTH * task.percentage / 100):░<{WIDTH}} {_line(task)}"
