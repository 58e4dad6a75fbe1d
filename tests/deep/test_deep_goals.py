"""Goals of agents with networks on small numbers: which is chosen, the way there, and what is counted."""

import numpy as np
import pytest

pytest.importorskip("jax", reason="the extra deep is not installed")

import jax
import jax.numpy as jnp

from monmdp.deep import goals

pytestmark = pytest.mark.usefixtures("double_precision")


def test_goals():
    """Two monitor states, two environment actions and two monitor actions, of which the second costs 1."""
    counts, seen = jnp.array([[3, 1, 9, 1], [1, 2, 9, 9], [0, 0, 0, 0], [5, 9, 9, 1]]), jnp.array([1, 1, 0, 1], bool)
    assert int(goals.least_visits(counts, seen)) == 1
    reach = jnp.array([[0.1, 0.3, 0.9, 0.2], [0.2, 0.1, 0.9, 0.6], [0.1, 0.1, 0.1, 0.1], [0.1, 0.1, 0.1, 0.61]])
    free, costs, near = jnp.zeros((2, 4)), jnp.array([[0.0, 1.0] * 2] * 2), jnp.ones(4, bool)
    close = [goals.closeness_of(reach, here) for here in range(4)]
    assert int(goals.choose_goal(counts, seen, near, close[1], free, 9)) == 4  # it is there: state 1, action 0
    assert int(goals.choose_goal(counts, seen, near, close[2], free, 9)) == 15  # the closest of four
    assert int(goals.choose_goal(counts, seen, near, close[0], free, 9)) == 1  # it is there: the first of two
    assert int(goals.choose_goal(counts.at[0, 2].set(1), seen, near, close[0], costs, 9)) == 2  # the cheapest of three
    assert int(goals.toward(15, reach, 2, free[0], 0.025)) == 3
    assert int(goals.toward(15, reach, 2, costs[0], 0.025)) == 1 + 2  # both within the slack cost 1
    assert int(goals.toward(15, reach, 2, jnp.array([0.0, 0.5, 0.0, 1.0]), 0.025)) == 1  # 0.6 of 0.61, and cheaper
    assert int(goals.toward(15, reach, 2, jnp.array([0.0, 0.5, 0.0, 1.0]), 0.01)) == 3
    assert int(goals.toward(4, reach, 1, free[0], 0.025)) == 0  # the action of the goal
    assert float(goals.ratio(8, jnp.array(4))) == pytest.approx(np.log(10) / 4)
    assert np.isinf(goals.ratio(8, jnp.array(0)))


def test_goals_out_of_reach_are_chosen_when_all_others_were_visited_often_enough():
    """From state 0, only state 1 is within reach; (2, 1) was visited least, then (0, 1) and (1, 0)."""
    counts, seen, free = jnp.array([[5, 4], [4, 9], [7, 1]]), jnp.ones(3, bool), jnp.zeros((1, 2))
    close = goals.closeness_of(jnp.array([[0.0, 0.9, 0.3], [0.0, 0.2, 0.4]]), 0)
    near = jnp.array([True, True, False])
    for enough, goal in ((9, 1), (5, 1), (4, 5), (0, 5)):
        assert int(goals.choose_goal(counts, seen, near, close, free, enough)) == goal
    assert int(goals.choose_goal(counts, seen, jnp.ones(3, bool), close, free, 9)) == 5


def test_a_goal_is_kept_for_some_steps_while_it_is_within_reach():
    """Pairs 4 and 5 are those of state 2, which is out of reach."""
    near = jnp.array([True, True, False])
    for (goal, age), expected in {(3, 3): True, (3, 4): False, (5, 3): False, (-1, 3): False, (0, 0): True}.items():
        assert bool(goals.kept(goal, age, 4, near, 2)) == expected


def test_actions_count_for_less_each_time_they_were_tried():
    """Action 0 was taken twice, 1 never, 2 changes nothing; each is the best one until it was tried often enough."""
    reach = jnp.array([[0.8, 0.1], [0.7, 0.5], [0.9, 0.9]])
    less = goals.discouraged(reach, jnp.array([2, 0, 1]), jnp.array([False, False, True]))
    np.testing.assert_allclose(less, [[0.648, 0.081], [0.7, 0.5], [0.09, 0.09]], rtol=1e-6)


def certain(after):
    """The model of a monitor without chance, by what followed joint pairs."""
    followed = jnp.zeros((*after.shape[1::2], after.shape[1]), int)
    return jax.jit(goals.monitor_model)(after, jnp.zeros(after.shape, bool), followed)


def test_monitor_states_are_reached_apart_from_codes():
    """Level with three states: action 0 goes up from state 0, action 1 from state 1, 2 stays; unknown in state 2."""
    following = jnp.array([[1, 0, 0], [0, 2, 1], [-1, -1, -1]])
    after = jnp.full((4, 3, 2, 3), -1).at[3, :, 0].set(following)  # seen in one code only
    model = certain(after)
    assert model.usual.tolist() == following.tolist()
    near = jax.jit(goals.monitor_reach)(model.chances, 0.5)
    assert near.tolist() == [[1, 0.5, 0.25], [0.5, 1, 0.5], [0, 0, 1]]
    reach = np.random.default_rng(2).random((2, 4))  # environment actions, codes
    apart = jax.jit(goals.apart)
    found = apart(jnp.array(reach), 0, 1, model, 0.5).reshape(2, 3, 4, 3)
    change = 0.5**goals.CHANGE
    np.testing.assert_allclose(found[:, 0], reach[..., None] * [change, 0.5 * change, 0.25 * change], rtol=1e-6)
    np.testing.assert_allclose(found[:, 1], reach[..., None] * [0, 0, change], rtol=1e-6)
    np.testing.assert_allclose(found[:, 2], reach[..., None] * [0.5, 1, 0.5], rtol=1e-6)
    assert not apart(jnp.array(reach), 0, 2, model, 0.5).any()


