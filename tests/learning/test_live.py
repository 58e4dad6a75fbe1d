"""The live loop: the same agents against `env.step`, where nothing can be enumerated."""

from __future__ import annotations

import copy
import operator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import NamedTuple

import gymnasium
import numpy as np
import pytest
from comparing import same
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete

import monmdp
from monmdp import AGENTS, MonMDPError
from monmdp.agents.base import Transition
from monmdp.errors import MonMDPWarning
from monmdp.exact.structure import Bounds
from monmdp.training.games import LiveSimulation
from monmdp.training.live import LiveLearner


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


def test_undiscovered_and_terminal_states_are_never_goals():
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
    first = live(lake(), "Full", "Optimism", steps=1, points=1, reward_range=(0, 1), value_range=(0, 0.5))
    assert first.q.max() == 0.5


@pytest.mark.parametrize(
    ("ranges", "message"),
    [
        ({"reward_range": (1, 0)}, "reward range must begin with the smaller bound"),
        ({"reward_range": (0, 1), "value_range": 5}, "value range must be the smallest and the largest value, not 5"),
        ({"value_range": (0, 1)}, "A value_range needs a reward_range too"),
    ],
)
def test_bad_ranges(ranges, message):
    with pytest.raises(MonMDPError, match=message):
        live(lake(), "Full", "Optimism", steps=1, **ranges)


# monitored environments, several seeds, tests

NAIVE = "Naive(alpha=0.5, initial_q=1)"


def test_a_monitored_environment_is_taken_as_it_is():
    """The lake wrapped inside, wrapped outside, with a wrapper on top, and joined as a table: the same runs."""
    options = {"agent": NAIVE, "steps": 300, "points": 3, "seeds": [3, 5], "test_episodes": 1}
    one = monmdp.train_live(lake(), "Ask", **options)
    assert one.observed[:, -1].all()
    for env in (
        monmdp.monitored(lake(), "Ask"),
        gymnasium.wrappers.RecordEpisodeStatistics(monmdp.monitored(lake(), "Ask")),
        gymnasium.make("monmdp/MonMDP-v0", environment=monmdp.make(lake(), "Ask")),
    ):
        other = monmdp.train_live(env, **options)
        assert same(one.q, other.q)
        assert same(one.visit_counts, other.visit_counts)
        assert same(one.returns, other.returns)
        assert other.monitor == "Ask"


def test_several_seeds_are_the_runs_of_each():
    options = {"agent": NAIVE, "steps": 200, "points": 4, "test_episodes": 2}
    calls = []
    both = monmdp.train_live(lake(), "Ask", seeds=(3, 4), **options, progress=lambda *done: calls.append(done))
    assert both.returns.shape == both.observed.shape == both.undiscounted_returns.shape == (2, 5)
    for row, seed in enumerate((3, 4)):
        alone = monmdp.train_live(lake(), "Ask", seed=seed, **options)
        assert alone.seeds == [seed]
        for name in (*alone.recorded, "undiscounted_returns", "q", "visit_counts", "reward_model"):
            assert same(getattr(both, name)[row], getattr(alone, name)[0]), name
    assert calls == [(done, 400) for done in (0, 50, 100, 150, 200, 200, 250, 300, 350, 400)]
    assert both.final_return == pytest.approx(both.final_returns.mean())
    assert "2 seeds × 200 steps: estimated return" in repr(both)
    assert {len(column) for column in both.columns().values()} == {10}
    with pytest.raises(MonMDPError, match="seed is given twice"):
        monmdp.train_live(lake(), seeds=[1, 1], **options)
    with pytest.raises(MonMDPError, match="seed or seeds"):
        monmdp.train_live(lake(), seed=1, seeds=2, **options)


def test_a_budget_is_restored_for_every_seed():
    env = monmdp.monitored(lake(), "Full", budget=30)
    found = monmdp.train_live(env, agent=NAIVE, steps=100, points=2, seeds=2, test_episodes=1)
    assert found.observed.tolist() == [[0, 30, 30]] * 2


def test_undiscounted_returns_are_sums():
    """Each episode has 5 steps that pay 1 and cannot be influenced."""

    class Five(Endless):
        def step(self, action):
            self.left -= 1
            return 0, 1.0, self.left == 0, False, {}

        def reset(self, **options):
            self.left = 5
            return super().reset(**options)

    found = monmdp.train_live(Five(True), agent=NAIVE, steps=10, points=2, discount=0.5, test_env=Five(True))
    assert found.undiscounted_returns.tolist() == [[5.0] * 3]
    assert found.returns.tolist() == [[2 - 1 / 16] * 3]


