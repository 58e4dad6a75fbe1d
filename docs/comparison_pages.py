"""Write docs/comparison.md: `python docs/comparison_pages.py runs`, with results in runs/tenth and its like."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from textwrap import fill

import numpy as np

from monmdp.paper.presets import PRESETS
from monmdp.paper.protocol import DEFAULT_STEPS, STEP_FACTOR
from monmdp.statistics import mean_interval, steps_until_solved
from monmdp.study.results import CellResults, Results

DIRECTED, MBIE = "DirectedModel", "MonitoredMBIE"
KNOWING = {agent: f"{agent}(known_monitor=True)" for agent in (DIRECTED, MBIE)}
AGENTS = (DIRECTED, MBIE, *KNOWING.values())
HEAD = """# DirectedModel against the published agents

A seed is solved when its greedy policy earns no more than 1e-6 less than the optimal policy or, where some rewards can
never be seen, than the minimax policy. Steps until solved are those after which it stays solved to the end, in the
median seed, as fine as the recording points are; "never" stands where fewer than half of the seeds get there. K: the
monitor is known.
"""
#: Preset → its heading; each table is made from a folder of that name.
TITLES = {
    "tenth": "One tenth of the paper's training steps",
    "followup": "The paper's 48 problems, 20,000 steps",
    "unsolvable": "Rewards that can never be seen",
    "known-monitor": "What knowing the monitor saves",
    "ablation": "What each idea is worth",
}


def main(folder: str) -> None:
    """One table for each preset whose results are in the folder."""
    parts = [HEAD]
    tables = {"tenth": tenth, "known-monitor": known, "ablation": ablation}
    for preset, title in TITLES.items():
        if (Path(folder) / preset).is_dir():
            results = Results(Path(folder) / preset)
            seeds = min(len(cell.seeds) for cell in results.cells.values())
            fewer = "" if seeds == PRESETS[preset][1].seeds else f" --seeds {seeds}"
            run = f"monmdp reproduce --preset {preset}{fewer} --out runs/{preset}"
            made = tables.get(preset, versus)(results)
            parts += [f"## {title}\n", f"```\n{run}\npython docs/comparison_pages.py runs\n```\n", made]
    (Path(__file__).parent / "comparison.md").write_text("\n".join(parts))


def until_solved(cell: CellResults) -> np.ndarray:
    """Steps after which each seed stays solved, [seed]."""
    return steps_until_solved(cell.steps, cell.curve("return"), cell.target_return)


def tenth(results: Results) -> str:
    """Solved seeds at a tenth of the paper's steps, and the part of them that was needed."""
    lines, needed, perfect, runs, solved = [], [], 0, 0, 0
    for cell in results.of_agent(DIRECTED):
        budget = DEFAULT_STEPS[cell.environment] * STEP_FACTOR[cell.monitor]
        until = until_solved(cell)
        part = float(until.max()) / budget
        needed.append(part)
        perfect += bool(cell.solved.all())
        runs, solved = runs + len(cell.seeds), solved + int(cell.solved.sum())
        typical = f"{np.median(until):,.0f}"
        worst = f"{until.max():,.0f} ({part:.1%})" if np.isfinite(part) else "–"
        lines.append(
            f"| {cell.problem_name} | {budget:,} | {cell.settings['steps']:,} | {cell.solved.sum()} of "
            f"{len(cell.seeds)} | {typical} | {worst} |"
        )
    last = f"{max(needed):.1%}" if np.isfinite(max(needed)) else "more than a tenth"
    told = (
        f"DirectedModel solves **{solved:,} of {runs:,} runs**, and all seeds of **{perfect} of {len(lines)} "
        "problems**. The smallest part of the paper's budget at which every seed of every problem is solved for good "
        f"is **{last}**."
    )
    head = [
        "problem",
        "the paper's steps",
        "steps here",
        "solved",
        "until solved, median",
        "last seed (of the paper's)",
    ]
    return section(told, head, lines)


def section(told: str, head: list[str], lines: list[str]) -> str:
    """A paragraph and a table."""
    rule = "|---" + "|---:" * (len(head) - 1) + "|"
    return "\n".join([fill(told, 120), "", f"| {' | '.join(head)} |", rule, *lines, ""])


def short(monitor: str) -> str:
    """A monitor's name without what all monitors of the table have in common."""
    return re.sub(r"(, )?never_observable='column'(, )?", "", monitor).replace("()", "")


