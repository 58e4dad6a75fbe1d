"""Replay of agents with networks on small numbers: what is drawn, and what a step teaches about others."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("jax", reason="the extra deep is not installed")

import jax
import jax.numpy as jnp

from monmdp.deep import replay
from monmdp.deep.batch import any_monitor_state, two_ways
from monmdp.deep.replay import History
from monmdp.deep.state import Outcomes, Plan, no_outcomes, with_outcome

pytestmark = pytest.mark.usefixtures("double_precision")


def test_replay_is_balanced_between_pairs():
    pairs, counts = np.random.default_rng(0).permutation([0] * 90 + [1] * 9 + [2]), np.array([90, 9, 1])
    pairs, reweighted = np.concatenate([pairs, np.zeros(20, int)]), jax.jit(replay.reweighted)
    for balance in (0.0, 0.5, 1.0):
        weights = jnp.zeros(120)
        for t, pair in enumerate(pairs[:100]):
            count = (pairs[: t + 1] == pair).sum()
            weights = reweighted(weights, pairs, pair, count, np.arange(120) <= t, balance)
        drawn = np.asarray(replay.draw(jax.random.key(0), weights, 20_000))
        assert drawn.max() < 100
        expected = counts**-balance * counts
        np.testing.assert_allclose(np.bincount(pairs[drawn]) / 20_000, expected / expected.sum(), atol=0.015)


def test_a_step_also_teaches_another_monitor_action_with_a_shared_outcome():
    """Two codes, two monitor states, two environment and three monitor actions, 300 random steps."""
    random, n, n_env_actions, n_monitor_actions = np.random.default_rng(0), 300, 2, 3
    plan = Plan(n, 2, 2, n_env_actions, 6, (4,), 64, 1, True, True, 0, 0, 0, 0)
    code, monitor, action, next_code, next_monitor = (random.integers(0, most, n) for most in (2, 2, 6, 2, 2))
    action = np.where(action == 5, 4, action)  # the last joint action is never tried
    ended, env_pair = random.random(n) < 0.2, code * n_env_actions + action // n_monitor_actions
    columns = dict.fromkeys(History._fields, np.zeros(n, int))
    columns |= {"picture": code, "monitor": monitor, "action": action, "pair": (2 * code + monitor) * 6 + action}
    columns |= {"env_pair": env_pair, "next_picture": next_code, "next_monitor": next_monitor, "ended": ended}
    history = History(**columns | {"next_goal": 2 * next_code + next_monitor, "terminated": ended})
    visits, of_pair, of_env_pair = np.zeros(24, int), jnp.zeros((24, 3), int), jnp.zeros((4, 9), int)
    with_step = jax.jit(replay.with_step)
    for t in range(n):
        of_pair = with_step(of_pair, history.pair[t], visits, t)
        of_env_pair = with_step(of_env_pair, env_pair[t], visits.reshape(2, 2, 2, 3).sum((1, 3)).ravel(), t)
        visits[history.pair[t]] += 1
    memory = SimpleNamespace(
        history=jax.tree.map(jnp.array, history), visits=jnp.array(visits.reshape(4, 6)), steps_of_pair=of_pair,
        steps_of_env_pair=of_env_pair,
    )  # fmt: skip
    chosen = random.integers(0, n, 64)
    entries = jax.tree.map(lambda array: jnp.array(array[chosen]), history)
    arguments = plan, SimpleNamespace(squared_radius=jnp.array(0.0)), memory, entries, jnp.array(chosen)
    ways, moments, tried = jax.device_get(jax.jit(partial(two_ways, *arguments))(jax.random.key(0)))
    assert ways.action[:, 0].tolist() == action[chosen].tolist()
    assert tried[:, 0].all()
    assert tried[:, 1].any()
    for row, step in enumerate(chosen):
        for way in np.flatnonzero(tried[row]):
            seen = History(*(field[row, way] for field in ways))
            assert (seen.picture, seen.monitor, seen.env_pair) == (code[step], monitor[step], env_pair[step])
            assert (seen.action == action[step]) == (way == 0)
            own = np.flatnonzero(history.pair == seen.pair)[-3:] if way else [step]  # the last three are at hand
            outcomes = np.flatnonzero(env_pair == seen.env_pair)[-9:]
            assert seen.next_monitor in next_monitor[own]
            assert moments[row, way] in own if seen.ended else moments[row, way] in {*own, *outcomes}
            assert seen.next_picture == next_code[moments[row, way]]
            assert seen.next_goal == 2 * seen.next_picture + seen.next_monitor
    assert not tried[(action[chosen] >= 3) & (ways.action[:, 1] == 5), 1].any()
    both = tried.all(1) & ~ways.ended.any(1) & ~ended[moments].any(1)
    shared = moments[both, 0] == moments[both, 1]
    assert shared.mean() > 0.5
    assert len(set(moments[:, 0])) > 20


def test_what_followed_pairs():
    outcomes, add = no_outcomes(3), jax.jit(with_outcome)
    for pair, following, reward in [
        (0, 4, 1.0),
        (0, 4, np.nan),
        (1, -1, 2.0),
        (1, 3, 2.0),
        (2, 5, np.nan),
        (0, -1, 1.0),
    ]:
        outcomes = add(outcomes, pair, following, reward)
    assert outcomes.next.tolist() == [4, 3, 5]
    assert outcomes.reward.tolist()[:2] == [1.0, 2.0]
    assert np.isnan(outcomes.reward[2])
    assert not outcomes.varies.any()
    for pair, following, reward in [(0, 2, 1.0), (2, 5, 0.0), (2, 5, 1.0)]:
        outcomes = add(outcomes, pair, following, reward)
    assert outcomes.varies.tolist() == [True, False, True]


def test_steps_from_any_monitor_state():
    """Three monitor states and two actions: the first goes up; the second goes down, or ends the episode in state 2."""
    plan, n = Plan(0, 4, 3, 2, 4, (4,), 500, 1, True, True, 0, 0, 0, 0), 500
    random, nexts, costs = np.random.default_rng(0), [1, 0, 2, 0, 2, -1], [-1.0, 0.0, -1.0, 0.0, -1.0, np.nan]
    outcomes = Outcomes(jnp.array(nexts), jnp.array(costs), jnp.zeros(6, bool))
    columns = {name: random.integers(0, 2, (n, 2)) for name in History._fields}
    monitor = np.repeat(random.integers(0, 3, (n, 1)), 2, 1)
    first = np.where(monitor[:, 0] == 2, 0, random.integers(0, 2, n)) + 2 * columns["env_pair"][:, 0]
    columns |= {"monitor": monitor, "action": np.stack([first, first ^ 1], 1), "monitor_reward": np.full((n, 2), 7.0)}
    columns |= {"terminated": random.random((n, 2)) < 0.2, "next_goal": 3 * columns["next_picture"] + 1}
    ways, tried = History(**jax.tree.map(jnp.array, columns)), jnp.ones((n, 2), bool)

    def moved(outcomes, ended=0):
        visits = jnp.zeros((12, 4), int).at[2, 1].set(ended)
        memory = SimpleNamespace(monitor_outcomes=outcomes, visits=visits)
        return jax.device_get(any_monitor_state(plan, memory, ways, tried, jax.random.key(0)))

    monitors, found, possible = moved(outcomes)
    swapped = found.monitor_reward[:, 0] != 7.0
    assert 0.35 < swapped.mean() < 0.5  # half, less those of the pair that ends episodes
    assert set(monitors[swapped]) == {0, 1, 2}
    for row in range(n):
        for way in range(2):
            own, before = (History(*(field[row, way] for field in steps)) for steps in (found, History(**columns)))
            if not swapped[row]:
                assert own == before
                continue
            pair = 2 * monitors[row] + own.action % 2
            assert possible[row, way] == (pair != 5)
            assert own.action // 2 == columns["action"][row, 0] // 2
            assert (own.terminated, own.next_picture) == (
                columns["terminated"][row, 0],
                columns["next_picture"][row, 0],
            )
            if pair != 5:
                assert (own.next_monitor, own.monitor_reward) == (nexts[pair], costs[pair])
                assert own.next_goal == 3 * own.next_picture + nexts[pair]
    assert np.isfinite(found.monitor_reward).all()
    assert (found.action[swapped, 0] % 2 != found.action[swapped, 1] % 2).all()
    _, found, possible = moved(outcomes, ended=10)  # now it is known that the pair ends episodes
    ending = (found.monitor == 2) & (found.action % 2 == 1) & (found.monitor_reward != 7.0)
    assert ending.any()
    assert possible.all()
    assert found.terminated[ending].all()
    varied = moved(outcomes._replace(varies=outcomes.varies.at[4].set(True)))
    assert (varied[1].monitor_reward == 7.0).all()
