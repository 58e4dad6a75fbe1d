"""The arrays of a problem: indices, digests and validation."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys

import numpy as np
import pytest
from reading import rows

import monmdp
from monmdp import Grid, MonMDPError


def test_joint_indices_follow_the_documented_order():
    """state = environment state * monitor states + monitor state; actions likewise."""
    problem = monmdp.make("RiverSwim", "Level")
    assert (problem.n_states, problem.n_actions) == (6 * 3, 2 * 4)
    assert problem.split_state(4 * 3 + 2) == (4, 2)
    assert problem.split_action(1 * 4 + 3) == (1, 3)
    assert problem.state_index(4, 3) == 4 * 3 + 2  # levels are labelled from 1
    assert problem.action_index("RIGHT", "no-op") == 1 * 4 + 3
    assert problem.state_label(4 * 3 + 2) == "4, 3"
    assert problem.action_label(1 * 4 + 3) == "RIGHT, no-op"


def test_labels_are_needed_only_where_there_is_a_choice():
    problem = monmdp.make("Empty", "Ask")
    assert problem.state_index((1, 2)) == 8
    with pytest.raises(MonMDPError, match="several actions"):
        problem.action_index("LEFT")
    with pytest.raises(MonMDPError, match="several states"):
        monmdp.make("Empty", "Button").state_index((0, 0))
    with pytest.raises(MonMDPError, match=r"no state \(7, 7\)"):
        problem.state_index((7, 7))


def test_the_start_is_the_product_of_both_starts():
    problem = monmdp.make("RiverSwim", "Button")
    expected = np.zeros((6, 2))
    expected[1:3] = 0.25
    assert problem.start.tolist() == expected.ravel().tolist()


def test_reward_is_environment_plus_monitor():
    problem = monmdp.make(Grid(["C"]), "Ask")
    (row,) = rows(problem, ((0, 0), "idle"), ("STAY", "ask"))
    outcome = problem.offsets[problem.action_index("STAY", "ask")]
    assert problem.reward[outcome] == pytest.approx(row.env_reward + row.monitor_reward) == pytest.approx(0.8)


def test_cumulative_probabilities_exceed_every_draw():
    """Rounding must never leave a draw without an outcome."""
    dynamics = monmdp.make("Hazard(random_action=0.3)", "Experts(n=3)").dynamics
    for first, last in zip(dynamics.offsets[:-1], dynamics.offsets[1:], strict=True):
        assert np.all(np.diff(dynamics.cumulative[first:last]) > 0)
        assert dynamics.cumulative[last - 1] > 1


def test_the_digest_ignores_names_and_labels():
    one = monmdp.Rule(states=("a", "b"), actions=("x",), rule=lambda s, a: [monmdp.Step("b")], title="One")
    other = monmdp.Rule(states=(1, 2), actions=("y",), rule=lambda s, a: [monmdp.Step(2)], title="Other")
    assert monmdp.make(one).digest == monmdp.make(other).digest


def test_equal_declarations_written_differently_have_equal_digests():
    by_options = monmdp.make("Empty(rows=3, columns=3, step_limit=50)", "Ask(cost=0.20)")
    by_map = monmdp.make(Grid(["...", "...", "c.C"]), "ask")
    assert by_options.digest == by_map.digest
    assert monmdp.make("Loop", "Ask(cost=0.0)").digest == monmdp.make("Loop", "Ask(cost=-0.0)").digest


def test_the_digest_is_the_same_in_another_process():
    """Hash randomisation must not leak into it."""
    code = "import monmdp; print(monmdp.make('Hazard', 'Button(never_observable=[\"toxic\", (0, 0)])').digest)"
    digests = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout.strip()
        for seed in ("1", "2")
    }
    here = monmdp.make("Hazard", monmdp.MONITORS.build("Button", never_observable=["toxic", (0, 0)])).digest
    assert digests == {here.encode()}


def broken(table: str, field: str, change) -> monmdp.MonMDP:
    """Hazard with Button after a change to one array."""
    problem = monmdp.make("Hazard", "Button")
    part = getattr(problem, table)
    value = np.array(getattr(part, field))
    value = change(value) if callable(change) else np.concatenate([value[:-1], [change]])
    return dataclasses.replace(problem, **{table: dataclasses.replace(part, **{field: value})})


@pytest.mark.parametrize(
    ("table", "field", "change"),
    [
        ("environment", "probability", 0.5),
        ("environment", "probability", -1.0),
        ("environment", "probability", float("nan")),
        ("environment", "next_state", 16),
        ("environment", "next_state", -1),
        ("environment", "reward", float("inf")),
        ("environment", "reward_noise", -0.5),
        ("environment", "reward_noise", float("nan")),
        ("environment", "start", 0.5),
        ("environment", "offsets", 3),
        ("monitor", "probability", 0.5),
        ("monitor", "next_state", 2),
        ("monitor", "next_state", -1),
        ("monitor", "reward", float("nan")),
        ("monitor", "observe_probability", 1.5),
        ("monitor", "observe_probability", -0.5),
        ("monitor", "env_outcome", 10_000),
        ("monitor", "env_outcome", -1),
        ("monitor", "start", 0.75),
        ("monitor", "offsets", lambda offsets: offsets[:-1]),
        ("monitor", "offsets", lambda offsets: np.concatenate([[0, 0], offsets[2:]])),
    ],
)
def test_validate_finds_broken_arrays(table, field, change):
    with pytest.raises(MonMDPError) as error:
        broken(table, field, change)
    assert "\n" not in str(error.value)
    assert ("Hazard" if table == "environment" else "Button") in str(error.value)


@pytest.mark.parametrize(
    ("table", "field"),
    [
        ("environment", "reward"),
        ("environment", "reward_noise"),
        ("environment", "terminated"),
        ("environment", "next_state"),
        ("monitor", "reward"),
        ("monitor", "observe_probability"),
        ("monitor", "terminated"),
        ("monitor", "next_state"),
        ("monitor", "env_outcome"),
    ],
)
def test_validate_finds_arrays_of_another_length(table, field):
    """Compiled code would read past their end."""
    with pytest.raises(MonMDPError, match=r"Hazard|Button"):
        broken(table, field, lambda value: value[:-1])


def test_validate_finds_outcomes_of_another_pair():
    """A joint pair may only refer to outcomes of its own environment pair."""
    with pytest.raises(MonMDPError, match="Button"):
        broken("monitor", "env_outcome", lambda value: np.concatenate([[5], value[1:]]))


@pytest.mark.parametrize("discount", [1.0, -0.1, float("nan"), float("inf"), "high"])
def test_validate_finds_a_bad_discount(discount):
    with pytest.raises(MonMDPError, match="discount"):
        monmdp.make("Loop", discount=discount)


@pytest.mark.parametrize("limit", [0, -1, 2.5])
def test_validate_finds_a_bad_step_limit(limit):
    problem = monmdp.make("Loop")
    table = dataclasses.replace(problem.environment, step_limit=limit)
    with pytest.raises(MonMDPError, match="step limit"):
        dataclasses.replace(problem, environment=table)


def test_repr():
    assert repr(monmdp.make("Loop", "Ask")).startswith("MonMDP(Loop + Ask: 9 states × 10 actions")
