"""Exact answers: optimal and minimax values, returns of policies, and what can never be known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from monmdp import check
from monmdp.errors import MonMDPError
from monmdp.exact.structure import communicating, hidden_env_outcomes, hidden_env_pairs
from monmdp.problem import Floats, MonMDP

#: Action values closer than this are ties, shared evenly.
TIE = 1e-9
#: Relative accuracy to which values are iterated.
ACCURACY = 1e-13
#: A return is summed until the state distribution that is left, discounted, weighs less than this.
NEGLIGIBLE = 1e-14


@dataclass(frozen=True, eq=False)
class Solution:
    """What is exactly true of a problem.

    q [S, A], v [S] and policy [S, A] are optimal (infinite horizon, discounted; ties share evenly);
    optimal_return is what that policy earns within the step limit. The minimax quantities take every
    reward that can never be seen for minimum_reward; where all can be seen they equal the optimal ones.
    minimax_return is what is guaranteed then, cautious_return the least that a minimax policy truly earns.
    hidden_rewards lists the (state, action) of the environment whose reward can never be seen.
    """

    problem: MonMDP
    q: Floats
    v: Floats
    policy: Floats
    optimal_return: float
    minimax_q: Floats
    minimax_policy: Floats
    minimax_return: float
    cautious_return: float
    minimum_reward: float
    hidden_rewards: list[tuple[str, str]]
    communicating: bool

    @property
    def solvable(self) -> bool:
        """Whether every reward that can be earned can also be seen, at least sometimes."""
        return not self.hidden_rewards

    def __repr__(self) -> str:
        verdict = "solvable" if self.solvable else f"{len(self.hidden_rewards)} rewards can never be seen"
        return (
            f"Solution({self.problem.name}: optimal return {self.optimal_return:.6f}, "
            f"minimax return {self.minimax_return:.6f}, {verdict})"
        )


def solve(problem: MonMDP, *, minimum_reward: float | None = None) -> Solution:
    """Solve a problem exactly.

    minimum_reward: the known lower bound of rewards for the minimax values; by default the smallest
    reward of the environment.
    """
    q = optimal_values(problem, problem.reward)
    policy = greedy_policy(q)
    best = policy_return(problem, policy)
    environment = problem.environment
    lowest = float(environment.reward.min())
    if minimum_reward is not None:
        lowest = check.finite(minimum_reward, "The minimum reward")
    hidden = hidden_env_pairs(problem)
    minimax_q, minimax_policy, guaranteed, earned = q, policy, best, best
    if len(hidden):
        feared = np.where(hidden_env_outcomes(problem), lowest, environment.reward)
        reward = feared[problem.monitor.env_outcome] + problem.monitor.reward
        minimax_q = optimal_values(problem, reward)
        minimax_policy = greedy_policy(minimax_q)
        guaranteed = policy_return(problem, minimax_policy, reward)
        earned = policy_return(problem, least_lucky(problem, minimax_policy))
    pairs = [divmod(int(pair), len(environment.actions)) for pair in hidden]
    return Solution(
        problem=problem,
        q=q,
        v=q.max(1),
        policy=policy,
        optimal_return=best,
        minimax_q=minimax_q,
        minimax_policy=minimax_policy,
        minimax_return=guaranteed,
        cautious_return=earned,
        minimum_reward=lowest,
        hidden_rewards=[(environment.state_label(s), str(environment.actions[a])) for s, a in pairs],
        communicating=communicating(problem),
    )


def optimal_values(problem: MonMDP, reward: Floats) -> Floats:
    """Q* [S, A] for the given reward of each outcome, infinite horizon, discounted."""
    from monmdp.kernels.bellman import value_iteration

    q = np.zeros((problem.n_states, problem.n_actions))
    value_iteration(
        problem.offsets,
        problem.probability,
        problem.next_state,
        reward,
        problem.terminated,
        float(problem.discount),
        ACCURACY,
        q,
        np.zeros(problem.n_states),
    )
    return q


def least_lucky(problem: MonMDP, policy: Floats) -> Floats:
    """The policy [S, A] that earns least of all that only choose what the given policy [S, A] may choose."""
    allowed = policy.ravel()[problem.pair_of_outcome] > 0
    never = 1.0 + 2.0 * float(np.abs(problem.reward).max()) / (1.0 - problem.discount)
    return greedy_policy(optimal_values(problem, np.where(allowed, -problem.reward, -never)))


def greedy_policy(q: Floats, tie: float = TIE) -> Floats:
    """Action probabilities [S, A] that share evenly among the best actions of q [S, A]."""
    best = q >= q.max(1, keepdims=True) - tie
    policy: Floats = best / best.sum(1, keepdims=True)
    return policy


def policy_return(problem: MonMDP, policy: Floats, reward: Floats | None = None) -> float:
    """Exact discounted return of policy [S, A] from the start distribution within the step limit.

    reward: of each outcome; by default the problem's own, environment plus monitor.
    """
    from monmdp.kernels.bellman import expected_return

    policy = checked_policy(problem, policy)
    reward = problem.reward if reward is None else np.ascontiguousarray(reward, np.float64)
    if reward.shape != (problem.n_outcomes,):
        raise MonMDPError(f"A reward for {problem.name} is {problem.n_outcomes} numbers, one an outcome.")
    limited = problem.step_limit is not None
    return float(
        expected_return(
            problem.offsets,
            problem.probability,
            problem.next_state,
            reward,
            problem.terminated,
            problem.start,
            policy,
            float(problem.discount),
            problem.step_limit if limited else np.iinfo(np.int64).max,
            NEGLIGIBLE,
            np.zeros(problem.n_states),
            np.zeros(problem.n_states),
            np.zeros((2, problem.n_states), np.int64),
        )
    )


def checked_policy(problem: MonMDP, policy: Floats) -> Floats:
    """A policy as a contiguous array [S, A] whose rows are probabilities, or a sentence about what is wrong."""
    given = np.ascontiguousarray(policy, np.float64)
    if given.shape != (problem.n_states, problem.n_actions):
        raise MonMDPError(
            f"A policy for {problem.name} has shape {(problem.n_states, problem.n_actions)}, not {given.shape}."
        )
    if not (np.all(given >= 0) and np.all(np.abs(given.sum(1) - 1.0) <= check.PROBABILITY_TOLERANCE)):
        raise MonMDPError("Every row of a policy must be probabilities that sum to 1.")
    return given
