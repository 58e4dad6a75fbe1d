"""The result of training: curves over recording points, and the final tables."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from monmdp.errors import plural
from monmdp.problem import Floats, Integers, MonMDP

#: A run is solved when its greedy return is at most this, times the scale of the problem, below the target.
SOLVED_WITHIN = 1e-6


def half_width(values: Floats, level: float = 0.95) -> Floats:
    """Half of Student's confidence interval of a mean along axis 0: t · s / √runs; NaN for a single run."""
    from scipy.special import stdtrit

    runs = len(values)
    if runs == 1:
        return np.full(values.shape[1:], np.nan)
    width: Floats = stdtrit(runs - 1, (1.0 + level) / 2.0) * values.std(0, ddof=1) / np.sqrt(runs)
    return width


@dataclass(frozen=True, eq=False)
class Curves:
    """Runs of one agent in one problem, recorded before the training steps `steps` [point] and once at the end.

    Every metric of `monmdp.training.metrics.METRICS` is an attribute, an array [seed, point]: returns, observed,
    visited, beta, explored. Final tables: visit_counts and q [seed, S, A], reward_model [seed, environment pairs];
    states that cannot be reached have count 0 and value NaN. target_return is the return that can be learned: the
    optimal one or, if some rewards can never be observed, that of the minimax policy.
    remarks [seed]: reports of the agent, such as which reward was given up and why.
    settings: everything the numbers depend on.
    """

    problem: MonMDP
    agent: str
    seeds: list[int]
    steps: Integers
    recorded: Mapping[str, np.ndarray]
    visit_counts: Integers
    q: Floats
    reward_model: Floats
    optimal_return: float
    target_return: float
    evaluation: str
    seconds: float
    remarks: list[list[str]] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)

    def __getattr__(self, name: str) -> np.ndarray:
        if name.startswith("__") or name == "recorded" or name not in self.recorded:
            raise AttributeError(f"Curves have no attribute {name!r}.")
        return self.recorded[name]

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.recorded})

    @property
    def final_returns(self) -> Floats:
        """Return of the last greedy policy of each seed, [seed]."""
        last: Floats = self.returns[:, -1]
        return last

    @property
    def solved(self) -> np.ndarray:
        """Whether each seed ended with the target return, [seed]."""
        return self.final_returns >= self.target_return - SOLVED_WITHIN * self.problem.scale

    @property
    def final_return_ci(self) -> float:
        """Half width of Student's 95% confidence interval of the mean final return; NaN for a single seed."""
        return float(half_width(self.final_returns))

    def summary(self) -> dict[str, object]:
        """The result as plain values; NaN as None."""
        final, half_width = float(self.final_returns.mean()), self.final_return_ci
        unknown = bool(np.isnan(final))
        return {
            "environment": self.problem.environment.name,
            "monitor": self.problem.monitor.name,
            "agent": self.agent,
            "seeds": len(self.seeds),
            "steps": int(self.steps[-1]),
            "optimal_return": self.optimal_return,
            "final_return": None if unknown else final,
            "final_return_ci": None if np.isnan(half_width) else half_width,
            "solved": None if unknown else float(self.solved.mean()),
            "observed": float(self.observed[:, -1].mean()),
            "seconds": self.seconds,
        }

    def __repr__(self) -> str:
        summary, seeds, steps = self.summary(), plural(len(self.seeds), "seed"), plural(int(self.steps[-1]), "step")
        outcome = "not evaluated"
        if summary["final_return"] is not None:
            width = "" if summary["final_return_ci"] is None else f" ± {summary['final_return_ci']:.4f}"
            outcome = f"final return {summary['final_return']:.4f}{width} of {self.target_return:.4f}, "
            outcome += f"solved {summary['solved']:.0%}"
        return (
            f"Curves({self.agent} in {self.problem.name}, {seeds} × {steps}: "
            f"{outcome}, {summary['observed']:.0f} rewards observed, {self.seconds:.1f} s)"
        )
