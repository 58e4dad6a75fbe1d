"""`monmdp reproduce`: run a sweep, such as the whole paper, into a results folder."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.console import Console
from tyro.conf import arg

from monmdp import check
from monmdp.cli.shared import Command, Device, Flag, Threads, option, print_line, print_warnings, split
from monmdp.errors import MonMDPError, plural
from monmdp.tables import terminal

if TYPE_CHECKING:
    from monmdp.study.executors import Executor
    from monmdp.study.runner import Report
    from monmdp.study.sweep import Batch, Sweep

sweeps_own = partial(option, "as in the sweep", None)


@dataclass(frozen=True)
class Reproduce(Command):
    """Run a sweep, such as the whole paper, into a results folder.

    Runs in the folder are skipped: repeat the command to continue a sweep.

    Examples: monmdp reproduce --preset quick --out results
              monmdp reproduce --envs Loop,OneWay --monitors Ask --agents UCB,Naive
              monmdp reproduce --envs Loop --agents "Directed(beta_bar={0.01, 0.1})"
    """

    preset: Annotated[str | None, option("paper", metavar="NAME")] = None
    """paper, quick, tenth, epsilon, pessimism, successors, observability, reward-noise, followup, agents,
    known-monitor, unsolvable, ablation, random, random-tuning, theorem, deep, deep-hard, deep-continuous or
    deep-foreign."""
    sweep: Annotated[Path | None, option("none", metavar="FILE")] = None
    """A TOML file with [[sweep]] tables, instead of a preset."""
    out: Annotated[Path, option(metavar="FOLDER")] = Path("results")  # The results folder.
    seeds: Annotated[int | None, sweeps_own("N")] = None  # Number of seeds per problem and agent.
    envs: Annotated[str | None, sweeps_own("NAMES"), arg(aliases=["--environments"])] = None
    """Environments, separated by commas, with any options; braces are a grid: "Empty(rows={5, 9})"."""
    monitors: Annotated[str | None, sweeps_own("NAMES")] = None
    """Monitors, as "Full,Ask(cost={0.1, 0.5})". If the sweep has all given names, each environment keeps its own."""
    agents: Annotated[str | None, sweeps_own("NAMES")] = None
    """Agents, as "Naive,Directed(alpha={0.1, 0.5}, beta_bar=0.1)"."""
    steps: Annotated[int | None, sweeps_own("N")] = None  # Training steps per run.
    budget: Annotated[float | None, option("1", metavar="NUMBER")] = None
    """Fraction of the paper's training steps, such as 0.1."""
    points: Annotated[int | None, sweeps_own("N")] = None  # Number of recording points per run.
    shard: Annotated[str, option(metavar="I/N")] = "1/1"
    """Run only part i of n, as in 2/4, for job arrays; all parts may share a folder."""
    on: Annotated[str, option(metavar="PLACE")] = "here"
    """Where to run: here, ray (a cluster on this machine) or ray:HOST:PORT."""
    threads: Threads = None
    device: Device = "cpu"
    dry_run: Flag = False  # Only print what would be done: runs, steps, memory and time.

    def run(self, console: Console) -> None:
        from monmdp.study.runner import plan_sweep, run_sweep, sweep_progress
        from monmdp.study.sweep import parse_shard

        shard, sweeps = parse_shard(self.shard), self._sweeps()
        if self.dry_run:
            plan = _plan(*plan_sweep(sweeps, self.out, shard), self.threads)
            console.print(terminal((), plan.items(), "plan"))
            return
        if self.on != "here":
            print_line(console, "Starting Ray …" if self.on == "ray" else f"Joining {self.on} …")
        executor = _executor(self.on)
        try:
            with sweep_progress(partial(print_line, console)) as watcher:
                report = run_sweep(
                    sweeps, self.out, shard=shard, threads=self.threads, watcher=watcher, executor=executor,
                    device=self.device,
                )  # fmt: skip
        except KeyboardInterrupt:
            print_line(console, f"Stopped; finished runs are in {self.out}. The same command continues from there.")
            raise
        print_warnings(console, report.damaged)
        runs, folder = plural(report.done, "run"), report.folder
        skipped = f" and {report.skipped:,} from before" if report.skipped else ""
        summary = f"{runs} in {report.seconds:.1f} s{skipped}; results are in {folder}."
        nothing = f"Nothing to do: {folder} has all runs ({report.skipped:,})."
        print_line(console, summary if report.runs else nothing)
        for line in report.failures[:20]:
            print_line(console, f"failed: {line}", "red")
        if report.failures:
            raise MonMDPError(f"{plural(len(report.failures), 'run')} failed; the others are saved.")

    def _sweeps(self) -> list[Sweep]:
        """The chosen sweeps, restricted to the given names and numbers."""
        from monmdp.paper.presets import preset
        from monmdp.study.sweep import Sweep, narrowed, read_sweeps

        if self.preset is not None and self.sweep is not None:
            raise MonMDPError("Choose a preset or a sweep file, not both.")
        name = "paper" if self.preset is None else self.preset
        chosen = preset(name) if self.sweep is None else read_sweeps(self.sweep)
        sweeps = [chosen] if isinstance(chosen, Sweep) else chosen
        names = {"environments": self.envs, "monitors": self.monitors, "agents": self.agents}
        numbers = {"seeds": self.seeds, "steps": self.steps, "budget": self.budget, "points": self.points}
        return narrowed(sweeps, **{kind: split(text) for kind, text in names.items()}, **numbers)


def _executor(on: str) -> Executor | None:
    """The executor of `ray` or `ray:HOST:PORT`; None for this process."""
    if on == "here":
        return None
    kind, _, address = on.partition(":")
    if kind != "ray":
        raise MonMDPError(f"Sweeps run here, on ray or on ray:HOST:PORT, not on {on!r}.")
    from monmdp.study.ray_cluster import RayCluster

    return RayCluster(address or None)


def _plan(report: Report, left: list[Batch], threads: int | None) -> dict[str, str]:
    """What a sweep would do, and what it would need."""
    from monmdp.machine import n_cores, readable

    cores = n_cores() if threads is None else check.whole(threads, 1, "The number of threads")
    memory = sum(sorted((batch.memory for batch in left), reverse=True)[:cores])
    seconds = max([sum(batch.seconds for batch in left) / cores, *(batch.seconds for batch in left)])
    jobs = [batch.job for batch in report.requested]
    return {
        "environments": f"{len({job.problem.environment.name for job in jobs}):,}",
        "monitors": f"{len({job.problem.monitor.name for job in jobs}):,}",
        "agents": f"{len({job.agent_name for job in jobs}):,}",
        "cells": f"{len(report.requested):,}",
        "runs to do": f"{report.runs:,}",
        "runs done already": f"{report.skipped:,}",
        "steps to do": f"{report.steps:,}",
        "memory": f"about {readable(memory)} at most",
        "time": f"about {seconds:,.0f} s on {plural(cores, 'core')}",
        "folder": str(report.folder),
    }
