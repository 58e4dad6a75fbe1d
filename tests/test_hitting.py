"""Diameters computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

import monmdp
from monmdp import Grid, MonMDPError, Rule, Step

RIGHT = 2


def always(problem: monmdp.MonMDP, action: int) -> np.ndarray:
    policy = np.zeros((problem.n_states, problem.n_actions))
    policy[:, action] = 1.0
    return policy


def chain(length: int, chance: float = 1.0, step_limit: int | None = None) -> Rule:
    """Cells in a row; GO advances with a chance and else stays, BACK returns to the first; nothing ends."""

    def rule(state, action):
        if action == "BACK":
            return [Step(0)]
        return [Step(min(state + 1, length - 1), probability=chance), Step(state, probability=1 - chance)]

    return Rule(states=range(length), actions=("GO", "BACK"), rule=rule, step_limit=step_limit)


@pytest.mark.parametrize("length", [1, 2, 5])
def test_deterministic_chain(length):
    assert monmdp.diameter(monmdp.make(chain(length))) == pytest.approx(length - 1)


@pytest.mark.parametrize("chance", [0.5, 0.25])
def test_slow_chain(chance):
    assert monmdp.diameter(monmdp.make(chain(4, chance))) == pytest.approx(3 / chance)


def test_termination_leads_to_the_start_in_one_step():
    """`.C` without a limit: to the coin one step; from the coin LEFT or its end, one step."""
    assert monmdp.diameter(monmdp.make(Grid([".C"], step_limit=None))) == pytest.approx(1.0)


def test_random_start():
    """Four starts, and END as the only action: each draw hits with chance 1/4."""
    rule = Rule(
        states=range(4), actions=("END",), rule=lambda s, a: [Step(s, terminated=True)], start=range(4), step_limit=None
    )
    assert monmdp.diameter(monmdp.make(rule)) == pytest.approx(4.0)


def test_three_cells_with_three_steps_per_episode():
    """The agent acts at times 0, 1, 2. To cell 2: two steps from the start, but from cell 0 at time 1 the restart
    comes first: two steps lost, then two from the start, which is the worst of all."""
    assert monmdp.diameter(monmdp.make(Grid(["..."], step_limit=3))) == pytest.approx(4.0)


def test_three_cells_with_four_steps_per_episode():
    """With four steps: from cell 0 at time 2 two steps are lost, from time 1 none; again four."""
    assert monmdp.diameter(monmdp.make(Grid(["..."], step_limit=4))) == pytest.approx(4.0)


def test_a_single_state_has_diameter_zero():
    assert monmdp.diameter(monmdp.make(Grid(["."]))) == 0.0


def test_monitor_states_count():
    """One cell with Level(n=3) in a long episode: from any level to the top two climbs; falling takes one step."""
    problem = monmdp.make(Grid(["."], step_limit=None), "Level")
    assert monmdp.diameter(problem) == pytest.approx(2.0)


def test_a_trap_has_an_infinite_diameter():
    assert monmdp.diameter(monmdp.make("RiverSwim(step_limit=None)", "Switch")) == np.inf


def test_restarting_can_be_faster_than_the_safest_path():
    """A swamp lets through to the goal once in 20 steps, a leap succeeds with 0.3 and else ends the episode.

    The swamp is surer within 40 steps, but leaping again and again takes 1 / 0.3 steps, and from inside the swamp the
    best is to end the episode first: one step more, and farther than any other two states are."""

    def rule(state, action):
        if state == "bank" and action == "LEAP":
            return [Step("goal", probability=0.3), Step("bank", probability=0.7, terminated=True)]
        if state == "swamp" and action == "WADE":
            return [Step("goal", probability=0.05), Step("swamp", probability=0.95)]
        return [Step("swamp")] if state == "bank" else [Step("bank", terminated=True)]

    for limit in (40, None):
        river = Rule(states=("bank", "swamp", "goal"), actions=("LEAP", "WADE"), rule=rule, step_limit=limit)
        assert monmdp.diameter(monmdp.make(river)) == pytest.approx(1 + 1 / 0.3)


def test_an_unlikely_state_has_a_finite_distance():
    """From the coin through 14 cells of quicksand in 16 steps: thirteen exits at 0.1, at most one failure between."""
    problem = monmdp.make(Grid(["C" + "~" * 14], step_limit=16))
    assert problem.reachable.all()
    hit = 0.1**13 * (1 + 13 * 0.9)
    assert 1 / hit < monmdp.diameter(problem) < 17 / hit


def test_the_goal_action_counts_as_a_step():
    """Always RIGHT in `...` without a limit, goal RIGHT in the last cell: two moves and the goal itself."""
    problem = monmdp.make(Grid(["..."], step_limit=None))
    goal = 2 * 5 + RIGHT
    assert monmdp.goal_relative_diameter(problem, always(problem, RIGHT), [goal]).tolist() == [3.0]


def test_the_goal_with_three_steps_per_episode():
    """From cell 0 at time 1: two steps until the restart, then three to the goal."""
    problem = monmdp.make(Grid(["..."], step_limit=3))
    goal = 2 * 5 + RIGHT
    assert monmdp.goal_relative_diameter(problem, always(problem, RIGHT), [goal]).tolist() == [5.0]


@pytest.mark.parametrize("limit", [None, 3, 50])
def test_uniform_policy(limit):
    problem = monmdp.make(Grid(["."], step_limit=limit))
    times = monmdp.goal_relative_diameter(problem, np.full((1, 5), 0.2))
    assert times == pytest.approx(np.full(5, 5.0))


@pytest.mark.parametrize("limit", [None, 4])
def test_a_policy_that_never_takes_its_goal(limit):
    problem = monmdp.make(Grid(["..."], step_limit=limit))
    assert monmdp.goal_relative_diameter(problem, always(problem, RIGHT), [0]).tolist() == [np.inf]


def test_every_goal_may_have_its_own_policy():
    """One policy per goal: stay on the cell until the goal's action is due, so that each takes one or two steps."""
    problem = monmdp.make(chain(2))
    plan = {0: [[1, 0], [0, 1]], 1: [[0, 1], [0, 1]], 2: [[1, 0], [1, 0]], 3: [[1, 0], [0, 1]]}
    times = monmdp.goal_relative_diameter(problem, lambda goal: np.array(plan[goal], float))
    # GO in 0: BACK from 1 first. BACK in 0: likewise. GO in 1 and BACK in 1: GO from 0 first.
    assert times.tolist() == [2.0, 2.0, 2.0, 2.0]


@pytest.mark.parametrize("limit", [None, 5])
@pytest.mark.parametrize(
    "change",
    [lambda policy: policy[:, :-1], lambda policy: policy * 0.5, lambda policy: policy * np.nan],
    ids=["an action short", "sums to 0.5", "nan"],
)
def test_invalid_policies_are_rejected(limit, change):
    problem = monmdp.make(Grid(["..."], step_limit=limit))
    with pytest.raises(MonMDPError, match="policy"):
        monmdp.goal_relative_diameter(problem, change(np.full((3, 5), 0.2)))


@pytest.mark.parametrize("goal", [15, -1])
def test_goals_are_joint_pairs(goal):
    problem = monmdp.make(Grid(["..."]))
    with pytest.raises(MonMDPError, match="goal"):
        monmdp.goal_relative_diameter(problem, np.full((3, 5), 0.2), [goal])
