"""Every option changes the problem, and unknown options fail."""

from __future__ import annotations

import dataclasses

import pytest

import monmdp
from monmdp import Grid, MonMDPError

#: Another value for every option of an environment, by name; a callable gets the environment.
ENVIRONMENT_VALUES = {
    "step_limit": 7,
    "random_action": 0.15,
    "reward_noise": 0.5,
    "nonzero_reward_noise": 0.5,
    "start": lambda environment: environment.states[-1],
    "rows": 4,
    "columns": 4,
    "map": ["..C"],
    "seed": 1,
    "n_states": 5,
    "n_actions": 2,
    "branching": 2,
    "density": 0.9,
    "length": 4,
    "size": 6,
    "n_layouts": 2,
    "tiles": "t",
}

#: The same for monitors, as they are joined with Hazard.
MONITOR_VALUES = {
    "observability": 0.5,
    "never_observable": "large coin",
    "p": 0.3,
    "cost": 0.5,
    "end_cost": 1.0,
    "cell": (3, 3),
    "action": "DOWN",
    "n": 2,
    "bonus": 0.01,
    "seed": 1,
    "rho": 0.25,
}

ENVIRONMENT_OPTIONS = [
    (name, field.name) for name in monmdp.ENVIRONMENTS for field in dataclasses.fields(monmdp.ENVIRONMENTS.find(name))
]
MONITOR_OPTIONS = [
    (name, field.name) for name in monmdp.MONITORS for field in dataclasses.fields(monmdp.MONITORS.find(name))
]


def assert_changes(plain: monmdp.MonMDP, changed: monmdp.MonMDP) -> None:
    changed.validate()
    assert plain.digest != changed.digest
    assert plain.name != changed.name


@pytest.mark.parametrize(("name", "option"), ENVIRONMENT_OPTIONS)
def test_every_environment_option_changes_the_problem(name, option):
    assert option in ENVIRONMENT_VALUES, f"say here another value for the new option {option!r}"
    plain = monmdp.ENVIRONMENTS.build(name)
    value = ENVIRONMENT_VALUES[option]
    changed = monmdp.ENVIRONMENTS.build(name, **{option: value(plain) if callable(value) else value})
    assert_changes(monmdp.make(plain, "Ask"), monmdp.make(changed, "Ask"))


@pytest.mark.parametrize("option", [field.name for field in dataclasses.fields(Grid)])
def test_every_option_of_a_user_grid_changes_the_problem(option):
    plain = Grid(["..c", "..C"])
    value = ENVIRONMENT_VALUES[option]
    changed = dataclasses.replace(plain, **{option: value(plain) if callable(value) else value})
    assert_changes(monmdp.make(plain), monmdp.make(changed))


@pytest.mark.parametrize(("name", "option"), MONITOR_OPTIONS)
def test_every_monitor_option_changes_the_problem(name, option):
    assert option in MONITOR_VALUES, f"say here another value for the new option {option!r}"
    changed = monmdp.MONITORS.build(name, **{option: MONITOR_VALUES[option]})
    assert_changes(monmdp.make("Hazard", name), monmdp.make("Hazard", changed))


def test_the_discount_changes_the_problem():
    assert monmdp.make("Loop").digest != monmdp.make("Loop", discount=0.9).digest


@pytest.mark.parametrize("registry", [monmdp.ENVIRONMENTS, monmdp.MONITORS], ids=["environments", "monitors"])
def test_unknown_options_fail(registry):
    for name in registry:
        with pytest.raises(MonMDPError, match=f"{name} has no option 'nonsense'"):
            registry.build(name, nonsense=1)
