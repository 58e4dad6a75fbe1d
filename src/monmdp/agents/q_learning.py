"""Q-learning on joint states and actions with a model of the rewards that are hidden.

R̂(sE,aE): the first observed reward replaces the guess, later ones make it the running mean
Q(s,a) += α (R̂(sE,aE) + rM + γ max Q(s′,·) − Q(s,a)), without the maximum after termination
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from monmdp.agents.base import Agent, Transition
from monmdp.agents.choices import choose, choose_any, explores, largest
from monmdp.agents.schedules import Schedule, schedule, value_at
from monmdp.errors import MonMDPError
from monmdp.exact.structure import Bounds
from monmdp.kernels.compile import inlined
from monmdp.problem import Floats, Integers
from monmdp.rng import stream, uniform
from monmdp.world import World


class QMemory(NamedTuple):
    """Q [S, A], visit counts N [S * A], R̂ and its counts [environment pairs], schedules [steps], γ."""

    q: Floats
    visits: Integers
    reward_model: Floats
    reward_counts: Integers
    alpha: Floats
    epsilon: Floats
    discount: float


def extended_memory(module: str, name: str, **fields: Any) -> Any:
    """QMemory with further fields; assign it to `name` in `module`, where the kernel cache looks it up."""
    made: Any = NamedTuple(name, [*QMemory.__annotations__.items(), *fields.items()])  # type: ignore[misc]
    made.__module__ = module
    return made


@inlined
def learn_reward(memory, env_pair, proxy_reward):
    """Update R̂(sE,aE) if the reward was observed, and return it."""
    if not math.isnan(proxy_reward):
        memory.reward_counts[env_pair] += 1
        error = proxy_reward - memory.reward_model[env_pair]
        if memory.reward_counts[env_pair] == 1:
            memory.reward_model[env_pair] = proxy_reward
        else:
            memory.reward_model[env_pair] += error / memory.reward_counts[env_pair]
    return memory.reward_model[env_pair]


@inlined
def learn_q(memory, transition, reward):
    """Q(s,a) += α (r + γ max Q(s′,·) − Q(s,a)), without bootstrapping after termination."""
    state, action, target = transition.state, transition.action, reward
    if not transition.terminated:
        target += memory.discount * largest(memory.q[transition.next_state])
    memory.q[state, action] += value_at(memory.alpha, transition.step) * (target - memory.q[state, action])


@inlined
def update_q_learner(memory, transition):
    """Q-learning with R̂ + rM as the reward, observed now or not."""
    reward = learn_reward(memory, transition.env_pair, transition.proxy_reward) + transition.monitor_reward
    learn_q(memory, transition, reward)


@inlined
def act_epsilon_greedy(memory, state, draws):
    """A random action with probability ε, else greedy on Q."""
    if explores(memory.epsilon, draws):
        return choose_any(memory.q.shape[1], draws), True
    return choose(memory.q[state], draws), False


@dataclass(frozen=True, kw_only=True)
class QLearner(Agent):
    """ε-greedy Q-learning with a reward model.

    alpha: learning rate; by default the paper's on its problems, else 1.
    epsilon: probability of a random action.
    initial_q: initial value of Q; by default the paper's on its problems, else the largest return that the
    problem's visible rewards allow, which is optimistic.
    """

    alpha: Schedule | None = None
    epsilon: Schedule = (1.0, 0.0)
    initial_q: float | None = None

    act = act_epsilon_greedy
    update = update_q_learner
    device_kernel: ClassVar[str | None] = "warp"

    def defaults(self, bounds: Bounds) -> dict[str, Any]:
        return {"alpha": 1.0, "initial_q": bounds.maximum_value}

    def memory(self, world: World, steps: int, seed: int) -> Any:
        return self.common(world, steps, seed)

    def guesses(self, world: World, seed: int) -> Floats:
        """The reward model before any observation, [environment pairs]: uniform in [-0.1, 0.1]."""
        pairs: Any = np.arange(world.n_env_pairs, dtype=np.uint64)
        return 0.2 * np.asarray(uniform(stream(seed, "reward model"), pairs)) - 0.1

    def seeded(self, world: World, seed: int) -> dict[str, np.ndarray]:
        """The reward model's guesses, the only field that differs between seeds."""
        return {"reward_model": self.guesses(world, seed)}

    def answered(self, memory: Any, transition: Transition) -> None:
        """Replay the transition with its reward; visits are counted outside of the update."""
        type(self).update(memory, transition)

    def common(self, world: World, steps: int, seed: int) -> QMemory:
        """The memory that all Q-learners share."""
        if self.alpha is None or self.initial_q is None:
            raise MonMDPError(
                f"{type(self).__name__} needs its option initial_q, or in live training a reward_range from which to "
                "derive it."
            )
        return QMemory(
            q=np.full((world.n_states, world.n_actions), float(self.initial_q)),
            visits=np.zeros(world.n_states * world.n_actions, np.int64),
            reward_model=self.guesses(world, seed),
            reward_counts=np.zeros(world.n_env_pairs, np.int64),
            alpha=schedule(self.alpha, steps, "The learning rate"),
            epsilon=schedule(self.epsilon, steps, "The probability of a random action"),
            discount=world.discount,
        )
