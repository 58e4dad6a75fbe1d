"""Exact solutions: optimal and minimax values, and returns of policies."""

import math
from dataclasses import dataclass

import numpy as np

from monmdp import check
from monmdp.errors import MonMDPError, plural
from monmdp.exact.policy_iteration import Model, methods_for, policy_iteration, policy_values
from monmdp.exact.structure import communicating, hidden_env_outcomes, hidden_env_pairs, successor_rows
from monmdp.problem import ORDINARY, Floats, MonMDP, Progress, checked_problem

#: Action values closer than this, times the scale of the problem, are ties, shared evenly.
TIE = 1e-9
#: The smallest loss by a step of delay, times the scale of the problem, that is told apart from a tie.
LEAST_DELAY = 10 * TIE
#: Relative accuracy of optimal values.
ACCURACY = 1e-13
#: Value iteration finds the solution if FEW_SWEEPS are enough for the discount (up to 0.99). Otherwise it makes at most
#: FIRST_SWEEPS, which find the solution if all optimal ways end soon, or else a policy for policy iteration.
FEW_SWEEPS, FIRST_SWEEPS = 5_000, 1_000
#: If the discounted return of a policy without a step limit is a sum over more steps, a linear system gives it.
FEW_STEPS = 100_000
#: Discount of a step in the mean reward of endless episodes.
ENDLESS = 0.9999
#: Outcomes that value iteration visits between two checks for an interrupt: a part of a second.
SWEPT_AT_ONCE = 100_000_000


