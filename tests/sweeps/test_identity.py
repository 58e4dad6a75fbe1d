"""Identity is a hash of all settings: different settings share no results, equal settings share them."""

from __future__ import annotations

import dataclasses
import itertools
import json

import numpy as np
import pytest
from sweeping import end, single_job, start

from monmdp.agents import AGENTS, Naive
from monmdp.training.job import identity

BASE = {"environment": "Empty", "monitor": "Ask", "agent": "Directed", "steps": 500, "points": 50}
#: Something else than the default for every option of every agent.
OTHER = {
    "alpha": 0.3, "epsilon": 0.4, "initial_q": 7.5, "beta_bar": 0.5, "successor_target": "occupancy",
    "successor_alpha": 0.2, "successor_discount": 0.5, "balanced_wandering": True, "random_goal_policy": True,
    "bonus": 0.7, "count_alpha": 0.2, "count_discount": 0.5, "observe_bonus": 0.7, "sweeps": 7, "observe_base": 2.0,
    "observe_times": 3, "observe_while_unseen": True, "q_max": 7.5, "minimum_reward": -7.5,
    "termination": "probability", "known_monitor": True, "beta_certain": 3.0, "beta_uncertain": 0.7, "accuracy": 0.3,
    "cost_weight": 3.0, "answers": 9, "reward_per_outcome": False,
    "observe": False, "pessimism": False, "pool_environment": False, "pool_monitor": False,
}  # fmt: skip


def identity_of(**changes: object) -> str:
    return identity(single_job(**{**BASE, **changes}).run_settings)


CHANGES = [
    {"steps": 501}, {"points": 51}, {"discount": 0.98}, {"evaluation": "sampled"}, {"evaluation": "none"},
    {"environment": "Loop"}, {"environment": "Empty(rows=7)"}, {"environment": "Empty(step_limit=40)"},
    {"environment": "Empty(random_action=0.1)"}, {"environment": "Empty(reward_noise=0.01)"},
    {"environment": "Empty(nonzero_reward_noise=0.01)"}, {"environment": "Empty(start=(1, 1))"},
    {"monitor": "Full"}, {"monitor": "Ask(cost=0.3)"}, {"monitor": "Ask(observability=0.8)"},
    {"monitor": "Ask(never_observable='large coin')"}, {"agent": "Naive"}, {"agent": "Optimism"},
    {"monitor": "RandomPair"}, {"monitor": "RandomPair(seed=1)"},
]  # fmt: skip


def test_any_single_setting_changes_it():
    identities = [identity_of(), *(identity_of(**change) for change in CHANGES)]
    assert len(set(identities)) == len(identities)


@pytest.mark.parametrize("agent", list(AGENTS))
def test_any_option_of_an_agent_changes_it(agent):
    """A new option without a row in the table above fails here."""
    fields = [field.name for field in dataclasses.fields(AGENTS.find(agent))]
    identities = [identity_of(agent=agent), *(identity_of(agent=f"{agent}({name}={OTHER[name]!r})") for name in fields)]
    assert len(set(identities)) == len(identities)


def test_all_changes_of_two_settings_at_once_differ_too():
    apart = [a | b for a, b in itertools.combinations(CHANGES, 2) if not a.keys() & b.keys()]
    identities = [identity_of(**both) for both in apart]
    assert len(set(identities)) == len(identities)


@pytest.mark.parametrize(
    "changes",
    [
        {"environment": "empty", "monitor": "ASK", "agent": "directed"},
        {"environment": "Empty(rows=6)", "monitor": "Ask(cost=0.2)"},
        {"agent": "Directed(beta_bar=0.01)"},
        {"agent": AGENTS.build("Directed")},
        {"steps": np.int64(500), "discount": np.float64(0.99)},
    ],
)
def test_other_spellings_do_not_change_it(changes):
    assert identity_of(**changes) == identity_of()


@pytest.mark.parametrize("value", [np.float64(2), np.float32(2), np.int64(2)], ids=lambda v: type(v).__name__)
def test_numpy_numbers_equal_python_numbers(value):
    """Options that come out of np.linspace or np.arange in a user's script."""
    plain = single_job("Walk", "Full", Naive(initial_q=2.0), steps=50).run_settings["agent_options"]
    settings = single_job("Walk", "Full", Naive(initial_q=value), steps=50).run_settings
    assert identity(settings)
    assert settings["agent_options"] == plain


def test_every_number_of_a_schedule_counts():
    schedules = [np.linspace(1.0, 0.5, 50), np.linspace(1.0, 0.5, 50), np.linspace(1.0, 0.5, 50)]
    schedules[2][25] += 1e-12
    one, same, other = (identity_of(environment="Walk", agent=Naive(alpha=alpha), steps=50) for alpha in schedules)
    assert one == same
    assert one != other


def test_it_is_the_same_in_every_process():
    """A resumed sweep or another machine must find earlier results, whatever the hash seed of the process."""
    script = (
        "import json; from monmdp.study.sweep import requested; from monmdp.paper.presets import preset; "
        "print(json.dumps([request.identity for request in requested(preset('quick'))]))"
    )
    processes = [start(script=script, PYTHONHASHSEED=seed) for seed in ("1", "2")]
    ended = [end(process) for process in processes]
    assert [code for code, _, _ in ended] == [0, 0], ended
    one, other = (json.loads(out) for _, out, _ in ended)
    assert one == other
    assert len(set(one)) == 144