@pytest.mark.parametrize(
    ("env", "reason"),
    [
        (Endless(True), "No second copy of .* can be made"),
        (monmdp.monitored(lake(), "Ask", evaluation_info=False), "has no 'env_reward'"),
    ],
    ids=["no spec", "no true rewards"],
)
def test_missing_tests_are_announced_once(env, reason):
    with pytest.warns(MonMDPWarning, match=f"{reason}.*test_env") as caught:
        found = monmdp.train_live(env, agent=NAIVE, steps=20, points=4)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert np.isnan(found.returns).all()
    assert "not tested" in repr(found)


def test_agents_that_need_every_reward_say_so():
    env = monmdp.monitored(lake(), "Ask", evaluation_info=False)
    with pytest.raises(MonMDPError, match="Oracle needs every reward"):
        monmdp.train_live(env, agent="Oracle", steps=50, test_env=monmdp.monitored(lake(), "Ask"))


class Table(NamedTuple):
    """The smallest memory of an agent."""

    q: np.ndarray
    visits: np.ndarray


class Silent(gymnasium.Wrapper):
    """A wrapper that does not pass info on."""

    def step(self, action):
        return *self.env.step(action)[:4], {}


@pytest.mark.parametrize(
    ("env", "monitor", "message"),
    [
        (monmdp.monitored(lake(), "Ask"), "Ask", "has a monitor already; leave out the monitor 'Ask'"),
        (monmdp.monitored(lake(), "Ask", actions="joint"), None, "actions='dict' and observations='dict'"),
        (monmdp.FlattenDiscrete(monmdp.monitored(lake(), "Ask")), None, "wrappers that flatten"),
        (Silent(monmdp.monitored(lake(), "Ask")), None, "has no 'reward_observed'; wrappers must pass info on"),
        (gymnasium.make("Pendulum-v1"), None, "DiscretizeAction"),
    ],
)
def test_environments_that_do_not_fit(env, monitor, message):
    with pytest.raises(MonMDPError, match=message):
        monmdp.train_live(env, monitor, NAIVE, steps=10, test_env=env, discretizer=(lambda observation: 0, 20))


# rewards that arrive later


AGENTS_ONCE = ["Naive", "Directed", "Joint", "Ignore", "DirectedModel", "MonitoredMBIE"]


@pytest.mark.parametrize("agent", AGENTS_ONCE)
@pytest.mark.parametrize("source", ["steps", "episodes"])
def test_late_answers_give_the_rewards_of_the_lake(agent, source):
    """The source of truth is the lake's table; pairs whose reward arrived at least once have it."""
    delivered, truth = set(), lake().unwrapped.P

    def answer(question: monmdp.Question) -> float:
        delivered.add((int(question.observation), int(question.action)))
        return question.reward

    answers = monmdp.DelayedAnswers(9, answer) if source == "steps" else monmdp.EpisodeAnswers(answer)
    env = monmdp.late_answers(monmdp.monitored(lake(), "Ask"), answers)
    found = live(env, None, agent, steps=1000, points=2, reward_range=(0, 1), test_episodes=1)
    assert len(delivered) > 20
    for state, action in delivered:
        [(_, _, reward, _)] = truth[state][action]
        assert found.reward_model[4 * state + action] == reward
    assert 0 <= found.visit_counts[:, 1::2].sum() - found.record.observed[-1] <= (9 if source == "steps" else 100)


def test_tests_leave_the_sources_and_models_of_training_alone():
    """A copy for tests has neither: the same run, whatever the number of tests, and no reward of a test is learned."""
    asked = []

    class Counted(monmdp.DelayedAnswers):
        def ask(self, question):
            asked[-1] += 1
            super().ask(question)

    def run(points: int) -> SimpleNamespace:
        asked.append(0)
        late = monmdp.late_answers(monmdp.monitored(lake(), "Full"), Counted(3))
        return live(monmdp.fill_rewards(late), None, NAIVE, steps=200, points=points)

    one, two = run(1), run(20)
    assert asked == [200, 200]
    assert same(one.q, two.q)
    assert one.record.observed[-1] == two.record.observed[-1] == 197