def versus(results: Results) -> str:
    """Solved seeds and steps until solved of all four, problem by problem, and how often DirectedModel is ahead."""
    lines, ahead, known_ahead, gain, loss, no_worse = [], 0, 0, 0, 0, 0
    for environment, monitor in results.problems:
        cells = {agent: results.cell(environment, monitor, agent) for agent in AGENTS}
        found = {agent: (int(cell.solved.sum()), float(np.median(until_solved(cell)))) for agent, cell in cells.items()}
        seeds = len(cells[DIRECTED].seeds)
        no_worse += found[DIRECTED][0] >= found[MBIE][0] and found[KNOWING[DIRECTED]][0] >= found[KNOWING[MBIE]][0]
        ahead += found[DIRECTED][1] < found[MBIE][1]
        known_ahead += found[KNOWING[DIRECTED]][1] < found[KNOWING[MBIE]][1]
        gain += found[KNOWING[DIRECTED]][1] < found[DIRECTED][1]
        loss += found[KNOWING[DIRECTED]][1] > found[DIRECTED][1]
        told = [
            f"{solved} of {seeds}, {f'{steps:,.0f}' if np.isfinite(steps) else 'never'}"
            for solved, steps in found.values()
        ]
        lines.append(f"| {environment} + {short(monitor)} | {' | '.join(told)} |")
    count = len(lines)
    told = (
        f"In {no_worse} of {count} problems DirectedModel solves at least as many seeds as MonitoredMBIE, with unknown "
        f"and with known monitor. It needs fewer steps (median seed) in {ahead} of {count} problems, and with a known "
        f"monitor in {known_ahead}. Knowing the monitor saves DirectedModel steps in {gain} problems and costs some in "
        f"{loss}; the others are alike at this resolution."
    )
    return section(told, ["problem", DIRECTED, MBIE, f"{DIRECTED}, K", f"{MBIE}, K"], lines)


def known(results: Results) -> str:
    """Steps until solved without and with the monitor known, in the mean seed, and their difference seed by seed."""
    lines, fewer, more = [], 0, 0
    for environment, monitor in results.problems:
        apart = [until_solved(results.cell(environment, monitor, agent)) for agent in (DIRECTED, KNOWING[DIRECTED])]
        both = np.isfinite(apart).all(0)
        saved, low, high = mean_interval(apart[0][both] - apart[1][both])
        fewer, more = fewer + bool(low > 0), more + bool(high < 0)
        means = " | ".join(f"{steps[both].mean():,.0f}" for steps in apart)
        lines.append(
            f"| {environment} + {monitor} | {both.sum()} | {means} | {saved:,.0f} ({low:,.0f} to {high:,.0f}) |"
        )
    told = (
        f"Means over seeds that both solve within the 4,000 steps, recorded every ten. A known monitor saves steps in "
        f"**{fewer} of {len(lines)} problems** and costs some in {more}; in the others the 95% interval of the "
        "difference, seed by seed, contains 0. There is something to save with Button, whose button must be found; "
        "other monitors are learned on the way, while every environment pair is tried once, and nobody can do without "
        "that: Empty has 180 of them."
    )
    return section(told, ["problem", "seeds", DIRECTED, f"{DIRECTED}, K", "saved (95% interval)"], lines)


def ablation(results: Results) -> str:
    """Runs and problems solved without each idea."""
    lines = []
    for agent in results.agents:
        cells = results.of_agent(agent)
        runs, solved = sum(len(cell.seeds) for cell in cells), sum(int(cell.solved.sum()) for cell in cells)
        perfect = sum(bool(cell.solved.all()) for cell in cells)
        worst = min(cells, key=lambda cell: float(cell.solved.mean()))
        least = f"{worst.problem_name}: {worst.solved.mean():.0%}" if perfect < len(cells) else "–"
        until = np.concatenate([until_solved(cell) / cell.steps[-1] for cell in cells])
        middle = f"{np.median(until):.1%}" if np.isfinite(np.median(until)) else "never"
        lines.append(f"| {agent} | {solved:,} of {runs:,} | {perfect} of {len(cells)} | {middle} | {least} |")
    told = "The paper's 48 problems with a tenth of its training steps, by agents that lack one idea each."
    head = ["agent", "runs solved", "problems solved by all seeds", "until solved, median part of the steps", "worst"]
    return section(told, head, lines)


if __name__ == "__main__":
    main(sys.argv[1])
