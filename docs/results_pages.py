"""Write the pages made from a run of the whole paper: `python docs/results_pages.py results`.

results.md has the tables, claims.md the paper's claims, gallery.md and figures/ the figures.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from monmdp.cli.claims import COLUMNS, markdown
from PIL import Image

from monmdp.errors import MonMDPError
from monmdp.figures import FIGURES, draw_figures
from monmdp.paper.claims import check_claims
from monmdp.study.results import CellResults, Results

DOCS = Path(__file__).parent
MADE = """
```
monmdp reproduce --preset paper --out results
python docs/results_pages.py results
```
"""
TABLES = """# The paper's 48 problems × 6 agents

From {runs:,} runs ({seeds} seeds a cell), each with the paper's budget, learning rates and starting values, evaluated
exactly. Made with
{made}
A seed is *solved* when its final greedy policy earns no more than 1e-6 less than the optimum; in the stochastic
problems (Experts, RiverSwim) a policy can be a hair's breadth from optimal and not count, so look at both tables. The
same in pictures is in the [gallery](gallery.md), and what it says about the paper in [claims](claims.md).
"""
CLAIMS = """# The paper's claims, checked

Each claim of the paper that a reproduction can check, what would confirm it, and what {runs:,} runs of this library
({seeds} seeds a cell) measured; `monmdp claims results --details` prints the answer for every single problem. Made with
{made}
"""
GALLERY = """# Gallery

All figures that `monmdp figure all results` draws from {runs:,} runs ({seeds} seeds a cell). Each also comes as a PDF,
with the plotted numbers as CSV beside it. Made with
{made}"""


def main(folder: str) -> None:
    """All three pages."""
    results = Results(folder)
    counts = [len(cell.seeds) for cell in results.cells.values()]
    told = {"runs": sum(counts), "seeds": min(counts), "made": MADE}
    (DOCS / "results.md").write_text(TABLES.format(**told) + tables(results))
    rows = [[getattr(claim, column) for column in COLUMNS] for claim in check_claims(results)]
    (DOCS / "claims.md").write_text(CLAIMS.format(**told) + "\n".join(markdown(COLUMNS, rows)) + "\n")
    (DOCS / "gallery.md").write_text(GALLERY.format(**told) + gallery(results))


def tables(results: Results) -> str:
    """Solved seeds and final returns, problems × agents."""
    solved = table(results, "Seeds solved, in percent", lambda cell: f"{cell.solved.mean():.0%}")
    returns = table(results, "Mean final return", lambda cell: f"{np.mean(cell.final_returns):.3f}", optimum=True)
    return solved + returns


def table(results: Results, title: str, told: Callable[[CellResults], str], optimum: bool = False) -> str:
    """A Markdown table."""
    head = ["problem", *(["optimum"] if optimum else []), *results.agents]
    lines = [f"\n## {title}\n", "| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    for environment, monitor in results.problems:
        found = {cell.agent: cell for cell in results.of_problem(environment, monitor)}
        best = [f"{next(iter(found.values())).target_return:.3f}"] if optimum else []
        values = [told(found[agent]) if agent in found else "–" for agent in results.agents]
        lines.append("| " + " | ".join([f"{environment} + {monitor}", *best, *values]) + " |")
    return "\n".join(lines) + "\n"


def gallery(results: Results) -> str:
    """Every figure with what it shows; pictures are kept small."""
    parts = []
    for name, paths in draw_figures(list(FIGURES), results, DOCS / "figures"):
        if isinstance(paths, MonMDPError):
            raise paths
        for path in paths:
            if path.suffix == ".png":
                Image.open(path).convert("RGB").quantize(128).save(path, optimize=True)
            else:
                path.unlink()
        about = FIGURES[name].description
        parts.append(f"\n## {name}\n\n{about[0].upper()}{about[1:]}.\n\n![{about}](figures/{name}.png)\n")
    return "".join(parts)


if __name__ == "__main__":
    main(sys.argv[1])
