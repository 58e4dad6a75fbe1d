"""`monmdp solve`: the optimum of a problem, and the best policy drawn on the grid."""

from __future__ import annotations

import json as json_text
from dataclasses import dataclass
from typing import TYPE_CHECKING

import tyro
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from monmdp.exact.solve import Solution


@dataclass(frozen=True)
class Solve:
    """Solve a problem exactly: its optimum, what can never be seen, and the best policy.

    For example: monmdp solve Empty Ask, or monmdp solve Bottleneck "Ask(never_observable=column)".
    """

    environment: tyro.conf.Positional[str]
    """An environment, such as Empty, "Empty(rows=9, columns=9)" or "FrozenLake-v1"."""
    monitor: tyro.conf.Positional[str] = "Full"
    """A monitor, such as Ask or "Ask(cost=0.5)"."""
    discount: float = 0.99
    """How much the next step's reward counts."""
    minimum_reward: float | None = None
    """Known lower bound of rewards, for the minimax return; by default the environment's smallest."""
    diameter: bool = False
    """Also compute the diameter: the worst expected time from one state to another."""
    json: bool = False
    """Print one JSON object instead of tables."""

    def run(self, console: Console) -> None:
        """Print the exact answers, and the policy on the grid."""
        from monmdp import diameter, make, solve

        problem = make(self.environment, self.monitor, discount=self.discount)
        with console.status("Solving (the first time, kernels are compiled) …"):
            solution = solve(problem, minimum_reward=self.minimum_reward)
            width = diameter(problem) if self.diameter else None
        if self.json:
            print(json_text.dumps(_summary(solution, width), allow_nan=False))
        else:
            _print(console, solution, width)


def _summary(solution: Solution, diameter: float | None) -> dict[str, object]:
    problem = solution.problem
    found: dict[str, object] = {
        "environment": problem.environment.name,
        "monitor": problem.monitor.name,
        "states": problem.n_states,
        "actions": problem.n_actions,
        "reachable_states": int(problem.reachable.sum()),
        "step_limit": problem.step_limit,
        "discount": problem.discount,
        "digest": problem.digest,
        "optimal_return": solution.optimal_return,
        "minimax_return": solution.minimax_return,
        "cautious_return": solution.cautious_return,
        "minimum_reward": solution.minimum_reward,
        "solvable": solution.solvable,
        "hidden_rewards": [list(pair) for pair in solution.hidden_rewards],
        "communicating": solution.communicating,
    }
    if diameter is not None:
        found["diameter"] = diameter if diameter < float("inf") else None
    return found


def _print(console: Console, solution: Solution, diameter: float | None) -> None:
    from monmdp.render.policy import draw_policy

    problem = solution.problem
    hidden = solution.hidden_rewards
    some = ", ".join(f"{action} in {state}" for state, action in hidden[:3]) + (", …" if len(hidden) > 3 else "")
    limit = "none" if problem.step_limit is None else str(problem.step_limit)
    caution = "" if solution.solvable else f" guaranteed; caution truly earns {solution.cautious_return:.6f}"
    rows = {
        "states × actions": f"{problem.n_states} × {problem.n_actions}",
        "reachable states": str(int(problem.reachable.sum())),
        "step limit": limit,
        "optimal return": f"[bold]{solution.optimal_return:.6f}[/]",
        "minimax return": f"{solution.minimax_return:.6f}{caution}",
        "solvable": "yes" if solution.solvable else f"no: {len(hidden)} rewards can never be seen ({some})",
        "communicating": "yes" if solution.communicating else "no",
    }
    if diameter is not None:
        rows["diameter"] = f"{diameter:.6g} steps"
    table = Table(title=f"[bold]{problem.name}[/]", title_justify="left", show_header=False)
    for name, value in rows.items():
        table.add_row(name, value)
    console.print(table)
    console.print(draw_policy(problem, solution.policy, solution.v))
