"""What training returns: curves over recording points, and the final tables."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from monmdp.problem import Floats, Integers, MonMDP
from monmdp.statistics import SOLVED_WITHIN as SOLVED_WITHIN
from monmdp.statistics import mean_interval


@dataclass(frozen=True, eq=False)
class Curves:
    """Arrays [seed, point], recorded before the training steps `steps` [point] and once at the end.

    returns: exact (or sampled) return of the greedy policy; observed: rewards seen so far; visited: distinct
    pairs visited so far; beta: the explore-exploit ratio; explored: fraction of steps spent exploring so far.
    Final tables: visit_counts and q [seed, S, A], reward_model [seed, environment pairs]; states that cannot
    be reached have count 0 and value NaN. target_return is what can be learned to earn: the optimal return or, where
    some rewards can never be seen, what the cautious policy of the minimax return earns.
    remarks [seed]: sentences of agents that have something to say, such as which reward was given up and why.
    """

    problem: MonMDP
    agent: str
    seeds: list[int]
    steps: Integers
    returns: Floats
    observed: Integers
    visited: Integers
    beta: Floats
    explored: Floats
    visit_counts: Integers
    q: Floats
    reward_model: Floats
    optimal_return: float
    target_return: float
    evaluation: str
    seconds: float
    remarks: list[list[str]] = field(default_factory=list)

    @property
    def final_returns(self) -> Floats:
        """Return of the last greedy policy of each seed, [seed]."""
        last: Floats = self.returns[:, -1]
        return last

    @property
    def solved(self) -> np.ndarray:
        """Which seeds ended earning the target return, [seed]."""
        return self.final_returns >= self.target_return - SOLVED_WITHIN

    @property
    def final_return_ci(self) -> float:
        """Half width of Student's 95% confidence interval of the mean final return; NaN for a single seed."""
        if np.isnan(self.final_returns).any():
            return float("nan")
        mean, _, high = mean_interval(self.final_returns)
        return float(high - mean)

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
        found = self.summary()
        width = "" if found["final_return_ci"] is None else f" ± {found['final_return_ci']:.4f}"
        outcome = "not evaluated"
        if found["final_return"] is not None:
            outcome = f"final return {found['final_return']:.4f}{width} of {self.target_return:.4f}, "
            outcome += f"solved {found['solved']:.0%}"
        return (
            f"Curves({self.agent} in {self.problem.name}, {len(self.seeds)} seeds × {found['steps']} steps: "
            f"{outcome}, {found['observed']:.0f} rewards observed, {self.seconds:.1f} s)"
        )
