"""Every compiled agent and its plain twin learn the same, number for number."""

from __future__ import annotations

import dataclasses

import numba
import pytest
from comparing import assert_twins, differences, run
from reference import PLAIN_AGENTS

import monmdp
from monmdp.protocol import paper_job

#: Problems of different kind: (environment, monitor, training steps); those without a limit look less far ahead.
PROBLEMS = {
    "deterministic": ("Empty", "Ask", 1200),
    "quicksand and a button": ("Hazard", "Button", 1500),
    "random everywhere": ("RiverSwim", "Experts", 1000),
    "reward noise, rewards hidden at random": ("Loop(reward_noise=0.5)", "Random", 1500),
    "walls, pits, states out of reach": ("DangerMaze", "Level", 800),
    "slips, several starts, an end by the monitor": (
        "Hazard(random_action=0.2, start=[(0, 0), (3, 3)])",
        "Battery(n=3)",
        1000,
    ),
    "never shown, or shown at times": (
        "Bottleneck",
        "Ask(observability=0.5, never_observable='column')",
        1000,
    ),
    "no step limit": ("RiverSwim(step_limit=None)", "Level(n=2)", 800),
    "a step limit that cuts off part of the map": ("Corridor(step_limit=5)", "Full", 600),
}

#: Other values of every option of an agent, by its name.
OTHER_VALUES = {
    "alpha": [0.3, (0.9, 0.1)],
    "epsilon": [(0.5, 0.0), (0.2, 0.0), 0.2, 0.1],
    "initial_q": [0.25, -9.0],
    "bonus": [0.5, 0.0],
    "count_alpha": [0.3, (1.0, 0.5)],
    "count_discount": [0.5],
    "beta_bar": [2.0],
    "successor_target": ["occupancy"],
    "successor_alpha": [0.3, (1.0, 0.5)],
    "successor_discount": [0.5],
    "balanced_wandering": [True],
    "random_goal_policy": [True],
    "observe_bonus": [0.5, 0.0],
    "sweeps": [1, 7],
    "observe_base": [5.0],
    "observe_times": [4],
    "observe_while_unseen": [True],
    "q_max": [0.25],
    "minimum_reward": [-3.0],
    "termination": ["probability"],
    "known_monitor": [True],
    "beta_certain": [5.0],
    "beta_uncertain": [1.0],
    "accuracy": [0.5],
    "cost_weight": [0.0, 5.0],
    "answers": [3, 20],
    "observe": [False],
    "reward_per_outcome": [False],
    "pessimism": [False],
    "pool_environment": [False],
    "pool_monitor": [False],
}

#: Where an option shows that has nothing to do in a river that never ends, and hardly any episodes.
SHOWN_IN = {
    "termination": ("Hazard(random_action=0.5)", "Ask"),
    "observe_bonus": ("Bottleneck", "Ask(observability=0.2)"),
    "minimum_reward": ("Bottleneck", "Ask(observability=0.2)"),
    "observe_times": ("Loop", "Ask"),
    "observe_while_unseen": ("Loop", "Full"),
    "observe_base": ("Loop", "Ask"),
    "accuracy": ("Loop(reward_noise=0.2)", "Ask"),
    "cost_weight": ("RiverSwim", "Button"),
    "observe": ("Bottleneck", "Ask(observability=0.2)"),
    "pessimism": ("Bottleneck", "Ask(observability=0.2)"),
    "pool_monitor": ("RiverSwim", "Experts"),
    "pool_environment": ("RiverSwim", "Experts"),
    "beta_certain": ("Loop", "Ask"),
    "reward_per_outcome": ("Hazard(random_action=0.5)", "Ask"),
}

OPTIONS = [
    (name, field.name, value)
    for name in monmdp.AGENTS
    for field in dataclasses.fields(monmdp.AGENTS.find(name))
    for value in OTHER_VALUES.get(field.name, [None])
]


@pytest.mark.parametrize("agent", monmdp.AGENTS)
def test_every_agent_has_a_plain_twin(agent):
    assert agent in PLAIN_AGENTS


@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize("agent", monmdp.AGENTS)
def test_compiled_and_plain_runs_are_equal(agent, kind):
    environment, monitor, steps = PROBLEMS[kind]
    discount = 0.9 if kind == "no step limit" else 0.99
    assert_twins(monmdp.make(environment, monitor, discount=discount), agent, steps)


@pytest.mark.parametrize(("agent", "option", "value"), OPTIONS)
def test_every_option_changes_both_twins_alike(agent, option, value):
    """An option that does nothing would be an argument accepted and ignored."""
    assert option in OTHER_VALUES, f"say here another value for the new option {option!r}"
    problem = monmdp.make(*SHOWN_IN.get(option, ("RiverSwim", "Ask")))
    default = run(monmdp.train(problem, agent, [3], steps=600, points=7), 3)
    changed = assert_twins(problem, monmdp.AGENTS.build(agent, **{option: value}), steps=600, seed=3, points=7)
    assert differences(default, changed)


def test_no_option_needs_another_compilation():
    """Kernels are compiled for the types of a memory, so these must not depend on options."""
    problem = monmdp.make("RiverSwim", "Ask")

    def types_of(agent):
        job = paper_job(problem, agent, 100, 2)
        return numba.typeof(job.agent.memory(job.world, 100, 0))

    for agent, option, value in OPTIONS:
        assert types_of(monmdp.AGENTS.build(agent, **{option: value})) == types_of(agent), (agent, option, value)


@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize(
    "agent",
    [
        "MonitoredMBIE(known_monitor=True)",
        "MonitoredMBIE(known_monitor=True, termination='probability', observe_times=3)",
        "DirectedModel(known_monitor=True)",
    ],
)
def test_planning_with_a_known_monitor(agent, kind):
    environment, monitor, steps = PROBLEMS[kind]
    discount = 0.9 if kind == "no step limit" else 0.99
    assert_twins(monmdp.make(environment, monitor, discount=discount), agent, steps // 2)


@pytest.mark.parametrize("target", ["first visit", "occupancy"])
@pytest.mark.parametrize("problem", [("Hazard", "Button"), ("RiverSwim", "Random")])
def test_successor_options_together(problem, target):
    """The maxima of successor values are kept up to date where values fall, in random worlds, for both targets."""
    agent = monmdp.AGENTS.build(
        "Directed", successor_target=target, successor_alpha=(0.9, 0.2), successor_discount=0.9, epsilon=0.3
    )
    assert_twins(monmdp.make(*problem), agent, 1500)
