"""`monmdp watch`: an agent while it learns, as a live picture in the terminal."""

from __future__ import annotations

import math
import os
import select
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from monmdp import check
from monmdp.cli.grids import action_symbol, draw_grids
from monmdp.cli.shared import TrainingArguments
from monmdp.render.text import GLYPHS
from monmdp.tables import terminal

if TYPE_CHECKING:
    from monmdp.study.snapshots import Run

FASTEST = 4096
#: Background colours from never to often visited.
HEAT = ("default", "#2b2440", "#4a2a5e", "#78305f", "#a63a50", "#d1573b", "#eb8a2f")
KEYS = "+ faster  - slower  space pause  s step  q quit"
LEGEND = "@ agent  ★ goal  arrows: greedy actions  warmer: visited more often"


@dataclass(frozen=True)
class Watch(TrainingArguments):
    """Watch an agent learn: position, goal, visits and greedy policy.

    Keys: + faster, - slower, space pause, s single step, q quit.

    Example: monmdp watch Hazard Button --agent Directed --speed 10
    """

    seed: int = 0
    """The seed of the run."""
    fps: float = 10.0
    """Pictures per second."""
    speed: int = 1
    """Training steps per picture at the start."""

    def run(self, console: Console) -> None:
        from monmdp.protocol import paper_job
        from monmdp.study.snapshots import Run

        seconds = 1.0 / check.at_least(self.fps, 0.1, "The number of pictures per second")
        speed = min(FASTEST, check.whole(self.speed, 1, "The speed"))
        run = Run(paper_job(self.problem(), self.agent, self.steps), check.whole(self.seed, 0, "The seed"))
        with console.status("Preparing (the first run compiles kernels) …"):
            run.advance(0)
        last: LastStep | None = None
        paused = False
        with keyboard() as keys_pressed, Live(console=console, auto_refresh=False) as live:
            while True:
                deadline = time.monotonic() + seconds
                if not paused:
                    last = advance(run, speed)
                live.update(picture(run, last, "paused" if paused else f"{speed} steps per picture"), refresh=True)
                if run.step == run.job.steps and not paused:
                    return
                for key in keys_pressed(deadline):
                    if key in "qQ\x1b":
                        return
                    if key == " ":
                        paused = not paused
                    elif key in "+=":
                        speed = min(FASTEST, speed * 2)
                    elif key in "-_":
                        speed = max(1, speed // 2)
                    elif key in "sS" and paused:
                        last = advance(run, 1)


@contextmanager
def keyboard() -> Iterator[Callable[[float], str]]:
    """Yields a function that waits until a deadline and returns the keys pressed; no keys without a terminal."""
    terminal_settings = termios.tcgetattr(sys.stdin) if sys.stdin.isatty() else None

    def keys_pressed(deadline: float) -> str:
        keys, wait = b"", 1.0
        while wait > 0:
            wait = max(0.0, deadline - time.monotonic())
            if terminal_settings is None:
                time.sleep(wait)
            elif select.select([sys.stdin], [], [], wait)[0]:
                keys += os.read(sys.stdin.fileno(), 1024) or b"q"  # not through Python's buffer, unknown to select
        return keys.decode(errors="ignore")

    try:
        if terminal_settings is not None:
            tty.setcbreak(sys.stdin)
        yield keys_pressed
    finally:
        if terminal_settings is not None:
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, terminal_settings)


class LastStep(NamedTuple):
    """The last training step: joint pair, whether its reward was observed, and whether the agent explored."""

    pair: int
    observed: bool
    explored: bool


def advance(run: Run, steps: int) -> LastStep | None:
    """Train for some steps, at most to the end; returns the last one, None if the run had ended."""
    until = min(run.step + steps, run.job.steps)
    if until == run.step:
        return None
    run.advance(until - 1)
    visits, tally = run.visits, run.tally
    run.advance(until)
    pair = int((run.visits - visits).argmax())
    return LastStep(pair, run.tally.observed > tally.observed, run.tally.exploring > tally.exploring)


def picture(run: Run, last: LastStep | None, state: str) -> RenderableType:
    """The run as rows of facts and, if the environment has positions, one grid per monitor state."""
    parts: list[RenderableType] = [terminal((), _facts(run, last).items())]
    if run.job.problem.environment.layout is not None:
        parts += [_grids(run), Text(LEGEND, style="dim")]
    return Group(*parts, Text(f"{state}   {KEYS}", style="dim"))


def _facts(run: Run, last: LastStep | None) -> dict[str, RenderableType]:
    job, problem, metrics = run.job, run.job.problem, run.metrics()

    def described(pair: int) -> str:
        state, action = divmod(pair, problem.n_actions)
        return f"{problem.action_label(action)} in {problem.state_label(state)}"

    facts: dict[str, RenderableType] = {
        "agent": f"{job.agent_name} in {problem.name}, seed {run.seed}",
        "step": f"{run.step:,} of {job.steps:,}",
    }
    if not math.isnan(metrics["beta"]):
        facts["β"] = f"{metrics['beta']:.4g}, threshold {getattr(job.agent, 'beta_bar', math.nan):g}"
    if run.goal >= 0:
        facts["goal"] = described(run.goal)
    if last is not None:
        mode = ("explore", "bold magenta") if last.explored else ("exploit", "bold green")
        reward = "observed" if last.observed else "hidden"
        facts["last action"] = Text.assemble(mode, f": {described(last.pair)}, reward {reward}")
    facts["visited"] = f"{metrics['visited']} of {int(problem.reachable_pairs.sum())} pairs"
    facts["observed"] = f"{metrics['observed']:,} rewards; explored in {metrics['explored']:.0%} of the steps"
    facts["return"] = f"{metrics['returns']:.4f}, optimal {job.optimal_return:.4f}"
    return facts


def _grids(run: Run) -> RenderableType:
    """Per monitor state the cells of the environment: agent or goal, greedy action and tile, coloured by visits."""
    problem, visits, greedy = run.job.problem, run.visits.sum(1), run.q.argmax(1)
    most = math.log1p(float(visits.max())) or 1.0
    agent, goal = run.state, run.goal // problem.n_actions

    def content(state: int, glyph: str) -> Text:
        heat = HEAT[round(math.log1p(float(visits[state])) / most * (len(HEAT) - 1))]
        if not problem.reachable[state]:
            return Text(glyph, style=f"on {heat}")
        arrow = action_symbol(problem.environment.actions[problem.split_action(int(greedy[state]))[0]])
        marks = "@" * (agent == state) + "★" * (goal == state)
        tile = "" if marks or glyph == GLYPHS["."] else glyph
        return Text(f"{marks or ' '}{arrow}{tile}"[:3].ljust(3), style=f"on {heat}")

    return draw_grids(problem, content)
