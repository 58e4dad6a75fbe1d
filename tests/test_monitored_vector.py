"""`monitored` around vector environments: copies are single environments, number by number; leaks, resets, errors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv, VectorWrapper
from gymnasium.wrappers.vector import RecordEpisodeStatistics

import monmdp
from monmdp import MonitoredVectorEnv, MonMDPError, Outcome, monitored
from monmdp.gym.shapes import ACTIONS, OBSERVATIONS, fitting
from monmdp.gym.vector import Simulations
from monmdp.simulation import MonitorSimulation

MONITORS = [*monmdp.MONITORS, "Battery(n=1)", "Experts(observability=0.5)"]
COPIES = 3
NEXT_STEP, SAME_STEP, DISABLED = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED
modes = pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP], ids=lambda mode: mode.name)

#: Ids and options; episodes are short, so that all kinds of ends happen.
ENVIRONMENTS = {
    "CartPole-v1": {"max_episode_steps": 13},
    "FrozenLake-v1": {"max_episode_steps": 9},
    "Pendulum-v1": {"max_episode_steps": 7},
    "Blackjack-v1": {},
}


def somewhere(observation: Any, action: Any) -> int:
    """A place in any environment: about half of all observations."""
    return int(np.sum(np.concatenate([np.ravel(observation), np.ravel(action)])) > 0)


def copies(name: str, mode: AutoresetMode = NEXT_STEP, n: int = COPIES, **options: Any) -> SyncVectorEnv:
    return SyncVectorEnv([partial(gymnasium.make, name, **ENVIRONMENTS[name], **options)] * n, autoreset_mode=mode)


def singles(name: str, mode: AutoresetMode, monitor: Any, **options: Any) -> SyncVectorEnv:
    """The specification: one environment with a monitor per copy."""

    def one() -> gymnasium.Env:
        return monitored(gymnasium.make(name, **ENVIRONMENTS[name]), monitor, **options)

    return SyncVectorEnv([one] * COPIES, autoreset_mode=mode)


def plain(part: Any) -> Any:
    """Nested results for comparison; `prob` of FrozenLake is cut to an integer by Gymnasium if the first copy's is."""
    if isinstance(part, dict):
        return {key: plain(value) for key, value in part.items() if key not in ("prob", "_prob")}
    if isinstance(part, tuple) or (isinstance(part, np.ndarray) and part.dtype == object):
        return tuple(map(plain, part))
    return int(part) if isinstance(part, (int, np.integer)) else part


def play(env: VectorEnv, seed: int = 0, steps: int = 24) -> list:
    """Everything that a learner sees with seeded random actions."""
    env.action_space.seed(seed + 1)
    return [plain(env.reset(seed=seed)), *(plain(env.step(env.action_space.sample())) for _ in range(steps))]


def assert_equal(one: list, other: list, where: Any = "") -> None:
    """Equal values and types of arrays, to any depth; NaN equals NaN."""
    assert len(one) == len(other)
    for i, (ours, theirs) in enumerate(zip(one, other, strict=True)):
        np.testing.assert_equal(typed(ours), typed(theirs), err_msg=f"{where}, step {i}")


def typed(part: Any) -> Any:
    if isinstance(part, dict):
        return {key: typed(value) for key, value in part.items()}
    if isinstance(part, tuple):
        return tuple(map(typed, part))
    return (str(part.dtype), part) if isinstance(part, np.ndarray) else part


@modes
@pytest.mark.parametrize("name", ["CartPole-v1", "FrozenLake-v1", "Pendulum-v1"])
def test_copies_are_single_environments(name, mode):
    """For every monitor, with a budget; without `at` where there is a table."""
    options: dict[str, Any] = {"budget": 6, "hidden": lambda seen, action: np.sum(seen) > 5}
    if name != "FrozenLake-v1":
        options["at"] = somewhere
    ends = 0
    for monitor in [*MONITORS, *(["Ask(never_observable=[1, [4, 2]])"] if name == "FrozenLake-v1" else [])]:
        env = monitored(copies(name, mode), monitor, **options)
        assert isinstance(env, VectorWrapper)
        seen = play(env)
        assert_equal(seen, play(singles(name, mode, monitor, **options)), monitor)
        ends += sum(int((step[2] | step[3]).sum()) for step in seen[1:])
    assert ends > 50


@modes
@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_shape(name, mode):
    inner = gymnasium.make(name)
    for actions in fitting(ACTIONS, inner.action_space):
        for observations in fitting(OBSERVATIONS, inner.observation_space):
            for monitor in ("Level", "Battery(n=1)", "Random"):
                shapes = {"actions": actions, "observations": observations}
                env, specification = (
                    monitored(copies(name, mode), monitor, **shapes),
                    singles(name, mode, monitor, **shapes),
                )
                for space in ("observation_space", "action_space", "single_observation_space", "single_action_space"):
                    assert getattr(env, space) == getattr(specification, space)
                seen = play(env, steps=12)
                assert_equal(seen, play(specification, steps=12), (monitor, shapes))
                assert seen[-1][0] in env.observation_space


