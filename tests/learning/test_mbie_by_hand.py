"""Monitored MBIE-EB worked out by hand: bonuses, modes, ends of episodes, and plans that come out exact."""

from __future__ import annotations

import math

import numpy as np
import pytest
from by_hand import TWINS, Driven, one_state

import monmdp
from monmdp import Grid, MonMDPError, Rule, Step
from monmdp.world import compact

twins = pytest.mark.parametrize("how", TWINS)
STAY = 4
#: ln f(4) with f(4) = 1 + 4 · ln² 4 = 1 + 4 · 1.921812 = 8.687249
LOG_F4 = 2.161856


def two_buttons(discount: float = 0.0, monitor: str = "Full") -> monmdp.MonMDP:
    """One state, two actions; nothing happens."""
    rule = Rule(states=("here",), actions=("left", "right"), rule=lambda *_: [Step("here")])
    return monmdp.make(rule, monitor, discount=discount)


@twins
def test_optimise_bonuses(how):
    """Left three times, right once, all shown; β = 1, γ = 0. Per pair: rE 3 of 4, rM 4 of 4, visits 3 of 4."""
    agent = Driven(how, two_buttons(), "MonitoredMBIE", bonus=1.0)
    for action in (0, 0, 0, 1):
        agent.happened(0, action, 0, shown=0.5 if action == 0 else -2.0)
    agent.begins()
    monitor = math.sqrt(LOG_F4 / 4)  # 0.735162
    assert agent.q[0, 0] == pytest.approx(0.5 + 2 * math.sqrt(LOG_F4 / 3) + monitor, abs=1e-6)
    assert agent.q[0, 0] == pytest.approx(2.932946, abs=1e-5)
    assert agent.q[0, 1] == pytest.approx(-2.0 + 2 * math.sqrt(LOG_F4) + monitor, abs=1e-6)


@twins
def test_monitor_bonus_goes_by_monitor_pairs(how):
    """Asked 3 times of 4 in total, whatever the environment action; the mean of −0.2, −0.2 and −0.5 is −0.3."""
    agent = Driven(how, two_buttons(monitor="Ask"), "MonitoredMBIE", bonus=1.0, minimum_reward=-7.0)
    for action, monitor in ((1, -0.2), (1, -0.2), (3, -0.5), (0, 0.0)):
        agent.happened(0, action, 0, monitor=monitor)
    agent.begins()
    assert agent.q[0, 3] == pytest.approx(-7.0 - 0.3 + math.sqrt(LOG_F4 / 3) + math.sqrt(LOG_F4), abs=1e-6)
    assert agent.q[0, 0] == pytest.approx(-7.0 + 0.0 + 2 * math.sqrt(LOG_F4), abs=1e-6)
    assert agent.q[0, 2] == 1.0  # never tried


@twins
def test_a_bonus_needs_more_than_one_try(how):
    """f(1) = 1, so ln f(1) = 0: the first try leaves no bonus at all."""
    agent = Driven(how, two_buttons(), "MonitoredMBIE", bonus=1.0)
    agent.happened(0, 0, 0, shown=0.25)
    agent.begins()
    assert agent.q.tolist() == [[0.25, 1.0]]


@twins
def test_the_bound_on_being_shown(how):
    """Never shown, left 3 times of 4: 1 − 8.687249^(−0.05 / 3) = 1 − e^(−0.0360309) = 0.0353895."""
    agent = Driven(how, two_buttons(), "MonitoredMBIE", bonus=0.0)
    for action in (0, 0, 0, 1):
        agent.happened(0, action, 0, shown=np.nan if action == 0 else 0.0)
    agent.begins()
    agent.begins()  # episode 1 observes
    assert agent.memory.observe_q[0, 0] == pytest.approx(0.0353895, abs=1e-6)
    assert agent.memory.observe_q[0, 1] == 0.0  # shown once, so nothing more to gain


@twins
@pytest.mark.parametrize(("times", "worth"), [(1, [0, 0]), (2, [0, 1]), (3, [1, 1])])
def test_observing_more_often_than_once(how, times, worth):
    """Left was shown twice, right once."""
    agent = Driven(how, two_buttons(), "MonitoredMBIE", bonus=0.0, observe_times=times)
    for action in (0, 0, 1):
        agent.happened(0, action, 0, shown=0.5)
    agent.begins()
    agent.begins()
    assert (agent.memory.observe_q[0] > 0).tolist() == [bool(value) for value in worth]


@twins
def test_what_is_unknown_is_worth_the_most(how):
    agent = Driven(how, two_buttons(discount=0.9), "MonitoredMBIE", q_max=7.0)
    agent.begins()
    assert (agent.q == 7.0).all()
    assert agent.memory.observe_q == pytest.approx(np.full((1, 2), 10.0))


