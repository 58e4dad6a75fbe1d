"""Environment × monitor → MonMDP."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from monmdp import check
from monmdp.environments import ENVIRONMENTS, Environment, from_gymnasium
from monmdp.errors import MonMDPError
from monmdp.monitors import MONITORS, Moment, Monitor, Outcome
from monmdp.problem import MonitorTable, MonMDP, find
from monmdp.registry import parse_spec

#: Names of Gymnasium's registry end in a version, ours never do.
_GYMNASIUM_ID = re.compile(r".*-v\d+")


def make(environment: Any, monitor: Any = "Full", *, discount: float = 0.99) -> MonMDP:
    """Join an environment and a monitor: names such as "Empty" or "Ask(cost=0.5)", or objects.

    An environment may also be a Gymnasium environment with a transition table, or its id.
    """
    problem = join(as_environment(environment), as_monitor(monitor), discount=discount)
    problem.validate()
    return problem


def as_environment(given: Any) -> Environment:
    """An environment from a name, a Gymnasium id, a Gymnasium environment or an object."""
    if isinstance(given, Environment):
        return given
    if isinstance(given, str):
        name, options = parse_spec(given)
        if name in ENVIRONMENTS or not _GYMNASIUM_ID.fullmatch(name):
            return ENVIRONMENTS.build(given)
        return from_gymnasium(_make_gymnasium(name, options))
    if hasattr(given, "observation_space"):
        return from_gymnasium(given)
    raise MonMDPError(f"An environment is a name, an Environment or a Gymnasium environment, not {given!r}.")


def _make_gymnasium(name: str, options: dict[str, Any]) -> Any:
    import gymnasium

    try:
        return gymnasium.make(name, **options)
    except Exception as error:  # whatever a foreign constructor raises about its options
        told = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise MonMDPError(f"Gymnasium cannot make {name!r}: {told}") from None


def as_monitor(given: Any) -> Monitor:
    """A monitor from a name or an object."""
    if isinstance(given, Monitor):
        return given
    if isinstance(given, str):
        return MONITORS.build(given)
    raise MonMDPError(f"A monitor is a name or a Monitor, not {given!r}.")


def join(environment: Environment, monitor: Monitor, *, discount: float = 0.99) -> MonMDP:
    """Compile both declarations into one MonMDP."""
    table = environment.table()
    name = monitor.name
    states = check.labels(monitor.states, "state", name)
    actions = check.labels(monitor.actions, "action", name)
    index = {state: i for i, state in enumerate(states)}
    rho = check.probability(monitor.observability, f"The observability of {name}")
    hidden = never_observable_pairs(environment, monitor)
    installed = monitor.installed(environment)

    n_env_actions = len(table.actions)
    bounds = table.offsets.tolist()
    env_reward, env_terminated = table.reward.tolist(), table.terminated.tolist()
    offsets, rows = [0], []
    for s, env_state in enumerate(table.states):
        for state in states:
            for a, env_action in enumerate(table.actions):
                pair = s * n_env_actions + a
                visible = 0.0 if pair in hidden else rho
                for action in actions:
                    for k in range(bounds[pair], bounds[pair + 1]):
                        moment = Moment(state, action, env_state, env_action, env_reward[k], env_terminated[k], pair)
                        for chance, *rest, observed in _checked(installed, name, moment, index):
                            rows.append((k, chance, *rest, observed * visible))
                    offsets.append(len(rows))

    columns = list(zip(*rows, strict=True))
    start = np.zeros(len(states))
    for label, weight in monitor.start.items():
        if label not in index:
            raise MonMDPError(f"{name} cannot start in {label!r}: its states are {list(states)}.")
        start[index[label]] = check.probability(weight, f"The probability that {name} starts in {label!r}")
    return MonMDP(
        environment=table,
        monitor=MonitorTable(
            name=name,
            states=states,
            actions=actions,
            offsets=np.array(offsets, np.int64),
            env_outcome=np.array(columns[0], np.int32),
            probability=np.array(columns[1], np.float64),
            next_state=np.array(columns[2], np.int32),
            reward=np.array(columns[3], np.float64),
            terminated=np.array(columns[4], np.bool_),
            observe_probability=np.array(columns[5], np.float64),
            start=start,
            landmarks={table.states.index(state): what for state, what in installed.landmarks.items()},
        ),
        discount=discount,
    )


def _checked(
    monitor: Monitor, name: str, moment: Moment, index: dict[Hashable, int]
) -> list[tuple[float, int, float, bool, float]]:
    """Outcomes of a moment as (probability, next state, reward, terminated, observed); impossible ones left out."""
    checked, total = [], 0.0
    found = monitor.outcomes(moment)
    if isinstance(found, Outcome) or not isinstance(found, Iterable):
        raise MonMDPError(f"The outcomes of {name} must be yielded, or a list of Outcome, not {found!r}.")
    for outcome in found:
        after = moment.state if outcome.next_state is None else outcome.next_state
        if after not in index:
            raise MonMDPError(f"{name} moves to state {after!r}, which it does not have; its states are {list(index)}.")
        chance = check.probability(outcome.probability, f"The probability of an outcome of {name}")
        reward = check.finite(outcome.reward, f"The reward of {name}")
        observed = check.probability(outcome.observed, f"The chance that {name} shows the reward")
        total += chance
        if chance > 0:
            checked.append((chance, index[after], reward, bool(outcome.terminated), observed))
    check.distribution(total, f"{name} in state {moment.state!r} for action {moment.action!r}")
    return checked


def never_observable_pairs(environment: Environment, monitor: Monitor) -> set[int]:
    """The environment pairs that the modifier `never_observable` names, as indices."""
    given = monitor.never_observable
    states, actions = tuple(environment.states), tuple(environment.actions)
    if isinstance(given, str) or not isinstance(given, Iterable) or (isinstance(given, Hashable) and given in states):
        given = (given,)
    pairs: set[int] = set()
    for reference in given:
        label = _as_label(reference)
        if isinstance(label, str) and label in environment.regions:
            places = [(state, None) for state in environment.regions[label]]
        elif isinstance(label, tuple) and label not in states and len(label) == 2 and _as_label(label[0]) in states:
            places = [(_as_label(label[0]), label[1])]
        else:
            places = [(label, None)]
        for state, action in places:
            s = find(state, states, "state or region", environment.name)
            chosen = range(len(actions)) if action is None else [find(action, actions, "action", environment.name)]
            pairs.update(s * len(actions) + a for a in chosen)
    return pairs


def _as_label(given: Any) -> Any:
    """Lists, as in TOML and JSON, are as good as tuples."""
    return tuple(given) if isinstance(given, list) else given
