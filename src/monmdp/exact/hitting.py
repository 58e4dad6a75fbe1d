"""Diameters: expected numbers of steps to reach a state or pair, computed exactly, across episodes.

With a step limit the worst case is over every state at every step of an episode in which the agent can be there,
since the time until the restart matters. The step that takes the goal action counts, so that the bound of
Theorem 1 holds for the number of exploring steps.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from monmdp import check
from monmdp.errors import MonMDPError
from monmdp.exact.solve import checked_policy
from monmdp.exact.structure import communicating, successor_rows
from monmdp.machine import check_memory
from monmdp.problem import Booleans, Floats, Integers, MonMDP, Progress, checked_problem

GoalPolicy = Callable[[int], Floats]


class Search(NamedTuple):
    """The search for a goal: rows as in `kernels.bellman`, one for each choice in each state.

    A choice costs cost[row] steps and reaches the goal at once with probability hit[row]. Otherwise the search
    continues in a successor or, with the rest of the probability, in a new episode.
    """

    offsets: Integers
    weight: Floats
    next_state: Integers
    cost: Floats
    hit: Floats


def diameter(problem: MonMDP, progress: Progress | None = None) -> float:
    """The largest, over pairs of reachable states, of the least expected number of steps from one to the other.

    progress: called with the number of goals done and of all.
    """
    if not communicating(checked_problem(problem)):
        return np.inf
    offsets, weight, next_state = successor_rows(problem)
    visited = _reachable_by_step(problem)

    def search(goal: int) -> Search:
        hit = np.repeat(np.arange(problem.n_states) == goal, problem.n_actions)
        kept = np.where(np.repeat(hit, np.diff(offsets)), 0.0, weight)
        return Search(offsets, kept, next_state, 1.0 - hit, hit.astype(np.float64))

    goals, longest = np.flatnonzero(problem.reachable).tolist(), 0.0
    for done, goal in enumerate(goals):
        if progress is not None:
            progress(done, len(goals))
        longest = max(longest, _worst_time(problem, search(goal), visited))
    return longest


def goal_relative_diameter(problem: MonMDP, policy: Floats | GoalPolicy, goals: Iterable[int] | None = None) -> Floats:
    """D^ρ(goal): the worst expected number of steps until a goal-directed policy takes its goal pair.

    policy: probabilities [S, A], or a function from a goal pair to such an array.
    goals: joint pairs, by default all reachable ones. Returns one number per goal, infinite if it is never reached.
    """
    pairs = np.flatnonzero(checked_problem(problem).reachable_pairs)
    if goals is not None:
        check.instance(goals, Iterable, "Goals must be a list of joint pairs")
        pairs = np.array([check.whole(goal, 0, "A goal") for goal in goals], np.int64)
    if np.any((pairs < 0) | (pairs >= problem.n_pairs)):
        raise MonMDPError(f"A goal is a joint pair, a number from 0 to {problem.n_pairs - 1}.")
    if np.any(~problem.reachable_pairs[pairs]):
        raise MonMDPError("A goal that can never be visited has no diameter; choose among problem.reachable_pairs.")
    offsets, weight, next_state = successor_rows(problem)
    visited = _reachable_by_step(problem)

    def search(goal: int) -> Search:
        chances = checked_policy(problem, policy(goal) if callable(policy) else policy)
        hit = np.where(np.arange(problem.n_pairs) == goal, chances.ravel(), 0.0)
        kept = weight * np.repeat(chances.ravel() - hit, np.diff(offsets))
        by_state = hit.reshape(chances.shape).sum(1)
        return Search(offsets[:: problem.n_actions].copy(), kept, next_state, np.ones(problem.n_states), by_state)

    return np.array([_worst_time(problem, search(goal), visited) for goal in pairs.tolist()])


def _reachable_by_step(problem: MonMDP) -> Booleans:
    """Whether the agent can act in state s at step t of an episode, [step limit, S]; without a limit, at any step."""
    if problem.step_limit is None:
        return problem.reachable[None]
    what = f"The diameter of {problem.name} with {problem.n_states:,} states and the step limit {problem.step_limit:,}"
    check_memory(2 * problem.n_states * problem.step_limit, what, "choose a shorter step limit, or none")
    layers = [problem.start > 0]
    for _ in range(1, problem.step_limit):
        layers.append(problem.successors(layers[-1]))
    return np.array(layers)


def _worst_time(problem: MonMDP, search: Search, visited: Booleans) -> float:
    """The largest hitting time over the visited states, with the best choices; infinite if the goal is not reached.

    With a step limit, shortens the time from a new start until no choice shortens it further: Newton's method on a
    concave function, which takes a few rounds, and two for a fixed policy.
    """
    if problem.step_limit is None:
        return _worst_time_unlimited(problem, search)
    from monmdp.kernels.bellman import hitting_sweep

    steps, hit = np.zeros((2, 2, problem.n_states))
    fresh = np.inf
    while True:
        worst = hitting_sweep(tuple(search), visited, fresh, steps, hit)
        arrival = float(problem.start @ hit[0])
        if arrival <= 0.0:
            return np.inf
        shorter = float(problem.start @ steps[0]) / arrival
        if shorter >= fresh * (1.0 - 1e-13):
            return float(worst)
        fresh = shorter


def _worst_time_unlimited(problem: MonMDP, search: Search) -> float:
    """Policy iteration for the least times = cost + successors · times, from choices that approach the goal."""
    from scipy.sparse import csr_array

    what = f"The diameter of {problem.name} with {problem.n_states:,} states and no step limit"
    check_memory(24 * len(search.cost) * problem.n_states, what, "choose a smaller problem, or a step limit")
    rows = csr_array((search.weight, search.next_state, search.offsets), (len(search.cost), problem.n_states)).toarray()
    restart = 1.0 - search.hit - rows.sum(1)
    rows += np.outer(np.where(restart > 1e-12, restart, 0.0), problem.start)
    here = problem.reachable
    matrix = rows.reshape(problem.n_states, -1, problem.n_states)[here][:, :, here]
    cost, hit = (array.reshape(problem.n_states, -1)[here] for array in (search.cost, search.hit))

    leads, choice = hit > 0, np.zeros(len(matrix), np.int64)
    arrives = np.zeros(len(matrix), np.bool_)
    while not arrives.all():
        new = leads.any(1) & ~arrives
        if not new.any():
            return np.inf
        choice[new] = leads[new].argmax(1)
        arrives |= new
        leads = (matrix[:, :, arrives] > 0).any(2)

    states = np.arange(len(matrix))
    while True:
        times = np.linalg.solve(np.eye(len(matrix)) - matrix[states, choice], cost[states, choice])
        ahead = cost + matrix @ times
        gains = ahead.min(1) < times * (1.0 - 1e-12)
        if not gains.any():
            return float(times.max())
        choice = np.where(gains, ahead.argmin(1), choice)