def observing_steps(problem: monmdp.MonMDP, agent: str, steps: int) -> list[int]:
    """The steps that were taken in order to observe."""
    curves = monmdp.train(problem, agent, 1, steps=steps, points=steps)
    return np.flatnonzero(np.diff(curves.explored[0] * curves.steps).round()).tolist()


@pytest.mark.parametrize(
    ("base", "episodes"),
    [
        (2.0, [1, 2, 4, 8, 16, 32, 64]),
        (2.00005, [1, 2, 5, 9, 17, 33, 65]),  # still below 2.0001, but its square is above 4.0001
        (2.0002, [1, 3, 5, 9, 17, 33, 65]),
        (2.5, [1, 3, 7, 16, 40]),
    ],
)
def test_which_episodes_observe(base, episodes):
    """One step an episode: log(k + 0.0001) / log(base) exceeds 0, 1, 2, … first at these k; base 2: 1, 2, 4, 8, …"""
    assert observing_steps(one_state(ends=True), f"MonitoredMBIE(observe_base={base})", 70) == episodes


def test_with_the_published_base_nearly_all_do_at_first():
    """log(k) / log(1.005) exceeds k − 1 from k = 1 up to k = 1,462, and no longer at the next."""
    found = observing_steps(one_state(ends=True), "MonitoredMBIE", 1600)
    assert found[:1462] == list(range(1, 1463))
    assert 1463 not in found


def test_nothing_left_to_see_ends_observing():
    """Shown in the first step, which was not taken to observe."""
    problem = one_state(ends=True)
    assert observing_steps(problem, "MonitoredMBIE(observe_while_unseen=True)", 50) == []
    hidden = monmdp.make(Rule(states=("a",), actions=("go",), rule=lambda *_: [Step("a", 1.0, terminated=True)]),
                         "Full(observability=0)")  # fmt: skip
    assert len(observing_steps(hidden, "MonitoredMBIE(observe_while_unseen=True)", 50)) == 49


@twins
@pytest.mark.parametrize(("termination", "expected"), [("sticky", 2.0), ("probability", 2.0 + 0.5 * 0.75 * 1.0)])
def test_ends_of_episodes(how, termination, expected):
    """Left paid 2, ended once and went on three times; right was never tried and is worth 1. γ = 1/2, one sweep."""
    options = {"termination": termination, "bonus": 0.0, "sweeps": 1}
    agent = Driven(how, two_buttons(0.5), "MonitoredMBIE", **options)
    for ended in (False, True, False, False):
        agent.happened(0, 0, 0, shown=2.0, ended=ended)
    agent.begins()
    assert agent.q[0, 0] == expected
    agent.begins()  # observing ignores ends: 0 + 1/2 · 2
    assert agent.memory.observe_q[0, 0] == 1.0


@twins
def test_an_end_sticks_to_the_environment_pair(how):
    """Asking ended the episode, so not asking is taken to end it too; only counting tells them apart."""
    for termination, expected in (("sticky", 0.0), ("probability", 0.5)):
        agent = Driven(how, two_buttons(0.5, "Ask"), "MonitoredMBIE", termination=termination, bonus=0.0, sweeps=1)
        agent.happened(0, 0, 0, shown=0.0)
        agent.happened(0, 1, 0, shown=0.0, ended=True)
        agent.begins()
        assert agent.q[0].tolist() == [expected, 0.0, 1.0, 1.0]


@twins
def test_plans_start_where_the_last_one_stopped(how):
    """Two plans of one sweep are one of two sweeps, and steps without a plan change nothing."""
    problem = monmdp.make(Grid([".C"]), discount=0.5)
    once, twice = (Driven(how, problem, "MonitoredMBIE", sweeps=sweeps, bonus=0.0) for sweeps in (2, 1))
    for agent in (once, twice):
        for action in range(5):
            agent.happened(0, action, 1 if action == 2 else 0, shown=0.0)
            agent.happened(1, action, 0 if action == 0 else 1, shown=float(action == STAY), ended=action == STAY)
        assert (agent.q == 1.0).all()
        agent.plans()
        assert (agent.q == 1.0).all()
        agent.begins()
    assert twice.q[0].tolist() == [0.5] * 5
    assert once.q[0].tolist() == [0.25, 0.25, 0.5, 0.25, 0.25]
    twice.begins()
    assert (twice.q == once.q).all()


def experience(problem: monmdp.MonMDP, agent: Driven, pairs: np.ndarray, out_of: int) -> None:
    """Every outcome of these pairs as often as it should come, all rewards shown."""
    arrays = problem.dynamics
    for pair in pairs:
        state, action = divmod(int(pair), problem.n_actions)
        for o in range(problem.offsets[pair], problem.offsets[pair + 1]):
            times = problem.probability[o] * out_of
            assert times == pytest.approx(round(times))
            for _ in range(round(times)):
                agent.happened(
                    state, action, int(arrays.next_state[o]), float(arrays.env_reward[o]), bool(arrays.terminated[o]),
                    float(arrays.monitor_reward[o]),
                )  # fmt: skip


