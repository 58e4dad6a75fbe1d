"""Write docs/results.md from a results folder: `python docs/results_table.py results`."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import monmdp
from monmdp.experiments.protocol import DEFAULT_STEPS, PAPER_MONITORS
from monmdp.experiments.sweep import PAPER_AGENTS

HEAD = """# The paper's 48 problems × 6 agents

From {runs:,} runs ({seeds} seeds a cell, seeds 0 to {last}), each with the paper's budget, learning rates and starting
values, evaluated exactly. Made with

```
monmdp reproduce --preset paper --out results
python docs/results_table.py results
```

A seed is *solved* when its final greedy policy earns no more than 1e-6 less than the optimum; in the stochastic
problems (Experts, RiverSwim) a policy can be a hair's breadth from optimal and not count, so look at both tables.
"""


def main(folder: str) -> None:
    """One table of solved seeds, one of final returns, one of observed rewards."""
    finals = monmdp.load(folder, kind="tables").select(
        ["environment", "monitor", "agent", "seed", "optimal_return", "final_return", "solved"]
    )
    rows = {}
    for row in finals.to_pylist():
        rows.setdefault((row["environment"], row["monitor"], row["agent"]), []).append(row)
    seeds = len(next(iter(rows.values())))
    parts = [HEAD.format(runs=len(finals), seeds=seeds, last=seeds - 1)]
    parts.append(table("Seeds solved, in percent", rows, lambda cell: f"{np.mean([r['solved'] for r in cell]):.0%}"))
    parts.append(
        table("Mean final return", rows, lambda cell: f"{np.mean([r['final_return'] for r in cell]):.3f}", True)
    )
    (Path(__file__).parent / "results.md").write_text("\n".join(parts))


def table(title: str, rows: dict, cell: object, optimum: bool = False) -> str:
    """A Markdown table, problems × agents."""
    head = ["problem", *(["optimum"] if optimum else []), *PAPER_AGENTS]
    lines = [f"\n## {title}\n", "| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    for environment in DEFAULT_STEPS:
        for monitor in PAPER_MONITORS:
            found = [rows.get((environment, monitor, agent)) for agent in PAPER_AGENTS]
            best = [f"{found[0][0]['optimal_return']:.3f}"] if optimum else []
            values = [cell(some) if some else "–" for some in found]
            lines.append("| " + " | ".join([f"{environment} + {monitor}", *best, *values]) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main(sys.argv[1])
