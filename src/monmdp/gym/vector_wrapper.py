"""A monitor around each copy of a Gymnasium vector environment: `monitored` for vector environments."""

import math
from collections.abc import Mapping, Sequence
from copy import copy, deepcopy
from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate

from monmdp.check import LARGEST_WHOLE
from monmdp.errors import MonMDPError, shown
from monmdp.gym.preparation import Prepared, asked, title_of, without_rewards
from monmdp.gym.vector import MonitoredVectorEnv, Simulations, masked, seeds_and_mask
from monmdp.monitors import Monitor
from monmdp.problem import Booleans, Floats, Integers
from monmdp.simulation import MonitorSimulation

#: Attributes in which vector environments and their wrappers remember the copies that the next step restarts.
MARKS = ("_autoreset_envs", "prev_done", "prev_dones", "_done")
#: Vector environments that restart the copies of options["reset_mask"]; others ignore it and restart all.
RESTARTING = (SyncVectorEnv, AsyncVectorEnv, MonitoredVectorEnv)


class OneByOne:
    """The monitors of all copies, for monitors whose outcomes depend on the environment."""

    def __init__(self, simulation: MonitorSimulation, n: int) -> None:
        self._copies = [copy(simulation) for _ in range(n)]

    @property
    def state(self) -> Integers:
        """The states [N], as in `Simulations`."""
        return np.array([one.state for one in self._copies])

    @property
    def clock(self) -> Integers:
        """The number of steps [N] since the last seed."""
        return np.array([one.clock for one in self._copies])

    def seed(self, i: int, seed: int) -> None:
        """Restart the random streams of copy i."""
        self._copies[i].seed(seed)

    def restart(self, mask: Booleans) -> None:
        """Begin new episodes."""
        for i in np.flatnonzero(mask):
            self._copies[i].restart()

    def step(
        self, stepping: Booleans, choices: Integers, visible: Booleans, *moments: Sequence[Any]
    ) -> tuple[Floats, Booleans, Booleans]:
        """Monitor reward, observed and terminated; moments: lists over copies of the environment's part of `Moment`."""
        reward, (observed, terminated) = np.zeros(len(choices)), np.zeros((2, len(choices)), np.bool_)
        for i in np.flatnonzero(stepping).tolist():
            moment = [part[i] for part in moments]
            reward[i], observed[i], terminated[i] = self._copies[i].step(choices[i], *moment, visible=visible[i])
        return reward, observed, terminated


