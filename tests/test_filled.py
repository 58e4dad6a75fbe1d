"""Hidden rewards filled in by a model: the built-in model, the wrapper, vector environments, leaks, errors."""

from __future__ import annotations

import copy
import math
from collections import defaultdict
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from test_monitored import MONITORS, Changed, base, play, somewhere, warnings_of

import monmdp
from monmdp import MonMDPError, fill_rewards, monitored
from monmdp.gym.nearest import NearestRewards


class Recorder:
    """A model in plain Python: predicts a constant and keeps what it was given."""

    def __init__(self, prediction: float = 7.0) -> None:
        self.prediction, self.fitted, self.asked = prediction, [], []

    def partial_fit(self, rows, rewards):
        self.fitted += [(tuple(row), float(reward)) for row, reward in zip(rows, rewards, strict=True)]

    def predict(self, rows):
        self.asked += map(tuple, rows)
        return [self.prediction] * len(rows)


# the built-in model


def test_one_observation_of_a_constant_is_enough():
    model = NearestRewards().partial_fit([[0.3, 5.0]], [-1.5])
    assert (model.predict(np.random.default_rng(0).normal(size=(50, 2))) == -1.5).all()


def test_equal_features_have_the_mean_of_their_rewards():
    model = NearestRewards()
    for x, y in [([1, 0], 2.0), ([0, 1], 10.0), ([1, 0], 4.0), ([-0.0, 1], 20.0), ([1, 0], 3.0)]:
        model.partial_fit([x], [y])
    assert model.predict([[1, 0], [0, 1], [-0.0, 1]]).tolist() == [3.0, 15.0, 15.0]


def test_predictions_between_entries_are_weighted_by_distance():
    """Hand-worked: distances 0.25 and 0.75 of a range, and weights 4⁸ and (4/3)⁸."""
    model = NearestRewards().partial_fit([[0.0], [1000.0]], [0.0, 1.0])
    assert model.predict([[500.0]]) == pytest.approx([0.5])
    assert model.predict([[250.0]]) == pytest.approx([(4 / 3) ** 8 / (4**8 + (4 / 3) ** 8)])


def test_predictions_stay_within_the_observed_rewards():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(300, 4)), rng.normal(size=300)
    model = NearestRewards(capacity=100).partial_fit(x, y)
    predicted = model.predict(100 * rng.normal(size=(200, 4)))
    assert y.min() <= predicted.min() <= predicted.max() <= y.max()


def test_a_smooth_reward_is_learned_from_a_stream_and_a_rare_one_is_kept():
    """Far beyond its capacity, the model follows a slope, and still knows the only reward of 9."""
    rng = np.random.default_rng(2)
    model = NearestRewards(capacity=200).partial_fit([[0.5, 0.5]], [9.0])
    for _ in range(2_000):
        x = rng.random(2)
        model.partial_fit([x], [x[0]])
    x = rng.random((300, 2))
    x = x[np.abs(x - 0.5).max(1) > 0.15]
    assert np.abs(model.predict(x) - x[:, 0]).mean() < 0.03
    assert model.predict([[0.5, 0.5]]) == 9.0
    assert len(model._rows) == 200


def test_batches_equal_single_rows():
    rng = np.random.default_rng(3)
    x, y, unseen = rng.random((80, 3)), rng.random(80), rng.random((20, 3))
    batch, single = NearestRewards(50).partial_fit(x, y), NearestRewards(50)
    for row, reward in zip(x, y, strict=True):
        single.partial_fit([row], [reward])
    asked = np.concatenate([x, unseen])
    assert batch.predict(asked) == pytest.approx(np.concatenate([single.predict([row]) for row in asked]), rel=1e-9)


# the wrapper


def test_a_table_gets_the_mean_of_what_was_observed():
    """Independent averages per state and action, where three of ten rewards are shown, and 0 before the first one."""
    inner = gymnasium.make("CliffWalkingSlippery-v1", max_episode_steps=50)
    env = fill_rewards(monitored(inner, "Full(observability=0.3)", observations="concat"))
    seen: dict[Any, list[float]] = defaultdict(list)
    env.action_space.seed(0)
    observation, _ = env.reset(seed=0)
    compared = 0
    for _ in range(2_000):
        pair = int(observation[:48].argmax()), int((action := env.action_space.sample())["env"])
        observation, reward, terminated, truncated, info = env.step(action)
        assert type(reward) is float
        if info["reward_observed"]:
            seen[pair].append(info["proxy_reward"])
            assert math.isnan(info["filled_reward"])
            assert reward == info["monitor_reward"] + info["proxy_reward"]
        else:
            assert reward == info["monitor_reward"] + info["filled_reward"]
            if pair in seen or not seen:
                assert info["filled_reward"] == pytest.approx(np.mean(seen.get(pair, 0.0)), abs=1e-9)
                compared += 1
        if terminated or truncated:
            observation, _ = env.reset()
    assert compared > 800
    assert any(-100 < np.mean(rewards) < -1 for rewards in seen.values())


