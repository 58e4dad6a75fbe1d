"""`monmdp reproduce`: the paper, a preset or a sweep of your own, into a results folder."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from monmdp.errors import MonMDPError

if TYPE_CHECKING:
    from monmdp.study.executors import Executor
    from monmdp.study.plan import Batch
    from monmdp.study.runner import Report

#: Seconds between two log lines where there is no terminal.
LOG_EVERY = 15.0


@dataclass(frozen=True)
class Reproduce:
    """Run a sweep: every run that is not in the folder yet, on all cores. Stop and start it as you like.

    For example: monmdp reproduce --preset quick --out results, or
    monmdp reproduce --envs Loop,OneWay --monitors Ask,Level --agents Directed,Naive --seeds 10.
    """

    preset: str | None = None
    """paper (the default), quick, epsilon, pessimism, successors, observability, reward-noise, tenth, followup,
    unsolvable or ablation."""
    sweep: Path | None = None
    """A TOML file of [[sweep]] tables instead of a preset."""
    out: Path = Path("results")
    """The results folder."""
    seeds: int | None = None
    """Seeds per cell, instead of the sweep's own."""
    envs: str | None = None
    """Only these environments, separated by commas, instead of the sweep's own."""
    monitors: str | None = None
    """Only these monitors."""
    agents: str | None = None
    """Only these agents."""
    steps: int | None = None
    """Training steps a run, instead of the protocol's."""
    budget: float | None = None
    """Part of the protocol's steps, such as 0.1."""
    points: int | None = None
    """Recording points a run, instead of 1,000."""
    shard: str = "1/1"
    """Do only shard i of n, as in 2/4, for job arrays; all shards may share a folder."""
    on: str = "here"
    """Where to run: here, ray (a cluster on this machine) or ray:HOST:PORT."""
    threads: int | None = None
    """Runs side by side; by default one a core."""
    device: Literal["cpu", "cuda", "auto"] = "cpu"
    """Where to train: on the CPU, on a GPU, or on a GPU if there is one; the numbers are the same."""
    dry_run: bool = False
    """Only say what would be done: runs, steps, memory and time."""

    def run(self, console: Console) -> None:
        """Run what is left of the sweep, or only say what that is."""
        from monmdp.paper.presets import preset
        from monmdp.study.plan import parse_shard
        from monmdp.study.runner import plan_sweep, run_sweep
        from monmdp.study.sweep import narrowed, read_sweeps

        shard = parse_shard(self.shard)
        if self.preset is not None and self.sweep is not None:
            raise MonMDPError("Choose a preset or a sweep file, not both.")
        sweeps = narrowed(
            [preset(self.preset or "paper")] if self.sweep is None else read_sweeps(self.sweep),
            environments=split(self.envs), monitors=split(self.monitors), agents=split(self.agents),
            seeds=self.seeds, steps=self.steps, budget=self.budget, points=self.points,
        )  # fmt: skip
        if self.dry_run:
            report, left = plan_sweep(sweeps, self.out, shard)
            _print_plan(console, report, left, self.threads)
            return
        executor = _executor(self.on)
        watch = _Display(console)
        try:
            report = run_sweep(
                sweeps,
                self.out,
                shard=shard,
                threads=self.threads,
                watcher=watch.update,
                executor=executor,
                device=self.device,
            )
        except KeyboardInterrupt:
            watch.close()
            told = f"Stopped; what was finished is in {self.out}. The same command goes on from there."
            console.print(told, soft_wrap=True, markup=False)
            raise
        finally:
            watch.close()
        for line in report.damaged:
            console.print(line, style="yellow", soft_wrap=True, markup=False)
        if report.runs == 0:
            console.print(f"Nothing to do: all {report.skipped} runs are in {report.folder}.", markup=False)
        else:
            kept = f", {report.skipped} were there already" if report.skipped else ""
            told = f"{report.done} runs in {report.seconds:.1f} s{kept}; results are in {report.folder}."
            console.print(told, soft_wrap=True, markup=False)
        _print_summary(console, report)
        if report.failures:
            for line in report.failures[:20]:
                console.print(f"failed: {line}", style="red", soft_wrap=True, markup=False)
            raise MonMDPError(f"{len(report.failures)} runs failed; the others are saved.")


