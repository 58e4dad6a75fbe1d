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

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from monmdp.agents.base import AGENTS
from monmdp.agents.choices import choose, choose_any, explores, largest
from monmdp.agents.q_learning import QLearner, extended_memory, learn_q, learn_reward
from monmdp.agents.schedules import Schedule, value_at
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
    __name__, "FactoredMemory", env_q=Floats, monitor_q=Floats, env_state=Integers, choices=Floats, sequential=bool
)


@kernel
def best_monitor_value(env_values, monitor_values, sequential):
    """max QM(s,·), for Sequential only over environment actions that are greedy on QE; from rows [AE] and [A]."""
    width = len(monitor_values) // len(env_values)
    best_env, best = largest(env_values), -np.inf
    for action in range(len(monitor_values)):
        if not sequential or env_values[action // width] == best_env:
            best = max(best, monitor_values[action])
    return best


@kernel
def preferences(env_values, monitor_values, sequential, choices):
    """Values of the joint actions [A] of a state, from rows [AE] and [A], on which the agent is greedy.

    Joint: QE + QM. Sequential: max QE plus the best QM there, for the best monitor actions of every environment action
    that is greedy on QE, and one less for all other actions.
    """
    width, best_env = len(monitor_values) // len(env_values), largest(env_values)
    value = best_env + best_monitor_value(env_values, monitor_values, sequential)
    for action in range(len(monitor_values)):
        env_action = action // width
        if sequential:
            best = largest(monitor_values[env_action * width : (env_action + 1) * width])
            chosen = env_values[env_action] == best_env and monitor_values[action] == best
            choices[action] = value if chosen else value - 1.0
        else:
            choices[action] = env_values[env_action] + monitor_values[action]


@inlined
def act_factored(memory, state, draws):
    """A random action with probability ε, else greedy on the preferences."""
    if explores(memory.epsilon, draws):
        return choose_any(memory.q.shape[1], draws), True
    env_values = memory.env_q[memory.env_state[state]]
    preferences(env_values, memory.monitor_q[state], memory.sequential, memory.choices)
    return choose(memory.choices, draws), False


@inlined
def update_factored(memory, transition):
    """Q-learning of QE if the reward was observed, and of QM."""
    alpha, state, action = value_at(memory.alpha, transition.step), transition.state, transition.action
    ahead, monitor_ahead = (
        memory.env_q[memory.env_state[transition.next_state]],
        memory.monitor_q[transition.next_state],
    )
    discount = 0.0 if transition.terminated else memory.discount
    learn_reward(memory, transition.env_pair, transition.proxy_reward)
    if not math.isnan(transition.proxy_reward):
        env_target = transition.proxy_reward + discount * largest(ahead)
        env_state, env_action = divmod(transition.env_pair, memory.env_q.shape[1])
        memory.env_q[env_state, env_action] += alpha * (env_target - memory.env_q[env_state, env_action])
    target = transition.monitor_reward + discount * best_monitor_value(ahead, monitor_ahead, memory.sequential)
    memory.monitor_q[state, action] += alpha * (target - memory.monitor_q[state, action])


@kernel
def plan_factored(memory, step):
    """Write the preferences of all states into q."""
    for state in range(memory.q.shape[0]):
        env_values = memory.env_q[memory.env_state[state]]
        preferences(env_values, memory.monitor_q[state], memory.sequential, memory.q[state])


@AGENTS.add
@dataclass(frozen=True, kw_only=True)
class Joint(Modelless):
    """Separate values of environment and monitor; ε-greedy on their sum."""

    act = act_factored
    update = update_factored
    plan = plan_factored
    device_kernel = "warp"
    sequential: ClassVar[bool] = False

    def memory(self, world: World, steps: int, seed: int) -> Any:
        common = self.common(world, steps, seed)
        env_q = np.full((world.n_env_states, world.n_env_pairs // world.n_env_states), common.q[0, 0])
        choices = np.zeros(world.n_actions)
        return FactoredMemory(*common, env_q, common.q.copy(), world.env_state, choices, self.sequential)


@AGENTS.add
@dataclass(frozen=True, kw_only=True)
class Sequential(Joint):
    """Separate values; the environment action by QE, then the monitor action by QM."""

    sequential: ClassVar[bool] = True