def test_the_way_to_a_monitor_state_leads_through_a_button():
    """Two monitor states that stay, but environment action 1 in code 2 was seen to switch from 0 to 1."""
    after = jnp.tile(jnp.array([0, 1])[:, None, None], (4, 1, 2, 1)).at[2, 0, 1].set(1)
    model, reach = certain(after), np.array([[0.9, 0.2, 0.4, 0.1], [0.3, 0.8, 0.5, 0.6]])
    assert model.usual.tolist() == [[0], [1]]
    apart = jax.jit(goals.apart)
    found = apart(jnp.array(reach), 0, 0, model, 0.5).reshape(2, 4, 2)
    np.testing.assert_allclose(found[..., 0], reach)
    np.testing.assert_allclose(found[..., 1], goals.ELSEWHERE * reach[:, 2:3].repeat(4, 1))  # first to code 2
    there = apart(jnp.array(reach), 2, 0, model, 0.5).reshape(2, 4, 2)
    np.testing.assert_allclose(there[0], np.stack([reach[0], np.zeros(4)], -1))
    button = np.stack([np.zeros(4), 0.5**goals.CHANGE * reach[1]], -1)
    np.testing.assert_allclose(there[1], button, rtol=1e-6)
    back = apart(jnp.array(reach), 2, 1, model, 0.5).reshape(2, 4, 2)
    np.testing.assert_allclose(back, np.stack([np.zeros_like(reach), reach], -1))  # no way back is known


def test_the_way_to_a_monitor_state_by_chance():
    """Action 0 stays, or goes to the other one of two monitor states in a quarter of the steps; action 1 stays."""
    after = jnp.tile(jnp.array([[0, 0], [1, 1]])[:, None], (3, 1, 2, 1)).at[1, 0, 0, 0].set(1)
    varies = jnp.zeros((3, 2, 2, 2), bool).at[:, 0, :, 0].set(True)
    followed = jnp.array([[[30, 10], [9, 0]], [[0, 7], [0, 5]]])
    model = jax.jit(goals.monitor_model)(after, varies, followed)
    assert model.varies.tolist() == [[True, False], [False, False]]
    assert model.chances.tolist() == [[[0.75, 0.25], [1, 0]], [[0, 1], [0, 1]]]
    near = jax.jit(goals.monitor_reach)(model.chances, 0.8)
    np.testing.assert_allclose(near, [[1, 0.2], [0, 1]], rtol=1e-6)
    reach, change = np.random.default_rng(3).random((2, 3)), 0.8**goals.CHANGE
    found = jax.jit(goals.apart)(jnp.array(reach), 1, 0, model, 0.8).reshape(2, 2, 3, 2)
    chance = np.array([0.75, 0.75 * 0.2 + 0.25]) * change  # what followed there once does not count
    np.testing.assert_allclose(found[:, 0], reach[..., None] * chance, rtol=1e-6)
    np.testing.assert_allclose(found[:, 1], reach[..., None] * [1, 0.2], rtol=1e-6)


def test_pooled_counts():
    """Two codes, two monitor states, one environment action, two monitor actions; only (1, 1) ever showed a reward."""
    visits = jnp.array([[30, 1], [40, 2], [50, 0], [0, 3]])  # rows: (code 0, state 0), (0, 1), (1, 0), (1, 1)
    shown, rewards = jnp.array([0, 0, 0, 5]), jnp.array([1, 0])
    never, always = jnp.array([False, False]), jnp.array([True] * 4)

    def pooled(enough, varies=never, joint=True, goes_on=always, visits=visits):
        parts = jnp.array(enough), varies, jnp.array(joint), goes_on, 0.5
        return goals.pooled(visits, rewards, shown, *parts, 2, 1).tolist()

    # environment pairs 73 and 53; monitor pairs 80, 1, 40, 5; answers: max(10, 2) = 10 for code 0, max(0, 3) for code 1
    assert pooled(33.0) == [[73, 1], [40, 5], [53, 1], [30, 3]]  # the last row: 10 visits for each of three
    assert pooled(2.5) == [[73, 1], [40, 5], [53, 1], [30, 5]]
    # code 0 varies: 31 and 42 visits in its monitor states, max(1, 2) answers
    assert pooled(33.0, jnp.array([True, False])) == [[31, 1], [40, 2], [53, 1], [30, 3]]
    assert pooled(33.0, joint=False) == [[73, 1], [40, 5], [53, 1], [40, 3]]
    # all episodes ended after monitor pair (1, 1): environment pairs 71 and 50
    assert pooled(33.0, goes_on=jnp.array([True, True, True, False])) == [[71, 1], [40, 5], [50, 1], [30, 3]]
    assert pooled(33.0, goes_on=~always) == pooled(33.0)
    # code 1 was visited without a pair that shows rewards, or never
    assert pooled(33.0, visits=visits.at[3].set(jnp.array([1, 0])))[3] == [10, 0.5]
    assert pooled(33.0, joint=False, visits=visits.at[2:].set(0))[3] == [0, 0]