@pytest.mark.parametrize("axis", [0, 2])
def test_images(axis):
    class Image(gymnasium.Env):
        """An image of its seed."""

        observation_space = gymnasium.spaces.Box(0, 255, (2, 5, 6) if axis == 0 else (6, 5, 2), np.uint8)
        action_space = gymnasium.spaces.MultiDiscrete([2, 3])

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return self.np_random.integers(256, size=self.observation_space.shape, dtype=np.uint8), {}

        def step(self, action):
            return self.reset()[0], float(action[1]), False, False, {}

    shapes = {"actions": "multidiscrete", "observations": "channels"}
    env = monitored(SyncVectorEnv([Image] * 3), "Level", **shapes)
    specification = SyncVectorEnv([lambda: monitored(Image(), "Level", **shapes)] * 3)
    assert_equal(play(env), play(specification))


def test_results_do_not_change_afterwards():
    """Arrays that a learner has stored stay as they were."""
    env = monitored(copies("CartPole-v1"), "Level", budget=9)
    env.action_space.seed(0)
    first, _ = env.reset(seed=1)
    before = [first["monitor"].copy()]
    stored = [first["monitor"]]
    for _ in range(6):
        seen, _, _, _, info = env.step(env.action_space.sample())
        stored += [seen["monitor"], info["answers_left"], info["reward_observed"]]
        before += [part.copy() for part in stored[-3:]]
    assert all(map(np.array_equal, stored, before))


# which monitors are compiled


@dataclass(frozen=True)
class Looking(monmdp.Monitor):
    """Looks at the environment in one of several ways, only in its second state."""

    how: str = "env_state"

    states = ("start", "then")

    def outcomes(self, moment):
        if moment.state == "then":
            looks = {
                "index": lambda: moment[4],
                "unpack": lambda: [*moment],
                "replace": lambda: moment._replace(state=1),
                "asdict": moment._asdict,
                "contains": lambda: 1.0 in moment,
                "repr": lambda: repr(moment),
                "hash": lambda: hash(moment),
                "swallowed": self.swallowed(moment),
                "nothing": lambda: (len(moment), moment.state, isinstance(moment, tuple)),
            }
            looks.get(self.how, lambda: getattr(moment, self.how))()
        yield Outcome(next_state="then")

    def swallowed(self, moment):
        def look():
            try:
                return moment.env_reward
            except Exception:
                return 0.0

        return look


FIELDS = ("env_state", "env_action", "env_reward", "env_terminated", "env_pair", "at")
LOOKS = (*FIELDS, "index", "unpack", "replace", "asdict", "contains", "repr", "hash", "swallowed")


def alone(monitor: Any) -> monmdp.MonMDP | None:
    built = monmdp.MONITORS.build(monitor)
    return MonitorSimulation(built, monmdp.ENVIRONMENTS.build("Empty")).alone()


def test_monitors_that_look_at_the_environment_are_found():
    assert alone(Looking("nothing")) is not None
    for how in LOOKS:
        assert alone(Looking(how)) is None, how
    separate = {name for name in monmdp.MONITORS if alone(name) is None}
    assert separate == {"Random", "Button", "RandomPair"}
    assert alone("Experts(n=500)") is None, "too many outcomes to list"
    assert alone("Experts(n=10000)") is None


def test_both_paths_agree():
    """Monitors that are stepped by arrays give the same numbers one by one."""
    for monitor in MONITORS:
        env = monitored(copies("CartPole-v1"), monitor, at=somewhere)
        if isinstance(env._monitors, Simulations):
            other = monitored(copies("CartPole-v1"), monitor, at=somewhere)
            other._monitors = monmdp.gym.vector_wrapper.OneByOne(other._simulation, COPIES)
            assert_equal(play(env), play(other), monitor)


# what is hidden stays hidden


class Changed(gymnasium.Wrapper):
    """Other rewards in the given steps of the copy, and infos that contain the reward."""

    def __init__(self, env: gymnasium.Env, steps: Any) -> None:
        super().__init__(env)
        self._steps, self._clock = set(steps), 0

    def step(self, action):
        observation, reward, *rest, info = self.env.step(action)
        self._clock += 1
        if self._clock in self._steps:
            reward = 3.0 * reward + 17.0
        return observation, reward, *rest, {**info, "reward_forward": reward, "episode": {"r": reward}, "kept": 1.0}


