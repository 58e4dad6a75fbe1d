"""Write docs/comparison.md and docs/random-problems.md: `python docs/comparison_pages.py runs`.

The folder contains results folders, such as runs/tenth; sections without one are left as they are.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from textwrap import fill

import numpy as np

from monmdp.paper.presets import ALL_AGENTS, PRESETS
from monmdp.paper.random_problems import FAMILIES, FIRST_REPORTED, Family, random_problem
from monmdp.protocol import DEFAULT_STEPS, STEP_FACTOR
from monmdp.registry import parse_spec, short_labels
from monmdp.statistics import mean_interval, normalised, steps_until_solved
from monmdp.study.results import CellResults, Results
from monmdp.study.sweep import Sweep
from monmdp.tables import markdown

DIRECTED, MBIE = "DirectedModel", "MonitoredMBIE"
KNOWN = {agent: f"{agent}(known_monitor=True)" for agent in (DIRECTED, MBIE)}
AGENTS = (DIRECTED, MBIE, *KNOWN.values())
HEAD = """# Comparison of DirectedModel with published agents

- *Solved*: a seed is solved if the return of its greedy policy is at most 1e-6 below that of the optimal policy or, if
  some rewards can never be observed, of the minimax policy.
- *Steps until solved*: the number of training steps after which a seed stays solved until the end of training, for the
  median seed, to the resolution of the recorded points; "never" if fewer than half of the seeds are solved.
- *K*: the monitor is known to the agent.
- Problems are listed with the options by which they differ; `monmdp.paper.presets` lists all options.
"""
#: Results folder → heading; most are named after the preset that they are made by.
TITLES = {
    "tenth": "One tenth of the paper's training steps",
    "followup": "The paper's 48 problems, 20,000 steps",
    "unsolvable": "Rewards that can never be observed",
    "known-monitor": "Effect of a known monitor",
    "ablation": "Ablation",
    "answers": "Answers with the paper's training steps",
    "outcomes": "Ablation of rewards by outcome",
}
#: What makes a results folder, if it is not the preset of its name.
MADE_BY = {
    "answers": "paper --agents DirectedModel --monitors Ask",
    "outcomes": 'random --agents "DirectedModel,DirectedModel(reward_per_outcome=False)"',
}
#: Monitors of the paper that cost something.
PAYING = ("Ask", "Button", "Experts", "Level")
#: The columns of `answers_of`.
ANSWERS = ["rewards", "answers until solved", "steps until solved", "later", "again"]
#: Family of random problems → for each of its problems, agents with their results.
Cells = dict[str, list[dict[str, CellResults]]]
RANDOM = "random"
RANDOM_HEAD = """# Random problems

