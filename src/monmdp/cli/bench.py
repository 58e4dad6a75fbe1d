"""`monmdp bench`: time per step and evaluation, and a projection for the whole paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from rich.console import Console

from monmdp.cli.shared import Command, Device, Json, check_file, option, print_json, print_line, progress
from monmdp.tables import markdown, terminal

HEADER = ("problem", "agent", "pairs", "ns per step", "µs per evaluation")


@dataclass(frozen=True)
class Bench(Command):
    """Measure the time per step and evaluation, and project the paper's.

    Examples: monmdp bench --quick
              monmdp bench --device cuda
    """

    quick: bool = False
    """Skip the projection, which takes most of the time; on a GPU, use 5 seeds instead of 100."""
    device: Device = "cpu"
    json: Json = False
    save: Annotated[Path | None, option("none")] = None
    """Markdown file for the results (.md)."""

    def run(self, console: Console) -> None:
        check_file(self.save, ".md")
        result = _measure_gpu(self.quick) if self._on_gpu() else _measure_cpu(self.quick)
        if self.save is not None:
            table = markdown(HEADER, result.rows, "llrrr") + "\n\n" if result.rows else ""
            sentences = "".join(f"- {sentence}\n" for sentence in result.sentences)
            self.save.write_text(f"`{result.command}` on {result.machine}:\n\n{table}{sentences}", encoding="utf-8")
        if self.json:
            print_json(result.values)
            return
        if result.rows:
            console.print(terminal(HEADER, result.rows, result.machine, "llrrr"))
        for sentence in result.sentences:
            print_line(console, sentence)

    def _on_gpu(self) -> bool:
        if self.device == "cpu":
            return False
        from monmdp.cuda.backend import chosen

        return chosen(self.device) == "cuda"


class Measured(NamedTuple):
    """What was measured, as a table and sentences for readers and as values for JSON."""

    command: str
    machine: str
    rows: Sequence[tuple[str, ...]]
    sentences: list[str]
    values: dict[str, Any]


def _measure_cpu(quick: bool) -> Measured:
    from monmdp.paper import benchmark

    with progress("measuring agents") as update:
        speeds = benchmark.measure_agents(lambda done, total: update(completed=done, total=total))
        paper = None
        if not quick:
            update(description="one seed of the paper", completed=0)
            paper = benchmark.measure_paper(lambda done, total: update(completed=done, total=total))
    rows = [
        (speed.problem, speed.agent, f"{speed.pairs:,}", f"{speed.step_ns:,.0f}", f"{speed.evaluation_us:.1f}")
        for speed in speeds
    ]
    machine, sentences = benchmark.machine(), [] if paper is None else paper.sentences()
    values = {"machine": machine, "rows": [asdict(speed) for speed in speeds], "paper": paper and asdict(paper)}
    return Measured("monmdp bench", machine, rows, sentences, values)


def _measure_gpu(quick: bool) -> Measured:
    from monmdp.paper.benchmark import PAPER_SEEDS, measure_gpu

    with progress("measuring (kernels are compiled first)"):
        gpu = measure_gpu(5 if quick else PAPER_SEEDS)
    return Measured("monmdp bench --device cuda", gpu.device, [], gpu.sentences(), asdict(gpu))
