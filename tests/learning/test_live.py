"""The live loop: the same agents against `env.step`, where nothing can be enumerated."""

from __future__ import annotations

import copy
from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest
from comparing import same
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete

import monmdp
from monmdp import MonMDPError


def lake(**options) -> gymnasium.Env:
    return gymnasium.make("FrozenLake-v1", is_slippery=False, **options)


def live(env: gymnasium.Env, *args, **options) -> SimpleNamespace:
    """The only seed of live training, with its metrics as `record`."""
    if env.spec is None:
        options.setdefault("test_env", copy.deepcopy(env))
    curves = monmdp.train_live(env, *args, **options)
    tables = {name: getattr(curves, name)[0] for name in ("visit_counts", "q", "reward_model")}
    record = SimpleNamespace(**{name: values[0] for name, values in curves.recorded.items()})
    return SimpleNamespace(record=record, steps=curves.steps, text=repr(curves), **tables)


def test_directed_learns_the_lake_while_asking_costs():
    """Six moves to the goal, the last one pays: 0.99⁵, without asking."""
    found = live(lake(), "Ask", "Directed", steps=12_000, points=10, test_env=lake())
    assert found.record.returns[-1] == pytest.approx(0.99**5, abs=1e-12)
    assert 0.45 < found.record.observed[-1] / 12_000 < 0.55
    assert "estimated return 0.9510" in found.text


def test_undiscovered_and_terminal_states_are_nobodys_goal():
    """β becomes finite once all that can be acted in was tried: 16 cells less 4 holes and the end, times 8."""
    found = live(lake(), "Ask", "Directed", steps=12_000, points=100)
    assert np.isinf(found.record.beta[0])
    assert np.isfinite(found.record.beta[-1])
    acted = found.visit_counts.sum(1) > 0
    assert np.flatnonzero(~acted).tolist() == [5, 7, 11, 12, 15]
    assert found.record.visited[-1] == 11 * 8 == np.count_nonzero(found.visit_counts)
    counts = found.visit_counts[acted]
    assert found.record.beta[-1] == pytest.approx(np.log(12_002) / counts.min())
    assert found.visit_counts.sum() == 12_000


def test_points_and_counts():
    found = live(lake(), "Full", "Naive", steps=200, points=5, reward_range=(0, 1))
    assert found.steps.tolist() == [0, 40, 80, 120, 160, 200]
    assert found.record.observed.tolist() == found.steps.tolist()


@pytest.mark.parametrize("agent", monmdp.AGENTS)
def test_the_same_seed_gives_the_same_run(agent):
    slippery = gymnasium.make("FrozenLake-v1", is_slippery=True)
    one, again, other = (
        live(slippery, "Random", agent, steps=400, seed=seed, points=4, reward_range=(0, 1)) for seed in (3, 3, 4)
    )
    assert same(one.q, again.q)
    assert same(one.visit_counts, again.visit_counts)
    assert not same(one.visit_counts, other.visit_counts)
    tested = live(
        slippery,
        "Random",
        agent,
        steps=400,
        seed=3,
        points=40,
        reward_range=(0, 1),
        test_env=gymnasium.make("FrozenLake-v1"),
    )
    assert same(one.q, tested.q)


def test_tuples_of_discrete_parts():
    """Blackjack: sums up to 31, ten dealer cards, an ace or not."""
    found = live(
        gymnasium.make("Blackjack-v1"),
        "Full",
        "Naive",
        steps=4000,
        reward_range=(-1, 1),
        test_env=gymnasium.make("Blackjack-v1"),
    )
    assert found.visit_counts.shape == (32 * 11 * 2, 2)
    assert found.visit_counts.sum() == 4000
    assert np.abs(found.record.returns).max() <= 1
    played = found.visit_counts.sum(1).reshape(32, 11, 2)
    assert played[:4].sum() == played[22:].sum() == 0  # hands from 4 to 21
    assert played[:, 0].sum() == 0  # dealer cards from 1 to 10


@pytest.mark.parametrize("monitor", monmdp.MONITORS)
def test_every_monitor_watches(monitor):
    found = live(lake(), monitor, "Directed", steps=600, points=2, test_env=lake(), test_episodes=1)
    states, actions = (
        len(tuple(getattr(monmdp.make("FrozenLake-v1", monitor).monitor, name))) for name in ("states", "actions")
    )
    assert found.visit_counts.shape == (16 * states, 4 * actions)
    assert found.visit_counts.sum() == 600
    assert 0 < found.record.observed[-1] <= 600