@twins
@pytest.mark.parametrize(
    ("names", "out_of"),
    [(("Loop", "Ask"), 1), (("RiverSwim", "Button"), 20), (("Hazard", "Ask"), 10), (("RiverSwim", "Experts"), 80)],
    ids=str,
)
def test_without_bonuses_the_true_model_gives_the_true_values(how, names, out_of):
    problem = monmdp.make(*names)
    assert problem.reachable.all()
    options = {"termination": "probability", "minimum_reward": 0.0, "sweeps": 3000}
    exact, apart = monmdp.solve(problem).q, []
    for bonus in (0.1, 0.001, 0.0):
        agent = Driven(how, problem, "MonitoredMBIE", steps=10**6, bonus=bonus, **options)
        experience(problem, agent, np.arange(problem.n_pairs), out_of)
        agent.begins()
        apart.append(abs(agent.q - exact).max())
    assert apart[0] > apart[1]
    assert apart[2] < 1e-9
    if out_of > 1:
        assert apart[1] > apart[2]


@twins
@pytest.mark.parametrize("names", [("Loop", "Ask"), ("Hazard", "Button"), ("Loop", "Level"), ("Walk", "Battery(n=2)")])
def test_a_known_monitor_needs_each_environment_pair_once(how, names):
    """Only one monitor state and action was ever tried; values of all others come out exact."""
    problem = monmdp.make(*names)
    n_states, n_actions = (len(part) for part in (problem.monitor.states, problem.monitor.actions))
    state, action = np.divmod(np.arange(problem.n_pairs), problem.n_actions)
    tried = np.flatnonzero((state % n_states == n_states - 1) & (action % n_actions == n_actions - 1))
    agent = Driven(how, problem, "MonitoredMBIE", steps=10**6, bonus=0.0, known_monitor=True, sweeps=3000)
    experience(problem, agent, tried, 10)
    agent.begins()
    exact = monmdp.solve(problem).q
    if "Hazard" in names:  # quicksand ends nothing, so that sticky ends do no harm
        assert not problem.terminated[problem.probability < 1].any()
    reachable = problem.reachable
    found = agent.q[reachable] if how == "plain" else agent.q[: reachable.sum()]
    assert found == pytest.approx(exact[reachable], abs=1e-9)


@twins
def test_observing_with_a_known_monitor(how):
    """Asking shows for sure, so after one try without asking, asking is worth 1 and not asking nothing; γ = 0."""
    problem = two_buttons(monitor="Ask(observability=0.8)")
    agent = Driven(how, problem, "MonitoredMBIE", bonus=0.0, known_monitor=True)
    agent.happened(0, 0, 0)
    agent.begins()
    agent.begins()
    assert agent.memory.observe_q[0] == pytest.approx([0.0, 0.8, 1.0, 1.0])


def test_memory_grows_with_what_is_known():
    """As many transitions as steps at the most, in a problem whose square would be 16 times 10⁹."""
    problem = monmdp.make("Empty(rows=100, columns=100)", "Ask")
    agent = monmdp.AGENTS.build("MonitoredMBIE", q_max=1.0, minimum_reward=0.0, sweeps=1)
    memory = agent.memory(compact(problem), 1000, 0)
    assert len(memory.transitions.times) == len(memory.rows.weight) == 1000
    assert len(agent.memory(compact(monmdp.make("Walk")), 10**6, 0).transitions.times) == 35 * 7
    assert monmdp.train(problem, agent, 1, steps=1000, evaluation="none").visit_counts.sum() == 1000


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("sweeps", 0, "'sweeps' of MonitoredMBIE must be a whole number of at least 1"),
        ("sweeps", 1.5, "'sweeps' of MonitoredMBIE must be a whole number"),
        ("observe_times", 0, "'observe_times' of MonitoredMBIE must be a whole number"),
        ("observe_base", 1.0, "must be above 1"),
        ("bonus", -0.1, "'bonus' of MonitoredMBIE must be at least 0"),
        ("observe_bonus", math.nan, "must be finite"),
        ("termination", "often", "'termination' of MonitoredMBIE must be one of"),
        ("known_monitor", 1, "must be True or False"),
        ("q_max", math.inf, "must be finite"),
    ],
)
def test_bad_options_get_a_sentence(option, value, said):
    with pytest.raises(MonMDPError, match=said):
        monmdp.AGENTS.build("MonitoredMBIE", **{option: value})
