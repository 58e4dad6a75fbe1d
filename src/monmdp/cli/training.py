"""Commands that train agents: train and compare report results, watch shows how an agent learns."""

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
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from monmdp import check
from monmdp.cli import shared
from monmdp.cli.grids import Grids
from monmdp.cli.shared import ProblemArguments, option, print_line
from monmdp.errors import MonMDPError, plural
from monmdp.render.text import GLYPHS, action_symbol
from monmdp.tables import terminal

if TYPE_CHECKING:
    from monmdp.study.snapshots import Run
    from monmdp.training.curves import Curves

#: Suffixes of pictures.
PICTURES = (".png", ".pdf", ".svg")
Agent = Annotated[
    str,
    option(help='Name and options, such as "Directed(beta_bar=0.1)"; monmdp list shows all agents.', metavar="AGENT"),
]
Observe = Annotated[
    str | None,
    option(
        "pixels",
        'What an agent with networks sees, such as DeepDirected: pixels, one-hot, coordinates or "noisy pixels".',
        "NAME",
    ),
]
#: Most steps per picture, and seconds of their training from which on there are no more.
FASTEST, LONGEST = 4096, 0.5
#: Background colours from never to often visited.
HEAT = ("default", "#2b2440", "#4a2a5e", "#78305f", "#a63a50", "#d1573b", "#eb8a2f")
KEYS = "+ faster  - slower  space pause  s step  q quit"
LEGEND = "@ agent  ★ goal  arrows: greedy actions  warmer: visited more often"


@dataclass(frozen=True)
class StepArguments(ProblemArguments):
    """A problem and the number of training steps."""

    steps: Annotated[int | None, option("the paper's budget, on the paper's problems", metavar="N")] = None
    """Training steps per run."""


@dataclass(frozen=True)
class RunArguments(StepArguments):
    """How agents are trained and evaluated, and the files for their results."""

    seeds: Annotated[int, option(metavar="N")] = 10  # Number of seeds; trains the seeds 0, 1, 2, …
    points: Annotated[int | None, option("1,000, at most one per step", metavar="N")] = None
    """Number of evaluations during training, evenly spaced."""
    evaluation: Literal["exact", "sampled"] = "exact"
    """Returns are computed exactly from the model, or estimated from test episodes as in the paper."""
    threads: shared.Threads = None
    device: shared.Device = "cpu"
    json: shared.Json = False
    plot: Annotated[Path | None, option("none", metavar="FILE")] = None
    """File for a plot of the mean return with its 95% confidence interval: .png, .pdf or .svg."""

    def options(self, update: Callable[..., None]) -> dict[str, Any]:
        """Arguments of `train` and `compare`; update: moves a progress bar."""
        names = ("seeds", "steps", "points", "evaluation", "threads", "device")
        return {name: getattr(self, name) for name in names} | {
            "progress": lambda done, total: update(done, total, "training" if done else None)
        }

    def finish(self, console: Console, summary: object, table: RenderableType, contents: Contents) -> None:
        """Write the files whose path was given, then print the result."""
        written, failed = [], []
        for name, path, content in contents:
            try:
                if path is not None:
                    shared.write_file(path, content(path.suffix))
                    written.append(f"{name} written to {path}.")
            except MonMDPError as error:
                failed.append(str(error))
        if self.json:
            shared.print_json(summary)
        else:
            console.print(table)
            for line in written:
                print_line(console, line)
        if failed:
            raise MonMDPError(" ".join(failed))


#: Name and path of a file, and a function of its suffix that returns its bytes.
Contents = list[tuple[str, Path | None, Callable[[str], bytes]]]


@dataclass(frozen=True)
class Train(RunArguments):
    """Train an agent on several seeds and compare it with the optimum.

    Example: monmdp train Empty Ask --agent Directed --seeds 100 --plot curve.png
    """

    agent: Agent = "Directed"
    observe: Observe = None
    save: Annotated[Path | None, option("none", metavar="FILE")] = None
    """File for the results: .csv for the curves, .npz for curves and final tables."""

    def run(self, console: Console) -> None:
        shared.check_file(self.save, ".npz", ".csv")
        shared.check_file(self.plot, *PICTURES)
        problem = self.problem()
        with shared.progress("preparing (the first run compiles kernels)") as update:
            from monmdp.study.runner import train

            curves = train(problem, self.agent, observe=self.observe, **self.options(update))
        table = terminal((), _outcome(curves).items(), f"{curves.agent} in {curves.problem.name}")
        files: Contents = [("Curves", self.save, curves.file_content), ("Plot", self.plot, partial(_picture, curves))]
        self.finish(console, curves.summary(), table, files)


@dataclass(frozen=True)
class Compare(RunArguments):
    """Train agents with the same seeds and compare them with the first.

    The table shows the final return with its 95% interval, the fraction of seeds that end solved, steps and rewards
    seen until then (medians), what the whole run paid to the monitor (mean), and the difference to the first agent,
    paired by seed, with its p-value.

    Example: monmdp compare Hazard Button --agents "Directed,Directed(beta_bar=0.1)" --plot hazard.png
    """

    agents: Annotated[str, option(metavar="NAMES")] = "Directed,Naive"
    """Agents with their options, separated by commas; monmdp list shows all agents."""
    save: Annotated[Path | None, option("none", metavar="FILE")] = None
    """File for the curves of all agents: .csv."""

    def run(self, console: Console) -> None:
        shared.check_file(self.save, ".csv")
        shared.check_file(self.plot, *PICTURES)
        problem = self.problem()
        with shared.progress("preparing (the first run compiles kernels)") as update:
            from monmdp.study.compare import ALIGNED, HEADER, compare

            comparison = compare(problem, shared.split(self.agents) or (), **self.options(update))
        table = terminal(HEADER, comparison.cells(), comparison.title, ALIGNED)
        plot = partial(_picture, comparison)
        files: Contents = [("Curves", self.save, comparison.file_content), ("Plot", self.plot, plot)]
        self.finish(console, {"agents": comparison.rows()}, table, files)