class VectorMonitored(VectorWrapper, RecordConstructorArgs, Prepared):
    """Copy i, seeded with seed + i, produces the same episodes as `monitored` around one environment with that seed.

    env_spaces: observation space and action space of one copy of the environment alone.
    """

    def __init__(self, env: VectorEnv, monitor: Monitor | str, **options: Any) -> None:
        RecordConstructorArgs.__init__(self, _disable_deepcopy=True, monitor=monitor, **options)
        super().__init__(env)
        n, spaces = env.num_envs, (env.single_observation_space, env.single_action_space)
        one = _first(env)
        title = title_of(env if one is None else one)
        seen, space = self._prepare(one, title, spaces, monitor, (n,), **options)
        self.single_observation_space, self.observation_space = seen, batch_space(seen, n)
        self.single_action_space, self.action_space = space, batch_space(space, n)
        if self._table is not None:
            self._unseen = np.zeros(len(self._table.states) * len(self._table.actions), np.bool_)
            self._unseen[list(self._never)] = True

        self._mode = env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
        self._marked = self._mode == AutoresetMode.NEXT_STEP and not vars(env.unwrapped).keys().isdisjoint(MARKS)
        self._restarts = isinstance(env.unwrapped, RESTARTING)

        problem = self._simulation.alone()
        self._monitors = OneByOne(self._simulation, n) if problem is None else Simulations(problem, n)
        if problem is not None and problem.terminated.any():
            self._check_restarts()
        self._observation: Any = None
        self._seeded = np.zeros(n, np.bool_)
        self._done = np.zeros(n, np.bool_)  # copies that the next step restarts
        self._late = np.zeros(n, np.bool_)  # those among them that the environment does not restart on its own
        self._left = np.zeros(n, np.int64)
        self._transition: tuple[Any, ...] | None = None

    @property
    def env_transition(self) -> tuple[Any, Any, Any] | None:
        """The environment's part of the last step: (observations, actions, next observations), before resets."""
        if self._transition is None:
            return None
        before, env_actions, after, ended, last = self._transition
        if ended.any():
            space, each = self.env.single_observation_space, list(iterate(self.env.observation_space, after))
            for i in np.flatnonzero(ended).tolist():
                each[i] = last[i]
            empty: Any = create_empty_array(space, self.num_envs)
            after = concatenate(space, each, empty)
        return before, env_actions, after

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start episodes in all copies, or in those of options["reset_mask"]; a seed restores a copy's budget."""
        seeds, mask = seeds_and_mask(seed, options, self.num_envs)
        if not mask.all() and not self._restarts:
            raise MonMDPError(f"{self._title} cannot restart single copies; reset all of them, without a mask.")
        given: Any = int(seed) if isinstance(seed, (int, np.integer)) else seed and seeds
        self._observation, infos = self.env.reset(seed=given, options=options and dict(options))
        for i in np.flatnonzero(mask).tolist():
            chosen = seeds[i]
            if chosen is not None or not self._seeded[i]:
                chosen = int(np.random.default_rng().integers(2**63)) if chosen is None else int(chosen)
                self._monitors.seed(i, chosen)
                self._left[i], self._seeded[i] = min(self._budget, LARGEST_WHOLE), True
        self._monitors.restart(mask)
        self._done, self._late = self._done & ~mask, self._late & ~mask
        return self._combine(self._observation, self._monitors.state), without_rewards(infos)

    def step(self, actions: Any) -> tuple[Any, Floats, Booleans, Booleans, dict[str, Any]]:
        """Step all copies; those that have ended are reset according to the autoreset mode of the environment."""
        if not self._seeded.all():
            raise gymnasium.error.ResetNeeded("Call reset before step.")
        if self._mode == AutoresetMode.DISABLED and self._done.any():
            raise gymnasium.error.ResetNeeded("Some environments have ended; reset them with options['reset_mask'].")
        env_actions, choices = self._parts(actions)
        before, step_id = self._observation, self._monitors.clock
        stepping, visible = ~self._done, self._left > 0
        pairs: Any = None
        if self._hidden is not None:
            visible &= ~np.array(self._ask(self._hidden, "hidden", bool, env_actions, stepping))
        if self._table is not None:
            pairs = self._observation * len(self._table.actions) + env_actions
            visible &= ~self._unseen[pairs]
        moments = [] if isinstance(self._monitors, Simulations) else self._moments(env_actions, stepping, pairs)

        self._observation, env_rewards, ended, cut, infos = self.env.step(env_actions)
        last = infos.get("final_obs", ())  # of copies that the environment has restarted
        self._transition = before, env_actions, self._observation, infos.get("_final_obs", np.zeros(0)), last
        infos = without_rewards(infos)
        if self._late.any():
            self._observation, others = self.env.reset(options={"reset_mask": self._late})
            infos = _where(self._late, without_rewards(others), infos)
        env_reward = np.asarray(env_rewards, np.float64)
        env_terminated, env_truncated = np.asarray(ended, np.bool_) & stepping, np.asarray(cut, np.bool_) & stepping
        if not np.isfinite(env_reward[stepping]).all():
            i = int(np.flatnonzero(stepping & ~np.isfinite(env_reward))[0])
            action = list(iterate(self.env.action_space, env_actions))[i]
            raise MonMDPError(f"The reward of action {shown(action)} in {self._title} is {env_reward[i]}.")

        if isinstance(self._monitors, Simulations):
            _, monitor_reward, observed, terminated, _ = self._monitors.step(stepping, choices)
            observed &= visible
        else:
            happened = *moments[:2], env_reward.tolist(), env_terminated.tolist(), *moments[2:]
            monitor_reward, observed, terminated = self._monitors.step(stepping, choices, visible, *happened)
        self._left -= observed
        terminated |= env_terminated
        truncated = env_truncated & ~terminated
        info = {
            "proxy_reward": np.where(observed, env_reward, np.nan),
            "reward_observed": observed,
            "monitor_reward": monitor_reward,
            "step_id": step_id,
        }
        if self._budget < math.inf:
            info["answers_left"] = self._left.copy()
        if self._evaluation_info:
            info["env_reward"] = env_reward
        done = terminated | truncated
        by_monitor = terminated & ~(env_terminated | env_truncated)
        if by_monitor.any():
            self._check_restarts()
        if self._mode == AutoresetMode.SAME_STEP:
            infos = self._restarted(infos, info, done, by_monitor) | masked(info, ~done)
        else:
            infos |= masked(info, stepping)
            self._monitors.restart(self._done)
            self._done, self._late = done, by_monitor & False
            if by_monitor.any() and self._mode == AutoresetMode.NEXT_STEP:
                self._mark(by_monitor)
        rewards = monitor_reward + np.where(observed, env_reward, 0.0)
        return self._combine(self._observation, self._monitors.state), rewards, terminated, truncated, infos

    def _parts(self, actions: Any) -> tuple[Any, Integers]:
        """Environment actions and monitor actions, after a check that they are in the action space."""
        n, known = self.num_envs, False
        env_actions, choices = None, np.zeros(n, np.int64)
        try:
            env_actions, given = self._split(actions)
            choices = np.asarray(given)
            known = choices.shape == (n,) and choices.dtype.kind in "iu"
            known = known and bool(((choices >= 0) & (choices < len(self._simulation.actions))).all())
            if self._limits is not None:
                env_actions = np.asarray(env_actions)
                inside = (env_actions >= self._limits[0]) & (env_actions < self._limits[1])
                known = known and env_actions.shape == (n,) and bool(inside.all())
        except (TypeError, KeyError, IndexError, ValueError):
            known = False
        if not known:
            example = shown(self.action_space.sample())
            raise MonMDPError(f"The actions {shown(actions)} are not in the action space; an example is {example}.")
        return env_actions, choices.astype(np.int64, copy=False)

    def _ask(self, predicate: Any, name: str, kind: Any, env_actions: Any, stepping: Booleans) -> list[Any]:
        """What a user's function returns for each copy; zero for copies that do not step."""
        copies = zip(
            iterate(self.env.observation_space, self._observation),
            iterate(self.env.action_space, env_actions),
            stepping,
            strict=True,
        )
        return [asked(predicate, name, kind, seen, action) if steps else kind(0) for seen, action, steps in copies]

    def _moments(self, env_actions: Any, stepping: Booleans, pairs: Any) -> list[Sequence[Any]]:
        """Lists over copies with the environment's part of `Moment`: states, actions, pairs and places."""
        n = self.num_envs
        places: Sequence[Any] = [None] * n
        if self._table is None:  # environments may reuse the arrays of observations
            states: Any = list(iterate(self.env.observation_space, deepcopy(self._observation)))
            labels: Any = list(iterate(self.env.action_space, env_actions))
        else:
            states, labels = self._observation.tolist(), [self._table.actions[i] for i in env_actions]
        pairs = places if pairs is None else pairs.tolist()
        if self._at is not None:
            pairs = places = self._ask(self._at, "at", int, env_actions, stepping)
        return [states, labels, pairs, places]

    def _restarted(
        self, infos: dict[str, Any], info: dict[str, Any], done: Booleans, by_monitor: Booleans
    ) -> dict[str, Any]:
        """The environment's infos in SAME_STEP with final_obs and final_info, after new episodes have begun."""
        if not done.any():
            return infos
        last = infos.pop("final_obs", np.full(self.num_envs, None)).copy()
        final_info = without_rewards(infos.pop("final_info", {}))
        if by_monitor.any():
            each = list(iterate(self.env.observation_space, deepcopy(self._observation)))
            for i in np.flatnonzero(by_monitor).tolist():
                last[i] = each[i]
            final_info = _where(by_monitor, infos, final_info)
            self._observation, others = self.env.reset(options={"reset_mask": by_monitor.copy()})
            infos = _where(by_monitor, without_rewards(others), infos)
        final, state = np.full(self.num_envs, None), self._monitors.state
        for i in np.flatnonzero(done).tolist():
            final[i] = self._combine_one(last[i], state[i])
        self._monitors.restart(done)
        final_info |= masked(info, done)
        return infos | {
            "final_obs": final,
            "_final_obs": done.copy(),
            "final_info": final_info,
            "_final_info": done.copy(),
        }

    def _mark(self, mask: Booleans) -> None:
        """Let the next step restart copies that a monitor has ended, and the environment has not."""
        if not self._marked:
            self._late = mask
            return
        layer: Any = self.env
        while layer is not None:
            for name in MARKS:
                if name in vars(layer):
                    setattr(layer, name, getattr(layer, name) | mask)
            layer = layer.env if isinstance(layer, VectorWrapper) else None

    def _check_restarts(self) -> None:
        if not (self._restarts or self._marked or self._mode == AutoresetMode.DISABLED):
            raise MonMDPError(
                f"{self.monitor.name} ends episodes, and {self._title} cannot restart single copies; use one that "
                "can, such as gymnasium.make_vec(…, vectorization_mode='sync')."
            )


def _first(env: VectorEnv) -> gymnasium.Env[Any, Any] | None:
    """An environment like the copies, which may have a table; None if wrappers or other processes hide them."""
    if isinstance(env, SyncVectorEnv):
        return env.envs[0]
    if isinstance(env, AsyncVectorEnv):
        one = env.env_fns[0]()
        one.close()
        return one
    return None


def _where(mask: Booleans, one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Infos of vector environments: those of `one` for copies in the mask, of `other` for the rest."""
    result: dict[str, Any] = {}
    for key in {**other, **one}:
        sources = [(info, part) for info, part in ((one, mask), (other, ~mask)) if f"_{key}" in info]
        has = np.zeros(len(mask), np.bool_)
        for info, part in sources:
            has |= info[f"_{key}"] & part
        if not has.any():
            continue
        values = [info[key] for info, _ in sources]
        if isinstance(values[0], dict):
            result[key] = _where(mask, one.get(key, {}), other.get(key, {}))
        else:
            dtype = np.result_type(*values)
            result[key] = np.full(values[0].shape, None if dtype.hasobject else 0, dtype)
            for info, part in sources:
                result[key][part & has] = info[key][part & has]
        result[f"_{key}"] = has
    return result
