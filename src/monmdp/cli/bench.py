"""`monmdp bench`: how fast, against the plain-Python twin."""

from __future__ import annotations

import json as json_text
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from monmdp.errors import MonMDPError

if TYPE_CHECKING:
    from monmdp.paper.benchmark import Paper, Row

PAPER_SEEDS = 100
HEADER = ("problem", "agent", "pairs", "ns a step", "µs an evaluation", "plain µs a step", "ratio")


@dataclass(frozen=True)
class Bench:
    """Measure time a step and an exact evaluation, the ratio to the plain twin, and the whole paper."""

    quick: bool = False
    """Leave out the projection for the paper's 28,800 runs, which takes most of the time; on a GPU, 5 seeds of 100."""
    device: Literal["cpu", "cuda", "auto"] = "cpu"
    """What to measure: the CPU against the plain twins, or the paper on a GPU against the floors of the GPU; auto is
    the GPU if there is one."""
    json: bool = False
    """Print one JSON object instead of a table."""
    save: Path | None = None
    """Also write the table into this Markdown file."""

    def run(self, console: Console) -> None:
        """Measure, print the table, and save it if asked."""
        from reference import PLAIN_AGENTS

        from monmdp.cuda.backend import chosen
        from monmdp.paper.benchmark import SHOWN, machine, measure_paper, rows

        if self.save is not None and not self.save.absolute().parent.is_dir():
            raise MonMDPError(f"The folder of {self.save} does not exist.")
        if chosen(self.device) == "cuda":
            self._run_on_gpu(console)
            return
        with Progress(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("measuring agents", total=len(SHOWN) * len(PLAIN_AGENTS))
            measured = []
            for row in rows():
                measured.append(row)
                bar.update(task, advance=1)
            paper = None
            if not self.quick:
                whole = bar.add_task("one seed of the paper", total=None)
                paper = measure_paper(lambda done, of: bar.update(whole, completed=done, total=of))
        if self.json:
            listed = [{**asdict(row), "ratio": row.ratio} for row in measured]
            print(json_text.dumps({"machine": machine(), "rows": listed, "paper": paper and asdict(paper)}))
            return
        table = Table(title=machine(), title_justify="left", box=None, padding=(0, 1))
        for column in HEADER:
            table.add_column(column, justify="left" if column in HEADER[:2] else "right", no_wrap=column == "problem")
        for row in measured:
            table.add_row(*_cells(row))
        console.print(table)
        words = _words(paper) if paper is not None else []
        for sentence in words:
            console.print(sentence)
        if self.save is not None:
            lines = [HEADER, ("---",) * len(HEADER), *map(_cells, measured)]
            marks = ["| " + " | ".join(line) + " |" for line in lines]
            text = [f"`monmdp bench` on {machine()}:", "", *marks, "", *(f"- {sentence}" for sentence in words)]
            self.save.write_text("\n".join(text) + "\n")

    def _run_on_gpu(self, console: Console) -> None:
        from monmdp.paper.gpu_benchmark import measure_gpu, sentences

        with console.status("Measuring (kernels are compiled first) …"):
            measured = measure_gpu(seeds=5 if self.quick else PAPER_SEEDS)
        if self.json:
            print(json_text.dumps({**asdict(measured), "seconds": measured.seconds}))
            return
        for sentence in sentences(measured):
            console.print(sentence, soft_wrap=True)
        if self.save is not None:
            lines = [f"`monmdp bench --device cuda` on {measured.device}:", ""]
            self.save.write_text("\n".join([*lines, *(f"- {sentence}" for sentence in sentences(measured))]) + "\n")


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.problem, row.agent, f"{row.pairs:,}", f"{row.step_ns:,.0f}", f"{row.evaluation_us:.1f}",
        f"{row.plain_step_us:.0f}", f"{row.ratio:,.0f}×",
    )  # fmt: skip


def _words(paper: Paper) -> list[str]:
    each = ", ".join(f"{agent} {seconds:.2f}" for agent, seconds in paper.core_seconds.items())
    return [
        "One seed of the paper's 48 problems × 6 agents with 1,001 exact evaluations each: "
        f"{paper.seed_seconds:.2f} core-seconds ({each}).",
        f"The paper's 28,800 runs would take {paper.minutes:.1f} minutes on {paper.cores} cores.",
        f"Two seeds on two threads went {paper.speedup:.2f} times as fast as on one.",
        f"Runner and store added {paper.overhead:.1%} to the time of training in a small sweep.",
    ]
