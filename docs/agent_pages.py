"""Write the benchmark tables of docs/agents.md and docs/agents/*.md: `python docs/agent_pages.py runs/followup`.

Replaces the last section of every page and keeps the rest.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from monmdp.protocol import PAPER_MONITORS
from monmdp.statistics import normalised
from monmdp.study.results import CellResults, Results
from monmdp.tables import markdown

DOCS = Path(__file__).parent
HEADING = "## Benchmark results\n"
INTRODUCTION = """
{agents}, with {seeds} seeds in each of the paper's 48 problems and 20,000 training steps (the protocol of the follow-up
paper). Measured with

```
monmdp reproduce --preset agents --out runs/followup
python docs/agent_pages.py runs/followup
```

- *Solved*: percentage of seeds whose final greedy policy is optimal to within 1e-6.
- *Return*: mean return of the final greedy policy, normalised so that a random policy has 0 and the optimum 1.
- *Observed*: mean number of rewards that were shown during training.

All values are averages over the eight environments.
"""
#: Agents that every page compares its agent with.
REFERENCES = ("Directed", "DirectedModel")
#: Agent → its page, in the order of the overview table.
PAGES = {
    "DirectedModel": "directed-model",
    "MonitoredMBIE": "monitored-mbie",
    "Directed": "directed",
    "Optimism": "optimism",
    "UCB": "ucb",
    "QCounts": "qcounts",
    "Intrinsic": "intrinsic",
    "Naive": "naive",
    "Oracle": "oracle",
    "ZeroReward": "zero-reward",
    "Ignore": "ignore",
    "RewardModel": "reward-model",
    "Joint": "joint",
    "Sequential": "sequential",
}


def main(folder: str) -> None:
    """Rewrite the last section of all pages."""
    results = Results(folder)
    seeds = min(len(cell.seeds) for cell in results.cells.values())
    for agent, page in PAGES.items():
        introduction = INTRODUCTION.format(agents=agent, seeds=seeds)
        replace_last_section(DOCS / "agents" / f"{page}.md", f"{introduction}\n{agent_table(results, agent)}")
    introduction = INTRODUCTION.format(agents="All agents", seeds=seeds)
    replace_last_section(DOCS / "agents.md", f"{introduction}\n{overview(results)}")


def replace_last_section(path: Path, section: str) -> None:
    """Replace the section under `HEADING`."""
    kept = path.read_text().split(HEADING)[0].rstrip()
    path.write_text(f"{kept}\n\n{HEADING}{section}")


def cells_with(results: Results, agent: str, monitor: str) -> list[CellResults]:
    """The cells of an agent with one monitor."""
    return [cell for cell in results.of_agent(agent) if cell.monitor == monitor]


def solved(cells: list[CellResults]) -> str:
    """Mean percentage of solved seeds, rounded; 100% only if all seeds are solved."""
    fraction = float(np.mean([cell.solved.mean() for cell in cells]))
    return "> 99%" if 0.995 <= fraction < 1.0 else f"{fraction:.0%}"


def score(cells: list[CellResults]) -> str:
    """Mean normalised final return."""
    means = [normalised(cell.final_returns, cell.target_return, cell.random_return).mean() for cell in cells]
    return f"{np.mean(means):.2f}"


def observed(cells: list[CellResults]) -> str:
    """Mean number of rewards observed during training."""
    return f"{np.mean([cell.curve('observed')[:, -1].mean() for cell in cells]):,.0f}"


def agent_table(results: Results, agent: str) -> str:
    """One row per monitor for one agent, next to the `REFERENCES`."""
    others = [other for other in REFERENCES if other != agent]
    head = ["monitor", "solved", "return", "observed"]
    for other in others:
        head += [f"{other}: solved", "return"]
    rows = []
    for monitor in PAPER_MONITORS:
        cells = cells_with(results, agent, monitor)
        row = [monitor, solved(cells), score(cells), observed(cells)]
        for other in others:
            row += [solved(cells_with(results, other, monitor)), score(cells_with(results, other, monitor))]
        rows.append(row)
    return markdown(head, rows, "l" + "r" * (len(head) - 1)) + "\n"


def overview(results: Results) -> str:
    """Solved seeds and return of all agents, one column per monitor."""
    rows = []
    for agent, page in PAGES.items():
        columns = [cells_with(results, agent, monitor) for monitor in PAPER_MONITORS]
        values = [f"{solved(cells)} ({score(cells)})" for cells in columns]
        rows.append([f"[{agent}](agents/{page}.md)", *values])
    table = markdown(["agent", *PAPER_MONITORS], rows, "l" + "r" * len(PAPER_MONITORS))
    return f"Seeds solved, with the return in brackets:\n\n{table}\n"


if __name__ == "__main__":
    main(sys.argv[1])