@modes
@pytest.mark.parametrize("name", ["CartPole-v1", "Pendulum-v1"])
def test_hidden_rewards_change_nothing(name, mode):
    """Observations, rewards, infos and ends are the same, number by number."""

    def seen(steps: Any, evaluation_info: bool) -> list:
        inner = SyncVectorEnv(
            [lambda i=i: Changed(gymnasium.make(name, **ENVIRONMENTS[name]), steps[i]) for i in range(COPIES)],
            autoreset_mode=mode,
        )
        return play(monitored(inner, monitor, evaluation_info=evaluation_info, **options), 2)

    def below(observation: Any, action: Any) -> bool:
        return observation[0] < -0.01

    options = {"at": somewhere, "hidden": below, "budget": 8}
    for monitor in MONITORS:
        clocks, hidden = [0] * COPIES, [[] for _ in range(COPIES)]
        for *_, infos in seen([()] * COPIES, True)[1:]:
            for part in (infos, infos.get("final_info", {})):
                for i in np.flatnonzero(part.get("_reward_observed", [])):
                    clocks[i] += 1
                    hidden[i] += [] if part["reward_observed"][i] else [clocks[i]]
        assert all(hidden)
        first, second = seen([()] * COPIES, False), seen(hidden, False)
        assert_equal(first, second, monitor)
        keys = {"proxy_reward", "reward_observed", "monitor_reward", "step_id", "answers_left", "kept"}
        for *_, infos in second[1:]:
            for part in (infos, infos.get("final_info", {})):
                assert {key.removeprefix("_") for key in part} - {"final_obs", "final_info"} <= keys


# other vector environments


def test_other_processes():
    """With shared memory, and without a table of their own: the first copy is made here to read it."""
    for name, monitor in (("CartPole-v1", "Battery(n=1)"), ("FrozenLake-v1", "Button")):
        for mode in (NEXT_STEP, SAME_STEP):
            functions = [partial(gymnasium.make, name, **ENVIRONMENTS[name])] * 2
            inner = AsyncVectorEnv(functions, autoreset_mode=mode, context="fork")
            env, same = monitored(inner, monitor), monitored(copies(name, mode, 2), monitor)
            try:
                assert_equal(play(env), play(same), (name, monitor, mode))
            finally:
                env.close()


@pytest.mark.parametrize("monitor", ["Experts", "Battery(n=1)"])
def test_vector_environments_of_their_own_kind(monitor):
    """Copies that a monitor ends restart, and the step limit counts from there."""
    inner = gymnasium.make_vec("CartPole-v1", num_envs=4, vectorization_mode="vector_entry_point")
    env = monitored(inner, monitor)
    env.action_space.seed(0)
    env.reset(seed=0)
    done = np.zeros(4, bool)
    for _ in range(60):
        seen, rewards, terminated, truncated, info = env.step(env.action_space.sample())
        assert (inner.unwrapped.steps[done] == 0).all()
        assert (np.abs(seen["env"][done]) <= 0.05).all(), "starts are in this range"
        assert (rewards[done] == 0).all()
        assert (info.get("_env_reward", ~done) == ~done).all()
        done = terminated | truncated


def test_a_compiled_problem_and_a_monitor_inside():
    """Around a vector environment of a problem, and around another monitor."""
    problem = monmdp.make("Loop(step_limit=6)", "Full")
    for mode in (NEXT_STEP, SAME_STEP):
        env = monitored(MonitoredVectorEnv(problem, COPIES, mode), "Battery(n=1)")
        single = SyncVectorEnv(
            [lambda: monitored(monmdp.MonitoredEnv(problem), "Battery(n=1)")] * COPIES, autoreset_mode=mode
        )
        assert_equal(play(env), play(single), mode)
        env = monitored(monitored(copies("CartPole-v1", mode), "Level"), "Battery(n=1)")
        single = SyncVectorEnv(
            [lambda: monitored(monitored(gymnasium.make("CartPole-v1", max_episode_steps=13), "Level"), "Battery(n=1)")]
            * COPIES,
            autoreset_mode=mode,
        )
        assert_equal(play(env), play(single), mode)


@modes
@pytest.mark.parametrize("name", ["CartPole-v1", "Blackjack-v1"])
def test_hidden_rewards_can_be_filled_in(name, mode):
    """With features of observation, action and next observation: the same predictions as around single environments."""

    def features(observation: Any, action: Any, after: Any) -> Any:
        return np.concatenate([np.ravel(observation), np.ravel(action), np.ravel(after)]).astype(float)

    for monitor in ("Experts", "Battery(n=1)", "Random"):
        ours = monmdp.fill_rewards(monitored(copies(name, mode), monitor), features=features)
        theirs = monmdp.fill_rewards(singles(name, mode, monitor), features=features)
        assert_equal(play(ours), play(theirs), monitor)


