"""Monitors around any Gymnasium environment: the contract, equality with tables, leaks, budgets, shapes, errors."""

from __future__ import annotations

import copy
import math
import pickle
import warnings
from dataclasses import dataclass
from itertools import product
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete
from gymnasium.utils.env_checker import check_env, data_equivalence

import monmdp
from monmdp import MonitoredEnv, MonMDPError, monitored
from monmdp.cli import main
from monmdp.gym.shapes import ACTIONS, OBSERVATIONS, fitting
from monmdp.rng import stream, uniform

MONITORS = list(monmdp.MONITORS)
IDS = ["CartPole-v1", "MountainCar-v0", "Acrobot-v1", "Pendulum-v1", "Blackjack-v1", "Taxi-v4"]
MINIGRID = "MiniGrid-Empty-5x5-v0"


def somewhere(observation: Any, action: Any) -> bool:
    """A place in any environment: about half of all observations."""
    return bool(np.sum(np.concatenate([np.ravel(observation), np.ravel(action)])) > 0)


def base(name: str, **options: Any) -> gymnasium.Env:
    if name == MINIGRID:
        pytest.importorskip("minigrid")
        room = gymnasium.make(name, **options)
        space = room.observation_space["image"]  # the other parts are texts
        return gymnasium.wrappers.TransformObservation(room, lambda seen: seen["image"], space)
    return gymnasium.make(name, **options)


def play(env: gymnasium.Env, seed: int, steps: int = 40) -> list:
    """Everything that a learner sees with seeded random actions: results of resets and steps."""
    env.action_space.seed(seed + 1)
    seen: list = [env.reset(seed=seed)]
    for _ in range(steps):
        seen.append(env.step(env.action_space.sample()))
        if seen[-1][2] or seen[-1][3]:
            seen.append(env.reset())
    return seen


