"""Join an environment and a monitor into a MonMDP."""

import re
from collections.abc import Hashable, Iterable
from functools import partial
from typing import Any

import numpy as np

from monmdp import check
from monmdp.environments import ENVIRONMENTS, Environment, from_gymnasium
from monmdp.errors import MonMDPError, NoTableError
from monmdp.machine import check_memory
from monmdp.monitors import MONITORS, Moment, Monitor, Outcome
from monmdp.problem import (
    MOST_OUTCOMES,
    OUTCOME_BYTES,
    SMALLER,
    EnvironmentTable,
    MonitorTable,
    MonMDP,
    Progress,
    as_columns,
)
from monmdp.registry import parse_spec

#: Gymnasium ids end in a version, names of this package never do.
_GYMNASIUM_ID = re.compile(r".*-v\d+")


def make(
    environment: Any, monitor: Any = "Full", *, discount: float = 0.99, progress: Progress | None = None
) -> MonMDP:
    """Join an environment and a monitor: names such as "Empty" or "Ask(cost=0.5)", or objects.

    An environment may also be a Gymnasium environment with a transition table, or its id.
    progress: called with the number of states done and of all, for large problems.
    """
    built = MONITORS.build(monitor)
    try:
        declared = as_environment(environment)
    except NoTableError as error:
        reason, env, _ = error.args
        raise NoTableError(reason, env, built.name) from None
    return join(declared, built, discount=discount, progress=progress)


def as_environment(given: Any) -> Environment:
    """An environment from a name, a Gymnasium id, a Gymnasium environment or an object."""
    if hasattr(given, "observation_space"):
        return from_gymnasium(given)
    if isinstance(given, str):
        name, options = parse_spec(given)
        if name not in ENVIRONMENTS and _GYMNASIUM_ID.fullmatch(name):
            return from_gymnasium(_make_gymnasium(name, options))
    return ENVIRONMENTS.build(given)


def _make_gymnasium(name: str, options: dict[str, Any]) -> Any:
    """A registered Gymnasium environment. Names never import modules: they may come from a file of someone else."""
    import gymnasium

    if ":" in name or name.startswith("GymV"):
        raise MonMDPError(
            f"{name!r} would import other code by its name, which monmdp does not do; pass the environment itself, "
            f"made by gymnasium.make({name!r})."
        )
    try:
        return gymnasium.make(name, **options)
    except Exception as error:  # third-party constructors can raise anything about their options
        message = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise MonMDPError(f"Gymnasium cannot make {name!r}: {message}") from None


def join(
    environment: Environment, monitor: Monitor, *, discount: float = 0.99, progress: Progress | None = None
) -> MonMDP:
    """Compile both declarations into one MonMDP."""
    check.instance(environment, Environment, "The environment must be an object of Environment")
    check.instance(monitor, Monitor, "The monitor must be an object of Monitor")
    check.discount(discount)
    with check.user_code(environment):
        table = environment.table(progress)
    with check.user_code(monitor):
        return _joined(environment, table, monitor, discount, progress)


def _joined(
    environment: Environment, table: EnvironmentTable, monitor: Monitor, discount: float, progress: Progress | None
) -> MonMDP:
    name = monitor.name
    states = check.labels(monitor.states, "state", name)
    actions = check.labels(monitor.actions, "action", name)
    index = {state: i for i, state in enumerate(states)}
    hidden = never_observable_pairs(environment, monitor)
    installed = monitor.installed(environment)
    check.instance(installed, Monitor, f"installed of {name} must return a monitor")

    bounds, env_reward, env_terminated = (a.tolist() for a in (table.offsets, table.reward, table.terminated))
    offsets: list[int] = [0]
    rows: list[tuple[Any, ...]] = []
    least_outcomes = len(states) * len(actions) * len(env_reward)
    _check_size(least_outcomes, f"{table.name} + {name}")
    for s, env_state in enumerate(table.states):
        if progress is not None:
            progress(s, len(table.states))
        for state in states:
            for a, env_action in enumerate(table.actions):
                pair = s * len(table.actions) + a
                visible = 0.0 if pair in hidden else monitor.observability
                for action in actions:
                    where = f"{name} in state {state!r} for action {action!r}"
                    for k in range(bounds[pair], bounds[pair + 1]):
                        moment = Moment(state, action, env_state, env_action, env_reward[k], env_terminated[k], pair)
                        outcomes = check.outcomes(partial(installed.outcomes, moment), Outcome, where, index, state)
                        if not rows:
                            _check_size(len(outcomes) * least_outcomes, f"{table.name} + {name}")
                        rows += [(*row, observed * visible, k) for *row, observed in outcomes if row[0] > 0]
                    offsets.append(len(rows))
    return MonMDP(
        environment=table,
        monitor=MonitorTable(
            name=name,
            states=states,
            actions=actions,
            offsets=np.array(offsets, np.int64),
            start=np.array(check.start_probabilities(monitor.start, states, name)),
            landmarks={table.states.index(state): what for state, what in installed.landmarks.items()},
            **as_columns(rows),
        ),
        discount=discount,
    )


def _check_size(n_outcomes: int, name: str) -> None:
    """Raise an error if a problem with about this number of outcomes does not fit into memory or 32-bit indices."""
    what = f"{name} with about {n_outcomes:,} outcomes"
    if n_outcomes > MOST_OUTCOMES:
        raise MonMDPError(f"{what} is too large: at most {MOST_OUTCOMES:,} are possible; {SMALLER}.")
    check_memory(OUTCOME_BYTES * n_outcomes, what, SMALLER)


def _resembles(label: Any, state: Hashable) -> bool:
    """Whether a label has the form of a state, such as (row, column), so that it is not a list of states."""
    if isinstance(label, tuple) and isinstance(state, tuple):
        return len(label) == len(state) and all(map(_resembles, label, state))
    return type(label) is type(state)


def never_observable_pairs(environment: Environment, monitor: Monitor) -> set[int]:
    """The environment pairs of the option `never_observable`, as indices."""
    given, states, actions = monitor.never_observable, tuple(environment.states), tuple(environment.actions)
    if isinstance(given, str) or not isinstance(given, Iterable) or _resembles(check.as_label(given), states[0]):
        given = (given,)
    pairs: set[int] = set()
    for label in map(check.as_label, given):
        places, chosen = [label], list(range(len(actions)))
        if isinstance(label, str) and label in environment.regions:
            places = list(environment.regions[label])
        elif isinstance(label, tuple) and label not in states and len(label) == 2 and label[0] in states:
            places, chosen = [label[0]], [check.find(label[1], actions, "action", environment.name)]
        for place in places:
            state = check.find(place, states, "state or region", environment.name)
            pairs.update(state * len(actions) + action for action in chosen)
    return pairs
