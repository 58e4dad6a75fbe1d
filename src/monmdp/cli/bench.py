"""`monmdp bench`: time per step and evaluation, and a projection for the whole paper."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from rich.console import Console

from monmdp.cli.shared import Command, Device, Json, check_file, new_console, option, print_json, progress, say
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
        from monmdp.cuda.backend import chosen

        check_file(self.save, ".md")
        table, rows, sentences = "", [], []
        if chosen(self.device) == "cuda":
            from monmdp.paper import gpu_benchmark

            with console.status("Measuring (kernels are compiled first) …"):
                gpu = gpu_benchmark.measure_gpu(seeds=5 if self.quick else 100)
            results, command, title = {**asdict(gpu), "seconds": gpu.seconds}, "monmdp bench --device cuda", gpu.device
            sentences = gpu_benchmark.sentences(gpu)
        else:
            from monmdp.paper import benchmark

            with progress(new_console(stderr=True), "measuring agents") as update:
                measured = benchmark.measure_agents(lambda done, total: update(completed=done, total=total))
                paper = None
                if not self.quick:
                    update(description="one seed of the paper")
                    paper = benchmark.measure_paper(lambda done, total: update(completed=done, total=total))
                    sentences = benchmark.sentences(paper)
            results = {"rows": [asdict(row) for row in measured], "paper": paper and asdict(paper)}
            command, title = "monmdp bench", benchmark.machine()
            results["machine"] = title
            rows = [
                (m.problem, m.agent, f"{m.pairs:,}", f"{m.step_ns:,.0f}", f"{m.evaluation_us:.1f}") for m in measured
            ]
            table = markdown(HEADER, rows, "llrrr") + "\n\n"
        if self.save is not None:
            lines = "\n".join(f"- {sentence}" for sentence in sentences)
            self.save.write_text(f"`{command}` on {title}:\n\n{table}{lines}\n", encoding="utf-8")
        if self.json:
            print_json(results)
            return
        console.print(terminal(HEADER, rows, title, "llrrr") if rows else "")
        for sentence in sentences:
            say(console, sentence)