@pytest.mark.parametrize("shapes", [{}, {"actions": "joint"}, {"actions": "multidiscrete", "observations": "concat"}])
def test_features_are_those_of_the_environment_in_every_shape(shapes):
    model = Recorder()
    env = fill_rewards(monitored(gymnasium.make("CartPole-v1"), "Ask", **shapes), model)
    plain = gymnasium.make("CartPole-v1")
    state, _ = plain.reset(seed=3)
    env.reset(seed=3)
    rewards, expected = [], []
    for i in range(6):
        push, ask = i % 2, i % 3 == 0
        both = {"joint": 2 * push + ask, "multidiscrete": np.array([push, ask])}
        action = both.get(shapes.get("actions"), {"env": push, "monitor": int(ask)})
        rewards.append(env.step(action)[1])
        expected.append((*state.astype(float), 1 - push, push))
        state = plain.step(push)[0]
    assert model.fitted == [(expected[0], 1.0), (expected[3], 1.0)]
    assert model.asked == [expected[i] for i in (1, 2, 4, 5)]
    assert rewards == [0.8, 7.0, 7.0, 0.8, 7.0, 7.0]


def test_other_spaces():
    """Continuous actions, images, tuples, and discrete spaces that do not begin with 0."""
    for name, size in (("Pendulum-v1", 3 + 1), ("Blackjack-v1", 32 + 11 + 2 + 2), ("Taxi-v4", 506)):
        model = Recorder()
        env = fill_rewards(monitored(gymnasium.make(name), "Full"), model)
        env.reset(seed=0)
        env.step(env.action_space.sample())
        assert len(model.fitted[0][0]) == size

    class Shifted(gymnasium.Env):
        observation_space, action_space = Box(0, 255, (2, 2, 3), np.uint8), Discrete(3, start=5)

        def reset(self, *, seed=None, options=None):
            return np.full((2, 2, 3), 200, np.uint8), {}

        def step(self, action):
            return self.reset()[0], 1.0, False, False, {}

    model = Recorder()
    env = fill_rewards(monitored(Shifted(), "Full", actions="joint"), model)
    env.reset(seed=0)
    env.step(2)
    assert model.fitted == [((200,) * 12 + (0, 0, 1), 1.0)]


def test_features_of_a_user_get_the_whole_step():
    model = Recorder()
    env = fill_rewards(
        monitored(gymnasium.make("CliffWalking-v1"), "Ask", actions="joint"), model, features=lambda s, a, t: [s, a, t]
    )
    env.reset(seed=0)
    env.step(1)  # up, and ask
    env.step(2)  # right
    assert model.fitted == [((36, 0, 24), -1.0)]
    assert model.asked == [(24, 1, 25)]


def test_before_the_first_reward_the_initial_value_is_filled_in():
    env = fill_rewards(monitored(gymnasium.make("CartPole-v1"), "Ask"), Recorder(), initial=-3.0)
    env.reset(seed=0)
    rewards = [env.step({"env": i % 2, "monitor": ask})[1] for i, ask in enumerate((0, 0, 1, 0))]
    assert rewards == [-3.0, -3.0, 0.8, 7.0]
    env.reset(seed=0)
    assert env.step({"env": 0, "monitor": 0})[1] == 7.0, "a reset keeps the model"


def test_rewards_that_are_never_observable_are_predicted():
    env = monitored(gymnasium.make("CartPole-v1"), "Full", hidden=lambda observation, action: action == 1)
    env = fill_rewards(env)
    env.reset(seed=0)
    assert [env.step({"env": push, "monitor": 0})[1] for push in (1, 0, 1)] == [0.0, 1.0, 1.0]


