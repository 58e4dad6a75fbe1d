"""Write the pages with the results of the whole paper: `python docs/results_pages.py results`.

results.md has the tables, claims.md the paper's claims, gallery.md and figures/ the figures.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

from monmdp.cli.results import CLAIM_COLUMNS
from monmdp.errors import MonMDPError
from monmdp.figures import FIGURES, draw_figures
from monmdp.paper.claims import check_claims
from monmdp.study.results import CellResults, Results
from monmdp.tables import markdown

DOCS = Path(__file__).parent
COMMANDS = """
```
monmdp reproduce --preset paper --out results
python docs/results_pages.py results
```
"""
TABLES = """# Results of the paper: 48 problems × 6 agents

{runs:,} runs ({seeds} seeds per problem and agent) with the paper's training steps, learning rates and initial values.
All policies are evaluated exactly. Created with
{made}
A seed is *solved* if the return of its final greedy policy is at most 1e-6 below the optimum. In the stochastic
problems (Experts, RiverSwim), a policy can be very close to optimal without being counted as solved, so consider both
tables. The [gallery](gallery.md) shows the same results as figures, and [claims](claims.md) compares them with the
paper.
"""
CLAIMS = """# Claims of the paper

Each claim of the paper that can be tested, the criterion that confirms it, and the result of {runs:,} runs of this
library ({seeds} seeds per problem and agent). `monmdp claims results --details` prints the result for every problem.
Created with
{made}
"""
GALLERY = """# Gallery

All figures that `monmdp figure all results` creates from {runs:,} runs ({seeds} seeds per problem and agent). Each
figure is also available as PDF, with its data as CSV. Created with
{made}"""


def main(folder: str) -> None:
    """Write all three pages."""
    results = Results(folder)
    counts = [len(cell.seeds) for cell in results.cells.values()]
    values = {"runs": sum(counts), "seeds": min(counts), "made": COMMANDS}
    (DOCS / "results.md").write_text(TABLES.format(**values) + tables(results))
    rows = [[getattr(claim, column) for column in CLAIM_COLUMNS] for claim in check_claims(results)]
    (DOCS / "claims.md").write_text(CLAIMS.format(**values) + markdown(CLAIM_COLUMNS, rows) + "\n")
    (DOCS / "gallery.md").write_text(GALLERY.format(**values) + gallery(results))


def tables(results: Results) -> str:
    """Tables of solved seeds and final returns, problems × agents."""
    solved = table(results, "Seeds solved, in percent", lambda cell: f"{cell.solved.mean():.0%}")
    returns = table(results, "Mean final return", lambda cell: f"{np.mean(cell.final_returns):.3f}", optimum=True)
    return solved + returns


def table(results: Results, title: str, value: Callable[[CellResults], str], optimum: bool = False) -> str:
    """A section with a Markdown table of one value per cell."""
    head = ["problem", *(["optimum"] if optimum else []), *results.agents]
    rows = []
    for environment, monitor in results.problems:
        cells = {cell.agent: cell for cell in results.of_problem(environment, monitor)}
        best = [f"{next(iter(cells.values())).target_return:.3f}"] if optimum else []
        values = [value(cells[agent]) if agent in cells else "–" for agent in results.agents]
        rows.append([f"{environment} + {monitor}", *best, *values])
    return f"\n## {title}\n\n{markdown(head, rows, 'l' + 'r' * (len(head) - 1))}\n"


def gallery(results: Results) -> str:
    """One section per figure, without those of variants, which the paper does not have."""
    parts = []
    names = [name for name in FIGURES if not name.startswith("sensitivity")]
    for name, paths in draw_figures(names, results, DOCS / "figures", formats=["png"]):
        if isinstance(paths, MonMDPError):
            raise paths
        [path] = paths
        Image.open(path).convert("RGB").save(path, optimize=True)  # smaller, with the same colours
        text = FIGURES[name].description
        parts.append(f"\n## {name}\n\n{text[0].upper()}{text[1:]}.\n\n![{text}](figures/{name}.png)\n")
    return "".join(parts)


if __name__ == "__main__":
    main(sys.argv[1])