def warnings_of(env: gymnasium.Env) -> set[str]:
    """What Gymnasium's checker warns of, except that every wrapper differs from the environment inside."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(env, skip_render_check=True)
    return {str(w.message) for w in caught if "different from the unwrapped version" not in str(w.message)}


@pytest.mark.parametrize("name", [*IDS, MINIGRID])
def test_every_monitor_and_every_shape_around_every_environment(name):
    """The checker finds nothing that it does not find in the environment itself; equal seeds give equal episodes;
    rewards are finite, truthful, and paid only when shown. Every monitor meets some of the shapes."""
    inner = base(name)
    known = warnings_of(inner)
    pairs = list(product(fitting(ACTIONS, inner.action_space), fitting(OBSERVATIONS, inner.observation_space)))
    for k, monitor in enumerate(MONITORS):
        for actions, observations in pairs[k % len(pairs) :: 3]:
            shapes = {"actions": actions, "observations": observations, "at": somewhere}
            env = monitored(base(name), monitor, **shapes)
            assert warnings_of(env) <= known, shapes
            first, again = play(env, 3, 12), play(monitored(base(name), monitor, **shapes), 3, 12)
            assert all(map(data_equivalence, first, again)), shapes
            assert all(seen[0] in env.observation_space for seen in first)
            for _, reward, _, _, info in (entry for entry in first if len(entry) == 5):
                shown = info["env_reward"] if info["reward_observed"] else 0.0
                assert type(reward) is float
                assert reward == info["monitor_reward"] + shown
                assert info["reward_observed"] or math.isnan(info["proxy_reward"])


# an environment that is also a table


def one_start(name: str, start: int, **options: Any) -> gymnasium.Env:
    env = gymnasium.make(name, **options)
    env.unwrapped.initial_state_distrib = np.eye(int(env.observation_space.n))[start]
    return env


#: id, options that make it deterministic, and the start state
TABLES = [
    ("FrozenLake-v1", {"is_slippery": False}, 0),
    ("CliffWalking-v1", {"max_episode_steps": 60}, 36),
    ("Taxi-v4", {}, 137),
]


@pytest.mark.parametrize(
    ("name", "options", "start", "monitor"),
    [
        (*table, monitor)
        for table in TABLES
        for monitor in [*MONITORS, "Ask(observability=0.5, never_observable=[1, [START, 0]])"]
        if table[0] != "Taxi-v4" or monitor in ("Ask", "Button", "Random")  # its tables take long to build
    ],
)
def test_wrapped_and_joined_trajectories_are_equal(name, options, start, monitor):
    """Seed by seed, on deterministic environments with one start state; all others draw from their own generator."""
    monitor = monitor.replace("START", str(start))
    joined = MonitoredEnv(one_start(name, start, **options), monitor=monitor)
    wrapped = monitored(one_start(name, start, **options), monitor)
    assert joined.observation_space == wrapped.observation_space
    for seed in (0, 1, 2):
        rng = np.random.default_rng(seed)
        assert wrapped.reset(seed=seed)[0] == joined.reset(seed=seed)[0]
        for _ in range(150):
            action = {key: rng.integers(space.n) for key, space in joined.action_space.items()}
            ours, theirs = wrapped.step(action), joined.step(action)
            own = {key: value for key, value in ours[4].items() if key in theirs[4]}
            assert (*ours[:4], own) == theirs
            if ours[2] or ours[3]:
                assert wrapped.reset()[0] == joined.reset()[0]


@pytest.mark.parametrize("monitor", MONITORS)
@pytest.mark.parametrize("name", ["FrozenLake-v1", "CliffWalkingSlippery-v1"])
def test_the_monitor_follows_the_joined_table_on_a_random_environment(name, monitor):
    """Given what the environment did, the joined table's outcomes and the same draws give the monitor's part."""
    seed, table = 5, monmdp.make(gymnasium.make(name), monitor)
    env, outcomes = monitored(gymnasium.make(name), monitor), table.monitor
    world, observe = stream(seed, "world"), stream(seed, "observe")
    env.action_space.seed(0)
    before, _ = env.reset(seed=seed)
    for clock in range(100):
        action = env.action_space.sample()
        after, _, terminated, truncated, info = env.step(action)
        state = before["env"] * len(outcomes.states) + before["monitor"]
        pair = state * table.n_actions + action["env"] * len(outcomes.actions) + action["monitor"]
        rows = np.arange(table.offsets[pair], table.offsets[pair + 1])
        entered, paid = table.environment.next_state[outcomes.env_outcome[rows]], table.env_reward[rows]
        rows = rows[(entered == after["env"]) & (paid == info["env_reward"])]
        rows = rows[outcomes.env_outcome[rows] == outcomes.env_outcome[rows[0]]]
        chosen = rows[np.searchsorted(np.cumsum(outcomes.probability[rows])[:-1], uniform(world, clock), "right")]
        assert after["monitor"] == outcomes.next_state[chosen]
        assert info["monitor_reward"] == outcomes.reward[chosen]
        assert info["reward_observed"] == (uniform(observe, clock) < outcomes.observe_probability[chosen])
        before = env.reset()[0] if terminated or truncated else after


# what is hidden stays hidden


class Changed(gymnasium.Wrapper):
    """Other rewards in the given steps."""

    def __init__(self, env: gymnasium.Env, steps: set[int]) -> None:
        super().__init__(env)
        self._steps, self._clock = steps, 0

    def step(self, action):
        observation, reward, *rest, info = self.env.step(action)
        self._clock += 1
        if self._clock in self._steps:
            reward = 3.0 * reward + 17.0
        return observation, reward, *rest, {**info, "reward_forward": reward, "episode": {"r": reward}}


@pytest.mark.parametrize("name", ["CartPole-v1", "Pendulum-v1"])
@pytest.mark.parametrize("monitor", MONITORS)
def test_hidden_rewards_change_nothing(name, monitor):
    """Observations, rewards, infos and ends are the same, number by number."""
    options = {"at": somewhere, "hidden": lambda observation, action: observation[0] < -0.01, "budget": 8}
    seen = play(monitored(Changed(base(name), set()), monitor, **options), 2)
    infos = [step[4] for step in seen if len(step) == 5]
    hidden = {clock for clock, info in enumerate(infos, 1) if not info["reward_observed"]}
    assert len(infos) - len(hidden) <= 8
    assert hidden
    first, second = (
        play(monitored(Changed(base(name), steps), monitor, evaluation_info=False, **options), 2)
        for steps in (set(), hidden)
    )
    assert all(map(data_equivalence, first, second))
    keys = {"proxy_reward", "reward_observed", "monitor_reward", "answers_left", "step_id"}
    assert all(set(entry[4]) == keys for entry in second if len(entry) == 5)


def test_a_budget_limits_the_answers_and_a_seed_restores_it():
    env = monitored(gymnasium.make("CartPole-v1"), "Ask", budget=3)
    for reset in ({"seed": 0}, {"seed": 0}, {}):
        env.reset(**reset)
        steps = [env.step({"env": i % 2, "monitor": 1}) for i in range(5)]
        left = [info["answers_left"] for *_, info in steps]
        assert left == ([2, 1, 0, 0, 0] if reset else [0] * 5)
        assert [info["reward_observed"] for *_, info in steps] == ([True] * 3 + [False] * 2 if reset else [False] * 5)
        assert {info["monitor_reward"] for *_, info in steps} == {-0.2}, "asking costs the same"


def test_a_button_is_where_at_says():
    """Pressed by a push to the left: it is on after the first press and off after the second."""
    env = monitored(gymnasium.make("CartPole-v1"), "Button", at=lambda observation, action: action == 0)
    on = int(env.reset(seed=0)[0]["monitor"])
    for push in (1, 0, 1, 0, 0):
        seen, *_, info = env.step({"env": push, "monitor": 0})
        assert info["reward_observed"] == bool(on)
        on = on ^ (push == 0)
        assert seen["monitor"] == on


def test_never_observable_by_hidden():
    env = monitored(gymnasium.make("Blackjack-v1"), "Full", hidden=lambda hand, action: action == 1)
    env.reset(seed=0)
    assert not env.step({"env": 1, "monitor": 0})[4]["reward_observed"]
    env.reset(seed=0)
    assert env.step({"env": 0, "monitor": 0})[4]["reward_observed"]


def test_numbered_states_and_actions_can_be_named_without_a_table():
    """A wrapper that changes rewards makes the lake's table useless, but not its numbers."""
    lake = gymnasium.make("FrozenLake-v1", is_slippery=False)
    paid = gymnasium.wrappers.TransformReward(lake, lambda reward: reward + 1.0)
    env = monitored(paid, "Button(cell=4, action=1, never_observable=[[0, 1], 8])")
    on = int(env.reset(seed=0)[0]["monitor"])
    for action, hidden, pressed in ((1, True, False), (1, False, True), (3, True, False), (1, False, True)):
        seen, *_, info = env.step({"env": action, "monitor": 0})
        assert info["reward_observed"] == (bool(on) and not hidden)
        on ^= pressed
        assert seen["monitor"] == on


