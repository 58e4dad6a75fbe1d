"""Theorem 1: E[fraction of steps spent exploring up to t] < (|S||A| · D̄ / t) · (log t / β̄ + 1).

D̄ bounds the goal-relative diameter of the policy ρ that leads Directed to its goals. It is known exactly where ρ is a
random walk. Otherwise ρ changes while Directed learns (ε-greedy on Ŝ), so the bound is computed for the fastest ρ: no
policy reaches its goals sooner, so its D̄ is the smallest possible one, and a fraction below its bound is also below
the bound of Directed's own ρ. A fraction above it says only that Directed's own ρ is slower.
"""

from typing import NamedTuple

import numpy as np

from monmdp.errors import plural
from monmdp.exact.hitting import diameter, goal_relative_diameter
from monmdp.paper.evidence import CONFIRMED, REFUTED, UNKNOWN, Detail, MissingError, problem_of
from monmdp.problem import Floats, Integers, MonMDP
from monmdp.statistics import mean_interval
from monmdp.study.results import CellResults, Results

#: Elementary steps up to which a diameter is computed.
COST_LIMIT = 5e9


class Bound(NamedTuple):
    """The right side of Theorem 1 for a cell: the name of ρ, its D̄, and bounds [point], infinite before any step.

    exact: this is the cell's own ρ, and not the fastest one.
    """

    rho: str
    longest: float
    exact: bool
    values: Floats


def exploring_bound(steps: Integers, pairs: int, longest: float, beta_bar: float) -> Floats:
    """The right side of Theorem 1 at training steps [point], all at least 1; `longest` is D̄."""
    bound: Floats = pairs * longest / steps * (np.log(steps) / beta_bar + 1.0)
    return bound


def fastest_diameter(problem: MonMDP) -> float:
    """The least D̄ of any goal-directed policy: the path to the goal's state, and the step that takes its action."""
    return diameter(problem) + 1.0


def random_walk_diameter(problem: MonMDP) -> float:
    """D̄ of the policy that takes every action with the same probability."""
    uniform = np.full((problem.n_states, problem.n_actions), 1.0 / problem.n_actions)
    return float(goal_relative_diameter(problem, uniform).max())


def theorem_bound(cell: CellResults) -> Bound:
    """The bound for a variant of Directed in its problem, at its recording points."""
    problem, options = problem_of(cell), cell.settings["agent_options"]
    walks = bool(options.get("random_goal_policy")) and not options.get("balanced_wandering")
    pairs = int(problem.reachable_pairs.sum())
    work = float(problem.n_states**2 * problem.n_actions)  # elementary steps of one linear system
    if problem.step_limit is not None:
        work = 2.0 * problem.step_limit * problem.n_outcomes  # of one backward pass over an episode
    if work * (pairs if walks else problem.n_states) > COST_LIMIT:
        raise MissingError("too large for an exact diameter")
    longest = random_walk_diameter(problem) if walks else fastest_diameter(problem)
    values = exploring_bound(cell.steps[1:], pairs, longest, float(options["beta_bar"]))
    return Bound("random walk" if walks else "fastest ρ", longest, walks, np.append(np.inf, values))


def exploring_against_bound(results: Results, environment: str, monitor: str, agent: str = "Directed") -> Detail:
    """Compare the mean exploring fraction of a variant of Directed with the bound, at every recorded point.

    It is below (above) the bound only if its 95% interval is.
    """
    cell = results.cell(environment, monitor, agent)
    if cell is None:
        raise MissingError(f"no runs of {agent}")
    rho, longest, exact, bound = theorem_bound(cell)
    explored, low, high = mean_interval(cell.curve("explored"))
    low, high = np.fmin(low, explored), np.fmax(high, explored)  # a single seed has no interval
    least, margin = float(bound.min()), float((bound - high).min())
    share = f"{explored[-1]:.0%}" if explored[-1] >= 0.1 else f"{explored[-1]:.2%}"
    measured = f"{share} of {cell.steps[-1]:,} steps exploring, "
    bounds = f"{rho}: D̄ = {longest:.4g}, bound {bound[-1]:.3g} at the end"
    if margin >= 0.0 and least < 1.0:
        return Detail(measured + f"bound {bound[-1]:.3g}", bounds, CONFIRMED, margin)
    if margin >= 0.0:
        return Detail(measured + f"bound never below {least:.3g}", bounds, UNKNOWN, least)
    refuted = exact and bool((low > bound).any())
    why = f"above the bound of the {rho}, {bound[-1]:.3g}" + ("" if exact else ", not of its own")
    return Detail(measured + why, bounds, REFUTED if refuted else UNKNOWN, margin)


def summary_of_bounds(details: list[Detail]) -> str:
    """The number of cases below the bound, the number of bounds below 1, and the tightest bound."""
    computed = [detail for detail in details if detail.bound]
    if not computed:
        return f"no answer for {plural(len(details), 'case')}, such as {details[0].about} ({details[0].measured})"
    below = sum(detail.margin >= 0.0 for detail in computed)
    tested = sum(detail.verdict != UNKNOWN or detail.margin < 0.0 for detail in computed)
    tightest = min(computed, key=lambda detail: detail.margin)
    return (
        f"below the bound at every point in {below} of {plural(len(details), 'case')}; the bound says something "
        f"(is below 1, at some point) in {tested}; tightest: {tightest.about} ({tightest.measured})"
    )
