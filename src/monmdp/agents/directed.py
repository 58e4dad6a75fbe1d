"""Directed exploration (the paper's Algorithm 1): go to the least visited pair, guided by successor functions.

goal = argmin N(s,a), first in order among equals; β = log(t + 2) / N(goal)
if β > β̄: with probability ε a random action, else argmax_a Ŝ_goal(s,a); otherwise argmax_a Q(s,a)
Ŝ_g(s,a) += α (target − Ŝ_g(s,a)) for all goals g at once, where target is, for
  first visits:  1 if g = (s,a), else γ max Ŝ_g(s′,·), or 0 after termination
  occupancy:     1[g = (s,a)] + γ max Ŝ_g(s′,·), or without the second term after termination
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from monmdp.agents.base import AGENTS
from monmdp.agents.choices import choose, choose_any, explores
from monmdp.agents.q_learning import QLearner, extended_memory, update_q_learner
from monmdp.agents.schedules import TABULATED, Schedule, log_of, logarithms, schedule, value_at
from monmdp.check import Discount, NonNegative
from monmdp.kernels.compile import inlined, kernel
from monmdp.problem import Floats, Integers
from monmdp.world import World

Singles = npt.NDArray[np.float32]
#: Goals whose maxima are recomputed together if any of them must be; 64 was the fastest of 16, 32 and 64.
STRIP = 64


#: QMemory with successor values Ŝ [goals, goals], their maxima over actions [S, goals], and the current goal. Goals are
#: all pairs in which the agent can act; goal [1] is the current one and goal_visits [1] the least number of visits;
#: logs are logarithms of integers. scratch [goals] and values [A] are scratch space.
DirectedMemory: Any = extended_memory(
    __name__,
    "DirectedMemory",
    successor_values=Singles,
    successor_best=Singles,
    successor_alpha=Floats,
    successor_discount=np.float32,
    occupancy=bool,
    balanced_wandering=bool,
    random_goal_policy=bool,
    beta_bar=float,
    logs=Floats,
    n_goals=int,
    goal=Integers,
    goal_visits=Integers,
    scratch=Singles,
    values=Floats,
)


@kernel
def find_goal(visits, n_goals, goal, goal_visits):
    """The least visited goal, first in order among equals; amortised O(1).

    Counts only grow and the goal was the first of the least, so the search continues from it; past the end, every
    pair has been visited more often than goal_visits.
    """
    if visits[goal[0]] > goal_visits[0]:
        for _ in range(2):
            while goal[0] < n_goals and visits[goal[0]] > goal_visits[0]:
                goal[0] += 1
            if goal[0] < n_goals:
                break
            goal[0] = 0
            goal_visits[0] += 1
    return goal[0]


@inlined
def beta_directed(memory, step):
    """β = log(t + 2) / N(goal), infinite while the goal was never visited."""
    count = memory.visits[find_goal(memory.visits, memory.n_goals, memory.goal, memory.goal_visits)]
    return log_of(memory.logs, step + 2) / count if count > 0 else math.inf


@inlined
def act_directed(memory, state, draws):
    """Toward the goal while β > β̄, else greedy on Q."""
    n_actions = memory.q.shape[1]
    if not beta_directed(memory, draws.step) > memory.beta_bar:
        return choose(memory.q[state], draws), False
    first = state * n_actions
    if explores(memory.epsilon, draws):
        if memory.balanced_wandering:
            for action in range(n_actions):
                memory.values[action] = -memory.visits[first + action]
            return choose(memory.values, draws), True
        return choose_any(n_actions, draws), True
    if memory.random_goal_policy:
        return choose_any(n_actions, draws), True
    for action in range(n_actions):
        memory.values[action] = memory.successor_values[first + action, memory.goal[0]]
    return choose(memory.values, draws), True


@kernel
def learn_successors(
    values, best, n_actions, state, action, next_state, terminated, alpha, discount, occupancy, scratch
):
    """Update Ŝ_g(s,a) of all goals at once, and the maxima over actions; all in single precision.

    One pass over contiguous rows that vectorises. Where the largest value of a goal decreased, its maximum is marked
    and computed again.
    """
    pair = state * n_actions + action
    row, here = values[pair], best[state]
    ahead = best[next_state]
    if terminated:
        scratch[:] = np.float32(0.0)
        ahead = scratch
    elif next_state == state:
        scratch[:] = here  # the loop below writes `here`, and vectorises only over rows that do not overlap
        ahead = scratch
    own = row[pair]
    own_target = np.float32(1.0) + discount * ahead[pair] if occupancy else np.float32(1.0)
    here[pair] = np.float32(np.inf)  # the reached goal is updated separately, and must not count as fallen
    lost = np.int32(0)
    for g in range(len(row)):
        old = row[g]
        new = old + alpha * (discount * ahead[g] - old)
        row[g] = new
        falls = (old == here[g]) and (new < old)
        here[g] = np.float32(-1.0) if falls else max(here[g], new)
        lost |= np.int32(falls)
    row[pair] = own + alpha * (own_target - own)
    here[pair] = np.float32(-1.0)
    first = state * n_actions
    look_up(values, first, n_actions, here, pair, pair + 1)
    if not lost:
        return
    for start in range(0, len(here), STRIP):
        stop = min(start + STRIP, len(here))
        strip = here[start:stop]
        fallen = np.int32(0)
        for g in range(len(strip)):
            fallen |= np.int32(strip[g] < 0.0)
        if fallen:
            look_up(values, first, n_actions, here, start, stop)


@kernel
def look_up(values, first, n_actions, here, start, stop):
    """max over actions of Ŝ_g(s,·), for the goals from start to stop."""
    most = here[start:stop]
    for pair in range(first, first + n_actions):
        row = values[pair, start:stop]
        for g in range(len(most)):
            most[g] = max(most[g], row[g])


@inlined
def update_directed(memory, transition):
    """Q-learning, and the successor values of all goals."""
    update_q_learner(memory, transition)
    if not memory.random_goal_policy:
        learn_successors(
            memory.successor_values, memory.successor_best, memory.q.shape[1], transition.state, transition.action,
            transition.next_state, transition.terminated, np.float32(value_at(memory.successor_alpha, transition.step)),
            memory.successor_discount, memory.occupancy, memory.scratch,
        )  # fmt: skip


@AGENTS.add
@dataclass(frozen=True, kw_only=True)
class Directed(QLearner):
    """Goes to the least visited pair, guided by successor functions that never need a reward.

    initial_q: initial value of Q, pessimistic.
    beta_bar: explore while β is above it.
    successor_target: "first visit" (used for the paper's figures) or "occupancy" (the paper's Eq. 8).
    successor_alpha, successor_discount: learning rate and discount of Ŝ; by default those of Q.
    balanced_wandering: instead of a random action, take the one least tried in the state.
    random_goal_policy: go to the goal by a random walk instead of by Ŝ.
    """

    initial_q: float | None = -10.0
    beta_bar: NonNegative = 0.01
    successor_target: Literal["first visit", "occupancy"] = "first visit"
    successor_alpha: Schedule | None = None
    successor_discount: Discount | None = None
    balanced_wandering: bool = False
    random_goal_policy: bool = False

    act = act_directed
    update = update_directed
    beta = beta_directed
    device_kernel = "block"

    def memory(self, world: World, steps: int, seed: int) -> Any:
        common = self.common(world, steps, seed)
        own_alpha = self.alpha if self.successor_alpha is None else self.successor_alpha
        n, m = world.n_states, world.n_actions
        goals = world.n_acting_states * m
        pairs = 0 if self.random_goal_policy else goals
        discount = world.discount if self.successor_discount is None else self.successor_discount
        return DirectedMemory(
            *common,
            successor_values=np.ones((pairs, pairs), np.float32),
            successor_best=np.ones((n if pairs else 0, pairs), np.float32),
            successor_alpha=schedule(own_alpha, steps, "The successor learning rate"),
            successor_discount=np.float32(discount),
            occupancy=self.successor_target == "occupancy",
            balanced_wandering=self.balanced_wandering,
            random_goal_policy=self.random_goal_policy,
            beta_bar=float(self.beta_bar),
            logs=logarithms(min(steps + 2, TABULATED)),
            n_goals=goals,
            goal=np.zeros(1, np.int64),
            goal_visits=np.zeros(1, np.int64),
            scratch=np.zeros(pairs, np.float32),
            values=np.zeros(m),
        )

    def discovered(self, memory: Any) -> None:
        """Search for the least visited pair from the beginning."""
        memory.goal[0] = memory.goal_visits[0] = 0

    def goal(self, memory: Any) -> tuple[int, Floats]:
        """The least visited pair and the successor values toward it."""
        goal = int(find_goal(memory.visits, memory.n_goals, memory.goal, memory.goal_visits))
        values = np.full(memory.q.size, np.nan)
        if not self.random_goal_policy:
            values[: memory.n_goals] = memory.successor_values[:, goal]
        return goal, values.reshape(memory.q.shape)

    def memory_bytes(self, world: World, steps: int) -> int:
        """The quadratic table of successor values and its maxima, beside the usual tables."""
        pairs = world.n_acting_states * world.n_actions
        table = 0 if self.random_goal_policy else 4 * pairs * (pairs + world.n_states)
        return 16 * world.n_states * world.n_actions + table
