"""The baselines of the paper that introduced Mon-MDPs: six ways to treat a reward that is not shown.

Q(s,a) += α (r + rM + γ max Q(s′,·) − Q(s,a)), ε-greedy on Q, where r is
  Oracle:       the true rE, shown or not
  ZeroReward:   0 where it is not shown
  Ignore:       what is shown; without it there is no update
  RewardModel:  R̂(sE,aE)
Joint and Sequential learn the two rewards apart, QE only when rE is shown:
  QE(sE,aE) += α (rE + γ max QE(sE′,·) − QE(sE,aE))
  QM(s,a) += α (rM + γ max QM(s′,·) − QM(s,a))
  Joint:        argmax_a QE(sE,aE) + QM(s,a)
  Sequential:   aE = argmax QE(sE,·), then aM = argmax QM(s,(aE,·)); so does the maximum in QM's target
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from monmdp.agents.base import (
    AGENTS,
    QLearner,
    extended_memory,
    largest,
    largest_value,
    learn_q,
    learn_reward,
    update_q_learner,
)
from monmdp.agents.greedy import act_epsilon_greedy, wanders
from monmdp.kernels.compile import inlined, kernel
from monmdp.kernels.random import uniform
from monmdp.problem import Floats, Integers
from monmdp.training.evaluation import choose_best
from monmdp.world import World


@inlined
def update_from_shown(
    memory, state, action, env_pair, next_state, terminated, proxy_reward, monitor_reward, step
):  # fmt: skip
    """Q-learning on the reward that is shown; nothing is learned where it is not."""
    learn_reward(memory, env_pair, proxy_reward)
    if not math.isnan(proxy_reward):
        learn_q(memory, state, action, next_state, terminated, proxy_reward + monitor_reward, step)


@inlined
def update_with_zeros(
    memory, state, action, env_pair, next_state, terminated, proxy_reward, monitor_reward, step
):  # fmt: skip
    """Q-learning on the reward that is shown, and on 0 where it is not."""
    learn_reward(memory, env_pair, proxy_reward)
    shown = 0.0 if math.isnan(proxy_reward) else proxy_reward
    learn_q(memory, state, action, next_state, terminated, shown + monitor_reward, step)


@AGENTS.add
@dataclass(frozen=True, kw_only=True)
class RewardModel(QLearner):
    """ε-greedy Q-learning from pessimistic values with a reward model."""

    act = act_epsilon_greedy
    update = update_q_learner

    def memory(self, world: World, steps: int, seed: int) -> Any:
        return self.common(world, steps, seed)


@dataclass(frozen=True, kw_only=True)
class Modelless(QLearner):
    """Without a reward model; the table of that name only keeps the mean of what was shown, NaN for nothing."""

    def guesses(self, world: World, seed: int) -> Floats:
        return np.full(world.n_env_pairs, np.nan)

    def memory(self, world: World, steps: int, seed: int) -> Any:
        return self.common(world, steps, seed)


@AGENTS.add
@dataclass(frozen=True, kw_only=True)
class Oracle(Modelless):
    """ε-greedy Q-learning that is given every reward, shown or not: what could be had without a monitor."""

    act = act_epsilon_greedy
    update = update_from_shown
    sees_everything = True


@AGENTS.add
@dataclass(frozen=True, kw_only=True)
class ZeroReward(Modelless):
    """ε-greedy Q-learning that takes an unseen reward for zero."""

    act = act_epsilon_greedy
    update = update_with_zeros


@AGENTS.add
@dataclass(frozen=True, kw_only=True)
class Ignore(Modelless):
    """ε-greedy Q-learning that skips every step whose reward it does not see."""

    act = act_epsilon_greedy
    update = update_from_shown


#: QMemory with QE [SE, AE] and QM [S, A]; q follows from both when it is asked for. env_state [S] is the
#: environment's part of a state, choices [A] scratch space.
FactoredMemory: Any = extended_memory(
    __name__,
    "FactoredMemory",
    env_q=Floats,
    monitor_q=Floats,
    env_state=Integers,
    choices=Floats,
)


@kernel
def joint_preferences(env_values, monitor_values, choices):
    """QE(sE,aE) + QM(s,a) for the joint actions [A] of a state, from rows [AE] and [A]."""
    width = len(monitor_values) // len(env_values)
    for action in range(len(monitor_values)):
        choices[action] = env_values[action // width] + monitor_values[action]


@kernel
def sequential_value(env_values, monitor_values):
    """The largest QM among environment actions that are greedy on QE."""
    width = len(monitor_values) // len(env_values)
    best_env, best = largest(env_values), -np.inf
    for action in range(len(monitor_values)):
        if env_values[action // width] == best_env:
            best = max(best, monitor_values[action])
    return best


@kernel
def sequential_preferences(env_values, monitor_values, choices):
    """One value for all that the sequential choice may take, and that less one for everything else.

    The value is max QE plus the best QM there; whoever is greedy on it chooses sequentially, and environment
    actions that tie all stay in, each with its own best monitor actions.
    """
    width = len(monitor_values) // len(env_values)
    best_env = largest(env_values)
    value = best_env + sequential_value(env_values, monitor_values)
    for action in range(len(monitor_values)):
        first = action // width * width
        chosen = env_values[action // width] == best_env
        for other in range(first, first + width):
            if monitor_values[other] > monitor_values[action]:
                chosen = False
        choices[action] = value if chosen else value - 1.0


@inlined
def act_joint(memory, state, step, key):
    """A random action with probability ε, else greedy on QE + QM."""
    if wanders(memory, step, key):
        return int(uniform(key, 2 * step + 1) * memory.q.shape[1]), True
    joint_preferences(memory.env_q[memory.env_state[state]], memory.monitor_q[state], memory.choices)
    return choose_best(memory.choices, key, 2 * step + 1), False


@inlined
def act_sequential(memory, state, step, key):
    """A random action with probability ε, else the environment's best action and the monitor's best one for it."""
    if wanders(memory, step, key):
        return int(uniform(key, 2 * step + 1) * memory.q.shape[1]), True
    sequential_preferences(memory.env_q[memory.env_state[state]], memory.monitor_q[state], memory.choices)
    return choose_best(memory.choices, key, 2 * step + 1), False


@inlined
def learn_env_q(memory, env_pair, next_state, terminated, proxy_reward, step):
    """QE(sE,aE), where the reward is shown."""
    learn_reward(memory, env_pair, proxy_reward)
    if not math.isnan(proxy_reward):
        target = proxy_reward
        if not terminated:
            target += memory.discount * largest_value(memory.env_q, memory.env_state[next_state])
        env_state, env_action = divmod(env_pair, memory.env_q.shape[1])
        memory.env_q[env_state, env_action] += memory.alpha[step] * (target - memory.env_q[env_state, env_action])


@inlined
def update_joint(
    memory, state, action, env_pair, next_state, terminated, proxy_reward, monitor_reward, step
):  # fmt: skip
    """QE where the reward is shown, and QM by its own maximum."""
    learn_env_q(memory, env_pair, next_state, terminated, proxy_reward, step)
    target = monitor_reward
    if not terminated:
        target += memory.discount * largest_value(memory.monitor_q, next_state)
    memory.monitor_q[state, action] += memory.alpha[step] * (target - memory.monitor_q[state, action])


@inlined
def update_sequential(
    memory, state, action, env_pair, next_state, terminated, proxy_reward, monitor_reward, step
):  # fmt: skip
    """QE where the reward is shown, and QM by the maximum over what QE allows."""
    learn_env_q(memory, env_pair, next_state, terminated, proxy_reward, step)
    target = monitor_reward
    if not terminated:
        ahead = memory.env_q[memory.env_state[next_state]]
        target += memory.discount * sequential_value(ahead, memory.monitor_q[next_state])
    memory.monitor_q[state, action] += memory.alpha[step] * (target - memory.monitor_q[state, action])


@kernel
def plan_joint(memory, step):
    """q = QE + QM."""
    for state in range(memory.q.shape[0]):
        joint_preferences(memory.env_q[memory.env_state[state]], memory.monitor_q[state], memory.q[state])


@kernel
def plan_sequential(memory, step):
    """The q whose greedy policy is the sequential choice."""
    for state in range(memory.q.shape[0]):
        sequential_preferences(memory.env_q[memory.env_state[state]], memory.monitor_q[state], memory.q[state])


@AGENTS.add
@dataclass(frozen=True, kw_only=True)
class Joint(Modelless):
    """Values of environment and monitor learned apart; ε-greedy on their sum."""

    act = act_joint
    update = update_joint
    plan = plan_joint

    def memory(self, world: World, steps: int, seed: int) -> Any:
        common = self.common(world, steps, seed)
        memory = FactoredMemory(
            *common,
            env_q=np.full((world.n_env_states, world.n_env_pairs // world.n_env_states), common.q[0, 0]),
            monitor_q=common.q.copy(),
            env_state=world.env_state,
            choices=np.zeros(world.n_actions),
        )
        type(self).plan(memory, 0)
        return memory

    def memory_bytes(self, world: World, steps: int = 0) -> int:
        return super().memory_bytes(world, steps) + 8 * world.n_states * world.n_actions


@AGENTS.add
@dataclass(frozen=True, kw_only=True)
class Sequential(Joint):
    """Values learned apart; the environment action by QE, then the monitor action by QM."""

    act = act_sequential
    update = update_sequential
    plan = plan_sequential