def test_pairs_of_random_pair_are_numbers_from_at():
    """Each number has its own probability, the one that the pair with this index has in a table."""
    shown = []
    for pair in (4, 9):
        inner = gymnasium.make("Pendulum-v1", max_episode_steps=400)
        env = monitored(inner, "RandomPair", at=lambda observation, action, pair=pair: pair)
        env.reset(seed=0)
        action = {"env": np.zeros(1, np.float32), "monitor": 0}
        shown.append(np.mean([env.step(action)[4]["reward_observed"] for _ in range(400)]))
    expected = [1 - uniform(stream(0, "hidden pairs"), pair) for pair in (4, 9)]
    assert abs(expected[0] - expected[1]) > 0.2
    assert shown == pytest.approx(expected, abs=0.1)


def test_a_monitor_of_a_user_sees_observation_and_action():
    @dataclass(frozen=True)
    class Slow(monmdp.Monitor):
        """Shows the reward while the cart is slow."""

        def outcomes(self, moment):
            assert moment.env_action in (0, 1)
            yield monmdp.Outcome(observed=abs(moment.env_state[1]) < 0.1)

    env = monitored(gymnasium.make("CartPole-v1"), Slow())
    seen, _ = env.reset(seed=0)
    shown = []
    for _ in range(5):
        slow = abs(seen["env"][1]) < 0.1
        seen, *_, info = env.step({"env": 1, "monitor": 0})
        assert info["reward_observed"] == slow
        shown.append(slow)
    assert set(shown) == {True, False}


# shapes