def test_a_monitor_with_levels_is_climbed():
    """Only the top of three levels shows, so counts there are what was seen."""
    found = live(lake(), "Level", "Directed", steps=1500, points=2)
    assert found.visit_counts.reshape(16, 3, -1)[:, 2].sum() == found.record.observed[-1]


def test_an_empty_battery_ends_the_episode():
    """The state is the unit that is left; one step is taken with none, and values there know no future."""
    found = live(lake(), "Battery(n=2)", "Directed(alpha=1, initial_q=-10)", steps=3000, points=2)
    counts = found.visit_counts.reshape(16, 3, 4, 2)
    q = found.q.reshape(16, 3, 4, 2)
    assert counts[:, 0].sum() > 0
    assert (np.abs(q[:, 0][counts[:, 0] > 0]) <= 1).all()
    assert counts[:, 1:, :, 1].sum() == found.record.observed[-1]


def test_hidden_rewards_stay_hidden():
    never = live(lake(), "Full(never_observable=[(14, 2)])", "Naive", steps=3000, points=2, reward_range=(0, 1))
    assert never.record.observed[-1] == 3000 - never.visit_counts[14, 2]
    assert never.visit_counts[14, 2] > 0
    some = live(lake(), "Full(observability=0.25)", "Naive", steps=3000, points=2, reward_range=(0, 1))
    assert abs(some.record.observed[-1] - 750) < 5 * np.sqrt(3000 * 0.25 * 0.75)


class Endless(gymnasium.Env):
    """One state and one action, which pays 1; each step is cut off, or ends the episode."""

    observation_space = action_space = Discrete(1)

    def __init__(self, terminates: bool) -> None:
        self.terminates = terminates

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        return 0, 1.0, self.terminates, not self.terminates, {}


@pytest.mark.parametrize(("terminates", "value"), [(True, 1.0), (False, 2.0)])
def test_only_an_end_stops_the_future(terminates, value):
    """1 + γ + γ² + … = 2 with γ = 1/2 where episodes are merely cut off."""
    agent = "Naive(alpha=1, initial_q=0)"
    found = live(Endless(terminates), "Full", agent, steps=60, points=2, discount=0.5)
    assert found.q[0, 0] == pytest.approx(value, abs=1e-12)


class Offset(gymnasium.Env):
    """Observations and actions that do not start at zero; only the larger action pays, and ends."""

    def __init__(self, observation_space, observation) -> None:
        self.observation_space, self.action_space, self.observation = (
            observation_space,
            Discrete(2, start=5),
            observation,
        )

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.observation, {}

    def step(self, action):
        assert action in (5, 6)
        return self.observation, float(action == 6), True, False, {}


@pytest.mark.parametrize(
    ("space", "observation", "state"),
    [
        (Discrete(3, start=7), 8, 1),
        (MultiDiscrete([2, 3]), np.array([1, 2]), 5),
        (MultiDiscrete([2, 3], start=[4, 1]), np.array([5, 3]), 5),
    ],
)
def test_spaces_that_do_not_start_at_zero(space, observation, state):
    found = live(Offset(space, observation), "Full", "Naive(alpha=1, initial_q=0)", steps=50)
    assert np.flatnonzero(found.visit_counts.sum(1)).tolist() == [state]
    assert found.q[state].tolist() == [0.0, 1.0]


@pytest.mark.parametrize("space", [Box(0, 1, (2,)), Dict({"a": Discrete(2)})], ids=["continuous", "dictionary"])
def test_spaces_that_are_not_discrete_are_refused(space):
    with pytest.raises(MonMDPError, match=r"Live training needs discrete observations, not .*\."):
        live(Offset(space, None), "Full", "Naive", steps=10)
    with pytest.raises(MonMDPError, match="needs discrete observations"):
        live(gymnasium.make("CartPole-v1"), "Ask", "Directed", steps=10)


def test_optimistic_agents_need_a_range_of_rewards():
    """Without a table nothing else bounds the return: 100 steps of at most 1, discounted."""
    with pytest.raises(MonMDPError, match="Optimism needs its option initial_q, or in live training a reward_range"):
        live(lake(), "Full", "Optimism", steps=10)
    for agent, options in (("DirectedModel", "minimum_reward"), ("MonitoredMBIE", "q_max and minimum_reward")):
        with pytest.raises(MonMDPError, match=f"{agent} needs {options}, or in live training a reward_range"):
            live(lake(), "Full", agent, steps=10)
    first = live(lake(), "Full", "Optimism", steps=1, points=1, reward_range=(0, 1))
    assert first.q.max() == pytest.approx(sum(0.99**t for t in range(100)))
