"""`monmdp bench`: how fast, against the plain-Python twin."""

from __future__ import annotations

import json as json_text
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from monmdp.errors import MonMDPError


@dataclass(frozen=True)
class Bench:
    """Measure time a step and an exact evaluation, the ratio to the plain twin, and the whole paper."""

    quick: bool = False
    """Leave out the projection for the paper's 28,800 runs, which takes most of the time."""
    json: bool = False
    """Print one JSON object instead of a table."""
    save: Path | None = None
    """Also write the table into this Markdown file."""

    def run(self, console: Console) -> None:
        from monmdp.experiments import benchmark
        from monmdp.training import n_cores

        if self.save is not None and not self.save.absolute().parent.is_dir():
            raise MonMDPError(f"The folder of {self.save} does not exist.")
        quiet = Console(stderr=True)
        with Progress(console=quiet, transient=True) as bar:
            task = bar.add_task("measuring agents", total=len(benchmark.SHOWN) * 6)
            rows = []
            for row in benchmark.rows():
                rows.append(row)
                bar.update(task, advance=1)
            paper: dict[str, float] = {}
            if not self.quick:
                whole = bar.add_task("one seed of the paper", total=None)
                paper = benchmark.paper_seconds(lambda done, of: bar.update(whole, completed=done, total=of))
        cores = n_cores()
        seed_seconds = sum(paper.values())
        minutes = seed_seconds * benchmark.PAPER_SEEDS / cores / 60
        if self.json:
            result = {
                "machine": benchmark.machine(),
                "rows": [{**asdict(row), "ratio": row.ratio} for row in rows],
                "core_seconds_per_seed": paper or None,
                "paper_minutes": minutes if paper else None,
            }
            print(json_text.dumps(result))
            return
        header = ("problem", "agent", "pairs", "ns a step", "µs an evaluation", "plain µs a step", "ratio")
        cells = [
            (row.problem, row.agent, f"{row.pairs:,}", f"{row.step_ns:,.0f}", f"{row.evaluation_us:.1f}",
             f"{row.plain_step_us:.0f}", f"{row.ratio:,.0f}×") for row in rows
        ]  # fmt: skip
        table = Table(title=benchmark.machine(), title_justify="left", box=None, padding=(0, 1))
        for column in header:
            table.add_column(column, justify="left" if column in ("problem", "agent") else "right")
        for line in cells:
            table.add_row(*line)
        console.print(table)
        words = []
        if paper:
            each = ", ".join(f"{agent} {seconds:.2f}" for agent, seconds in paper.items())
            words = [
                f"One seed of the paper's 48 problems × 6 agents with 1,001 exact evaluations each: "
                f"{seed_seconds:.2f} core-seconds ({each}).",
                f"The paper's 28,800 runs would take {minutes:.1f} minutes on {cores} cores.",
            ]
            for sentence in words:
                console.print(sentence)
        if self.save is not None:
            marks = ["| " + " | ".join(line) + " |" for line in (header, ("---",) * len(header), *cells)]
            self.save.write_text(
                "\n".join([f"`monmdp bench` on {benchmark.machine()}:", "", *marks, "", *words]) + "\n"
            )
