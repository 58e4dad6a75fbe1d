"""Write the numbers of docs/agents.md and docs/agents/*.md: `python docs/agent_pages.py runs/followup`.

Every page keeps its text and gets a new last section.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from monmdp.paper.protocol import PAPER_MONITORS
from monmdp.statistics import normalised
from monmdp.study.results import CellResults, Results

DOCS = Path(__file__).parent
HEADING = "## In numbers\n"
MADE = """
{what} {seeds} seeds in each of the paper's 48 problems, with the 20,000 steps of the follow-up's protocol for all, from

```
monmdp reproduce --preset agents --out runs/followup
python docs/agent_pages.py runs/followup
```

*Solved*: the final greedy policy is optimal to 1e-6. *Return*: its mean on the scale from acting at random, 0, to the
optimum, 1. *Seen*: the mean number of rewards that were shown in training. Averages over the eight environments.
"""
#: Every page compares its agent with these.
REFERENCES = ("Directed", "DirectedModel")
#: Agents in the order of the overview; the page of each.
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
    """All pages."""
    results = Results(folder)
    seeds = min(len(cell.seeds) for cell in results.cells.values())
    for agent, page in PAGES.items():
        path = DOCS / "agents" / f"{page}.md"
        rewrite(path, MADE.format(what=f"{agent} with", seeds=seeds) + "\n" + of_agent(results, agent))
    rewrite(DOCS / "agents.md", MADE.format(what="All agents with", seeds=seeds) + "\n" + overview(results))


def rewrite(path: Path, section: str) -> None:
    """A page with a new last section."""
    kept = path.read_text().split(HEADING)[0].rstrip()
    path.write_text(f"{kept}\n\n{HEADING}{section}")


def cells(results: Results, agent: str, monitor: str) -> list[CellResults]:
    """The runs of an agent behind one monitor."""
    return [cell for cell in results.of_agent(agent) if cell.monitor == monitor]


def solved(found: list[CellResults]) -> str:
    """Share of seeds, rounded, but 100% only where all are."""
    share = float(np.mean([cell.solved.mean() for cell in found]))
    return "> 99%" if 0.995 <= share < 1.0 else f"{share:.0%}"


def score(found: list[CellResults]) -> str:
    means = [normalised(cell.final_returns, cell.target_return, cell.random_return).mean() for cell in found]
    return f"{np.mean(means):.2f}"


def seen(found: list[CellResults]) -> str:
    return f"{np.mean([cell.curve('observed')[:, -1].mean() for cell in found]):,.0f}"


def of_agent(results: Results, agent: str) -> str:
    """One agent, monitor by monitor."""
    others = [other for other in REFERENCES if other != agent]
    head = ["monitor", "solved", "return", "seen", *(f"{other}: solved | return" for other in others)]
    lines = [f"| {' | '.join(head)} |", "|---" + "|---:" * (3 + 2 * len(others)) + "|"]
    for monitor in PAPER_MONITORS:
        found = cells(results, agent, monitor)
        row = [monitor, solved(found), score(found), seen(found)]
        for other in others:
            row += [solved(cells(results, other, monitor)), score(cells(results, other, monitor))]
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines) + "\n"


def overview(results: Results) -> str:
    """All agents: seeds solved and return, monitor by monitor."""
    lines = [f"| agent | {' | '.join(PAPER_MONITORS)} |", "|---" + "|---:" * len(PAPER_MONITORS) + "|"]
    for agent, page in PAGES.items():
        found = [cells(results, agent, monitor) for monitor in PAPER_MONITORS]
        told = [f"{solved(these)} ({score(these)})" for these in found]
        lines.append(f"| [{agent}](agents/{page}.md) | {' | '.join(told)} |")
    return "Seeds solved, and return in brackets:\n\n" + "\n".join(lines) + "\n"


if __name__ == "__main__":
    main(sys.argv[1])
