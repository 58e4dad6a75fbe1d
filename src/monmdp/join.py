"""Join an environment and a monitor into a MonMDP."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator
from typing import Any

import numpy as np

from monmdp import check
from monmdp.environments import ENVIRONMENTS, Environment, from_gymnasium
from monmdp.errors import MonMDPError
from monmdp.factors import MonitorTable, as_columns, find, start_vector
from monmdp.monitors import MONITORS, Moment, Monitor, Outcome
from monmdp.problem import MonMDP
from monmdp.registry import parse_spec

#: Gymnasium ids end in a version, names of this package never do.
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
    except Exception as error:  # third-party constructors can raise anything about their options
        message = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise MonMDPError(f"Gymnasium cannot make {name!r}: {message}") from None


def as_monitor(given: Any) -> Monitor:
    """A monitor from a name or an object."""
    if isinstance(given, Monitor):
        return given
    if isinstance(given, str):
        return MONITORS.build(given)
    raise MonMDPError(f"A monitor is a name or a Monitor, not {given!r}.")


def join(environment: Environment, monitor: Monitor, *, discount: float = 0.99) -> MonMDP:
    """Compile both declarations into one MonMDP."""
    table, name = environment.table(), monitor.name
    states = check.labels(monitor.states, "state", name)
    actions = check.labels(monitor.actions, "action", name)
    index = {state: i for i, state in enumerate(states)}
    rho = check.probability(monitor.observability, f"The observability of {name}")
    hidden = never_observable_pairs(environment, monitor)
    installed = monitor.installed(environment)

    bounds, env_reward, env_terminated = (a.tolist() for a in (table.offsets, table.reward, table.terminated))
    offsets, rows = [0], []
    for s, env_state in enumerate(table.states):
        for state in states:
            for a, env_action in enumerate(table.actions):
                pair = s * len(table.actions) + a
                visible = 0.0 if pair in hidden else rho
                for action in actions:
                    for k in range(bounds[pair], bounds[pair + 1]):
                        moment = Moment(state, action, env_state, env_action, env_reward[k], env_terminated[k], pair)
                        for *outcome, observed in _checked(installed, name, moment, index):
                            rows.append((k, *outcome, observed * visible))
                    offsets.append(len(rows))
    columns = ("env_outcome", "probability", "next_state", "reward", "terminated", "observe_probability")
    return MonMDP(
        environment=table,
        monitor=MonitorTable(
            name=name,
            states=states,
            actions=actions,
            offsets=np.array(offsets, np.int64),
            start=start_vector(monitor.start, states, name),
            landmarks={table.states.index(state): what for state, what in installed.landmarks.items()},
            **as_columns(rows, *columns),
        ),
        discount=discount,
    )


def _checked(
    monitor: Monitor, name: str, moment: Moment, index: dict[Hashable, int]
) -> Iterator[tuple[float, int, float, bool, float]]:
    """Outcomes at a moment as (probability, next state, reward, terminated, observed), without impossible ones."""
    total = 0.0
    for outcome in check.outcomes(monitor.outcomes(moment), Outcome, f"The outcomes of {name}"):
        after = moment.state if outcome.next_state is None else outcome.next_state
        if after not in index:
            raise MonMDPError(f"{name} moves to state {after!r}, which it does not have; its states are {list(index)}.")
        chance = check.probability(outcome.probability, f"The probability of an outcome of {name}")
        reward = check.finite(outcome.reward, f"The reward of {name}")
        observed = check.probability(outcome.observed, f"The observation probability of {name}")
        total += chance
        if chance > 0:
            yield chance, index[after], reward, bool(outcome.terminated), observed
    check.distribution(total, f"{name} in state {moment.state!r} for action {moment.action!r}")


def never_observable_pairs(environment: Environment, monitor: Monitor) -> set[int]:
    """The environment pairs of the option `never_observable`, as indices."""
    given, states, actions = monitor.never_observable, tuple(environment.states), tuple(environment.actions)
    if isinstance(given, str) or not isinstance(given, Iterable) or (isinstance(given, Hashable) and given in states):
        given = (given,)
    pairs: set[int] = set()
    for reference in given:
        label, chosen = _as_label(reference), range(len(actions))
        places: Iterable[Any] = [label]
        if isinstance(label, str) and label in environment.regions:
            places = environment.regions[label]
        elif isinstance(label, tuple) and label not in states and len(label) == 2 and _as_label(label[0]) in states:
            places = [_as_label(label[0])]
            action = find(label[1], actions, "action", environment.name)
            chosen = range(action, action + 1)
        for place in places:
            state = find(place, states, "state or region", environment.name)
            pairs.update(state * len(actions) + action for action in chosen)
    return pairs


def _as_label(given: Any) -> Any:
    """Lists, as in TOML and JSON, as tuples."""
    return tuple(given) if isinstance(given, list) else given
