"""Outcomes of a problem as labels, for comparison with hand-written ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from typing import NamedTuple

from monmdp import Environment, MonMDP
from monmdp.problem import EnvironmentTable


class Row(NamedTuple):
    """One joint outcome."""

    probability: float
    env_state: Hashable
    monitor_state: Hashable
    env_reward: float
    monitor_reward: float
    observed: float
    terminated: bool


def rows(problem: MonMDP, state: tuple[Hashable, Hashable], action: tuple[Hashable, Hashable]) -> list[Row]:
    """Outcomes of the joint pair given by (environment, monitor) labels."""
    environment, monitor = problem.environment, problem.monitor
    s = environment.states.index(state[0]) * len(monitor.states) + monitor.states.index(state[1])
    a = environment.actions.index(action[0]) * len(monitor.actions) + monitor.actions.index(action[1])
    pair = s * len(environment.actions) * len(monitor.actions) + a
    joint = []
    for o in range(problem.offsets[pair], problem.offsets[pair + 1]):
        env_state, monitor_state = divmod(int(problem.next_state[o]), len(monitor.states))
        joint.append(
            Row(
                float(problem.probability[o]),
                environment.states[env_state],
                monitor.states[monitor_state],
                float(problem.env_reward[o]),
                float(monitor.reward[o]),
                float(monitor.observe_probability[o]),
                bool(problem.terminated[o]),
            )
        )
    return joint


def steps(
    environment: Environment | EnvironmentTable, state: Hashable, action: str
) -> dict[tuple[Hashable, float, bool], float]:
    """(next state, reward, terminated) → probability of one environment pair."""
    table = environment if isinstance(environment, EnvironmentTable) else environment.table()
    pair = table.states.index(state) * len(table.actions) + table.actions.index(action)
    outcomes: dict[tuple[Hashable, float, bool], float] = defaultdict(float)
    for o in range(table.offsets[pair], table.offsets[pair + 1]):
        key = (table.states[table.next_state[o]], float(table.reward[o]), bool(table.terminated[o]))
        outcomes[key] += float(table.probability[o])
    return dict(outcomes)