def test_joint_actions_are_those_of_the_table():
    env = monitored(gymnasium.make("Taxi-v4"), "Level", actions="joint", observations="concat")
    assert env.action_space == Discrete(24)
    assert env.observation_space.shape == (503,)
    same = monitored(gymnasium.make("Taxi-v4"), "Level")
    state, parts = env.reset(seed=1)[0], same.reset(seed=1)[0]
    for action in (0, 5, 23, 14):
        assert np.flatnonzero(state).tolist() == [parts["env"], 500 + parts["monitor"]]
        state, *rest = env.step(action)
        parts, *others = same.step({"env": action // 4, "monitor": action % 4})
        assert data_equivalence(rest, others)


def test_first_actions_that_are_not_zero():
    class Shifted(gymnasium.Env):
        observation_space, action_space = Discrete(2), Discrete(3, start=5)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return 0, {}

        def step(self, action):
            return 0, float(action), False, False, {}

    for actions, chosen in (("joint", 5), ("multidiscrete", [7, 1]), ("dict", {"env": 7, "monitor": 1})):
        env = monitored(Shifted(), "Ask", actions=actions)
        env.reset(seed=0)
        assert env.action_space.contains(np.array(chosen) if actions == "multidiscrete" else chosen)
        assert env.step(chosen)[4]["proxy_reward"] == 7.0
    assert monitored(Shifted(), "Ask", actions="multidiscrete").action_space == MultiDiscrete([3, 2], start=[5, 0])


def test_continuous_actions_have_a_dimension_per_further_monitor_action():
    env = monitored(gymnasium.make("Pendulum-v1"), "Ask", actions="box")
    assert env.action_space == Box(np.float32([-2, -1]), np.float32([2, 1]))
    env.reset(seed=0)
    assert [env.step(np.float32([0.3, x]))[4]["reward_observed"] for x in (-1, 0, 0.1, 1)] == [False, False, True, True]
    assert monitored(gymnasium.make("Pendulum-v1"), "Full", actions="box").action_space.shape == (1,)
    level = monitored(gymnasium.make("Pendulum-v1"), "Level", actions="box")
    level.reset(seed=0)
    choices = {(-1, -1, -1): 0, (0.1, -1, -1): 1, (0.1, 0.4, 0.2): 2, (0, 0, 0.5): 3}
    for tail, choice in choices.items():
        assert level._split(np.float32([0, *tail]))[1] == choice


class Image(gymnasium.Env):
    """A blank image of a given shape and type."""

    action_space = Discrete(2)

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.observation_space = Box(0, 255 if dtype is np.uint8 else 1, shape, dtype)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(self.observation_space.shape, self.observation_space.dtype), {}

    def step(self, action):
        return self.reset()[0], 1.0, False, False, {}


@pytest.mark.parametrize(("shape", "axis"), [((8, 6, 3), 2), ((4, 8, 8), 0), ((5, 5, 1), 2)])
@pytest.mark.parametrize(("dtype", "value"), [(np.uint8, 255), (np.float32, 1)])
def test_images_get_a_plane_per_monitor_state(shape, axis, dtype, value):
    env = monitored(Image(shape, dtype), "Level(n=4)", observations="channels")
    seen, _ = env.reset(seed=1)
    planes = np.moveaxis(seen, axis, 0)
    assert planes.shape[0] == shape[axis] + 4
    assert seen in env.observation_space
    assert env.observation_space.dtype == dtype
    lit = planes.reshape(len(planes), -1)
    assert sorted(lit.max(1)[shape[axis] :]) == [0, 0, 0, value]
    assert (lit.min(1) == lit.max(1)).all()
    assert lit[shape[axis] + env._simulation.state].min() == value


def test_dictionaries_of_observations_can_be_flattened():
    inner = monitored(gymnasium.make("CartPole-v1"), "Ask")
    assert isinstance(inner.observation_space, Dict)
    env = monitored(inner, "Level", observations="concat")
    assert env.reset(seed=0)[0].shape == (4 + 1 + 3,)


# conventions of Gymnasium


def test_the_specification_makes_the_environment_again():
    env = monitored(gymnasium.make("CartPole-v1"), "Ask(cost=0.5)", actions="joint", budget=5)
    again = env.spec.make()
    assert all(map(data_equivalence, play(env, 1), play(again, 1)))
    assert again.unwrapped is not env.unwrapped


def test_rendering_is_that_of_the_environment():
    env = monitored(gymnasium.make("FrozenLake-v1", render_mode="ansi"), "Ask")
    env.reset(seed=0)
    assert env.render() == env.unwrapped.render()
    assert env.render_mode == "ansi"


def test_the_environment_inside_does_not_notice():
    """Equal seeds and environment actions give equal environment trajectories, with and without a monitor."""
    plain, env = gymnasium.make("CartPole-v1"), monitored(gymnasium.make("CartPole-v1"), "Experts")
    assert (plain.reset(seed=4)[0] == env.reset(seed=4)[0]["env"]).all()
    for i in range(8):
        seen, reward, *_ = plain.step(i % 2)
        observation, *_, info = env.step({"env": i % 2, "monitor": i % 4})
        assert (seen == observation["env"]).all()
        assert info["env_reward"] == reward


def test_a_monitor_can_end_the_episode():
    """An end at the time limit is no truncation, as in a joined problem."""
    for limit in (9, 2):
        env = monitored(gymnasium.make("CartPole-v1", max_episode_steps=limit), "Battery(n=1)")
        env.reset(seed=0)
        assert [env.step({"env": i % 2, "monitor": 1})[2:4] for i in range(2)] == [(False, False), (True, False)]


def test_unseeded_monitors_differ():
    envs = [monitored(gymnasium.make("CartPole-v1"), "Experts(n=9)") for _ in range(20)]
    assert len({int(env.reset()[0]["monitor"]) for env in envs}) > 1


def test_a_copy_continues_on_its_own():
    env = monitored(gymnasium.make("CartPole-v1"), "Experts", actions="joint", budget=3)
    env.reset(seed=0)
    copies = [copy.deepcopy(env) for _ in range(2)]
    first, second = ([each.step(i % 8) for i in range(6)] for each in copies)
    assert all(map(data_equivalence, first, second))


# errors


def cart(monitor: Any = "Ask", **options: Any) -> Any:
    return monitored(gymnasium.make("CartPole-v1"), monitor, **options)


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda: cart("Button"), r"Button needs a place.*at=lambda observation, action"),
        (lambda: cart("RandomPair"), r"RandomPair needs a place.*at=lambda"),
        (lambda: cart("Button(cell=3)", at=somewhere), r"no list of states.*at=lambda"),
        (lambda: cart("Ask(never_observable=[3])"), r"hidden=lambda observation, action"),
        (lambda: cart("Aks"), "Did you mean 'Ask'"),
        (lambda: cart(actions="box"), r"continuous.*Discrete\(2\).*choose actions='multidiscrete'"),
        (lambda: cart(actions="flat"), r"actions must be one of 'dict'"),
        (lambda: cart(observations="channels"), r"images.*choose observations='concat'"),
        (lambda: cart(budget=-1), "budget"),
        (lambda: cart(at=3), r"at must be a function of \(observation, action\)"),
        (lambda: monitored(gymnasium.make("Pendulum-v1"), "Ask", actions="joint"), "choose actions='box'"),
        (lambda: monitored("CartPole-v1", "Ask"), r"gymnasium.make\('CartPole-v1'\)"),
        (lambda: monmdp.make("CartPole-v1", "Button"), r"monmdp.monitored\(gymnasium.make\('CartPole-v1'\), 'Button'"),
        (lambda: monmdp.make(gymnasium.make("Blackjack-v1"), "Ask(cost=1)"), r"'Blackjack-v1'\), 'Ask\(cost=1\)'\)"),
        (lambda: MonitoredEnv(gymnasium.make("CartPole-v1"), "Level"), r"monitored\(.*'Level'\)"),
        (lambda: MonitoredEnv("Empty", "Level"), "monitor="),
        (lambda: monmdp.make(cart(), "Ask"), "Monitored"),
    ],
)
def test_errors_say_what_to_write(attempt, message):
    with pytest.raises(MonMDPError, match=message) as error:
        attempt()
    assert "\n" not in str(error.value)


