"""Theorem 1: E[fraction of steps spent exploring up to t] < (|S||A| · D̄ / t) · (log t / β̄ + 1).

D̄ bounds the goal-relative diameter of the policy ρ that leads Directed to its goals. Directed's own ρ changes
while it learns (ε-greedy on Ŝ, ε falling from 1 to 0), so the bound is computed exactly for the fastest one: no policy
reaches its goals sooner, so its D̄ is the smallest possible one, and a fraction below its bound is also below the bound
of Directed's own ρ.
"""

import numpy as np

from monmdp.errors import plural
from monmdp.exact.hitting import diameter
from monmdp.paper.evidence import CONFIRMED, REFUTED, UNKNOWN, Detail, MissingError, problem_of
from monmdp.problem import Floats, Integers, MonMDP
from monmdp.study.results import Results

#: Elementary steps up to which a diameter is computed.
COST_LIMIT = 5e9


def exploring_bound(steps: Integers, pairs: int, longest: float, beta_bar: float) -> Floats:
    """The right side of Theorem 1 at training steps [point], all at least 1; `longest` is D̄."""
    bound: Floats = pairs * longest / steps * (np.log(steps) / beta_bar + 1.0)
    return bound


def fastest_diameter(problem: MonMDP) -> float:
    """The least D̄ of any goal-directed policy: the path to the goal's state, and the step that takes its action."""
    return diameter(problem) + 1.0


def exploring_against_bound(results: Results, environment: str, monitor: str) -> Detail:
    """Compare the mean exploring fraction of Directed with the bound, at every recorded point."""
    cell = results.cell(environment, monitor, "Directed")
    if cell is None:
        raise MissingError("no runs of Directed")
    problem = problem_of(cell)
    work = float(problem.n_states**2 * problem.n_actions)  # elementary steps of one linear system
    if problem.step_limit is not None:
        work = 2.0 * problem.step_limit * problem.n_outcomes  # of one backward pass over an episode
    if work * problem.n_states > COST_LIMIT:
        raise MissingError("too large for an exact diameter")
    steps, explored = cell.steps[1:], cell.curve("explored").mean(0)[1:]
    pairs, beta_bar = int(problem.reachable_pairs.sum()), float(cell.settings["agent_options"]["beta_bar"])
    shortest = fastest_diameter(problem)
    bound = exploring_bound(steps, pairs, shortest, beta_bar)
    least, margin = float(bound.min()), float((bound - explored).min())
    measured = f"{explored[-1]:.0%} of {steps[-1]:,} steps exploring, "
    bounds = f"fastest ρ: D̄ = {shortest:.4g}, bound {bound[-1]:.3g} at the end"
    if margin < 0.0:
        return Detail(measured + "above the bound of the fastest ρ", bounds, REFUTED, margin)
    if least >= 1.0:
        return Detail(measured + f"bound never below {least:.3g}", bounds, UNKNOWN, least)
    return Detail(measured + f"bound {bound[-1]:.3g}", bounds, CONFIRMED, margin)


def summary_of_bounds(details: list[Detail]) -> str:
    """The number of problems below the bound, the number of bounds below 1, and the tightest bound."""
    computed = [detail for detail in details if detail.bound]
    if not computed:
        return f"no answer for {plural(len(details), 'problem')}, such as {details[0].about} ({details[0].measured})"
    below = sum(detail.margin >= 0.0 for detail in computed)
    tested = sum(detail.verdict != UNKNOWN for detail in computed)
    tightest = min(computed, key=lambda detail: detail.margin)
    return (
        f"below the bound at every point in {below} of {plural(len(details), 'problem')}; the bound says something "
        f"(is below 1, at some point) in {tested}; tightest: {tightest.about} ({tightest.measured})"
    )