def split(text: str | None) -> list[str] | None:
    """Names separated by commas, except inside brackets: `Loop,Ask(cost=0.5)`."""
    if text is None:
        return None
    names, depth = [""], 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            names.append("")
        else:
            names[-1] += letter
    return [name.strip() for name in names if name.strip()]


def _executor(on: str) -> Executor | None:
    if on == "here":
        return None
    kind, _, address = on.partition(":")
    if kind != "ray":
        raise MonMDPError(f"Sweeps run here, on ray or on ray:HOST:PORT, not on {on!r}.")
    from monmdp.study.ray_cluster import RayCluster

    return RayCluster(address or None)


class _Display:
    """A progress bar on a terminal, log lines elsewhere."""

    def __init__(self, console: Console) -> None:
        self._console, self._bar = console, None
        self._started = self._logged = time.monotonic()
        if console.is_terminal:
            self._bar = Progress(
                TextColumn("{task.fields[runs]} runs"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"),
                TextColumn("{task.fields[speed]}"), TimeElapsedColumn(), TimeRemainingColumn(), console=console,
                transient=True,
            )  # fmt: skip
            self._task = self._bar.add_task("sweep", total=1, runs="0", speed="")

    def update(self, report: Report, steps: int) -> None:
        now = time.monotonic()
        elapsed = max(now - self._started, 1e-9)
        done = max(steps, round(report.steps * report.done / max(report.runs, 1)))
        speed = f"{done / elapsed / 1e6:.2f} million steps/s"
        if self._bar is not None:
            self._bar.start()
            runs = f"{report.done}/{report.runs}"
            self._bar.update(self._task, completed=done, total=report.steps, runs=runs, speed=speed)
        elif now - self._logged >= LOG_EVERY:
            self._logged = now
            left = "getting ready (the first time, kernels are compiled)"
            part = report.done_seconds / report.planned_seconds if report.done_seconds else done / max(report.steps, 1)
            if part > 0:
                left = f"{speed}, about {elapsed * (1 / part - 1):.0f} s left"
            self._console.print(f"{report.done} of {report.runs} runs, {left}")

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()


def _print_plan(console: Console, report: Report, left: list[Batch], threads: int | None) -> None:
    from monmdp.machine import n_cores, readable

    cores = threads or n_cores()
    memory = sum(sorted((batch.memory for batch in left), reverse=True)[:cores])
    seconds = sum(batch.seconds for batch in left) / cores
    longest = max((batch.seconds for batch in left), default=0.0)
    rows = {
        "cells": f"{len(report.requested):,}",
        "runs to do": f"{report.runs:,}",
        "runs there already": f"{report.skipped:,}",
        "steps to do": f"{report.steps:,}",
        "memory": f"about {readable(memory)} at most",
        "time": f"about {max(seconds, longest):,.0f} s on {cores} cores",
        "folder": escape(str(report.folder)),
    }
    table = Table(title="[bold]what would be done[/]", title_justify="left", show_header=False)
    for name, value in rows.items():
        table.add_row(name, value)
    console.print(table)


def _print_summary(console: Console, report: Report) -> None:
    """Fraction of seeds solved, problems × agents."""
    from monmdp.study.results import Results

    if report.done + report.skipped == 0:
        return
    cells = {cell.identity: cell for cell in Results(report.folder).cells.values()}
    agents = list(dict.fromkeys(request.job.agent_name for request in report.requested))
    rows: dict[str, dict[str, str]] = {}
    for request in report.requested:
        if request.identity not in cells:
            continue
        row = rows.setdefault(request.job.problem.name, {})
        agent, share = request.job.agent_name, f"{cells[request.identity].solved.mean():.0%}"
        row[agent] = f"{row[agent]}, {share}" if agent in row else share  # the same names with other settings
    table = Table(title="seeds that ended optimal", title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("problem", no_wrap=True)
    for agent in agents:
        table.add_column(agent, justify="right")
    for problem, row in rows.items():
        table.add_row(problem, *(row.get(agent, "–") for agent in agents))
    console.print(table)
