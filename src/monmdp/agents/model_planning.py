"""What to earn: Q(s,a) = R̂ + r̂M + γ Σ P̂(s′|s,a) max Q(s′,·) on a learned model, by modified policy iteration."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monmdp.agents.factored_model import lay_out, predicted_reward
from monmdp.kernels.compile import inlined, kernel
from monmdp.problem import Floats, Integers

#: Q is planned until it is this accurate, relative to its size, sweeping the greedy policy so many times in between.
ACCURACY = 1e-7
POLICY_SWEEPS = 50
ROUNDS = 1000


class Plan(NamedTuple):
    """The model laid out for planning: states [S], and by place rewards, ending, successors, best action.

    q [S, A] and values [S] are those that the agent acts on, planned when it needs them; the memory's own q is planned
    for evaluation and from `values`, into test_values [S], so that looking at a run does not change it.
    """

    states: Integers
    rewards: Floats
    ending: Floats
    bounds: Integers
    chances: Floats
    targets: Integers
    best: Integers
    q: Floats
    values: Floats
    test_values: Floats


def new_plan(n_states: int, n_actions: int, room: int) -> Plan:
    """Nothing planned yet; room for so many successors."""
    return Plan(
        states=np.zeros(n_states, np.int64),
        rewards=np.zeros((n_states, n_actions)),
        ending=np.zeros((n_states, n_actions)),
        bounds=np.zeros(n_states * n_actions + 1, np.int64),
        chances=np.zeros(room),
        targets=np.zeros(room, np.int64),
        best=np.zeros(n_states, np.int64),
        q=np.zeros((n_states, n_actions)),
        values=np.zeros(n_states),
        test_values=np.zeros(n_states),
    )


@inlined
def lay_out_all(memory):
    """Lay out all pairs of environment states that are known; returns how many states."""
    model, plan, size = memory.model, memory.plan, 0
    for state in range(memory.q.shape[0]):
        if memory.explorer.env_discovered[model.env_state[state]]:
            plan.states[size] = state
            size += 1
    lay_out(model, plan.states[:size], plan.bounds, plan.chances, plan.targets, plan.ending)
    for i in range(size):
        state = plan.states[i]
        env_first = model.env_state[state] * model.n_env_actions
        for action in range(model.n_actions):
            if plan.ending[i, action] >= 0.0:
                seen = memory.reward_model[env_first + action // model.n_monitor_actions]
                plan.rewards[i, action] = seen + predicted_reward(model, state, action)
    return size


@kernel
def look_ahead(rewards, bounds, chances, targets, values, discount, i, action):
    """r + γ Σ P̂ V."""
    total, slot = 0.0, i * rewards.shape[1] + action
    for k in range(bounds[slot], bounds[slot + 1]):
        total += chances[k] * values[targets[k]]
    return rewards[i, action] + discount * total


@kernel
def plan_values(memory, q, values):
    """Modified policy iteration from values [S]: one improvement into q [S, A], then sweeps of its greedy policy."""
    plan, discount, scales = memory.plan, memory.discount, memory.explorer.scales
    size = lay_out_all(memory)
    states, rewards, bounds, chances = plan.states, plan.rewards, plan.bounds, plan.chances
    targets, ending, best = plan.targets, plan.ending, plan.best
    bottom = (scales[0] + min(scales[2], 0.0)) / (1.0 - discount)
    for state in range(len(values)):
        if not memory.explorer.env_discovered[memory.model.env_state[state]]:
            values[state] = bottom
            q[state] = bottom
    for _ in range(ROUNDS):
        for i in range(size):
            best[i] = -1
            for action in range(q.shape[1]):
                value = bottom
                if ending[i, action] >= 0.0:
                    value = look_ahead(rewards, bounds, chances, targets, values, discount, i, action)
                    if best[i] < 0 or value > q[states[i], best[i]]:
                        best[i] = action
                q[states[i], action] = value
        change, largest = 0.0, 1.0
        for i in range(size):
            value = q[states[i], best[i]] if best[i] >= 0 else bottom
            change = max(change, abs(value - values[states[i]]))
            largest = max(largest, abs(value))
            values[states[i]] = value
        enough = ACCURACY * largest * (1.0 - discount)
        if change * discount <= enough:
            break
        for _ in range(POLICY_SWEEPS):
            change = 0.0
            for i in range(size):
                if best[i] >= 0:
                    value = look_ahead(rewards, bounds, chances, targets, values, discount, i, best[i])
                    change = max(change, abs(value - values[states[i]]))
                    values[states[i]] = value
            if change * discount <= enough:
                break