Families of [random environments](problems.md#random-environments), each with a monitor whose kind, costs and
observability are random as well. All agents have their own default options, with bounds and initial values computed
from the problem. The seed of a problem determines its environment, sizes and monitor. Agents are developed with seeds
below {first:,} (preset `random-tuning`). The tables show the {problems} problems with seeds from {first:,} on, with
{seeds} runs of every agent in each.

```
{command}
```

| family | problems | training steps | deterministic |
|---|---|---:|---|
{families}

- *Solved*: runs that end with a greedy policy whose return is at most 1e-6, times the scale of rewards, below that of
  the optimal policy.
- *Within 1%*: runs that end with a normalised return of at least 0.99.
- *Return*: mean normalised return of the final greedy policy: 0 is acting uniformly at random, 1 is optimal.
- *Steps* and *answers until solved*: training steps, and rewards observed, until a run stays solved, for the median
  run; "never" if fewer than half of the runs are solved.
- *Paid*: mean monitor cost of a whole run; negative if the monitor paid more than it cost.
"""


def main(folder: str) -> None:
    """Write the sections whose results are in the folder."""
    tables = {"tenth": tenth, "known-monitor": known, "ablation": ablation, "answers": asking, "outcomes": outcomes}
    made = {}
    for name, title in TITLES.items():
        if (Path(folder) / name).is_dir():
            results = Results(Path(folder) / name)
            made[title] = f"\n```\n{command(name, results)}\n```\n\n{tables.get(name, versus)(results)}"
    write_page(Path(__file__).with_name("comparison.md"), HEAD, TITLES.values(), made)
    if (Path(folder) / RANDOM).is_dir():
        page = random_problems(Results(Path(folder) / RANDOM))
        (Path(__file__).parent / "random-problems.md").write_text(page)


def write_page(page: Path, head: str, titles: Iterable[str], made: Mapping[str, str]) -> None:
    """Write sections with these titles: new ones, and those of the page that were not made again."""
    _, *sections = page.read_text().split("\n## ") if page.is_file() else [""]
    bodies = dict(section.split("\n", 1) for section in sections) | dict(made)
    if made:
        page.write_text("\n## ".join([head, *(f"{title}\n{bodies[title]}" for title in titles if title in bodies)]))


def command(folder: str, results: Results) -> str:
    """The commands that make a results folder and a page."""
    made_by, seeds = MADE_BY.get(folder, folder), number_of_seeds(results)
    sweep = PRESETS[made_by.split()[0]]
    asked = (sweep if isinstance(sweep, Sweep) else sweep[0]).seeds
    fewer = "" if seeds == asked else f" --seeds {seeds}"
    return f"monmdp reproduce --preset {made_by}{fewer} --out runs/{folder}\npython docs/comparison_pages.py runs"


def number_of_seeds(results: Results) -> int:
    """Seeds of each agent in each problem."""
    return min(len(cell.seeds) for cell in results.cells.values())


def until_solved(cell: CellResults) -> np.ndarray:
    """Steps after which each seed stays solved, [seed]."""
    return steps_until_solved(cell.steps, cell.curve("return"), cell.target_return)


def tenth(results: Results) -> str:
    """Solved seeds with a tenth of the paper's steps, and the fraction of them that was needed."""
    rows, needed, perfect, runs, solved = [], [], 0, 0, 0
    for cell in results.of_agent(DIRECTED):
        budget = DEFAULT_STEPS[cell.environment] * STEP_FACTOR[cell.monitor]
        until = until_solved(cell)
        fraction = float(until.max()) / budget
        needed.append(fraction)
        perfect += bool(cell.solved.all())
        runs, solved = runs + len(cell.seeds), solved + int(cell.solved.sum())
        typical = f"{np.median(until):,.0f}"
        worst = f"{until.max():,.0f} ({fraction:.1%})" if np.isfinite(fraction) else "–"
        count = f"{cell.solved.sum()} of {len(cell.seeds)}"
        rows.append([cell.problem_name, f"{budget:,}", f"{cell.settings['steps']:,}", count, typical, worst])
    last = f"{max(needed):.1%}" if np.isfinite(max(needed)) else "more than a tenth"
    text = (
        f"DirectedModel solves **{solved:,} of {runs:,} runs**, and all seeds of **{perfect} of {len(rows)} "
        "problems**. The smallest fraction of the paper's training steps after which every seed of every problem "
        f"stays solved is **{last}**."
    )
    head = [
        "problem",
        "the paper's steps",
        "steps here",
        "solved",
        "steps until solved, median",
        "slowest seed (of the paper's steps)",
    ]
    return section(text, head, rows)


def section(text: str, head: list[str], rows: list[list[str]]) -> str:
    """A paragraph and a table."""
    return f"{fill(text, 120)}\n\n{markdown(head, rows, 'l' + 'r' * (len(head) - 1))}\n"


def versus(results: Results) -> str:
    """Solved seeds and steps until solved of all four agents per problem, and how often DirectedModel is better."""
    rows, ahead, known_ahead, gain, loss, no_worse = [], 0, 0, 0, 0, 0
    labels = dict(zip(results.monitors, short_labels(results.monitors), strict=True))
    for environment, monitor in results.problems:
        cells = {agent: results.cell(environment, monitor, agent) for agent in AGENTS}
        best = {agent: (int(cell.solved.sum()), float(np.median(until_solved(cell)))) for agent, cell in cells.items()}
        seeds = len(cells[DIRECTED].seeds)
        no_worse += best[DIRECTED][0] >= best[MBIE][0] and best[KNOWN[DIRECTED]][0] >= best[KNOWN[MBIE]][0]
        ahead += best[DIRECTED][1] < best[MBIE][1]
        known_ahead += best[KNOWN[DIRECTED]][1] < best[KNOWN[MBIE]][1]
        gain += best[KNOWN[DIRECTED]][1] < best[DIRECTED][1]
        loss += best[KNOWN[DIRECTED]][1] > best[DIRECTED][1]
        values = [
            f"{solved} of {seeds}, {f'{steps:,.0f}' if np.isfinite(steps) else 'never'}"
            for solved, steps in best.values()
        ]
        rows.append([f"{environment} + {labels[monitor]}", *values])
    count = len(rows)
    text = (
        f"In {no_worse} of {count} problems, DirectedModel solves at least as many seeds as MonitoredMBIE, with "
        f"unknown and with known monitor. Its median seed needs fewer steps in {ahead} of {count} problems with an "
        f"unknown monitor, and in {known_ahead} with a known monitor. With a known monitor, DirectedModel needs fewer "
        f"steps in {gain} problems and more in {loss}; in the others there is no difference at this resolution."
    )
    return section(text, ["problem", DIRECTED, MBIE, f"{DIRECTED}, K", f"{MBIE}, K"], rows)


def known(results: Results) -> str:
    """Mean steps until solved with unknown and with known monitor, and their difference paired by seed."""
    rows, fewer, more = [], 0, 0
    for environment, monitor in results.problems:
        until = [until_solved(results.cell(environment, monitor, agent)) for agent in (DIRECTED, KNOWN[DIRECTED])]
        both = np.isfinite(until).all(0)
        saved, low, high = mean_interval(until[0][both] - until[1][both])
        fewer, more = fewer + bool(low > 0), more + bool(high < 0)
        means = [f"{steps[both].mean():,.0f}" for steps in until]
        interval = f"{saved:,.0f} ({low:,.0f} to {high:,.0f})"
        rows.append([f"{environment} + {monitor}", str(both.sum()), *means, interval])
    text = (
        "Mean steps over the seeds that both variants solve within 4,000 steps, recorded every ten steps. A known "
        f"monitor saves steps in **{fewer} of {len(rows)} problems** and costs steps in {more}; in the others, the "
        "95% interval of the difference, paired by seed, contains 0. The main benefit is with Button, because the "
        "button does not have to be found. Other monitors are learned at no extra cost while the agent tries every "
        "environment pair once, which is always necessary: Empty has 180 pairs."
    )
    return section(text, ["problem", "seeds", DIRECTED, f"{DIRECTED}, K", "saved (95% interval)"], rows)


def ablation(results: Results) -> str:
    """Runs and problems solved by variants of DirectedModel without one component, and what they pay."""
    rows = []
    for agent in results.agents:
        cells = results.of_agent(agent)
        runs, solved = sum(len(cell.seeds) for cell in cells), sum(int(cell.solved.sum()) for cell in cells)
        perfect = sum(bool(cell.solved.all()) for cell in cells)
        worst = min(cells, key=lambda cell: float(cell.solved.mean()))
        least = f"{worst.problem_name}: {worst.solved.mean():.0%}" if perfect < len(cells) else "–"
        until = np.concatenate([until_solved(cell) / cell.steps[-1] for cell in cells])
        middle = f"{np.median(until):.1%}" if np.isfinite(np.median(until)) else "never"
        answers = np.median(np.concatenate([cell.observed_until_solved for cell in cells if cell.monitor == "Ask"]))
        paid = np.mean([np.median(cell.curve("paid")[:, -1]) for cell in cells if cell.monitor in PAYING])
        counts = [f"{solved:,} of {runs:,}", f"{perfect} of {len(cells)}", middle]
        rows.append([agent, *counts, f"{answers:,.0f}" if np.isfinite(answers) else "never", f"{paid:,.0f}", least])
    text = (
        "Variants of DirectedModel without one component, on the paper's 48 problems with a tenth of its steps. "
        "*Answers*: rewards observed until solved with the monitor Ask, for the median run. *Paid*: monitor cost of "
        f"the median run, mean over the problems with {', '.join(PAYING[:-1])} and {PAYING[-1]}."
    )
    head = ["agent", "runs solved", "by all seeds", "median steps until solved", "answers", "paid", "worst"]
    return f"{section(text, head, rows)}\n{price(results)}"


def price(results: Results) -> str:
    """What feedback costs with and without `cost_weight`, by problem."""
    careless, ratios, rows = f"{DIRECTED}(cost_weight=0.0)", [], []
    for environment, monitor in results.problems:
        frugal, other = (results.cell(environment, monitor, agent) for agent in (DIRECTED, careless))
        if monitor not in PAYING or frugal is None or other is None:
            continue
        paid, before = (np.median(cell.curve("paid")[:, -1]) for cell in (frugal, other))
        ratios.append(paid / before)
        answers = answers_of(frugal) if monitor == "Ask" else [*answers_of(frugal)[:3], "–", "–"]
        rows.append([frugal.problem_name, *answers, f"{paid:,.1f}", f"{before:,.1f}"])
    text = (
        "The price of feedback in the same runs. *Rewards*: environment pairs that can be reached. *Later*: fraction "
        "of the steps after a run is solved in which the agent asks. *Again*: the same without the answers up to one "
        "for each reward; a run that is solved early has them still to come, since a reward that was never observed "
        "may be the largest. *Careless*: paid with `cost_weight=0`. Medians over seeds. In the median problem, the "
        f"agent pays {np.median(ratios):.2f} times as much as a careless one."
    )
    return section(text, ["problem", *ANSWERS, "paid", "careless"], rows)


def answers_of(cell: CellResults) -> list[str]:
    """How many rewards there are, answers and steps until solved, and the fraction of later steps that ask."""
    rewards = len(np.unique(cell.problem.env_pair[cell.problem.reachable_pairs]))
    until, answers = cell.steps_until_solved, cell.observed_until_solved
    late = [cell.curve("observed")[:, -1] - known for known in (answers, np.maximum(answers, rewards))]
    fractions = [f"{np.median(number / (cell.steps[-1] - until)):.1%}" for number in late]
    return [f"{rewards:,}", f"{np.median(answers):,.0f}", f"{np.median(until):,.0f}", *fractions]


def asking(results: Results) -> str:
    """Answers with Ask, by problem."""
    cells = [results.cell(*problem, DIRECTED) for problem in results.problems]
    solved = sum(bool(cell.solved.all()) for cell in cells)
    text = f"Columns as above. At the end, all seeds are solved in {solved} of {len(cells)} problems."
    return section(text, ["problem", *ANSWERS], [[cell.problem_name, *answers_of(cell)] for cell in cells])


def random_problems(results: Results) -> str:
    """One table per kind of family, and the problems in which DirectedModel is not the best or fails."""
    cells = by_family(results)
    families = [
        f"| {name} | {class_of(family)} | {family.steps:,} | {'yes' if family.deterministic else 'no'} |"
        for name, family in FAMILIES.items()
    ]
    facts = {"first": FIRST_REPORTED, "problems": len(results.problems), "seeds": number_of_seeds(results)}
    head = RANDOM_HEAD.format(command=command(RANDOM, results), families="\n".join(families), **facts)
    parts = [
        head,
        f"## {DIRECTED} against all others\n",
        ranking(cells),
        "## Families\n",
        family_table(cells, ALL_AGENTS),
    ]
    return "\n".join([*parts, ""])


def by_family(results: Results) -> Cells:
    """All results by family of random problems."""
    cells: Cells = {family: [] for family in FAMILIES}
    for problem in results.problems:
        seed = parse_spec(problem[0])[1].get("seed", 0)
        (family,) = [name for name in FAMILIES if random_problem(name, seed) == problem]
        cells[family].append({cell.agent: cell for cell in results.of_problem(*problem)})
    return cells


def family_table(cells: Cells, agents: Iterable[str]) -> str:
    """A row for each family and agent that was run in all its problems."""
    rows = [
        [family, agent, *family_row([problem[agent] for problem in problems])]
        for family, problems in cells.items()
        for agent in agents
        if all(agent in problem for problem in problems)
    ]
    columns = ["solved", "within 1%", "return", "steps until solved", "answers until solved", "paid"]
    return markdown(["family", "agent", *columns], rows, "ll" + "r" * len(columns))


def outcomes(results: Results) -> str:
    """DirectedModel with and without rewards by outcome, in families with chance."""
    text = (
        "The stochastic families of [random problems](random-problems.md), with the same columns. Rewards of a maze "
        "depend on the cell that is entered, so on where a slippery step ends: a single reward for the pair is noisy, "
        "and some policies end far from the best. Rewards of a Garnet depend on the pair only, so that asking for them "
        "by outcome is of no use there. In mazes, every outcome has its price too, and fewer policies are exactly "
        "optimal, perhaps since steps that are spent on rare outcomes do not make transitions more accurate."
    )
    cells = {name: problems for name, problems in by_family(results).items() if not FAMILIES[name].deterministic}
    return f"{fill(text, 120)}\n\n{family_table(cells, results.agents)}\n"


def class_of(family: Family) -> str:
    """The environment of a family with the ranges of its options."""
    ranges = [f"{name} {least:g}" + f" to {most:g}" * (least < most) for name, (least, most) in family.options.items()]
    return f"{family.environment}: {', '.join(ranges)}"


def family_row(cells: list[CellResults]) -> list[str]:
    """What one agent achieved in the problems of a family."""
    solved = np.concatenate([cell.solved for cell in cells])
    score = np.concatenate([normalised(cell.final_returns, cell.target_return, cell.random_return) for cell in cells])
    typical = [
        float(np.median(np.concatenate([getattr(cell, name) for cell in cells])))
        for name in ("steps_until_solved", "observed_until_solved")
    ]
    return [
        f"{solved.mean():.0%}",
        f"{(score >= 0.99).mean():.0%}",
        f"{score.mean():.3f}",
        *(f"{value:,.0f}" if np.isfinite(value) else "never" for value in typical),
        f"{np.mean([cell.curve('paid')[:, -1].mean() for cell in cells]):,.1f}",
    ]


def ranking(cells: Cells) -> str:
    """In how many problems DirectedModel solves the most runs, and a row for every other problem."""
    rows, best, count, runs, solved = [], 0, 0, 0, 0
    for family, problems in cells.items():
        for agents in problems:
            wins = {agent: int(cell.solved.sum()) for agent, cell in agents.items() if agent != "Oracle"}
            own, seeds = wins[DIRECTED], len(agents[DIRECTED].seeds)
            ahead = [agent for agent in wins if wins[agent] > own]
            best, count = best + (not ahead), count + 1
            if FAMILIES[family].deterministic:
                runs, solved = runs + seeds, solved + own
            if ahead or (FAMILIES[family].deterministic and own < seeds):
                others = ", ".join(f"{agent} {wins[agent]}" for agent in ahead) or "–"
                rows.append([agents[DIRECTED].problem_name, f"{own} of {seeds}", others])
    text = (
        f"{DIRECTED} solves at least as many runs as every other agent in **{best} of {count} problems** (Oracle, "
        f"which sees hidden rewards, does not count), and **{solved / max(runs, 1):.1%}** of the runs of deterministic "
        "families. The table lists every problem in which another agent solves more, and every problem of a "
        f"deterministic family that {DIRECTED} does not solve in all runs."
    )
    return section(text, ["problem", DIRECTED, "agents that solve more"], rows)


if __name__ == "__main__":
    main(sys.argv[1])