#: What else agents with models count.
COUNTED = {
    "DirectedModel": [
        *(f"model.{name}" for name in ("visits", "env_tries", "monitor_tries", "monitor_observed", "monitor_asked")),
        *(f"rewards.{name}" for name in ("found.times", "seen", "mean", "unseen")),
        "given_up",
    ],
    "MonitoredMBIE": ["monitor_counts", "monitor_model", "transitions.times", "transitions.total"],
}


@pytest.mark.parametrize("agent", AGENTS_ONCE)
def test_late_answers_count_nothing_twice(agent):
    """The same steps with rewards at once, and with all rewards after them: equal counts and rewards."""
    game = LiveSimulation(monmdp.monitored(lake(), "Ask"), 16, int, 0)
    options = AGENTS.build(agent).filled({"alpha": 1.0})
    options = options.filled(options.defaults(Bounds(0.0, 1.0)))
    once, late = (LiveLearner(options, game, 400, 0, 0.99) for _ in range(2))
    rng, waiting = np.random.default_rng(0), []
    for step in range(400):
        if game.elapsed == 0:
            once.begin(game.state), late.begin(game.state)
        state, action = game.state, int(rng.integers(8))
        once.act(state), late.act(state)
        outcome = game.step(action)
        pair = int(game.env_pairs[state * 8 + action])
        shown = Transition(step, state, action, pair, *outcome[:1], outcome.terminated, np.nan, outcome.monitor_reward)
        hidden, shown = shown, shown._replace(proxy_reward=outcome.env_reward if outcome.observed else np.nan)
        once.update(shown), late.update(hidden)
        waiting += [shown] * outcome.observed
        if outcome.terminated or outcome.truncated:
            game.restart()
    for transition in waiting:
        late.answered(transition)
    for name in ("visits", "reward_model", "reward_counts", *COUNTED.get(agent, ())):
        one, two = (operator.attrgetter(name)(learner.memory) for learner in (once, late))
        assert same(one, two), name
    assert late.memory.reward_counts.sum() == len(waiting) > 100


@pytest.mark.parametrize("agent", ["Naive", "DirectedModel"])
def test_hidden_rewards_do_not_arrive_later(agent):
    """Other rewards where they are never shown, in even states, change nothing that a learner knows."""

    class Paid(gymnasium.Wrapper):
        def step(self, action):
            even = self.unwrapped.s % 2 == 0
            state, reward, *rest = self.env.step(action)
            return state, reward + self.bonus * even, *rest

    def run(bonus: float) -> SimpleNamespace:
        paid = Paid(lake())
        paid.bonus = bonus
        never = monmdp.monitored(paid, "Ask", hidden=lambda state, action: state % 2 == 0)
        late = monmdp.late_answers(never, monmdp.DelayedAnswers(7))
        return live(late, None, agent, steps=400, points=3, reward_range=(0, 1), test_env=copy.deepcopy(never))

    one, two = run(0.0), run(9.0)
    assert one.record.observed[-1] == two.record.observed[-1] > 0
    for name in ("q", "visit_counts", "reward_model"):
        assert same(getattr(one, name), getattr(two, name)), name
    assert (one.record.collected != two.record.collected).any()


def test_an_agent_without_a_use_for_late_answers_says_so():
    @dataclass(frozen=True, kw_only=True)
    class Still(monmdp.Agent):
        @staticmethod
        def act(memory, state, draws):
            return 1, False

        @staticmethod
        def update(memory, transition):
            memory.q[transition.state, transition.action] += 0.0

        def memory(self, world, steps, seed):
            return Table(np.zeros((world.n_states, world.n_actions)), np.zeros(world.n_states * world.n_actions, int))

    env = monmdp.late_answers(monmdp.monitored(lake(), "Ask"), monmdp.DelayedAnswers(2))
    with pytest.raises(MonMDPError, match=r"Still cannot use rewards that arrive later.*answered\(memory"):
        monmdp.train_live(env, agent=Still(), steps=20, points=1)


def test_live_curves_are_drawn_and_not_saved(tmp_path):
    """There is no optimum to draw; a results folder needs settings, which say what the numbers depend on."""
    curves = monmdp.train_live(lake(), "Ask", "Naive", steps=200, points=4, seeds=2, reward_range=(0, 1))
    (panel,) = monmdp.plot({"live": curves}).axes
    (line,) = (line for line in panel.lines if len(line.get_xdata()) == 5)
    assert line.get_ydata() == pytest.approx(curves.returns.mean(0))
    with pytest.raises(MonMDPError, match="can be saved"):
        monmdp.save(curves, tmp_path / "results")
    assert not list(tmp_path.iterdir())