@pytest.mark.parametrize("name", ["SGDRegressor", "MLPRegressor"])
def test_regressors_of_scikit_learn(name):
    """Both learn the reward of the position, which is shown in half of the steps."""
    pytest.importorskip("sklearn")
    from sklearn.linear_model import SGDRegressor
    from sklearn.neural_network import MLPRegressor

    class Position(gymnasium.Env):
        observation_space, action_space = Box(-1, 1, (1,), np.float64), Discrete(2)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.position = self.np_random.uniform(-1, 1, 1)
            return self.position, {}

        def step(self, action):
            reward = 2 * float(self.position[0])
            return self.reset()[0], reward, False, False, {}

    model = {
        "SGDRegressor": SGDRegressor(learning_rate="constant", eta0=0.1, random_state=0),
        "MLPRegressor": MLPRegressor(learning_rate_init=0.02, random_state=0),
    }[name]
    env = fill_rewards(monitored(Position(), "Full(observability=0.5)"), model)
    errors = [abs(s[1] - s[4]["env_reward"]) for s in play(env, 0, 600) if len(s) == 5]
    assert np.mean(errors[-200:]) < 0.1 < np.mean(errors[:50])


@pytest.mark.parametrize("name", ["CartPole-v1", "Pendulum-v1", "Taxi-v4"])
def test_the_checker_of_gymnasium_finds_nothing_new(name):
    assert warnings_of(fill_rewards(monitored(base(name), "Ask"))) <= warnings_of(base(name))


def test_the_specification_makes_the_environment_again():
    """With a model that has learned nothing yet."""
    env = fill_rewards(monitored(gymnasium.make("CartPole-v1"), "Ask", actions="joint"), initial=0.5)
    seen = play(env, 1)
    again = play(env.spec.make(), 1)
    assert all(map(data_equivalence, seen, again))
    assert copy.deepcopy(env).step(0)[1] == 1.0


@pytest.mark.parametrize("monitor", MONITORS)
def test_hidden_rewards_change_nothing(monitor):
    """Filled-in rewards and everything else are the same, number by number, if only hidden rewards change."""
    options = {"at": somewhere, "hidden": lambda observation, action: observation[0] < -0.01, "budget": 8}
    seen = play(monitored(Changed(base("Pendulum-v1"), set()), monitor, **options), 2)
    infos = [step[4] for step in seen if len(step) == 5]
    hidden = {clock for clock, info in enumerate(infos, 1) if not info["reward_observed"]}
    first, second = (
        play(fill_rewards(monitored(Changed(base("Pendulum-v1"), steps), monitor, evaluation_info=False, **options)), 2)
        for steps in (set(), hidden)
    )
    assert all(map(data_equivalence, first, second))


# vector environments


def vector_forms(mode: AutoresetMode) -> dict[str, Any]:
    """The same problem as compiled copies and as separate environments."""
    problem = monmdp.make("Empty(rows=2, columns=2, step_limit=5)", "Full(observability=0.4)")
    return {
        "compiled": monmdp.MonitoredVectorEnv(problem, 4, autoreset_mode=mode),
        "separate": SyncVectorEnv([lambda: monmdp.MonitoredEnv(problem)] * 4, autoreset_mode=mode),
    }


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@pytest.mark.parametrize("form", ["compiled", "separate"])
@pytest.mark.parametrize("features", [None, lambda s, a, t: np.concatenate([np.eye(4)[s], np.eye(5)[a]])])
def test_copies_learn_one_model(mode, form, features):
    """Independent averages over all copies; steps that only reset are neither learned from nor filled in."""
    envs = fill_rewards(vector_forms(mode)[form], features=features)
    envs.action_space.seed(1)
    state, _ = envs.reset(seed=0)
    seen: dict[Any, list[float]] = defaultdict(list)
    done, compared, resets = np.zeros(4, bool), 0, 0
    for _ in range(150):
        action = envs.action_space.sample()
        after, rewards, terminated, truncated, infos = envs.step(action)
        resetting = done if mode is AutoresetMode.NEXT_STEP else np.zeros(4, bool)
        done = terminated | truncated
        step = [
            {
                key: part[key][i]
                for part in (infos, infos.get("final_info", {}))
                for key in ("reward_observed", "proxy_reward", "monitor_reward", "filled_reward")
                if key in part and part[f"_{key}"][i]
            }
            for i in range(4)
        ]
        for i in range(4):
            if step[i] and step[i]["reward_observed"]:
                seen[int(state["env"][i]), int(action["env"][i])].append(step[i]["proxy_reward"])
                assert np.isnan(step[i]["filled_reward"])
        for i, info in enumerate(step):
            assert bool(info) != resetting[i]
            pair = int(state["env"][i]), int(action["env"][i])
            if resetting[i]:
                assert rewards[i] == 0.0
                resets += 1
            elif info["reward_observed"]:
                assert rewards[i] == info["proxy_reward"] + info["monitor_reward"]
            else:
                assert rewards[i] == info["filled_reward"] + info["monitor_reward"]
                if pair in seen:
                    assert info["filled_reward"] == pytest.approx(np.mean(seen[pair]), abs=1e-12)
                    compared += 1
        state = after
    assert compared > 100
    assert (resets > 0) == (mode is AutoresetMode.NEXT_STEP)
    assert {0.0, 1.0} <= {reward for rewards in seen.values() for reward in rewards}


