"""The baselines of the paper that introduced Mon-MDPs: six ways to treat a hidden reward.

Q(s,a) += α (r + rM + γ max Q(s′,·) − Q(s,a)), ε-greedy on Q, where r is
  Oracle:       the true rE, hidden or not
  ZeroReward:   0 if it is hidden
  Ignore:       rE; no update if it is hidden
  RewardModel:  R̂(sE,aE)
Joint and Sequential learn separate values of the two rewards, QE only when rE is observed:
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

from monmdp.agents.base import AGENTS
from monmdp.agents.choices import choose, choose_any, explores, largest
from monmdp.agents.q_learning import QLearner, extended_memory, largest_value, learn_q, learn_reward
from monmdp.agents.schedules import Schedule
from monmdp.kernels.compile import inlined, kernel
from monmdp.problem import Floats, Integers
from monmdp.world import World


@inlined
def update_from_observed(memory, transition):
    """Q-learning on observed rewards; steps with a hidden reward are skipped."""
    learn_reward(memory, transition.env_pair, transition.proxy_reward)
    if not math.isnan(transition.proxy_reward):
        learn_q(memory, transition, transition.proxy_reward + transition.monitor_reward)


@inlined
def update_with_zeros(memory, transition):
    """Q-learning that takes a hidden reward for zero."""
    learn_reward(memory, transition.env_pair, transition.proxy_reward)
    reward = 0.0 if math.isnan(transition.proxy_reward) else transition.proxy_reward
    learn_q(memory, transition, reward + transition.monitor_reward)


@dataclass(frozen=True, kw_only=True)
class Baseline(QLearner):
    """Settings of the paper that introduced Mon-MDPs.

    alpha: learning rate. initial_q: initial value of Q, pessimistic.
    """

    alpha: Schedule | None = 1.0
    initial_q: float | None = -10.0


@AGENTS.add
@dataclass(frozen=True, kw_only=True)
class RewardModel(Baseline):
    """ε-greedy Q-learning from pessimistic values with a reward model."""


@dataclass(frozen=True, kw_only=True)
class Modelless(Baseline):
    """Without a reward model; the field of that name only records the mean observed reward, NaN if there is none."""

    def guesses(self, world: World, seed: int) -> Floats:
        return np.full(world.n_env_pairs, np.nan)


@AGENTS.add
@dataclass(frozen=True, kw_only=True)
class Oracle(Modelless):
    """ε-greedy Q-learning that is given every reward, hidden or not: what is possible without a monitor."""

    update = update_from_observed
    sees_everything = True
    device_kernel = "warp"


@AGENTS.add
@dataclass(frozen=True, kw_only=True)
class ZeroReward(Modelless):
    """ε-greedy Q-learning that takes a hidden reward for zero."""

    update = update_with_zeros
    device_kernel = "warp"


@AGENTS.add
@dataclass(frozen=True, kw_only=True)
class Ignore(Modelless):
    """ε-greedy Q-learning that skips every step whose reward is hidden."""

    update = update_from_observed
    device_kernel = "warp"


#: QMemory with QE [SE, AE] and QM [S, A]; `plan` computes q from both. env_state [S] is the environment's part of a
#: joint state, choices [A] scratch space.
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
    """One value for all actions that the sequential choice may take, and that value minus one for the others.

    The value is max QE plus the best QM there, so the greedy policy on it is the sequential choice. Environment
    actions that tie are all included, each with its own best monitor actions.
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
def act_joint(memory, state, draws):
    """A random action with probability ε, else greedy on QE + QM."""
    if explores(memory.epsilon, draws):
        return choose_any(memory.q.shape[1], draws), True
    joint_preferences(memory.env_q[memory.env_state[state]], memory.monitor_q[state], memory.choices)
    return choose(memory.choices, draws), False


@inlined
def act_sequential(memory, state, draws):
    """A random action with probability ε, else the best environment action and the best monitor action for it."""
    if explores(memory.epsilon, draws):
        return choose_any(memory.q.shape[1], draws), True
    sequential_preferences(memory.env_q[memory.env_state[state]], memory.monitor_q[state], memory.choices)
    return choose(memory.choices, draws), False


@inlined
def learn_env_q(memory, transition):
    """Update QE(sE,aE) if the reward was observed."""
    learn_reward(memory, transition.env_pair, transition.proxy_reward)
    if not math.isnan(transition.proxy_reward):
        target = transition.proxy_reward
        if not transition.terminated:
            target += memory.discount * largest_value(memory.env_q, memory.env_state[transition.next_state])
        env_state, env_action = divmod(transition.env_pair, memory.env_q.shape[1])
        error = target - memory.env_q[env_state, env_action]
        memory.env_q[env_state, env_action] += memory.alpha[transition.step] * error


@inlined
def learn_monitor_q(memory, transition, value_ahead):
    """QM(s,a) += α (rM + γ · value ahead − QM(s,a))."""
    state, action, target = transition.state, transition.action, transition.monitor_reward
    if not transition.terminated:
        target += memory.discount * value_ahead
    memory.monitor_q[state, action] += memory.alpha[transition.step] * (target - memory.monitor_q[state, action])


@inlined
def update_joint(memory, transition):
    """QE where the reward is observed, and QM by its own maximum."""
    learn_env_q(memory, transition)
    learn_monitor_q(memory, transition, largest_value(memory.monitor_q, transition.next_state))


@inlined
def update_sequential(memory, transition):
    """QE where the reward is observed, and QM by the maximum over the actions that are greedy on QE."""
    learn_env_q(memory, transition)
    ahead = memory.env_q[memory.env_state[transition.next_state]]
    learn_monitor_q(memory, transition, sequential_value(ahead, memory.monitor_q[transition.next_state]))


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
    """Separate values of environment and monitor; ε-greedy on their sum."""

    act = act_joint
    update = update_joint
    plan = plan_joint
    device_kernel = "warp"

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

    def memory_bytes(self, world: World, steps: int) -> int:
        """QM beside the usual tables."""
        return 24 * world.n_states * world.n_actions + 16 * steps


@AGENTS.add
@dataclass(frozen=True, kw_only=True)
class Sequential(Joint):
    """Separate values; the environment action by QE, then the monitor action by QM."""

    act = act_sequential
    update = update_sequential
    plan = plan_sequential
    device_kernel = "warp"
