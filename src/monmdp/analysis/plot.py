"""One figure: greedy return over training, with the exact optimum as a line."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from monmdp.curves import Curves


def plot_curves(curves: Curves, path: Path) -> None:
    """Mean over seeds with its 95% confidence interval, drawn into a file."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    mean = curves.returns.mean(0)
    spread = (
        curves.returns.std(0, ddof=1) / np.sqrt(len(curves.seeds)) if len(curves.seeds) > 1 else np.zeros_like(mean)
    )
    figure, axes = plt.subplots(figsize=(5.2, 3.2), layout="constrained")
    axes.axhline(curves.optimal_return, color="0.35", linestyle="--", linewidth=1, label="optimal")
    axes.fill_between(curves.steps, mean - 1.96 * spread, mean + 1.96 * spread, color="#0072b2", alpha=0.2, linewidth=0)
    axes.plot(curves.steps, mean, color="#0072b2", label=curves.agent)
    axes.set_xlabel("training step")
    axes.set_ylabel("return of the greedy policy")
    axes.set_title(f"{curves.problem.name}, {len(curves.seeds)} seeds", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(x=0.01)
    axes.legend(frameon=False, loc="lower right")
    figure.savefig(path, dpi=160)
    plt.close(figure)