@pytest.mark.parametrize(
    ("envs", "env"),
    [
        (
            lambda: gymnasium.make_vec("monmdp/Empty-v0", num_envs=1, monitor="Ask"),
            lambda: gymnasium.make("monmdp/Empty-v0", monitor="Ask"),
        ),
        (
            lambda: monitored(gymnasium.make_vec("CliffWalking-v1", num_envs=1), "Ask"),
            lambda: monitored(gymnasium.make("CliffWalking-v1"), "Ask"),
        ),
        (
            lambda: monitored(gymnasium.make_vec("Acrobot-v1", num_envs=1, max_episode_steps=30), "Ask"),
            lambda: monitored(gymnasium.make("Acrobot-v1", max_episode_steps=30), "Ask"),
        ),
    ],
)
@pytest.mark.parametrize("features", [None, lambda s, a, t: np.concatenate([np.ravel(s), np.ravel(a), np.ravel(t)])])
def test_one_copy_equals_the_single_environment(envs, env, features):
    envs, env = fill_rewards(envs(), features=features), fill_rewards(env(), features=features)
    envs.reset(seed=5)
    env.reset(seed=5)
    env.action_space.seed(5)
    for _ in range(150):
        action = env.action_space.sample()
        batch = {key: np.array([value]) for key, value in action.items()}
        reward, terminated, truncated = env.step(action)[1:4]
        assert envs.step(batch)[1] == [pytest.approx(reward, rel=1e-12)]
        if terminated or truncated:
            env.reset()
            envs.step(batch)


# errors


class NoInfo(gymnasium.Wrapper):
    def step(self, action):
        return *self.env.step(action)[:4], {}


def first_step(inner: Any = None, *arguments: Any, ask: int = 0, **options: Any) -> Any:
    env = fill_rewards(inner or monitored(gymnasium.make("CartPole-v1"), "Ask"), *arguments, **options)
    env.reset(seed=0)
    env.step({"env": 0, "monitor": 1})
    return env.step({"env": 0, "monitor": ask})


class Half:
    def predict(self, rows):
        return [0.5] * len(rows)


class TooMany(Recorder):
    def predict(self, rows):
        return [0.5, 0.5]


def growing(observation, action, after):
    growing.n = getattr(growing, "n", 1) + 1
    return np.zeros(growing.n)


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda: first_step(None, Half()), r"has no partial_fit; an example is sklearn"),
        (lambda: first_step(None, 3), r"has no partial_fit and no predict"),
        (lambda: first_step(None, Recorder), "is a class; pass an object"),
        (lambda: first_step(None, Recorder(math.nan)), r"predicted.*nan.*one finite number"),
        (lambda: first_step(None, TooMany()), r"predicted.*\(1, 6\)"),
        (lambda: first_step(gymnasium.make("CartPole-v1")), r"fill_rewards\(monmdp.monitored\(env, 'Ask'\)\)"),
        (lambda: fill_rewards(gymnasium.make_vec("CartPole-v1", num_envs=2)), "has no monitor"),
        (lambda: fill_rewards("CartPole-v1"), r"takes an environment"),
        (lambda: first_step(NoInfo(monitored(gymnasium.make("CartPole-v1"), "Ask"))), "has no reward_observed"),
        (lambda: first_step(features=3), "function of"),
        (lambda: first_step(features=lambda s, a, t: s[9]), "raised IndexError"),
        (lambda: first_step(features=lambda s, a, t: 1.0), "must return a vector of finite numbers"),
        (lambda: first_step(features=lambda s, a, t: [np.inf]), "must return a vector of finite numbers"),
        (lambda: first_step(features=growing), "must return a vector of 2 finite numbers"),
        (lambda: first_step(initial=math.nan), "The initial value"),
        (lambda: NearestRewards(0), "The capacity"),
    ],
)
def test_errors_say_what_to_do(attempt, message):
    with pytest.raises(MonMDPError, match=message) as error:
        attempt()
    assert "\n" not in str(error.value)