def _picture(curves: Any, suffix: str) -> bytes:
    """A plot of curves or of a comparison as the bytes of a file."""
    from monmdp.figures.plots import picture_bytes

    return picture_bytes(curves.plot(), suffix)


def _outcome(curves: Curves) -> dict[str, str]:
    """The result of training for readers."""
    summary, steps, n_seeds = curves.summary(), int(curves.steps[-1]), len(curves.seeds)
    interval = "" if summary["final_return_ci"] is None else f" ± {summary['final_return_ci']:.4f} (95%)"
    facts = {
        "seeds × steps": f"{n_seeds} × {steps:,}",
        "final return": f"{summary['final_return']:.4f}{interval}",
        "optimal return": f"{curves.optimal_return:.4f}",
    }
    if curves.target_return != curves.optimal_return:
        facts["cautious return"] = f"{curves.target_return:.4f}"
    facts |= {
        "solved": f"{int(curves.solved.sum())} of {plural(n_seeds, 'seed')}" + _until(curves),
        "rewards observed": f"{summary['observed']:,.0f} of {steps:,} ({curves.observed[:, -1].mean() / steps:.1%})",
        "paid to the monitor": f"{summary['paid']:,.2f}",
        "reward collected": f"{summary['collected']:,.2f} while learning, environment and monitor",
        "pairs visited": f"{curves.visited[:, -1].mean():,.0f} of {int(curves.problem.reachable_pairs.sum()):,}",
        "time": f"{curves.seconds:.2f} s",
    }
    remarks = curves.remarks[0] if curves.remarks else []
    if remarks:
        more = f" (and {len(remarks) - 1} more)" if len(remarks) > 1 else ""
        facts["remarks"] = f"seed {curves.seeds[0]}: {remarks[0]}{more}"
    return facts


def _until(curves: Curves) -> str:
    """Medians of the steps and rewards that it took to solve the problem, if half of the seeds did."""
    steps, observed = (float(median(each)) for each in (curves.steps_until_solved, curves.observed_until_solved))
    return f"; median after {steps:,.0f} steps and {observed:,.0f} rewards" if math.isfinite(observed) else ""


@dataclass(frozen=True)
class Watch(StepArguments):
    """Watch an agent learn: position, goal, visits and greedy policy.

    Keys: + faster, - slower, space pause, s single step, q quit.

    Example: monmdp watch Hazard Button --agent Directed --speed 10
    """

    agent: Agent = "Directed"
    observe: Observe = None
    seed: Annotated[int, option(metavar="N")] = 0  # The seed of the run.
    fps: Annotated[float, option(metavar="NUMBER")] = 10.0  # Pictures per second.
    speed: Annotated[int, option(metavar="N")] = 1  # Training steps per picture at the start.

    def run(self, console: Console) -> None:
        from monmdp.protocol import paper_job
        from monmdp.study.runner import observing
        from monmdp.study.snapshots import Run

        seconds = 1.0 / check.finite(self.fps, "The number of pictures per second", least=0.1)
        speed = min(FASTEST, check.whole(self.speed, 1, "The speed"))
        seed = check.seed(self.seed, "The seed")
        agent = self.agent if self.observe is None else observing(self.agent, self.observe)
        job = paper_job(self.problem(), agent, self.steps)
        with console.status(job.preparing):
            run = Run(job, seed)
        last, paused, took = None, False, 0.0
        with keyboard() as keys_pressed, Live(console=console, auto_refresh=False) as live:
            while True:
                started = time.monotonic()
                if not paused:
                    last = advance(run, speed)
                    took = time.monotonic() - started
                state = "paused" if paused else f"{plural(speed, 'step')} per picture"
                live.update(picture(run, last, state), refresh=True)
                if run.step == run.job.steps and not paused:
                    return
                for key in keys_pressed(started + seconds):
                    if key in "qQ\x1b":
                        return
                    if key == " ":
                        paused = not paused
                    elif key in "+=" and took < LONGEST:
                        speed = min(FASTEST, speed * 2)
                    elif key in "-_":
                        speed = max(1, speed // 2)
                    elif key in "sS" and paused:
                        last = advance(run, 1)


@contextmanager
def keyboard() -> Iterator[Callable[[float], str]]:
    """Yields a function that waits until a deadline and returns the keys pressed; no keys without a terminal."""
    inputs = [sys.stdin] if sys.stdin.isatty() else []

    def keys_pressed(deadline: float) -> str:
        keys, wait = b"", 1.0
        while wait > 0:
            wait = max(0.0, deadline - time.monotonic())
            if select.select(inputs, [], [], wait)[0]:
                keys += os.read(sys.stdin.fileno(), 1024) or b"q"  # not through Python's buffer, unknown to select
        return keys.decode(errors="ignore")

    if not inputs:
        yield keys_pressed
        return
    terminal_settings = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin)
        yield keys_pressed
    finally:
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
    facts["observed"] = (
        f"{plural(int(metrics['observed']), 'reward')}; explored in {metrics['explored']:.0%} of the steps"
    )
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

    return Grids(problem, content)