@dataclass(frozen=True, eq=False)
class Solution:
    """The exact solution of a problem.

    q [S, A], v [S] and policy [S, A] are optimal (infinite horizon, discounted; ties are shared evenly);
    optimal_return is the return of that policy within the step limit. The minimax quantities assume
    minimum_reward for every reward that can never be observed; without such rewards they equal the optimal ones.
    minimax_return is the return that is guaranteed then, cautious_return the smallest true return of a minimax
    policy. hidden_rewards lists the (state, action) of the environment whose reward can never be observed.
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
        """Whether every reward that can be earned can also be observed."""
        return not self.hidden_rewards

    def __repr__(self) -> str:
        verdict = "solvable" if self.solvable else f"{plural(len(self.hidden_rewards), 'reward')} can never be observed"
        return (
            f"Solution({self.problem.name}: optimal return {self.optimal_return:.6f}, "
            f"minimax return {self.minimax_return:.6f}, {verdict})"
        )


def solve(problem: MonMDP, *, minimum_reward: float | None = None, progress: Progress | None = None) -> Solution:
    """Solve a problem exactly.

    minimum_reward: lower bound of rewards for the minimax values; by default the smallest environment reward.
    progress: called with the work done so far and of all: sweeps over all states in value iteration, states whose
    action is settled in policy iteration.
    """
    environment = checked_problem(problem).environment
    lowest = float(environment.reward.min())
    if minimum_reward is not None:
        lowest = check.finite(minimum_reward, "The minimum reward")
    q = optimal_values(problem, problem.reward, progress)
    policy = greedy_policy(q, TIE * problem.scale)
    best = policy_return(problem, policy)
    hidden = hidden_env_pairs(problem)
    minimax_q, minimax_policy, guaranteed, earned = q, policy, best, best
    if len(hidden):
        assumed = np.where(hidden_env_outcomes(problem), lowest, environment.reward)
        reward = assumed[problem.monitor.env_outcome] + problem.monitor.reward
        minimax_q = optimal_values(problem, reward, progress)
        minimax_policy = greedy_policy(minimax_q, TIE * problem.scale)
        guaranteed = policy_return(problem, minimax_policy, reward)
        earned = policy_return(problem, worst_choice(problem, minimax_policy))
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


def optimal_values(problem: MonMDP, reward: Floats, progress: Progress | None = None) -> Floats:
    """Q* [S, A] for the given reward of each outcome, infinite horizon, discounted.

    Value iteration if its sweeps are enough, else policy iteration. progress: as in `solve`. An interrupt stops after
    a part of a second.
    """
    from monmdp.kernels.bellman import value_iteration

    check_discount(problem)
    q, values = np.zeros((problem.n_states, problem.n_actions)), np.zeros(problem.n_states)
    rows, expected, discount = successor_rows(problem), problem.expected(reward), float(problem.discount)
    most = 1 + math.ceil(math.log(ACCURACY * (1.0 - discount)) / math.log(max(discount, 1e-9)))

    def swept(limit: float) -> bool:
        """Whether value iteration finds the solution in these sweeps, made in parts that can be interrupted."""
        done = 0
        while done < limit:
            sweeps = int(min(max(1, SWEPT_AT_ONCE // problem.n_outcomes), limit - done))
            if value_iteration(rows, expected, discount, (ACCURACY, problem.scale, sweeps), q, values):
                return True
            done += sweeps
            if progress is not None:
                progress(int(min(done, most)), int(min(limit, most)))
        return False

    if swept(2 * most if most <= FEW_SWEEPS else FIRST_SWEEPS):
        return q
    solution = policy_iteration(problem, expected, q, progress)
    if solution is None:
        swept(math.inf)
    return q if solution is None else solution


def check_discount(problem: MonMDP) -> None:
    """Raise an error if a step of delay, even of the largest reward, is worth hardly more than a tie."""
    largest = float(max(problem.reward.max(), -problem.reward.min()))
    share = min(max(largest / problem.scale, ORDINARY[0]), 1.0)
    if largest and (1.0 - problem.discount) * share < LEAST_DELAY:
        nines = math.floor(math.log10(share / LEAST_DELAY) + 1e-9)
        raise MonMDPError(
            f"The discount {float(problem.discount)!r} is so close to 1 that waiting and acting would be ties in "
            f"{problem.name}; choose a discount of at most 0.{'9' * nines}."
        )


def worst_choice(problem: MonMDP, policy: Floats) -> Floats:
    """The policy [S, A] with the smallest return among those that choose only actions of the given policy [S, A]."""
    allowed = policy.ravel()[problem.pair_of_outcome] > 0
    never = problem.scale + 2.0 * float(np.abs(problem.reward).max()) / (1.0 - problem.discount)
    q = optimal_values(problem, np.where(allowed, -problem.reward, -never))
    return greedy_policy(q, TIE * problem.scale)


def greedy_policy(q: Floats, tie: float = TIE) -> Floats:
    """Action probabilities [S, A], equal for the best actions of q [S, A] and zero for others."""
    q = check.numbers(q, "Action values")
    if q.ndim != 2 or not q.size:
        raise MonMDPError(f"Action values must have the shape [S, A], not {q.shape}.")
    best = q >= q.max(1, keepdims=True) - tie
    policy: Floats = best / best.sum(1, keepdims=True)
    return policy


def policy_gain(problem: MonMDP, policy: Floats) -> float:
    """Expected reward per training step of policy [S, A]: that of an episode, undiscounted, over its length.

    Without a step limit, step t of an episode weighs ENDLESS^t, so that both sums are finite.
    """
    discount = 1.0 if problem.step_limit else ENDLESS
    length = policy_return(problem, policy, np.ones(problem.n_outcomes), discount)
    return policy_return(problem, policy, discount=discount) / length


def policy_return(
    problem: MonMDP, policy: Floats, reward: Floats | None = None, discount: float | None = None
) -> float:
    """Exact discounted return of policy [S, A] from the start distribution within the step limit.

    reward: of each outcome; by default that of the problem, environment plus monitor. discount: by default its own.
    """
    from monmdp.kernels.returns import NEGLIGIBLE, exact_return, new_evaluator
    from monmdp.world import compact

    policy = checked_policy(checked_problem(problem), policy)
    reward = problem.reward if reward is None else check.numbers(reward, "The reward of each outcome")
    if reward.shape != (problem.n_outcomes,):
        raise MonMDPError(f"A reward for {problem.name} has {problem.n_outcomes} numbers, one per outcome.")
    chance = policy.ravel()[problem.pair_of_outcome] * problem.probability
    chosen = chance > 0
    # a model with one action, which has the outcomes of the policy's actions
    chain = compact(problem)._replace(
        offsets=np.concatenate([[0], np.cumsum(chosen)])[problem.offsets[:: problem.n_actions]],
        probability=chance[chosen],
        next_state=problem.next_state[chosen],
        terminated=problem.terminated[chosen],
        pair_reward=np.add.reduceat(chance * reward, problem.offsets[: -1 : problem.n_actions]),
        start_states=problem.start_states,
        n_states=problem.n_states,
        n_actions=1,
        discount=problem.discount if discount is None else discount,
    )
    steps = math.log(NEGLIGIBLE) / math.log(max(chain.discount, 1e-9)) if chain.discount < 1.0 else math.inf
    if FEW_STEPS < steps < (problem.step_limit or math.inf):
        model, zeros = Model.of(chain, chain.pair_reward), np.zeros(problem.n_states)
        values = policy_values(model, zeros, methods_for(problem))
        if values is not None:
            return float(problem.start @ values)
        check_discount(problem)
    return float(exact_return(chain, np.zeros((problem.n_states, 1)), new_evaluator(chain)))


def checked_policy(problem: MonMDP, policy: Floats) -> Floats:
    """A policy as a contiguous array [S, A], after a check that its rows are probability distributions."""
    given: Floats = check.numbers(policy, "A policy")
    if given.shape != (problem.n_states, problem.n_actions):
        raise MonMDPError(
            f"A policy for {problem.name} has shape {(problem.n_states, problem.n_actions)}, not {given.shape}."
        )
    if not (np.all(given >= 0) and np.all(np.abs(given.sum(1) - 1.0) <= check.PROBABILITY_TOLERANCE)):
        raise MonMDPError("Every row of a policy must have non-negative probabilities that sum to 1.")
    return given