def test_statistics_outside_are_those_of_the_learner():
    env = RecordEpisodeStatistics(monitored(copies("CartPole-v1"), "Battery(n=1)"))
    env.action_space.seed(0)
    env.reset(seed=0)
    lengths = []
    for _ in range(20):
        *_, info = env.step(env.action_space.sample())
        lengths += info["episode"]["l"][info["_episode"]].tolist() if "episode" in info else []
    assert lengths
    assert min(lengths) >= 2, "the unit is used in one step, and a step without it ends the episode"


def test_the_user_resets_where_nothing_else_does():
    env = monitored(copies("CartPole-v1", DISABLED), "Battery(n=1)", budget=2)
    asks = {"env": np.zeros(COPIES, int), "monitor": np.array([1, 0, 1])}
    env.reset(seed=0)
    env.step(asks)
    _, _, terminated, _, info = env.step(asks)
    assert terminated.tolist() == [True, False, True]
    with pytest.raises(gymnasium.error.ResetNeeded, match="reset_mask"):
        env.step(asks)
    options = {"reset_mask": terminated}
    seen, _ = env.reset(options=options, seed=[None, None, 7])
    assert seen["monitor"].tolist() == [1, 1, 1]
    assert "reset_mask" in options, "options are not changed"
    *_, info = env.step(asks)
    assert info["answers_left"].tolist() == [0, 2, 1], "a seed restores the budget of its copy"


# conventions and errors


def test_functions_get_one_observation_and_one_action():
    calls = []

    def at(observation, action):
        calls.append((observation.shape, action))
        return action == 0

    env = monitored(copies("CartPole-v1"), "Button", at=at)
    env.reset(seed=0)
    env.step({"env": np.array([0, 1, 0]), "monitor": np.zeros(3, int)})
    assert calls == [((4,), 0), ((4,), 1), ((4,), 0)]


class Other(VectorEnv):
    """A vector environment that cannot restart single copies."""

    num_envs = 2
    single_observation_space, single_action_space = gymnasium.spaces.Discrete(2), gymnasium.spaces.Discrete(2)
    observation_space = action_space = gymnasium.spaces.MultiDiscrete([2, 2])

    def reset(self, *, seed=None, options=None):
        return np.zeros(2, int), {}

    def step(self, actions):
        return np.zeros(2, int), np.array([1.0, np.nan]), np.zeros(2, bool), np.zeros(2, bool), {}


ACTION = {"env": np.zeros(COPIES, int), "monitor": np.zeros(COPIES, int)}


def stepped(env: VectorEnv, action: Any = ACTION) -> Any:
    env.reset(seed=0)
    return env.step(action)


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda: monitored(copies("CartPole-v1"), "Button"), r"Button needs a place, and CartPole-v1 .*at=lambda"),
        (lambda: monitored(copies("CartPole-v1"), "Ask", actions="box"), r"choose actions='multidiscrete'"),
        (lambda: monitored(copies("CartPole-v1"), "Ask", budget=-1), "budget"),
        (lambda: monitored(Other(), "Battery"), r"Battery ends episodes, and Other cannot restart.*make_vec"),
        (
            lambda: stepped(monitored(Other(), "Ask"), {"env": [0, 1], "monitor": [0, 1]}),
            r"reward of action .*1.* in Other is nan",
        ),
        (lambda: monitored(Other(), "Ask").reset(options={"reset_mask": np.array([True, False])}), "single copies"),
        (lambda: monitored(copies("CartPole-v1"), "Ask").reset(seed=[1, 2]), "one seed for each of the 3"),
        *[
            (lambda action=action: stepped(monitored(copies("CartPole-v1"), "Ask"), action), "not in the action space")
            for action in (
                0,
                {"env": ACTION["env"]},
                {**ACTION, "monitor": 0},
                {**ACTION, "monitor": np.array([0, 1, 2])},
                {**ACTION, "monitor": np.array([0.0, 1.0, 1.0])},
                {**ACTION, "env": np.array([0, 1, 2])},
                {**ACTION, "env": np.zeros(4, int)},
            )
        ],
        (
            lambda: stepped(monitored(copies("CartPole-v1"), "Ask", hidden=lambda seen, action: seen[9])),
            r"^hidden, for observation .* raised IndexError",
        ),
    ],
)
def test_errors_say_what_to_write(attempt, message):
    with pytest.raises(MonMDPError, match=message) as error:
        attempt()
    assert "\n" not in str(error.value)


def test_reset_is_required():
    with pytest.raises(gymnasium.error.ResetNeeded):
        monitored(copies("CartPole-v1"), "Ask").step(ACTION)