def test_the_error_of_a_missing_table_travels_between_processes():
    with pytest.raises(MonMDPError) as error:
        monmdp.make("CartPole-v1", "Level")
    assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)


@pytest.mark.parametrize("words", [["train", "CartPole-v1", "Ask"], ["solve", "CartPole-v1", "Ask"]])
def test_the_command_line_says_what_to_write(words, capsys):
    assert main(words) == 2
    text = "".join(capsys.readouterr())
    assert "monmdp.monitored(gymnasium.make('CartPole-v1'), 'Ask')" in " ".join(text.split())


@pytest.mark.parametrize(
    "action", [0, {"env": 0}, {"env": 2, "monitor": 0}, {"env": 0, "monitor": 2}, {"env": 0, "monitor": -1}]
)
def test_actions_outside_the_space_are_rejected(action):
    env = cart()
    env.reset(seed=0)
    with pytest.raises(MonMDPError, match="not in the action space; an example is"):
        env.step(action)


def test_errors_of_functions_name_them():
    env = cart("Button", at=lambda observation, action: observation[7] > 0)
    env.reset(seed=0)
    with pytest.raises(MonMDPError, match=r"^at, for observation .* raised IndexError"):
        env.step({"env": 0, "monitor": 0})


def test_reset_is_required():
    with pytest.raises(gymnasium.error.ResetNeeded):
        cart().step({"env": 0, "monitor": 0})
